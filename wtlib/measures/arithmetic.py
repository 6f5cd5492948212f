"""Measures of printed numbers: sums that anyone can redo from the page."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Number = int | float


def difference(minuend: Number, subtrahend: Number) -> Number:
    """Return the one number less the other."""
    return minuend - subtrahend


def product(factors: Sequence[int]) -> int:
    """Return the product of the factors."""
    return math.prod(factors)


def quotient(numerator: Number, denominator: Number) -> float:
    """Return the one number over the other."""
    return numerator / denominator


def percent(part: Number, whole: Number) -> float:
    """Return the part as a percentage of the whole."""
    return 100 * part / whole


def largest_over_first(series: Sequence[Number]) -> float:
    """Return the largest of a series over its first entry: 1 for one that never rises above it."""
    return max(series) / series[0]


def root_sum_of_squares(values: Sequence[Number]) -> float:
    """Return the Euclidean norm of some row norms: what these rows add to a matrix's norm."""
    return math.hypot(*values)


def reciprocal_root(count: int) -> float:
    """Return ``count ** -0.5``: the sd of the cosine between random directions in that width."""
    return 1 / math.sqrt(count)


def standard_errors(mean: Number, spread: Number, count: int) -> float:
    """Return by how many standard errors a mean of ``count`` values of that spread is not zero."""
    return abs(mean) / (spread / math.sqrt(count))


def coin_error(count: int) -> float:
    """Return the standard error, in percentage points, of a share of ``count`` fair tosses."""
    return 100 * 0.5 / math.sqrt(count)


MEASURES: Mapping[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        coin_error,
        difference,
        largest_over_first,
        percent,
        product,
        quotient,
        reciprocal_root,
        root_sum_of_squares,
        standard_errors,
    )
}
