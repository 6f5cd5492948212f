"""The figures of chapter 4 draw the numbers they say they draw."""

import xml.etree.ElementTree as ET
from typing import Any

import pytest
import torch

from wtlib.drift import Band, Parting
from wtlib.plots import Figure, initialisation, regularization
from wtlib.signature import Change, Estimate, change
from wtlib.sweeps import CorpusConfig, Record, RunConfig
from wtlib.training import Epoch, FitConfig, GptConfig

PUBLISHED = [change("large", [37.8, 78.4], [48.5, 74.3]), change("small", [38, 114.5], [36.4, 112])]
MEASURED = [
    Change(
        "dropout 0",
        Estimate(0.1, 0.05, 0.15, (0.05, 0.15)),
        Estimate(-0.02, -0.04, 0.0, (0.0, -0.04)),
    )
]
EPOCHS = [Epoch(5.0, 4.5, 0.01), Epoch(4.0, 4.0, 0.01), Epoch(3.5, 4.2, 0.01)]
BANDS = [Band(torch.tensor([3, 4]), 1, 3), Band(torch.tensor([0, 1, 2]), 4, 90)]
PARTED = {
    0: [Parting(1.0, 0.0, 0.0), Parting(1.0, 0.0, 0.0)],
    2: [Parting(0.3, 0.9, 1.7), Parting(0.5, 1.1, 1.0)],
}
SCORES = {"table": [0.2, 0.3], "output matrix": [0.4, 0.8]}
LOSSES = {"tied": {0.02: 10.9, 1.0: 734.0}, "untied": {0.02: 10.8, 1.0: 98.0}}


def records() -> list[Record]:
    base = RunConfig(
        GptConfig(vocab_size=20, d_model=8, context=20),
        FitConfig(context=20),
        CorpusConfig(vocab_size=20, train_tokens=1_000),
    )
    return [
        Record(
            sweep="initialization",
            config=base.with_settings(init_std=std, tie_word_embeddings=tied, dropout=dropout),
            seed=seed,
            metrics={
                "initial_loss": 100.0 if tied and std == 1 else 6.0,
                "test_loss": 4.0 + std,
                "valid_loss": 4.0,
                "best_epoch": 2,
                "diverged": None,
            },
            curve=tuple(EPOCHS),
            seconds=1.0,
            versions={},
            machine={},
            code="",
        )
        for seed in range(2)
        for std in (0.02, 1.0)
        for dropout in (0.0, 0.5)
        for tied in (True, False)
    ]


def all_figures() -> list[Figure]:
    return [
        regularization.plane(PUBLISHED),
        regularization.plane(PUBLISHED, MEASURED),
        regularization.curves(
            {"tied": EPOCHS, "untied": EPOCHS[:2]}, {"tied": 2, "untied": 2}, what="No dropout"
        ),
        regularization.forest(MEASURED, what="small LSTMs"),
        regularization.parting_rows(BANDS, PARTED),
        regularization.resemblances(BANDS, SCORES, shuffled=0.01),
        regularization.recorded_curves(records()),
        initialisation.starting_loss(LOSSES, ignorance=10.8),
        initialisation.trained(records()),
    ]


@pytest.mark.parametrize("figure", all_figures(), ids=lambda figure: figure.caption[:30])
def test_every_figure_has_a_drawing_that_parses_and_a_caption_that_asks(figure: Figure) -> None:
    assert figure.caption.endswith("?")
    root = ET.fromstring(figure.svg("alternative"))
    assert root.get("aria-label") == "alternative"
    assert any(node.tag.endswith("text") for node in root.iter())


def axes_of(figure: Figure) -> list[Any]:
    """The panels; untyped, since matplotlib's types allow data that these figures never hold."""
    return list(figure.drawing.axes)


def lines(axes: Any) -> dict[str, list[float]]:
    return {line.get_label(): list(line.get_ydata()) for line in axes.get_lines()}


def test_the_plane_draws_each_change_where_it_belongs() -> None:
    figure = regularization.plane(PUBLISHED, MEASURED)
    drawn = {line.get_label(): line for line in axes_of(figure)[0].get_lines()}
    points = drawn["Press & Wolf, published"].get_xydata().tolist()
    assert points == [[c.train.value, c.test.value] for c in PUBLISHED]
    assert "a regulariser's mark: 2; both better: 1" in figure.alt
    assert figure.data.rows[-1][2:4] == ("+10.0% (+5.0 to +15.0)", "-2.0% (-4.0 to +0.0)")


def test_a_run_that_ends_early_leaves_its_cells_empty() -> None:
    figure = regularization.curves(
        {"tied": EPOCHS, "untied": EPOCHS[:2]}, {"tied": 2, "untied": 2}, what="No dropout"
    )
    assert figure.data.rows[2] == ("3", "3.50", "4.20", "–", "–")
    assert "tied: training loss ends at 3.50, least validation loss 4.00" in figure.alt


def test_the_forest_draws_interval_pairs_and_mean() -> None:
    figure = regularization.forest(MEASURED, what="small LSTMs")
    drawn = [list(line.get_xdata()) for line in axes_of(figure)[0].get_lines()]
    assert drawn[:3] == [[0.05, 0.15], [0.05, 0.15], [0.1]]
    assert "lower in the mean in 1 of them" in figure.alt


def test_parting_draws_a_line_a_band_and_bars_of_the_last_epoch() -> None:
    figure = regularization.parting_rows(BANDS, PARTED)
    angles, ways = axes_of(figure)
    assert lines(angles) == {"1–3 times": [1.0, 0.3], "4–90 times": [1.0, 0.5]}
    assert sorted(patch.get_width() for patch in ways.patches) == [0.9, 1.0, 1.1, 1.7]
    assert figure.data.rows[-1] == ("2", "4–90 times", "3", "0.50", "1.10", "1.00")


def test_resemblances_draw_a_line_a_source() -> None:
    drawn = lines(axes_of(regularization.resemblances(BANDS, SCORES, shuffled=0.01))[0])
    assert {name: drawn[name] for name in SCORES} == SCORES


def test_recorded_curves_draw_every_run_in_the_panel_of_its_dropout() -> None:
    figure = regularization.recorded_curves(records())
    assert [len(axes.get_lines()) for axes in axes_of(figure)] == [8, 8]
    assert figure.data.rows[0] == ("0", "tied", "4", "2.0", "4.000")


def test_starting_losses_are_drawn_and_tabled() -> None:
    figure = initialisation.starting_loss(LOSSES, ignorance=10.8)
    drawn = lines(axes_of(figure)[0])
    assert drawn["tied"] == [10.9, 734.0]
    assert figure.data.rows[-1] == ("1", "734.0", "98.0")


def test_the_trained_runs_are_one_point_each() -> None:
    figure = initialisation.trained(records())
    assert [sum(len(y) for y in lines_of(axes)) for axes in axes_of(figure)] == [16, 16]
    assert figure.data.rows[2] == ("1", "tied", "4", "100.00", "5.00")


def lines_of(axes: Any) -> list[list[float]]:
    return [list(line.get_ydata()) for line in axes.get_lines()]
