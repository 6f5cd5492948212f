"""How alike what blocks compute is: the residual stream after each, and linear CKA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from wtlib.errors import WtlibError
from wtlib.routes.uses import block_list


@torch.no_grad()
def stream(model: Any, input_ids: Int64[Tensor, "B T"]) -> Float[Tensor, "places B T d"]:
    """Return the residual stream before the first block and after each block, in this order.

    Raises:
        WtlibError: if no list of blocks can be found in the model.
    """
    blocks = block_list(model)
    if not blocks:
        raise WtlibError(f"no list of blocks can be found in a {type(model).__name__}")
    seen: list[Tensor] = []

    def keep_input(module: nn.Module, args: tuple[Any, ...]) -> None:
        seen.append(args[0].detach())

    def keep_output(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        seen.append((output[0] if isinstance(output, tuple) else output).detach())

    hooks = [blocks[0].register_forward_pre_hook(keep_input)]
    hooks += [block.register_forward_hook(keep_output) for block in blocks]
    try:
        model(input_ids, use_cache=False)
    finally:
        for hook in hooks:
            hook.remove()
    return torch.stack(seen)


def linear_cka(x: Float[Tensor, "n d1"], y: Float[Tensor, "n d2"]) -> float:
    """Return the centred kernel alignment of two descriptions of the same n things.

    It is one if they are equal up to rotation, scale and shift, and near zero if they have nothing
    to do with each other. The kernel is linear (Kornblith et al., arXiv:1905.00414). The estimator
    is the unbiased one of Song et al. (2012): the plain one is far above zero for unrelated
    descriptions when n is not much larger than d.

    Raises:
        WtlibError: if there are fewer than four things.
    """
    return float(cka_matrix([x, y])[0, 1])


def cka_matrix(features: Sequence[Float[Tensor, "n _"]]) -> Float[Tensor, "k k"]:
    """Return `linear_cka` of every pair out of k descriptions of the same n things.

    Raises:
        WtlibError: if there are fewer than four things.
    """
    n = len(features[0])
    if n < 4:
        raise WtlibError(f"{n} things are too few to compare descriptions of; give at least 4")
    kernels = torch.stack([_centred(x.double()) for x in features]).flatten(1)  # (k, n * n)
    inner = kernels @ kernels.T
    norms = inner.diagonal().sqrt()
    return inner / norms[:, None] / norms


def _centred(x: Float[Tensor, "n d"]) -> Float[Tensor, "n n"]:
    """Return the kernel centred so that inner products are unbiased ("U-centred").

    Its inner product with another one, over n(n - 3), is Song et al.'s estimator of the
    Hilbert-Schmidt independence criterion (Székely & Rizzo 2014); the factor cancels in the CKA.
    """
    n = len(x)
    kernel = x @ x.T
    kernel.fill_diagonal_(0)
    sums = kernel.sum(0) / (n - 2)
    kernel = kernel - sums[:, None] - sums + kernel.sum() / ((n - 1) * (n - 2))
    return kernel.fill_diagonal_(0)
