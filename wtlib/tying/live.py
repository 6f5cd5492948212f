"""What is tied to what in a live model: object, storage and values are three separate facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from wtlib.errors import WtlibError

Kind = Literal[
    "one Parameter", "two Parameters, one storage", "equal copies", "separate", "unknown"
]


class NoEndsError(WtlibError):
    """The model names no input table or no output head."""


@dataclass(frozen=True)
class Tie:
    """Three facts about two tensors. ``None`` means that the fact cannot be known.

    A tensor on the meta device has neither an address nor values, so two of the three facts about
    it are unknown unless both names lead to the same object.
    """

    same_object: bool
    same_storage: bool | None
    equal_values: bool | None

    @property
    def kind(self) -> Kind:
        """The strongest thing that can be said, in words."""
        if self.same_object:
            return "one Parameter"
        if self.same_storage is None:
            return "unknown"
        if self.same_storage:
            return "two Parameters, one storage"
        return "equal copies" if self.equal_values else "separate"


def tie_between(a: Tensor, b: Tensor) -> Tie:
    """Compare two tensors by identity, by memory and by value.

    ``same_storage`` asks whether both cover the same elements of memory, in whatever order: a
    matrix and its transposed view do, two slices of one buffer do not. ``equal_values`` compares
    entry by entry, so it needs equal shapes and dtypes; two NaNs in one place count as equal.
    """
    if a is b:
        return Tie(same_object=True, same_storage=True, equal_values=True)
    if not (_addressable(a) and _addressable(b)):
        return Tie(same_object=False, same_storage=None, equal_values=None)
    same_storage = (a.device, a.data_ptr(), a.numel()) == (b.device, b.data_ptr(), b.numel())
    return Tie(same_object=False, same_storage=same_storage, equal_values=_equal(a, b))


def ends(model: nn.Module) -> tuple[Tensor, Tensor]:
    """The weights of a model's input table and of its output head, each ``(V, d)``.

    Found by ``get_input_embeddings`` and ``get_output_embeddings``, as transformers names them.

    Raises:
        NoEndsError: the model lacks either method, or either returns nothing with a weight.
    """
    return table_of(model), head_of(model)


def table_of(model: nn.Module) -> Tensor:
    """The weight ``(V, d)`` of a model's input table; see ``ends``."""
    return _weight(model, "get_input_embeddings")


def head_of(model: nn.Module) -> Tensor:
    """The weight ``(V, d)`` of a model's output head; see ``ends``."""
    return _weight(model, "get_output_embeddings")


def counted(model: nn.Module) -> int:
    """Numbers that ``parameters()`` yields: a Parameter with several names counts once."""
    return sum(parameter.numel() for parameter in model.parameters())


def _addressable(tensor: Tensor) -> bool:
    return tensor.data_ptr() != 0


def _equal(a: Tensor, b: Tensor) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    b = b.to(a.device)
    return bool(((a == b) | (a.isnan() & b.isnan())).all())


def _weight(model: nn.Module, getter: str) -> Tensor:
    get = getattr(model, getter, None)
    weight = getattr(get(), "weight", None) if callable(get) else None
    if not isinstance(weight, torch.Tensor):
        raise NoEndsError(
            f"{type(model).__name__} has no {getter}() that returns a module with a weight; "
            "give the model such a method, or compare the two tensors with tie_between()"
        )
    return weight
