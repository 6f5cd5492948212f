"""The scaling chapter's figures draw the numbers they say they draw."""

import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

from wtlib import census
from wtlib.census import CensusModel
from wtlib.counting import count_parameters, handbook_estimate
from wtlib.plots import Figure, scaling

SHAPES = {"Small": (50257, 768, 12), "XL": (50257, 1600, 48)}
ESTIMATES = {name: handbook_estimate(*shape) for name, shape in SHAPES.items()}
COUNTS = {
    name: count_parameters(
        {"model_type": "gpt2", "vocab_size": V, "n_embd": d, "n_layer": L, "n_head": d // 64}
    )
    for name, (V, d, L) in SHAPES.items()
}
BLOCKS = [scaling.BlockMultiple("GPT-2", 4.0, 8.0), scaling.BlockMultiple("Qwen3-0.6B", 6.0, 9.0)]
CAUSAL = [model for model in census.load() if model.kind == "causal"]


def all_figures() -> list[Figure]:
    return [
        scaling.parameters_by_part(ESTIMATES),
        scaling.absolute_savings(ESTIMATES),
        scaling.relative_savings({name: (ESTIMATES[name], COUNTS[name]) for name in SHAPES}),
        scaling.block_multiples(BLOCKS),
        scaling.saving_curve(CAUSAL),
        scaling.saving_contours(CAUSAL),
    ]


def axes_of(figure: Figure) -> list[Any]:
    """The panels; untyped, since matplotlib's types allow data that these figures never hold."""
    return list(figure.drawing.axes)


def saving(model: CensusModel) -> float:
    """The saving from the census's own totals."""
    return (model.total_if_untied - model.total_if_tied) / model.total_if_untied


@pytest.mark.parametrize("figure", all_figures(), ids=lambda figure: figure.caption[:30])
def test_every_figure_has_a_drawing_that_parses_and_a_caption_that_asks(figure: Figure) -> None:
    assert figure.caption.endswith("?")
    root = ET.fromstring(figure.svg("alternative"))
    assert root.get("aria-label") == "alternative"
    words = {"".join(node.itertext()) for node in root.iter() if node.tag.endswith("text")}
    assert words


def test_bars_of_the_parts_add_up_to_the_untied_total() -> None:
    absolute, relative = axes_of(scaling.parameters_by_part(ESTIMATES))
    for row, (V, d, L) in enumerate(SHAPES.values()):
        widths = [bar.get_width() for bar in absolute.patches[3 * row : 3 * row + 3]]
        total = 2 * V * d + L * (12 * d * d + 4 * d)
        assert widths == pytest.approx([V * d / 1e6, V * d / 1e6, (total - 2 * V * d) / 1e6])
        shares = [bar.get_width() for bar in relative.patches[3 * row : 3 * row + 3]]
        assert sum(shares) == pytest.approx(100)


def test_bars_of_the_savings_are_one_matrix() -> None:
    figure = scaling.absolute_savings(ESTIMATES)
    assert [row[1] for row in figure.data.rows] == ["38,597,376", "80,411,200"]
    widths = [bar.get_width() for bar in axes_of(figure)[0].patches]
    assert widths == pytest.approx([38.597376, 80.4112])


def test_relative_savings_show_the_handbooks_number_and_both_exact_ones() -> None:
    figure = scaling.relative_savings({name: (ESTIMATES[name], COUNTS[name]) for name in SHAPES})
    assert figure.data.rows == (
        ("Small", "23.80%", "23.67%", "31.02%"),
        ("XL", "4.92%", "4.91%", "5.16%"),
    )
    assert "23.67% against 31.02%" in figure.alt


def test_block_multiples_stack_attention_and_mlp() -> None:
    figure = scaling.block_multiples(BLOCKS)
    assert [row[3] for row in figure.data.rows] == ["12.00", "15.00"]
    assert "12.00 in GPT-2 to 15.00 in Qwen3-0.6B" in figure.alt


def test_every_model_stands_on_the_saving_curve() -> None:
    [axes] = axes_of(scaling.saving_curve(CAUSAL))
    curve, *marks = [line for line in axes.lines if len(line.get_xdata()) != 2]
    x, y = curve.get_data()
    assert len(marks) == len(CAUSAL)
    for model, mark in zip(CAUSAL, marks, strict=True):
        [ratio], [percent] = mark.get_data()
        assert percent == pytest.approx(100 * saving(model))
        assert percent == pytest.approx(np.interp(ratio, x, y), abs=0.02)


def test_the_map_draws_lines_of_equal_saving() -> None:
    panels = axes_of(scaling.saving_contours(CAUSAL))
    for band, axes in zip(scaling.DEPTH_BANDS, panels, strict=True):
        [lines] = axes.collections
        for level, path in zip(lines.levels, lines.get_paths(), strict=True):
            for d, V in path.vertices:
                untied = 2 * V * d + 12 * band.layers * d**2
                assert 100 * V * d / untied == pytest.approx(level, rel=2e-3)


def test_the_bands_hold_every_causal_model_once() -> None:
    for model in CAUSAL:
        assert sum(model in band for band in scaling.DEPTH_BANDS) == 1, model.id


def test_every_named_model_is_in_the_census_and_inside_its_panel() -> None:
    causal = {model.id: model for model in CAUSAL}
    for labels in (scaling._CURVE_LABELS, scaling._CONTOUR_LABELS):
        assert labels.keys() <= causal.keys()
    axes = axes_of(scaling.saving_contours(CAUSAL))[0]
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    for model in CAUSAL:
        assert left < model.hidden_size < right, model.id
        assert low < model.vocab_size < high, model.id


def test_the_alternative_text_of_the_map_counts_who_ties() -> None:
    figure = scaling.saving_contours(CAUSAL)
    inside = [model for model in CAUSAL if model.layers >= 49]
    tied = sum(model.tie_word_embeddings for model in inside)
    assert f"{tied} of {len(inside)} at L = 80" in figure.alt
    assert len(figure.data.rows) == len(CAUSAL)
