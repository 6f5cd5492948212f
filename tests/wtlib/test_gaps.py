"""Gaps and trends of made-up records, where the answer is known."""

import math
from dataclasses import replace

import pytest

from tests.wtlib.sweeps.made_up import record
from tests.wtlib.sweeps.tiny import GPT
from wtlib import gaps, sweeps
from wtlib.sweeps import Record
from wtlib.training import GptConfig


def of(sharing: str, n_layers: int, seed: int, loss: float | None) -> Record:
    config = GPT.with_settings(sharing=sharing, n_layers=n_layers)
    return replace(record(loss, seed=seed), config=config)


RECORDS = [
    *(of("none", n, seed, 3.0 + seed) for n in (4, 8, 16) for seed in (0, 1)),
    # The gap grows by a tenth a doubling, and by two tenths for the other seed.
    *(of("all", n, seed, 3.0 + seed + 0.1 * (1 + seed) * math.log2(n))
      for n in (4, 8, 16) for seed in (0, 1)),
    of("groups-2", 4, 0, 3.5), of("groups-2", 4, 1, 4.1),
    of("groups-2", 8, 0, 3.4), of("groups-2", 8, 1, 4.2),
]  # fmt: skip


def test_gaps_are_paired_by_seed_and_depth() -> None:
    found = {(gap.sharing, gap.n_layers): gap for gap in gaps.gaps(RECORDS)}
    assert found["none", 4].by_seed == {0: 0, 1: 0}
    gap = found["groups-2", 4]
    assert gap.by_seed == pytest.approx({0: 0.5, 1: 0.1})
    assert gap.mean == pytest.approx(0.3)
    assert gap.range == pytest.approx((0.1, 0.5))
    assert gap.loss == pytest.approx(3.8)
    assert gap.n_parameters == 100


def test_trends_are_slopes_against_doublings() -> None:
    found = {trend.sharing: trend for trend in gaps.trends(gaps.gaps(RECORDS))}
    assert found.keys() == {"all", "groups-2"}
    assert found["all"].slopes == pytest.approx((0.1, 0.2))
    assert found["all"].mean == pytest.approx(0.15)
    assert found["all"].word == "grows"
    assert found["groups-2"].slopes == pytest.approx((-0.1, 0.1))
    assert found["groups-2"].word == "undecided"


def test_a_falling_gap_shrinks() -> None:
    assert gaps.Trend("all", (-0.1, -0.2)).word == "shrinks"


def test_two_layers_are_no_depth_of_a_trend() -> None:
    shallow = [of("none", 2, 0, 3.0), of("all", 2, 0, 9.0), *RECORDS]
    found = {trend.sharing: trend for trend in gaps.trends(gaps.gaps(shallow))}
    assert found["all"].slopes == pytest.approx((0.1, 0.2))


def test_what_has_no_partner_is_left_out() -> None:
    found = gaps.gaps(
        [of("none", 4, 0, 3.0), of("none", 4, 1, None), of("none", 4, 2, 3.0),
         of("all", 4, 0, 3.5), of("all", 4, 1, 3.5), of("all", 4, 2, None), of("all", 4, 3, 3.0),
         of("all", 8, 0, 3.0)]
    )  # fmt: skip
    assert [(gap.sharing, gap.n_layers, dict(gap.by_seed)) for gap in found] == [
        ("none", 4, {0: 0.0, 2: 0.0}),
        ("all", 4, {0: 0.5}),
    ]
    assert gaps.trends(found) == ()


def test_differences_are_paired_by_seed() -> None:
    found = gaps.differences(
        [*RECORDS, of("none", 8, 7, None), of("groups-2", 8, 7, 3.0)], ("groups-2", 8), ("none", 4)
    )
    assert found == pytest.approx({0: 0.4, 1: 0.2})


def test_the_books_sweep_has_every_scheme_at_every_depth() -> None:
    records = sweeps.load("cross-layer")
    found = {(gap.sharing, gap.n_layers): gap for gap in gaps.gaps(records)}
    models = {run.config.model for run in records.sweep.runs}
    assert len(found) == len(models)
    for model in models:
        assert isinstance(model, GptConfig)
        assert found[model.sharing, model.n_layers].n_parameters == model.n_parameters
