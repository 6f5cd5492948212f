"""The records of the book can be had again: one cell of each sweep, drawn at random."""

import os
import random

import pytest

from wtlib import sweeps

CHEAP_SECONDS = 6.0
"""Only runs that took less are drawn, so that this test takes half a minute and not an hour."""
SAME_MACHINE, OTHER_MACHINE = 1e-6, 2e-2
"""Relative tolerance of a loss; on other processors, rounding grows over some hundred steps."""


@pytest.mark.parametrize("name", sweeps.NAMES)
def test_a_recorded_run_gives_the_recorded_numbers_again(name: str) -> None:
    draw = int(os.environ.get("WTLIB_DRAW", random.SystemRandom().randrange(10_000)))
    cheap = [record for record in sweeps.load(name) if record.seconds < CHEAP_SECONDS]
    record = random.Random(draw).choice(cheap)
    print(f"WTLIB_DRAW={draw} draws, of {name}, {record.run}")
    again = sweeps.execute(name, record.run)
    exact = ("n_parameters", "best_epoch", "epochs", "steps", "diverged")
    same = (again.machine, again.versions) == (record.machine, record.versions)
    if same:
        assert {k: again.metrics[k] for k in exact} == {k: record.metrics[k] for k in exact}
    assert again.metrics["n_parameters"] == record.metrics["n_parameters"]
    assert again.diverged == record.diverged
    assert again.number("initial_loss") == pytest.approx(record.number("initial_loss"), rel=1e-5)
    for part in ("train", "valid", "test"):
        assert again.number(f"{part}_loss") == pytest.approx(
            record.number(f"{part}_loss"), rel=SAME_MACHINE if same else OTHER_MACHINE
        )


@pytest.mark.parametrize("name", sweeps.NAMES)
def test_records_are_by_todays_code_and_agree_with_themselves(name: str) -> None:
    records = sweeps.load(name)
    assert records.stale == ()
    for record in records:
        assert record.config.model.n_parameters == record.metrics["n_parameters"]
        if not record.diverged:
            best = min(epoch.valid_loss for epoch in record.curve)
            assert record.number("valid_loss") == pytest.approx(best, rel=1e-6)
