"""Growing a vocabulary: which matrices grow, and what a new row does before it is trained."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from wtlib.calibration import loss
from wtlib.errors import WtlibError
from wtlib.specimens.quiet import quiet
from wtlib.tying import counted, ends

STARTS = ("zeros", "random", "mean")


@dataclass(frozen=True)
class Growth:
    """What one way of growing a vocabulary did to a model.

    `table`, `head` and `bias` are the rows (or entries) added to each, `bias` None if there is
    none. `added` counts the new parameters, `works` says whether the model can score a new token
    and take a loss on it.
    """

    operation: str
    table: int
    head: int
    bias: int | None
    added: int
    works: bool


def grow(model: Any, new_size: int) -> None:
    """Resize through the model that has the head."""
    model.resize_token_embeddings(new_size, mean_resizing=False)


def grow_base(model: Any, new_size: int) -> None:
    """Resize through the base model, which knows of no head."""
    model.base_model.resize_token_embeddings(new_size, mean_resizing=False)


def grow_base_and_tie(model: Any, new_size: int) -> None:
    """Resize through the base model, then tie."""
    grow_base(model, new_size)
    model.tie_weights()


OPERATIONS: Mapping[str, Callable[[Any, int], None]] = {
    "the model": grow,
    "its base_model": grow_base,
    "… then tie_weights()": grow_base_and_tie,
}
"""Ways of growing a model's vocabulary to a new size."""


def growths(build: Callable[[], Any], more: int = 3) -> tuple[Growth, ...]:
    """Grow a fresh model by `more` tokens in each way, and see what grew and whether it works."""
    return tuple(_growth(build(), name, operation, more) for name, operation in OPERATIONS.items())


def _growth(model: Any, name: str, operation: Callable[[Any, int], None], more: int) -> Growth:
    before, parameters = _rows(model), counted(model)
    with quiet():
        operation(model, before[0] + more)
    table, head, bias = (
        new - old if new is not None and old is not None else None
        for new, old in zip(_rows(model), before, strict=True)
    )
    assert table is not None
    assert head is not None
    ids = torch.tensor([[before[0] + more - 1, 0, 1]])
    try:
        with torch.no_grad(), quiet():
            model(input_ids=ids, labels=ids)
        works = True
    except (RuntimeError, IndexError, ValueError):
        works = False
    return Growth(name, table, head, bias, counted(model) - parameters, works)


def _rows(model: Any) -> tuple[int, int, int | None]:
    table, head = ends(model)
    bias = getattr(model.get_output_embeddings(), "bias", None)
    return len(table), len(head), None if bias is None else len(bias)


@dataclass(frozen=True)
class NewRows:
    """What untrained rows do to the predictions of the old ones.

    `share` is the mean probability that the new rows take; losses are in nats per token, on labels
    that are all old.
    """

    start: str
    share: float
    loss_before: float
    loss_after: float


def new_rows(
    table: Float[Tensor, "V d"], n: int, start: str, *, std: float = 0.02, seed: int = 0
) -> Float[Tensor, "n d"]:
    """Return `n` rows to begin with: zeros, random ones of that `std`, or the table's mean row.

    Raises:
        WtlibError: there is no such start.
    """
    if start == "zeros":
        return table.new_zeros(n, table.shape[1])
    if start == "random":
        generator = torch.Generator().manual_seed(seed)
        return table.new_empty(n, table.shape[1]).normal_(std=std, generator=generator)
    if start == "mean":
        return table.detach().mean(0).expand(n, -1).clone()
    raise WtlibError(f"start={start!r} is none of {', '.join(STARTS)}")


@torch.no_grad()
def with_new_rows(
    hidden_states: Float[Tensor, "N d"],
    logits: Float[Tensor, "N V"],
    labels: Int64[Tensor, " N"],
    rows: Float[Tensor, "n d"],
    *,
    start: str,
    factor: float = 1.0,
) -> NewRows:
    """Score new rows against the same hidden states, and let them into the softmax.

    Args:
        hidden_states: what reaches the head.
        logits: the old rows' scores.
        labels: the tokens that came.
        rows: the new rows.
        start: what they are called.
        factor: what the model multiplies its products by to get logits.
    """
    added = factor * hidden_states @ rows.T
    old, new = logits.logsumexp(-1), added.logsumexp(-1)
    share = torch.sigmoid((new - old).double())
    before = loss(logits, labels)
    return NewRows(start, float(share.mean()), before, before - float((-share).log1p().mean()))
