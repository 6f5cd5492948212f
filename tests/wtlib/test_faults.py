"""Every public fault is found on its example and not on a sound model; every kind is seen."""

from pathlib import Path

import pytest

from wtlib import faults, tying
from wtlib.faults import building
from wtlib.tying.findings import CODES


@pytest.mark.parametrize("fault", faults.FAULTS, ids=lambda fault: fault.code)
def test_the_inspector_names_the_fault(fault: faults.Fault) -> None:
    (made,) = faults.reproduced([fault])
    assert made.found, made.inspection.codes
    assert fault.code in CODES
    assert fault.url.startswith("https://github.com/")


@pytest.mark.parametrize("build", [building.gpt2, building.llama])
def test_sound_models_have_no_errors(build: object, tmp_path: Path) -> None:
    assert tying.inspect(build()).exit_status == 0  # type: ignore[operator]


@pytest.mark.parametrize("kind", faults.KINDS)
def test_each_kind_is_seen_in_its_example(kind: str, tmp_path: Path) -> None:
    assert kind in faults.KINDS[kind](tmp_path).mechanisms


def test_every_mechanism_has_an_example() -> None:
    assert tuple(faults.KINDS) == tuple(tying.MECHANISMS)


OUTCOMES = {
    "torch.save, torch.load": "kept",
    "head.weight.requires_grad_(False)": "kept",
    "two groups of an optimizer": "refused",
    "a copy of the head to train (adapter)": "broken",
    "four bits for the head alone": "broken",
    "accelerate's init_empty_weights": "broken",
    "fully_shard: head and table apart": "refused",
    "fully_shard: both in one group": "kept",
}


def test_outcomes_of_the_operations() -> None:
    runs = tying.survival(building.gpt2, faults.OPERATIONS)
    assert {run.operation: run.outcome for run in runs} == OUTCOMES
