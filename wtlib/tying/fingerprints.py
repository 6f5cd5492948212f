"""How to tell kinds of tie apart from outside: what a model lists, and what one step does to it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from wtlib.tying.live import NoEndsError, Tie, counted, ends, table_of, tie_between


@dataclass(frozen=True)
class Fingerprint:
    """What ``state_dict()``, ``parameters()`` and one AdamW step say about a small model.

    ``vocabulary_names`` are those of the ``names`` that lead to the table or to the head.
    ``states`` is how many tensors the optimizer keeps a state for. ``largest_move`` is the largest
    change of an entry of the table, in learning rates: Adam's first update moves an entry by one.
    ``before`` and ``after`` compare the table with the head, around the step; both are ``None`` for
    a model that has no head of its own.
    """

    names: tuple[str, ...]
    vocabulary_names: tuple[str, ...]
    tensors: int
    counted: int
    states: int
    largest_move: float
    before: Tie | None
    after: Tie | None

    @property
    def kind_after(self) -> str:
        """How table and head are related after the step, in words."""
        return self.after.kind if self.after else "one name"


def fingerprint(
    model: nn.Module, input_ids: Int[Tensor, "B T"], learning_rate: float = 1e-3
) -> Fingerprint:
    """Take one AdamW step on next-token prediction and report what tells the kinds of tie apart.

    The model maps ids ``(B, T)`` to logits ``(B, T, V)``; it is changed by the step. Weight decay
    is off, so that an entry moves by its gradient alone.
    """
    state, both = model.state_dict(keep_vars=True), _ends(model)
    before, start = _tie(both), both[0].detach().clone()
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.0)
    next_token_loss(model(input_ids), input_ids).backward()
    optimizer.step()
    return Fingerprint(
        names=tuple(state),
        vocabulary_names=tuple(n for n, t in state.items() if any(t is end for end in both)),
        tensors=len(list(model.parameters())),
        counted=counted(model),
        states=len(optimizer.state),
        largest_move=float((both[0].detach() - start).abs().max()) / learning_rate,
        before=before,
        after=_tie(both),
    )


def next_token_loss(
    logits: Float[Tensor, "B T V"], input_ids: Int[Tensor, "B T"]
) -> Float[Tensor, ""]:
    """Mean cross-entropy, in nats, of each token given those before it."""
    return nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), input_ids[:, 1:].flatten())


def _ends(model: nn.Module) -> tuple[Tensor, ...]:
    """The table, and the head where there is one."""
    try:
        return ends(model)
    except NoEndsError:
        return (table_of(model),)


def _tie(both: tuple[Tensor, ...]) -> Tie | None:
    return tie_between(*both) if len(both) > 1 else None
