"""Measures of the census for the chapter on practice.

Models are named by their id in the census.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wtlib import census
from wtlib.counting import count_parameters


def totals(models: Sequence[str]) -> list[int]:
    """Return the parameters of the models, as their shipped weights are tied."""
    return [count_parameters(census.find(model).config()).total for model in models]


def totals_in_billions(models: Sequence[str]) -> list[float]:
    """Return those parameters in billions."""
    return [total / 1e9 for total in totals(models)]


def bodies_in_billions(models: Sequence[str]) -> list[float]:
    """Return the parameters outside every vocabulary matrix, in billions."""
    return [count_parameters(census.find(model).config()).body / 1e9 for model in models]


def tied_at_least(size: int) -> int:
    """Return how many causal models of at least that many parameters are tied."""
    return sum(
        model.tie_word_embeddings and model.kind == "causal" and model.total_params >= size
        for model in census.load()
    )


def smallest_untied(groups: Sequence[Sequence[str]]) -> list[float]:
    """Return the smallest untied causal model of each group of families, in billions."""
    return [
        min(
            model.total_params
            for model in census.load()
            if model.kind == "causal" and model.family in group and not model.tie_word_embeddings
        )
        / 1e9
        for group in groups
    ]


MEASURES: Mapping[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        bodies_in_billions,
        smallest_untied,
        tied_at_least,
        totals,
        totals_in_billions,
    )
}
