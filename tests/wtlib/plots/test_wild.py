"""The census chapter's figures draw the numbers they say they draw."""

import math
import xml.etree.ElementTree as ET
from typing import Any

import matplotlib.colors
import pytest

from wtlib import census
from wtlib.census import CensusModel
from wtlib.model_card import what_the_card_says
from wtlib.plots import Figure, wild
from wtlib.thresholds import best_threshold, error_curve

CAUSAL = [model for model in census.load() if model.kind == "causal"]
TIED = [model.tie_word_embeddings for model in CAUSAL]
SIZES = [model.total_params for model in CAUSAL]
SAVINGS = [1 - model.total_if_tied / model.total_if_untied for model in CAUSAL]
BY_SIZE = best_threshold(SIZES, TIED, "below")
BY_SAVING = best_threshold(SAVINGS, TIED, "above")
CURVES = {
    "parameters": error_curve(SIZES, TIED, "below"),
    "saving, %": error_curve([100 * s for s in SAVINGS], TIED, "above"),
}
CARDS = {
    "tied": what_the_card_says("4.0B", "3.6B", 151_936, 2560),
    "untied": what_the_card_says("8.2B", "6.95B", 151_936, 4096),
    "vague": what_the_card_says("1B", "1B", 50_257, 768),
    "other": what_the_card_says(124_439_808, 123_653_376, 50_257, 768),
}


def axes_of(figure: Figure) -> list[Any]:
    return list(figure.drawing.axes)


def all_figures() -> list[Figure]:
    return [
        wild.share_against_size(CAUSAL, BY_SIZE, BY_SAVING),
        wild.error_curves(CURVES, len(CAUSAL)),
        wild.by_year(CAUSAL),
        wild.by_family(CAUSAL),
        wild.card_readings(CARDS),
    ]


@pytest.mark.parametrize("figure", all_figures(), ids=lambda figure: figure.caption[:30])
def test_every_figure_has_a_drawing_that_parses_and_a_caption_that_asks(figure: Figure) -> None:
    assert figure.caption.endswith("?")
    root = ET.fromstring(figure.svg("alternative"))
    assert root.get("aria-label") == "alternative"
    assert any("".join(node.itertext()) for node in root.iter() if node.tag.endswith("text"))


def marks(axes: Any) -> dict[str, Any]:
    return {collection.get_label(): collection for collection in axes.collections}


@pytest.mark.parametrize("figure", [0, 3])
def test_every_model_is_marked_and_only_the_unverified_are_hollow(figure: int) -> None:
    [axes] = axes_of(all_figures()[figure])
    groups = marks(axes)
    drawn = {word: len(groups[word].get_offsets()) for word in groups if word[0] != "_"}
    expected: dict[str, int] = {}
    for model in CAUSAL:
        word = ("tied" if model.tie_word_embeddings else "untied") + "?" * (not model.verified)
        expected[word] = expected.get(word, 0) + 1
    assert drawn == expected
    for word in expected:
        assert (len(groups[word].get_facecolors()) == 0) == word.endswith("?")


def test_the_scatter_puts_each_model_at_its_size_and_saving() -> None:
    [axes] = axes_of(wild.share_against_size(CAUSAL, BY_SIZE, BY_SAVING))
    drawn = {
        tuple(point)
        for word in ("tied", "tied?", "untied", "untied?")
        for point in marks(axes)[word].get_offsets().tolist()
    }
    expected = {(size, 100 * saving) for size, saving in zip(SIZES, SAVINGS, strict=True)}
    assert len(drawn) == len(expected)
    for (x, y), (size, saving) in zip(sorted(drawn), sorted(expected), strict=True):
        assert (x, y) == pytest.approx((size, saving))


def test_the_named_models_are_in_the_census() -> None:
    assert set(wild._LABELS) <= {model.id for model in CAUSAL}


def test_the_curves_dip_to_the_best_threshold() -> None:
    figure = wild.error_curves(CURVES, len(CAUSAL))
    for axes, best in zip(axes_of(figure), (BY_SIZE, BY_SAVING), strict=True):
        steps, dots, guess = axes.lines
        assert min(steps.get_ydata()) == best.confusion.errors
        assert len(dots.get_xdata()) == len(best.values)
        assert guess.get_ydata()[0] == best.confusion.guess_errors
    assert "45 for parameters and 43 for saving" in figure.alt


def test_bars_of_a_year_add_up_to_its_models() -> None:
    figure = wild.by_year(CAUSAL)
    [axes] = axes_of(figure)
    heights: dict[int, float] = {}
    for bar in axes.patches:
        year = round(bar.get_x() + bar.get_width() / 2)
        heights[year] = heights.get(year, 0) + bar.get_height()
    for year, height in heights.items():
        assert height == sum(model.year == year for model in CAUSAL)
    hollow = sum(
        bar.get_height()
        for bar in axes.patches
        if matplotlib.colors.to_rgba(bar.get_facecolor())[3] == 0
    )
    assert hollow == sum(not model.verified for model in CAUSAL)
    assert "10 of 42 in 2023" in figure.alt


def test_the_families_that_mix_are_named() -> None:
    figure = wild.by_family(CAUSAL)
    kinds: dict[str, set[bool]] = {}
    for model in CAUSAL:
        kinds.setdefault(model.family, set()).add(model.tie_word_embeddings)
    mixed = [family for family, found in kinds.items() if len(found) == 2]
    assert len(mixed) == 6
    assert figure.alt.endswith(f"these mix: {', '.join(sorted(mixed))}.")
    [axes] = axes_of(figure)
    bold = {t.get_text() for t in axes.get_yticklabels() if t.get_fontweight() == "bold"}
    assert bold == set(mixed)
    assert len(figure.data.rows) == len(kinds)


def test_a_familys_row_counts_its_models() -> None:
    rows = {row[0]: row[1:] for row in wild.by_family(CAUSAL).data.rows}
    assert rows["Qwen3"] == ("3", "4", "0", "4.02B", "8.19B")
    assert rows["Qwen1.5"][2] == "5"
    members: list[CensusModel] = [model for model in CAUSAL if model.family == "GPT-2"]
    assert rows["GPT-2"][:2] == (str(len(members)), "0")


def test_cards_are_drawn_with_their_rounding() -> None:
    figure = wild.card_readings(CARDS)
    assert [row[3] for row in figure.data.rows] == ["tied", "untied", "cannot say", "neither"]
    [axes] = axes_of(figure)
    spans = [line.get_xdata() for line in axes.lines if len(line.get_xdata()) == 2][2:]
    for (low, high), card in zip(spans, CARDS.values(), strict=True):
        assert (low, high) == pytest.approx((card.low, card.high))


@pytest.mark.parametrize(
    ("number", "text"),
    [(2.7e9, "2.7B"), (176.2e9, "176B"), (1e12, "1,000B"), (14_067_712, "14.1M"), (7.18, "7.18")],
)
def test_counts_in_words(number: float, text: str) -> None:
    assert wild._count(number) == text
    assert math.isfinite(number)
