"""What ``from_pretrained`` makes of a flag and a file that may disagree."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import safetensors.torch
import torch
from torch import Tensor, nn

from wtlib.specimens.quiet import quiet
from wtlib.tying.live import Tie, ends, tie_between

if TYPE_CHECKING:
    from transformers import PreTrainedModel

End = Literal["table", "head"]
Contents = Literal["table only", "head only", "both, equal", "both, different"]
CONTENTS: dict[Contents, tuple[End, ...]] = {
    "table only": ("table",),
    "head only": ("head",),
    "both, equal": ("table", "head"),
    "both, different": ("table", "head"),
}
Source = Literal["the file's table", "the file's head", "either, they are equal", "random"]


@dataclass(frozen=True)
class Loaded:
    """One way a checkpoint can be, and what loading it gives.

    ``flag`` is ``tie_word_embeddings`` in the config, ``contents`` is what the weights file holds.
    ``table_from`` and ``head_from`` say whose values the loaded model computes with.
    """

    flag: bool
    contents: Contents
    tie: Tie
    table_from: Source
    head_from: Source


def loading(build: Callable[[], PreTrainedModel], flag: bool, contents: Contents) -> Loaded:
    """Write a checkpoint of a small model with this flag and these contents, and load it.

    Args:
        build: makes a transformers model, tied or not; the values of its two ends are replaced.
        flag: ``tie_word_embeddings`` as the config file will say.
        contents: which of the two matrices the weights file holds, one of ``CONTENTS``.
    """
    model = build()
    held = {end: torch.randn_like(ends(model)[0]) for end in CONTENTS[contents]}
    if contents == "both, equal":
        held["head"] = held["table"]
    keys = _keys(model)
    state = {key: value for key, value in model.state_dict().items() if key not in keys.values()}
    state |= {keys[end]: value.clone() for end, value in held.items()}
    table, head = ends(_round_trip(model, state, flag))
    return Loaded(
        flag, contents, tie_between(table, head), _source(table, held), _source(head, held)
    )


def _round_trip(model: PreTrainedModel, state: dict[str, Tensor], flag: bool) -> nn.Module:
    model.config.tie_word_embeddings = flag
    with tempfile.TemporaryDirectory() as folder, quiet():
        model.config.save_pretrained(folder)
        path = Path(folder, "model.safetensors")
        safetensors.torch.save_file(state, path, metadata={"format": "pt"})
        loaded: nn.Module = type(model).from_pretrained(folder)
    return loaded


def _keys(model: PreTrainedModel) -> dict[End, str]:
    """The names under which the state dict holds the two ends."""
    names = {id(module): name for name, module in model.named_modules()}
    table, head = model.get_input_embeddings(), model.get_output_embeddings()
    return {"table": f"{names[id(table)]}.weight", "head": f"{names[id(head)]}.weight"}


def _source(weight: Tensor, held: dict[End, Tensor]) -> Source:
    matches = {end: torch.equal(weight, value) for end, value in held.items()}
    if matches.get("table") and matches.get("head"):
        return "either, they are equal"
    if matches.get("table"):
        return "the file's table"
    return "the file's head" if matches.get("head") else "random"
