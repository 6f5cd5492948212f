"""The sharing chapter's figures draw the numbers they say they draw."""

import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

from wtlib.gaps import Gap
from wtlib.latency import Latency, Setting
from wtlib.plots import Figure, sharing
from wtlib.sharing import plan
from wtlib.similarity import Place

SERIES = [
    [
        Latency(Setting(d_model=d, batch_size=b, pairs=3), (1.0, 1.0, 1.0), (r, r, r + 0.1), (1, 1))
        for d, r in ((64, 0.9), (128, 0.5 if b == 1 else 0.8))
    ]
    for b in (1, 32)
]
GAPS = [
    Gap(name, n, 100 * n, 4 + cost, {0: cost, 1: cost + 0.1})
    for name, cost in (("none", 0.0), ("all", 0.3))
    for n in (2, 4)
]
KINDS = ["parameters", "FLOPs", "ms, one", "ms, many"]
PRICES = {(gap.sharing, gap.n_layers): dict.fromkeys(KINDS, 10.0 * gap.n_layers) for gap in GAPS}
MATRIX = np.array([[1.0, 0.5, 0.25], [0.5, 1.0, 0.75], [0.25, 0.75, 1.0]])
PLACES = [
    Place(0, (3.0, 5.0, 6.0), 9.0),
    Place(1, (3.5, 3.0, 3.2), 3.1),
    Place(2, (4.0, 3.3, 3.0), 3.6),
]


def all_figures() -> list[Figure]:
    return [
        sharing.schemes({name: plan(name, 4) for name in ("none", "all", "attention-only")}),
        sharing.latency(SERIES, 32 * 2**20),
        sharing.applications({"start": [1.0, 2.0], "end": [3.0, 1.0]}, {"start": 2.5, "end": 3.5}),
        sharing.gaps(GAPS),
        sharing.prices(GAPS, PRICES),
        sharing.alignment({"stream": MATRIX, "added": MATRIX / 2}),
        sharing.replacement(PLACES),
    ]


@pytest.mark.parametrize("figure", all_figures(), ids=lambda figure: figure.caption[:30])
def test_every_figure_parses_asks_and_tells(figure: Figure) -> None:
    assert figure.caption.endswith("?")
    root = ET.fromstring(figure.svg("alternative"))
    assert root.get("aria-label") == "alternative"
    assert any(node.tag.endswith("text") for node in root.iter())
    assert len(figure.alt) > 60


def axes_of(figure: Figure) -> list[Any]:
    return list(figure.drawing.axes)


def test_schemes_fill_what_is_shared_and_number_what_is_stored() -> None:
    figure = sharing.schemes({"attention-only": plan("attention-only", 4)})
    (axes,) = axes_of(figure)
    assert [text.get_text() for text in axes.texts] == ["0"] * 4 + ["0", "1", "2", "3"]
    filled = [patch.get_facecolor()[3] > 0 for patch in axes.patches]
    assert filled == [True] * 4 + [False] * 4
    assert figure.data.rows == (("attention-only", "0 0 0 0", "0 1 2 3", "1", "4"),)


def test_latency_draws_medians_against_bytes() -> None:
    axes = axes_of(sharing.latency(SERIES, 32 * 2**20))[0]
    for container, found in zip(axes.containers, SERIES, strict=True):
        line = container.lines[0]
        assert list(line.get_ydata()) == [x.ratio for x in found]
        assert list(line.get_xdata()) == [x.setting.weight_bytes("none") / 1e6 for x in found]
    assert not axes_of(sharing.latency(SERIES, None))[0].patches


def test_gaps_draw_means_with_the_range_of_the_seeds() -> None:
    figure = sharing.gaps(GAPS)
    (axes,) = axes_of(figure)
    (container,) = axes.containers
    assert list(container.lines[0].get_ydata()) == pytest.approx([0.35, 0.35])
    bars = container.lines[2][0].get_segments()
    assert [float(y) for y in bars[0][:, 1]] == pytest.approx([0.3, 0.4])
    assert len(figure.data.rows) == len(GAPS)


def test_prices_have_a_panel_a_price() -> None:
    panels = axes_of(sharing.prices(GAPS, PRICES))
    assert [axes.get_xlabel() for axes in panels] == KINDS
    assert list(panels[0].lines[1].get_ydata()) == [4.3, 4.3]
    assert list(panels[3].lines[1].get_xdata()) == [20.0, 40.0]


def test_alignment_tells_the_mean_by_distance() -> None:
    figure = sharing.alignment({"stream": MATRIX})
    assert figure.data.rows == (("1", "0.62"), ("2", "0.25"))


def test_replacement_draws_factors_and_sets_the_missing_layer_apart() -> None:
    figure = sharing.replacement(PLACES)
    image = np.asarray(axes_of(figure)[0].images[0].get_array().filled(np.nan))
    assert image.shape == (3, 5)
    assert np.isnan(image[:, 3]).all()
    assert image[1, 0] == pytest.approx(np.exp(0.5))
    assert image[1, 4] == pytest.approx(np.exp(0.1))
    assert figure.data.rows[1] == ("1", "22.2", "2", "24.5", "33.1", "24.5")
    assert figure.data.rows[0][4] == "–"
