"""Check what is measured: token ids, labels, mask and rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from wtlib.routes.errors import RouteInputError

IGNORED = -100  # the label that transformers and F.cross_entropy leave out of the loss


@dataclass(frozen=True, eq=False)
class Batch:
    """Token ids with labels aligned to them (the model shifts), and which tokens are read."""

    ids: Int[Tensor, "B T"]
    labels: Int[Tensor, "B T"]
    mask: Int[Tensor, "B T"] | None


def check_batch(
    input_ids: object,
    labels: object,
    mask: object,
    table: Tensor,
    head: Tensor,
    context: int | None,
) -> Batch:
    """A batch on the table's device, with default labels; raises `RouteInputError`.

    `context` is the longest sequence the model reads, if it says so.
    """
    input_ids = _tensor("input_ids", input_ids)
    labels = None if labels is None else _tensor("labels", labels)
    mask = None if mask is None else _tensor("mask", mask)
    if _not_integer(input_ids):
        raise RouteInputError(
            f"input_ids has dtype {input_ids.dtype}; token ids are integers (torch.long)"
        )
    if input_ids.dim() not in (1, 2):
        raise RouteInputError(
            f"input_ids has shape {tuple(input_ids.shape)}; expected (T,) or (B, T)"
        )
    for name, other in (("labels", labels), ("mask", mask)):
        if other is not None and other.shape != input_ids.shape:
            raise RouteInputError(
                f"{name} has shape {tuple(other.shape)} and input_ids {tuple(input_ids.shape)}; "
                "they must agree (the model shifts the labels itself)"
            )
    if input_ids.shape[-1] < 2 or not input_ids.numel():
        raise RouteInputError(
            f"input_ids has shape {tuple(input_ids.shape)}: at least two tokens are needed, one "
            "to read and one to predict"
        )
    if context is not None and input_ids.shape[-1] > context:
        raise RouteInputError(
            f"input_ids has {input_ids.shape[-1]} tokens in a sequence and the model reads at "
            f"most {context}; measure a shorter text, or split it into a batch"
        )
    ids = _batched(input_ids, table.device)
    _check_range("input_ids", ids, table.shape[0], "the input table")

    seen = None
    if mask is not None:
        if mask.is_floating_point() or bool(((mask != 0) & (mask != 1)).any()):
            raise RouteInputError(
                f"mask has dtype {mask.dtype} and values from {mask.min().item()} to "
                f"{mask.max().item()}; pass 1 for tokens to read and 0 for padding, as integers "
                "or booleans"
            )
        seen = _batched(mask, table.device)
    if labels is None:
        targets = ids.clone()
        if seen is not None:
            hidden = seen == 0
            hidden[:, 1:] |= seen[:, :-1] == 0
            targets[hidden] = IGNORED
    else:
        if _not_integer(labels):
            raise RouteInputError(
                f"labels has dtype {labels.dtype}; labels are token ids (torch.long)"
            )
        targets = _batched(labels, table.device)
        _check_range("labels", targets[targets != IGNORED], head.shape[0], "the output matrix")
    if not bool((targets[:, 1:] != IGNORED).any()):
        raise RouteInputError(
            f"no position has a label: after the shift by one all labels are {IGNORED} "
            f"(input_ids {tuple(input_ids.shape)}), so there is no loss to differentiate"
        )
    return Batch(ids, targets, seen)


def check_rows(
    rows: Sequence[int] | Tensor | None, table: Tensor, head: Tensor
) -> Int[Tensor, " R"] | None:
    """Chosen token ids as a tensor on the table's device; raises `RouteInputError`."""
    if rows is None:
        return None
    try:
        chosen = torch.as_tensor(rows, device=table.device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise RouteInputError(
            f"rows is {rows!r}; pass a flat sequence of token ids ({error})"
        ) from error
    if not chosen.numel():
        return chosen.new_zeros(0, dtype=torch.long)
    if _not_integer(chosen) or chosen.dim() != 1:
        raise RouteInputError(
            f"rows has dtype {chosen.dtype} and shape {tuple(chosen.shape)}; pass a flat "
            "sequence of token ids"
        )
    _check_range("rows", chosen, min(table.shape[0], head.shape[0]), "the vocabulary matrix")
    return chosen.long()


def _tensor(name: str, values: object) -> Tensor:
    if not isinstance(values, Tensor):
        raise RouteInputError(
            f"{name} is a {type(values).__name__}; pass a tensor, for instance "
            'tokenizer(text, return_tensors="pt").input_ids'
        )
    if values.is_meta or values.layout is not torch.strided:
        kind = "on the meta device" if values.is_meta else f"of layout {values.layout}"
        raise RouteInputError(f"{name} is {kind}; pass a dense tensor that holds its values")
    return values


def _batched(values: Tensor, device: torch.device) -> Int[Tensor, "B T"]:
    # A copy, so that ids made under inference_mode can be saved for backward.
    return torch.atleast_2d(values.detach().to(device=device, dtype=torch.long, copy=True))


def _not_integer(values: Tensor) -> bool:
    return values.is_floating_point() or values.is_complex() or values.dtype == torch.bool


def _check_range(name: str, ids: Tensor, size: int, what: str) -> None:
    outside = ids[(ids < 0) | (ids >= size)]
    if outside.numel():
        raise RouteInputError(
            f"{name} holds {outside[0].item()}, but {what} has rows 0 to {size - 1}; was the "
            "text tokenized with this model's tokenizer?"
        )
