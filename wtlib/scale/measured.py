"""Read a model's scale factors off its own arithmetic, whatever its code calls them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int64
from torch import Tensor

from wtlib.errors import WtlibError
from wtlib.routes.uses import block_list
from wtlib.scale.applied import scaled
from wtlib.surgery import holding

_LINEAR = 1e-3  # the largest relative rest that a plain factor leaves, in fp32


@dataclass(frozen=True)
class Scales:
    """The factors on both ends of a model.

    `inputs` is between a row of the table and what enters the first block; `logits` between the
    products of final hidden states with rows of the head and the logits. Either is None if what
    stands between is no plain factor: a norm, a projection. `capped` says that large logits are
    bent, as by a tanh.
    """

    inputs: float | None
    logits: float | None
    capped: bool


@torch.no_grad()
def scales(model: Any, input_ids: Int64[Tensor, "B T"]) -> Scales:
    """Measure both factors of a transformers model, and whether its logits are capped.

    The input's factor is the change of what enters the first block over a change of the rows, so
    positions do not matter. An encoder-decoder reads the same ids at both of its inputs.

    Raises:
        WtlibError: the model has no list of blocks that can be found.
    """
    table, head = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    generator = torch.Generator().manual_seed(0)
    change = torch.empty_like(table).normal_(std=0.1, generator=generator)
    before = _entering(model, input_ids)
    with holding([(table, table + change)]):
        after = _entering(model, input_ids)

    ids = _arguments(model, input_ids)
    hidden, logits = _leaving(model, ids)
    bias = getattr(model.get_output_embeddings(), "bias", None)
    with scaled(model, logits=1e4):
        large = model(**ids).logits
    plain = logits if bias is None else logits - bias
    products = hidden @ head.T if hidden.shape[-1] == head.shape[-1] else None
    return Scales(
        inputs=_factor(change[input_ids], after - before),
        logits=None if products is None else _factor(products, plain),
        capped=_factor(logits, large) is None,
    )


def _arguments(model: Any, input_ids: Tensor) -> dict[str, Any]:
    ids = {"input_ids": input_ids, "use_cache": False}
    if model.config.is_encoder_decoder:
        ids["decoder_input_ids"] = input_ids
    return ids


def _leaving(model: Any, ids: dict[str, Any]) -> tuple[Tensor, Tensor]:
    """The final hidden states, as the stack returns them, and the logits."""
    if not model.config.is_encoder_decoder:
        return model.base_model(**ids).last_hidden_state, model(**ids).logits
    seen: list[Tensor] = []
    hook = model.get_decoder().register_forward_hook(
        lambda module, args, output: seen.append(output.last_hidden_state)
    )
    try:
        logits = model(**ids).logits
    finally:
        hook.remove()
    return seen[0], logits


def _entering(model: Any, input_ids: Tensor) -> Tensor:
    """What enters the first block."""
    blocks = block_list(model)
    if not blocks:
        raise WtlibError(
            f"{type(model).__name__} has no list of as many blocks as its config says, so what "
            "enters the first of them cannot be read"
        )
    seen: list[Tensor] = []
    hook = blocks[0].register_forward_pre_hook(
        lambda module, args, kwargs: seen.append(args[0] if args else kwargs["hidden_states"]),
        with_kwargs=True,
    )
    try:
        model(**_arguments(model, input_ids))
    finally:
        hook.remove()
    return seen[0]


def _factor(source: Tensor, result: Tensor) -> float | None:
    """The c for which the result is c times the source; None if there is none."""
    if source.shape != result.shape:
        return None
    source, result = source.double(), result.double()
    factor = float((source * result).sum() / source.square().sum())
    rest = (result - factor * source).norm() / result.norm()
    return factor if rest < _LINEAR else None
