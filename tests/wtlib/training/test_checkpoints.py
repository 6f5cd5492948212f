"""A run that is killed goes on to the same numbers."""

import json
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors import safe_open

from tests.wtlib.training.settings import FIT, GPT, LSTM, a_corpus
from wtlib.errors import WtlibError
from wtlib.training import FitConfig, GptConfig, LstmConfig, fit

RUNS: dict[str, tuple[LstmConfig | GptConfig, FitConfig]] = {
    "lstm": (
        replace(LSTM, dropout=0.3, projection_regularization=1e-3),
        replace(FIT, learning_rate=0.1, max_epochs=6, patience=3),
    ),
    "gpt": (
        replace(GPT, n_layers=4, dropout=0.1, sharing="cycle-2", tie_word_embeddings=False),
        replace(FIT, max_epochs=5, schedule="cosine", warmup_steps=5, weight_decay=0.1),
    ),
}
KILLED_AFTER = 3
"""Epochs; the run is killed in the middle of the next one."""


def killed_run(name: str, checkpoint: Path) -> None:
    """Fit, and die by SIGKILL in the middle of an epoch. Called in a process of its own."""
    import os

    from torch import nn

    from wtlib.training.parts import SmallModel

    def in_mid_epoch(_: nn.Module, __: object) -> None:
        if in_mid_epoch.calls == 10:  # type: ignore[attr-defined]
            os.kill(os.getpid(), signal.SIGKILL)
        in_mid_epoch.calls += 1  # type: ignore[attr-defined]

    def observe(epochs: int, model: SmallModel) -> None:
        if epochs == KILLED_AFTER:
            in_mid_epoch.calls = 0  # type: ignore[attr-defined]
            model.register_forward_pre_hook(in_mid_epoch)

    fit(*RUNS[name], a_corpus(), 0, checkpoint=checkpoint, observe=observe)


@pytest.mark.parametrize("name", RUNS)
def test_a_killed_run_goes_on_to_the_same_numbers(name: str, tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    code = (
        "from pathlib import Path; from tests.wtlib.training.test_checkpoints import killed_run; "
        f"killed_run({name!r}, Path({str(path)!r}))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    with safe_open(path, framework="pt") as file:
        assert len(json.loads(file.metadata()["run"])["curve"]) == KILLED_AFTER

    epochs: list[int] = []
    resumed = fit(
        *RUNS[name], a_corpus(), 0, checkpoint=path, observe=lambda n, _: epochs.append(n)
    )
    whole = fit(*RUNS[name], a_corpus(), 0)
    assert epochs[0] == KILLED_AFTER + 1
    assert resumed.curve == whole.curve
    assert resumed.metrics() == whole.metrics()

    again = fit(*RUNS[name], a_corpus(), 0, checkpoint=path)  # nothing is left to do
    assert again.metrics() == whole.metrics()
    assert list(tmp_path.iterdir()) == [path]


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    short = replace(FIT, max_epochs=1)
    fit(LSTM, short, a_corpus(), 0, checkpoint=path)
    for other in (
        (replace(LSTM, dropout=0.1), short, 0),
        (LSTM, replace(short, learning_rate=0.1), 0),
        (LSTM, short, 1),
    ):
        model, settings, seed = other
        with pytest.raises(WtlibError, match=r"is the checkpoint of a run with other settings"):
            fit(model, settings, a_corpus(), seed, checkpoint=path)


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", b"\x02\0\0\0\0\0\0\0{}"])
def test_a_file_that_is_no_checkpoint_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    path.write_bytes(content)
    with pytest.raises(WtlibError, match=re.escape(f"{path} is no checkpoint of a run (")):
        fit(LSTM, FIT, a_corpus(), 0, checkpoint=path)
