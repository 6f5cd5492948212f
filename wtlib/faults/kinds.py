"""One small example of each mechanism by which two uses of a matrix can be related."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from wtlib.faults import building
from wtlib.tying import CASES, Inspection, inspect

Run = Callable[[Path], Inspection]


def _live(case: str) -> Run:
    """A case of the inspector's own, with one forward pass where the model has one."""
    found = next(c for c in CASES if c.name == case)

    def run(path: Path) -> Inspection:
        model = found.build()
        runs = type(model).forward is not torch.nn.Module.forward
        ids = torch.tensor([[1, 2, 3]]) if runs else None
        return inspect(model, input_ids=ids)

    return run


def _equal_copies(path: Path) -> Inspection:
    model = building.llama()
    return inspect(building.folder(path, model.config.to_dict(), building.state(model)))


def _own_flag(path: Path) -> Inspection:
    config = building.llama(tied=False).config.to_dict() | {
        "model_type": "mobilellm",
        "share_embedding": True,
    }
    del config["tie_word_embeddings"]
    tensors = building.state(building.llama())
    del tensors[building.HEAD]
    return inspect(building.folder(path, config, tensors))


def _replicas(path: Path) -> Inspection:
    table: Any = building.llama().get_input_embeddings().weight.detach()
    tensors = {
        "embedding.word_embeddings.weight": table.clone(),
        "word_embeddings_for_head.weight": table.clone(),
    }
    return inspect(building.folder(path, None, tensors))


def _projection(path: Path) -> Inspection:
    return inspect(building.opt_with_narrow_table())


KINDS: Mapping[str, Run] = {
    "M0": _live("untied"),
    "M1": _live("one Parameter, two names"),
    "M2": _live("two Parameters, one storage (.data)"),
    "M3": _live("one name, used twice"),
    "M4": _equal_copies,
    "M5": _live("one block, three names"),
    "M6": _own_flag,
    "M7": _replicas,
    "M8": _projection,
    "M9": _live("the inputs tied, the head not"),
}
"""By the mechanism's code: what builds an example and inspects it, given an empty folder."""
