"""Thresholds against a brute force over every cut, and against the census's known errors."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wtlib import census
from wtlib.errors import WtlibError
from wtlib.thresholds import Side, best_threshold, confusion, error_curve

CAUSAL = [model for model in census.load() if model.kind == "causal"]
TIED = [model.tie_word_embeddings for model in CAUSAL]
SIZES = [model.total_params for model in CAUSAL]
SAVINGS = [1 - model.total_if_tied / model.total_if_untied for model in CAUSAL]

samples = st.lists(st.tuples(st.integers(1, 10**12), st.booleans()), min_size=1, max_size=40)
sides: st.SearchStrategy[Side] = st.sampled_from(["below", "above"])


def fewest_errors(numbers: list[float], tied: list[bool], ties: Side) -> int:
    """Try every number itself, and infinity, as the boundary; count by hand."""
    fewest = len(numbers)
    for boundary in [*numbers, math.inf]:
        errors = 0
        for number, is_tied in zip(numbers, tied, strict=True):
            is_below = number < boundary
            called_tied = is_below if ties == "below" else not is_below
            errors += called_tied != is_tied
        fewest = min(fewest, errors)
    return fewest


@given(samples, sides)
def test_the_best_threshold_is_that_of_the_brute_force(
    sample: list[tuple[int, bool]], ties: Side
) -> None:
    numbers, tied = [float(n) for n, _ in sample], [t for _, t in sample]
    best = best_threshold(numbers, tied, ties)
    fewest = fewest_errors(numbers, tied, ties)
    assert best.confusion.errors == fewest
    assert best.value == best.values[0]
    assert list(best.values) == sorted(best.values)
    for value in best.values:
        assert confusion(numbers, tied, value, ties).errors == fewest


@given(samples, sides)
def test_the_curve_counts_what_the_rule_gets_wrong(
    sample: list[tuple[int, bool]], ties: Side
) -> None:
    numbers, tied = [float(n) for n, _ in sample], [t for _, t in sample]
    curve = error_curve(numbers, tied, ties)
    assert len(curve) == len(set(numbers)) + 1
    for cut, errors in curve:
        assert errors == confusion(numbers, tied, cut, ties).errors
    guess = min(sum(tied), len(tied) - sum(tied))
    assert min(curve[0][1], curve[-1][1]) == guess == confusion(numbers, tied, 1, ties).guess_errors


@pytest.mark.parametrize(
    ("numbers", "ties", "errors"), [(SIZES, "below", 45), (SAVINGS, "above", 43)]
)
def test_the_census(numbers: list[float], ties: Side, errors: int) -> None:
    best = best_threshold(numbers, TIED, ties)
    assert best.confusion.errors == errors == fewest_errors(numbers, TIED, ties)
    assert best.confusion.total == len(CAUSAL) == 148
    assert best.confusion.error_rate == pytest.approx(errors / 148)


def test_confusion_by_hand() -> None:
    found = confusion([1, 2, 3, 4, 5], [True, False, True, False, True], 3, "below")
    assert (found.tied_called_tied, found.untied_called_tied) == (1, 1)
    assert (found.tied_called_untied, found.untied_called_untied) == (2, 1)
    assert (found.errors, found.total, found.guess_errors) == (3, 5, 2)
    turned = confusion([1, 2, 3, 4, 5], [True, False, True, False, True], 3, "above")
    assert (turned.tied_called_tied, turned.errors) == (2, 2)


def test_cuts_lie_in_the_gaps() -> None:
    assert [cut for cut, _ in error_curve([4, 1, 4], [True, False, True], "above")] == [
        1,
        2,
        math.inf,
    ]


def test_no_models() -> None:
    with pytest.raises(WtlibError, match="no models to call: give at least one number"):
        best_threshold([], [], "below")


def test_one_flag_for_each_number() -> None:
    with pytest.raises(WtlibError, match="2 numbers for 1 flags: give one each"):
        confusion([1, 2], [True], 1, "below")


@pytest.mark.parametrize("number", [0, -1.5, math.inf, math.nan])
def test_numbers_are_positive(number: float) -> None:
    with pytest.raises(WtlibError, match=r"has no place on a logarithmic axis: give numbers above"):
        error_curve([1, number], [True, False], "below")
