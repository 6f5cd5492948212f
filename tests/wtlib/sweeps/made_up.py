"""Records without runs."""

from __future__ import annotations

from tests.wtlib.sweeps.tiny import BASE
from wtlib.sweeps import Record, RunConfig
from wtlib.sweeps.source import code_hash
from wtlib.training import Epoch


def record(
    test_loss: float | None, *, seed: int = 0, code: str | None = None, **settings: object
) -> Record:
    """Return a record of the tiny config with some settings changed; no loss means divergence."""
    config: RunConfig = BASE.with_settings(**settings)
    diverged = {"epochs": 0, "step": 3, "what": "loss nan"} if test_loss is None else None
    return Record(
        sweep="tiny",
        config=config,
        seed=seed,
        metrics={"n_parameters": 100, "test_loss": test_loss, "diverged": diverged},
        curve=(Epoch(4.0, 3.5, 0.01),),
        seconds=1.5,
        versions={"python": "3.11"},
        machine={"cores": 2},
        code=code_hash(config.kind) if code is None else code,
    )
