"""The route chapter's figures draw the numbers they say they draw."""

import math
import xml.etree.ElementTree as ET
from typing import Any

import pytest
import torch

from wtlib.agreement import Agreement, agreement
from wtlib.plots import Figure, routes

TOKENS = ["The", " sky", " blue"]
AS_ANSWER, AS_QUESTION = [0.01, 26.3, 24.4], [0.49, 0.16, 0.0]
BLOCKS = {"trained": [0.23, 0.1, 0.04], "random": [2.0, 1.0]}
ARRIVING = {"trained": 3.8, "random": 7.4}
RUNS = {"tied": {1: 1.4, 10: 30.0, 100: 1.1}, "untied": {1: 1.3, 10: 15.0}}
PATHS = {
    kind: {name: [1.0, 2.0 * k, 3.0 * k] for k, name in enumerate(["a", "b", "c", "d"], 1)}
    for kind in ("untied", "tied")
}


def passage(seed: int) -> Agreement:
    draw = torch.Generator().manual_seed(seed)
    return agreement(
        torch.randn(30, 16, generator=draw), torch.randn(30, 16, generator=draw), resamples=20
    )


PASSAGES = [passage(seed) for seed in range(3)]


def journey() -> Figure:
    return routes.journey(
        BLOCKS, ARRIVING, {12: 0.06, 4: 0.12}, printed_blocks=12, printed_arriving=0.83
    )


def all_figures() -> list[Figure]:
    return [
        routes.token_norms(TOKENS, AS_ANSWER, AS_QUESTION, model="a model"),
        journey(),
        routes.ratio_in_training(RUNS, {1: 2.5, 20: 20.0}),
        routes.agreement(PASSAGES),
        routes.rare_row(PATHS),
    ]


def axes_of(figure: Figure) -> list[Any]:
    """The panels; untyped, since matplotlib's types allow data that these figures never hold."""
    return list(figure.drawing.axes)


@pytest.mark.parametrize("figure", all_figures(), ids=lambda figure: figure.caption[:30])
def test_every_figure_has_a_drawing_that_parses_and_a_caption_that_asks(figure: Figure) -> None:
    assert figure.caption.endswith("?")
    root = ET.fromstring(figure.svg("alternative"))
    assert root.get("aria-label") == "alternative"
    assert any(node.tag.endswith("text") for node in root.iter())


def test_every_token_has_a_bar_in_either_panel() -> None:
    panels = axes_of(routes.token_norms(TOKENS, AS_ANSWER, AS_QUESTION, model="a model"))
    for axes, norms in zip(panels, (AS_ANSWER, AS_QUESTION), strict=True):
        assert [bar.get_width() for bar in axes.patches] == norms
    assert "0, exactly" in {text.get_text() for text in panels[1].texts}


def test_the_alternative_text_names_the_token_without_a_bar() -> None:
    alt = routes.token_norms(TOKENS, AS_ANSWER, AS_QUESTION, model="a model").alt
    assert "As an answer the largest row is “ sky”; as a question it is “The”" in alt
    assert "“ blue” has no bar" in alt


def test_the_journey_ends_in_the_table_and_starts_at_the_last_block() -> None:
    (axes,) = axes_of(journey())
    trained, random, printed = axes.lines
    assert list(trained.get_xdata()) == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert list(trained.get_ydata()) == [0.04, 0.1, 0.23, 3.8]
    assert list(random.get_ydata()) == [1.0, 2.0, 7.4]
    assert list(printed.get_xdata()) == pytest.approx([0, 2 / 3, 1])
    assert list(printed.get_ydata()) == [0.06, 0.12, 0.83]


def test_runs_and_published_points_are_drawn_at_their_steps() -> None:
    figure = routes.ratio_in_training(RUNS, {1: 2.5, 20: 20.0})
    (axes,) = axes_of(figure)
    assert list(axes.lines[0].get_ydata()) == [1.4, 30.0, 1.1]
    assert list(axes.lines[2].get_xdata()) == [1, 20]
    assert figure.data.rows[2] == ("20", "–", "–", "20.00")


def test_error_bars_are_one_point_nine_six_errors_long() -> None:
    _, means = axes_of(routes.agreement(PASSAGES))
    measured, random = (container.lines[2][0] for container in means.containers)
    for bars, errors in (
        (measured, [p.standard_error for p in PASSAGES]),
        (random, [p.isotropic_standard_error for p in PASSAGES]),
    ):
        widths = [segment[1, 0] - segment[0, 0] for segment in bars.get_segments()]
        assert widths == pytest.approx([2 * 1.96 * error for error in errors])


def test_the_bell_of_random_directions_has_unit_area() -> None:
    spread, _ = axes_of(routes.agreement(PASSAGES))
    bell = spread.lines[0]
    x, y = torch.tensor(bell.get_xdata()), torch.tensor(bell.get_ydata())
    assert torch.trapezoid(y, x).item() == pytest.approx(1, abs=0.01)
    assert y.max().item() == pytest.approx(math.sqrt(16 / (2 * math.pi)), rel=0.01)


def test_every_optimizer_has_its_line_in_either_panel() -> None:
    figure = routes.rare_row(PATHS)
    for axes, kind in zip(axes_of(figure), PATHS, strict=True):
        assert [list(line.get_ydata()) for line in axes.lines] == list(PATHS[kind].values())
    assert "untied, d, 12.0" in figure.alt
