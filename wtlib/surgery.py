"""Operations on a model's stack and weights: leave layers out, leave early, quantise.

Each stands for a technique of deployment in its simplest form, so that its cost can be measured
with and without sharing. None is tuned.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from wtlib.errors import WtlibError
from wtlib.routes.uses import block_list
from wtlib.sharing import Plan


def depth(model: Any) -> int:
    """Return how many layers a model runs, a shared block counted at each place.

    Raises:
        WtlibError: the model has no list of layers that can be found.
    """
    plan = getattr(model, "plan", None)
    return plan.layers if isinstance(plan, Plan) else len(_holder(model)[1])


@contextlib.contextmanager
def running(model: Any, layers: Sequence[int]) -> Iterator[None]:
    """Inside, the model runs these layers in this order; after, all of them again.

    ``range(k)`` leaves after k layers, ``[0, 1, 3]`` leaves layer 2 out. Final norm and head
    follow as usual. A layer's index is its place in the stack, whatever block stands there.

    Raises:
        WtlibError: there is no such layer, or no list of layers can be found.
    """
    n = depth(model)
    for layer in layers:
        if not 0 <= layer < n:
            raise WtlibError(f"layer {layer}: the model has layers 0 to {n - 1}")
    plan = getattr(model, "plan", None)
    if isinstance(plan, Plan):
        model.plan = Plan(*(tuple(p[i] for i in layers) for p in (plan.attention, plan.mlp)))
        try:
            yield
        finally:
            model.plan = plan
        return
    holder, stack, name = *_holder(model), ""
    name = next(key for key, child in holder.named_children() if child is stack)
    setattr(holder, name, nn.ModuleList(stack[i] for i in layers))
    try:
        yield
    finally:
        setattr(holder, name, stack)


def _holder(model: nn.Module) -> tuple[nn.Module, nn.ModuleList]:
    """The list of layers and the module it is a child of."""
    blocks = block_list(model)
    for module in model.modules():
        for child in module.children():
            if isinstance(child, nn.ModuleList) and blocks and tuple(child) == blocks:
                return module, child
    raise WtlibError(
        f"{type(model).__name__} has no list of as many layers as its config says, so none can be "
        "left out"
    )


def quantised(weight: Float[Tensor, "rows columns"], bits: int) -> Float[Tensor, "rows columns"]:
    """Return a matrix rounded to `bits` bits an entry, with one scale a row.

    Symmetric round-to-nearest: a row's largest entry maps to the largest level,
    ``2 ** (bits - 1) - 1``. The simplest scheme there is; used ones lose less.

    Raises:
        WtlibError: if `bits` is below 2, which leaves no level but zero.
    """
    if bits < 2:
        raise WtlibError(f"bits={bits}: a signed level needs at least 2 bits")
    levels = 2 ** (bits - 1) - 1
    scale = weight.detach().abs().amax(1, keepdim=True).clamp(min=1e-30) / levels
    return (weight.detach() / scale).round() * scale


@contextlib.contextmanager
def holding(values: Sequence[tuple[Tensor, Tensor]]) -> Iterator[None]:
    """Inside, each first tensor holds the values of the second; after, its own again."""
    kept = [target.detach().clone() for target, _ in values]
    with torch.no_grad():
        for target, value in values:
            target.copy_(value)
    try:
        yield
    finally:
        with torch.no_grad():
            for (target, _), own in zip(values, kept, strict=True):
                target.copy_(own)


@contextlib.contextmanager
def ends_holding(
    model: Any,
    *,
    table: Float[Tensor, "V d"] | None = None,
    head: Float[Tensor, "V d"] | None = None,
) -> Iterator[None]:
    """Inside, lookups read `table` and scores are taken against `head`; the model is not changed.

    What is None stays as it is. So one side of a tie can be given other values than the other.
    """
    hooks = []
    if table is not None:
        rows = table

        def look_up(module: Any, args: Any, output: Tensor) -> Tensor:
            scale = getattr(module, "embed_scale", 1.0)
            return nn.functional.embedding(args[0], rows) * scale

        hooks.append(model.get_input_embeddings().register_forward_hook(look_up))
    if head is not None:
        weight = head

        def score(module: Any, args: Any, output: Tensor) -> Tensor:
            return nn.functional.linear(args[0], weight, module.bias)

        hooks.append(model.get_output_embeddings().register_forward_hook(score))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
