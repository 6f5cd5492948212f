"""Which everyday operations a tie survives: each one run on a fresh model, and the tie read after.

An operation takes a function that builds a tied model and returns the model it leaves behind.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import safetensors.torch
import torch
from torch import nn

from wtlib.errors import WtlibError
from wtlib.specimens.quiet import quiet
from wtlib.tying.live import Tie, counted, ends, tie_between

# A module with two ends, as ``live.ends`` finds them; transformers' own operations need more of it.
Build = Callable[[], Any]
Operation = Callable[[Build], nn.Module]


class RefusedError(WtlibError):
    """The operation refuses a tied model."""


@dataclass(frozen=True)
class Survival:
    """One operation: the tie and the parameter count before it and after it.

    ``after`` and ``counted_after`` are ``None`` when the operation refused the tied model.
    """

    operation: str
    before: Tie
    after: Tie | None
    counted_before: int
    counted_after: int | None

    @property
    def outcome(self) -> Literal["kept", "broken", "refused"]:
        """Kept means that both names still lead to one Parameter."""
        if self.after is None:
            return "refused"
        return "kept" if self.after.same_object else "broken"


def survival(build: Build, operations: Mapping[str, Operation]) -> tuple[Survival, ...]:
    """Run each operation on a tied model of its own, made by ``build``, and read the tie after."""
    return tuple(_run(build, name, operation) for name, operation in operations.items())


def _run(build: Build, name: str, operation: Operation) -> Survival:
    model = build()
    before, counted_before = tie_between(*ends(model)), counted(model)
    try:
        model = operation(build)
    except RefusedError:
        return Survival(name, before, None, counted_before, None)
    return Survival(name, before, tie_between(*ends(model)), counted_before, counted(model))


def optimizer_step(build: Build) -> nn.Module:
    """One AdamW step on gradients of the sum of both weights."""
    model = build()
    optimizer = torch.optim.AdamW(model.parameters())
    table, head = ends(model)
    (table.sum() + head.square().sum()).backward()
    optimizer.step()
    return model


def deepcopy(build: Build) -> nn.Module:
    """``copy.deepcopy``, whose memo maps one object to one copy."""
    return copy.deepcopy(build())


def half(build: Build) -> nn.Module:
    """``.half()``: the Parameter stays, its data are replaced."""
    return build().half()


def double(build: Build) -> nn.Module:
    """``.to(torch.float64)``."""
    return build().to(torch.float64)


def reinitialise_head(build: Build) -> nn.Module:
    """Initialise the head in place, which initialises the table too."""
    model = build()
    nn.init.normal_(ends(model)[1])
    return model


def load_state_dict(build: Build) -> nn.Module:
    """Copy another tied model's values into this one."""
    model = build()
    model.load_state_dict(build().state_dict())
    return model


def load_state_dict_assign(build: Build) -> nn.Module:
    """Put another tied model's tensors in place of this one's."""
    model = build()
    model.load_state_dict(build().state_dict(), assign=True)
    return model


def build_on_meta(build: Build) -> nn.Module:
    """Build on the meta device: shapes without memory."""
    with torch.device("meta"):
        return build()


def materialise(build: Build) -> nn.Module:
    """Build on the meta device, give every Parameter memory with ``to_empty``, and initialise it.

    ``to_empty`` leaves whatever the memory held; initialising makes the outcome a definite one.
    """
    model = build_on_meta(build).to_empty(device="cpu")
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    return model


def save_file(build: Build) -> nn.Module:
    """``safetensors.torch.save_file``, which writes no tensor that shares memory with another."""
    model = build()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        try:
            safetensors.torch.save_file(model.state_dict(), path)
        except RuntimeError as error:
            raise RefusedError(str(error)) from error
        model.load_state_dict(safetensors.torch.load_file(path))
    return model


def save_model(build: Build) -> nn.Module:
    """``save_model`` and ``load_model`` of safetensors: one key, and a note of the other name."""
    model = build()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        safetensors.torch.save_model(build(), str(path))
        safetensors.torch.load_model(model, path)
    return model


def save_pretrained(build: Build) -> nn.Module:
    """``save_pretrained`` and ``from_pretrained`` of transformers."""
    model = build()
    with tempfile.TemporaryDirectory() as folder, quiet():
        model.save_pretrained(folder)
        loaded: nn.Module = type(model).from_pretrained(folder)
    return loaded


def resize_token_embeddings(build: Build) -> nn.Module:
    """Add one row to the vocabulary."""
    model = build()
    model.resize_token_embeddings(ends(model)[0].shape[0] + 1, mean_resizing=False)
    return model


def set_input_embeddings(build: Build) -> nn.Module:
    """Replace the input table by a new one of the same shape."""
    model = build()
    model.set_input_embeddings(nn.Embedding(*ends(model)[0].shape))
    return model


def set_input_embeddings_and_tie(build: Build) -> nn.Module:
    """Replace the input table, then call ``tie_weights()``."""
    model: Any = set_input_embeddings(build)
    model.tie_weights()
    return model


def flip_the_flag(build: Build) -> nn.Module:
    """Set ``config.tie_word_embeddings`` to False on a model that exists."""
    model = build()
    model.config.tie_word_embeddings = False
    return model


PYTORCH: Mapping[str, Operation] = {
    "optimizer.step()": optimizer_step,
    "copy.deepcopy(model)": deepcopy,
    "model.half()": half,
    "model.to(torch.float64)": double,
    "nn.init.normal_(head.weight)": reinitialise_head,
    "load_state_dict(state)": load_state_dict,
    "load_state_dict(state, assign=True)": load_state_dict_assign,
    "build under torch.device('meta')": build_on_meta,
    "… then to_empty(device='cpu')": materialise,
    "safetensors save_file": save_file,
    "safetensors save_model, load_model": save_model,
}
"""Operations on any module with two ends."""

TRANSFORMERS: Mapping[str, Operation] = {
    "save_pretrained, from_pretrained": save_pretrained,
    "resize_token_embeddings(V + 1)": resize_token_embeddings,
    "set_input_embeddings(new)": set_input_embeddings,
    "… then tie_weights()": set_input_embeddings_and_tie,
    "config.tie_word_embeddings = False": flip_the_flag,
}
"""Operations that only a transformers model has."""
