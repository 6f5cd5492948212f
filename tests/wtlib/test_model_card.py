"""The card's arithmetic against the census, where the tie is known from elsewhere."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wtlib import census
from wtlib.census import CensusModel
from wtlib.errors import WtlibError
from wtlib.model_card import CardReading, printed, what_the_card_says

# A card subtracts the vocabulary matrices; T5's and ALBERT's narrow or shared tables included.
MODELS = census.load()


def body(model: CensusModel) -> int:
    """Parameters outside every vocabulary matrix, from the census's own totals."""
    return 2 * model.total_if_tied - model.total_if_untied


def read(model: CensusModel, total: Any, non_embedding: Any) -> CardReading:
    return what_the_card_says(total, non_embedding, model.vocab_size, model.embedding_dim)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.id)
def test_exact_counts_give_the_tie_away(model: CensusModel) -> None:
    card = read(model, model.total_params, body(model))
    assert card.reading == ("tied" if model.tie_word_embeddings else "untied")
    assert card.matrices == card.low == card.high == (1 if model.tie_word_embeddings else 2)
    assert card.matrix == model.total_if_untied - model.total_if_tied


@pytest.mark.parametrize("places", range(4))
def test_rounded_counts_never_mislead(places: int) -> None:
    for model in MODELS:
        total, rest = (f"{n / 1e9:.{places}f}B" for n in (model.total_params, body(model)))
        card = read(model, total, rest)
        truth = "tied" if model.tie_word_embeddings else "untied"
        assert card.reading in (truth, "cannot say"), model.id


# As the cards of Qwen print them; the flags are those of the census.
QWEN = {
    "Qwen/Qwen3-0.6B": ("0.6B", "0.44B"),
    "Qwen/Qwen3-1.7B": ("1.7B", "1.4B"),
    "Qwen/Qwen3-4B": ("4.0B", "3.6B"),
    "Qwen/Qwen3-8B": ("8.2B", "6.95B"),
    "Qwen/Qwen3-14B": ("14.8B", "13.2B"),
    "Qwen/Qwen3-32B": ("32.8B", "31.2B"),
    "Qwen/Qwen2.5-0.5B": ("0.49B", "0.36B"),
    "Qwen/Qwen2.5-1.5B": ("1.54B", "1.31B"),
    "Qwen/Qwen2.5-3B": ("3.09B", "2.77B"),
    "Qwen/Qwen2.5-7B": ("7.61B", "6.53B"),
    "Qwen/Qwen2.5-14B": ("14.7B", "13.1B"),
    "Qwen/Qwen2.5-32B": ("32.5B", "31.0B"),
}


@pytest.mark.parametrize("name", QWEN)
def test_published_cards(name: str) -> None:
    model = census.find(name)
    assert read(model, *QWEN[name]).reading == ("tied" if model.tie_word_embeddings else "untied")


def test_the_eight_billion_class_by_hand() -> None:
    card = what_the_card_says("8.2B", "6.95B", 151_936, 4096)
    assert card.matrix == 622_329_856
    assert card.matrices == pytest.approx(1.25e9 / 622_329_856)
    assert card.low == pytest.approx((8.15e9 - 6.955e9) / 622_329_856)
    assert card.high == pytest.approx((8.25e9 - 6.945e9) / 622_329_856)


def test_a_card_that_subtracts_something_else() -> None:
    positions_only = what_the_card_says(124_439_808, 123_653_376, 50_257, 768)
    assert positions_only.reading == "neither"


def test_a_card_too_coarse_to_tell() -> None:
    assert what_the_card_says("1B", "1B", 50_257, 768).reading == "cannot say"


@given(st.integers(0, 10**13), st.integers(0, 4), st.sampled_from(["K", "M", "B", "T", "m", "b"]))
def test_a_printed_count_holds_what_was_printed(count: int, places: int, unit: str) -> None:
    scale = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}[unit.upper()]
    found = printed(f"{count / scale:.{places}f}{unit}")
    slack = 1e-9 * max(count, 1)
    assert found.low - slack <= count <= found.high + slack
    assert found.high - found.low == pytest.approx(scale / 10**places, abs=slack)


@pytest.mark.parametrize(
    ("text", "value", "half"),
    [
        ("124,439,808", 124_439_808, 0),
        ("7", 7, 0),
        ("8B", 8e9, 5e8),
        (" 6.95 b ", 6.95e9, 5e6),
        ("0.5", 0.5, 0.05),
        (8.2e9, 8.2e9, 0),
        (12, 12, 0),
    ],
)
def test_printed(text: Any, value: float, half: float) -> None:
    found = printed(text)
    assert found.value == pytest.approx(value)
    assert (found.value - found.low, found.high - found.value) == pytest.approx((half, half))


@pytest.mark.parametrize(
    "count", ["", "8 billion", "-3B", "8.2.1B", "1e9", -1, math.nan, math.inf, True]
)
def test_what_is_not_a_count(count: Any) -> None:
    with pytest.raises(WtlibError, match=r"is not a count of parameters: give a number, or a text"):
        printed(count)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((0, 768), "vocab_size is 0; it must be a whole number, at least 1"),
        ((50_257, -768), "d_model is -768; it must be a whole number, at least 1"),
        ((True, 768), "vocab_size is True; it must be a whole number, at least 1"),
    ],
)
def test_sizes_are_whole(sizes: tuple[Any, Any], message: str) -> None:
    with pytest.raises(WtlibError, match=message):
        what_the_card_says("8.2B", "6.95B", *sizes)


def test_the_total_is_the_larger() -> None:
    with pytest.raises(WtlibError, match=r"total '6\.95B' is below non_embedding '8\.2B'"):
        what_the_card_says("6.95B", "8.2B", 151_936, 4096)
