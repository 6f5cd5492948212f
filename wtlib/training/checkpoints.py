"""A run on disk: one safetensors file that is replaced whole after every epoch."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialise
from torch import Tensor

from wtlib.errors import WtlibError
from wtlib.specimens import files
from wtlib.training.results import Epoch
from wtlib.training.running import Run, copy_weights


def save(path: Path, key: str, run: Run) -> None:
    """Write the run: weights, best weights, optimizer's and generators' state, and the curve."""
    state = {
        "key": key,
        "initial_loss": run.initial_loss,
        "best_loss": run.best_loss,
        "curve": [asdict(epoch) for epoch in run.curve],
        "seconds": run.seconds,
    }
    tensors = {**_weights(run), **_optimizer_state(run), **_generators(run)}
    files.write(path, serialise(tensors, metadata={"run": json.dumps(state)}))


def load(path: Path, key: str, run: Run) -> None:
    """Put a run that stands before its first step where the checkpoint's stood.

    Raises:
        WtlibError: if the file is no checkpoint, or one of a run with other settings.
    """
    try:
        with safe_open(path, framework="pt") as file:
            state = json.loads((file.metadata() or {})["run"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, KeyError, ValueError) as error:
        raise WtlibError(f"{path} is no checkpoint of a run ({error}); remove it") from error
    if state["key"] != key:
        raise WtlibError(
            f"{path} is the checkpoint of a run with other settings, seed or text; "
            "remove it, or name another file"
        )
    copy_weights(tensors, _weights(run))
    _restore_optimizer(run, tensors)
    run.model.generator.set_state(tensors["generator.model"])
    run.order.set_state(tensors["generator.order"])
    run.initial_loss = state["initial_loss"]
    run.best_loss = state["best_loss"]
    run.curve = [Epoch(**epoch) for epoch in state["curve"]]
    run.seconds = state["seconds"]


def key(*settings: object) -> str:
    """Return a hash that tells runs apart by their settings."""
    return hashlib.sha256(repr(settings).encode()).hexdigest()


def _weights(run: Run) -> dict[str, Tensor]:
    # named_parameters gives a tied or shared tensor once; state_dict would give it twice.
    now = {f"model.{name}": p.detach() for name, p in run.model.named_parameters()}
    best = {f"best.{name}": tensor for name, tensor in run.best.items()}
    return {**now, **best}


def _generators(run: Run) -> dict[str, Tensor]:
    return {
        "generator.model": run.model.generator.get_state(),
        "generator.order": run.order.get_state(),
    }


def _optimizer_state(run: Run) -> dict[str, Tensor]:
    return {
        f"optimizer.{index}.{name}": tensor
        for index, state in run.optimizer.state_dict()["state"].items()
        for name, tensor in state.items()
        if isinstance(tensor, Tensor)
    }


def _restore_optimizer(run: Run, tensors: dict[str, Tensor]) -> None:
    states: dict[int, dict[str, Tensor]] = {}
    for full_name, tensor in tensors.items():
        kind, _, name = full_name.partition(".")
        if kind == "optimizer":
            index, _, name = name.partition(".")
            states.setdefault(int(index), {})[name] = tensor
    whole = run.optimizer.state_dict()
    run.optimizer.load_state_dict({**whole, "state": states})
