"""What it costs to run another block in a layer's place.

Blocks and layers are counted from zero. `wtlib.surgery.running` does the swapping.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from wtlib import surgery
from wtlib.routes.uses import block_list
from wtlib.similarity.alignment import stream
from wtlib.training.parts import cross_entropy


@dataclass(frozen=True)
class Place:
    """What the loss becomes when one layer runs another block, or none.

    Losses are in nats per predicted token. `losses[j]` is that with block j at this place; with
    `j = place` it is the intact model's.
    """

    place: int
    losses: tuple[float, ...]
    without: float
    """The loss when the layer is left out."""

    @property
    def intact(self) -> float:
        """The loss of the model as it is."""
        return self.losses[self.place]

    @property
    def substitute(self) -> int:
        """The block, other than its own, that costs least at this place."""
        others = [j for j in range(len(self.losses)) if j != self.place]
        return min(others, key=lambda j: self.losses[j])


@torch.no_grad()
def loss_with(model: Any, input_ids: Int64[Tensor, "B T"], layers: Sequence[int]) -> float:
    """Return the mean loss, in nats per predicted token, of the model run with these layers.

    Raises:
        WtlibError: as `wtlib.surgery.running`.
    """
    with surgery.running(model, layers):
        logits = model(input_ids, use_cache=False).logits
    return float(cross_entropy(logits[:, :-1], input_ids[:, 1:]))


def replaced(n_layers: int, place: int, block: int | None) -> list[int]:
    """Return the layers to run so that `block` stands at `place`; None leaves the place out."""
    layers: list[int] = list(range(n_layers))
    layers[place : place + 1] = [] if block is None else [block]
    return layers


def replacements(
    model: Any, input_ids: Int64[Tensor, "B T"], places: Sequence[int] | None = None
) -> Iterator[Place]:
    """Put every block at every place, one at a time, and measure the loss each time.

    What the layers below the place compute is computed once.

    Raises:
        WtlibError: as `wtlib.surgery.running`, or if no list of blocks can be found.
    """
    blocks = block_list(model)
    arriving = stream(model, input_ids)
    last = len(blocks) - 1

    def loss(place: int, block: int | None) -> float:
        layers = replaced(len(blocks), place, block)[place:]
        # Something has to receive the stream. Without its last layer, the model is the one before
        # it and all below.
        start = place if layers else last - 1
        layers = layers or [last - 1]
        with _receiving(blocks[layers[0]], arriving[start]):
            return loss_with(model, input_ids, layers)

    for place in range(len(blocks)) if places is None else places:
        losses = tuple(loss(place, block) for block in range(len(blocks)))
        yield Place(place, losses, loss(place, None))


@contextlib.contextmanager
def _receiving(block: nn.Module, arriving: Float[Tensor, "B T d"]) -> Iterator[None]:
    """Inside, the block's first call gets this stream in place of its own input."""

    def exchange(module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        hook.remove()
        return (arriving, *args[1:])

    hook = block.register_forward_pre_hook(exchange)
    try:
        yield
    finally:
        hook.remove()
