"""Rows of the two routes' gradients, and their norms, without the `(V, d)` matrices."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from wtlib.routes.uses import Lookup, Projection

SAFE_NORM = 1e-12  # far above the square root of float32's smallest normal number, 1e-19


@dataclass(frozen=True, eq=False)
class LookupGradient:
    """A lookup and the gradient of the rows it returned."""

    use: Lookup
    gradient: Float[Tensor, "... d"]


@dataclass(frozen=True, eq=False)
class ProjectionGradient:
    """A projection and the gradient of the logits it returned."""

    use: Projection
    gradient: Float[Tensor, "... V"]


def norms_along_rows(matrix: Float[Tensor, "R C"]) -> Float[Tensor, " R"]:
    """L2 norm of each row, float64; rows whose squares would underflow are squared in float64."""
    norms = torch.linalg.vector_norm(
        matrix, dim=1, dtype=torch.promote_types(matrix.dtype, torch.float32)
    ).double()
    small = (norms < SAFE_NORM).nonzero().squeeze(1)
    if small.numel():
        norms[small] = torch.linalg.vector_norm(matrix[small], dim=1, dtype=torch.float64)
    return norms


def product_row_norms(
    delta: Float[Tensor, "N V"], hidden: Float[Tensor, "N d"], chunk: int
) -> Float[Tensor, " V"]:
    """Row norms of `delta.T @ hidden`, float64, in memory proportional to `chunk * min(N, d)`.

    With the QR decomposition `hidden.T = Q R`, row `v` of the product is `Q R delta_v`, and `Q`
    keeps norms: `||R delta_v||` costs `min(N, d)` per token instead of `d`, and unlike the Gram
    form `delta_v^T (hidden hidden^T) delta_v` it does not square the condition number.

    A row is zero here exactly where the product in the inputs' own precision is: chunks with
    columns of `delta` so small that the product may underflow are multiplied out. (The chunk, not
    the columns alone: a smaller product may take another kernel, and kernels differ in whether
    they flush subnormal numbers to zero. Hence also chunks of even size.)
    """
    n, vocab_size = delta.shape
    precision = torch.promote_types(delta.dtype, torch.float32)
    factor = hidden.to(precision)
    if n < hidden.shape[1]:
        factor = torch.linalg.qr(factor.double().T, mode="r").R.T.to(precision)
    # Below this a product of delta and hidden may leave the normal range; in double precision,
    # its square already does.
    info = torch.finfo(delta.dtype)
    limit = info.tiny**0.5 if delta.dtype == torch.float64 else info.tiny * 2**20
    smallest = hidden.abs().amax(dim=1).min()

    norms = torch.empty(vocab_size, dtype=torch.float64, device=delta.device)
    chunks = math.ceil(vocab_size / chunk)
    for part, out in zip(
        delta.tensor_split(chunks, dim=1), norms.tensor_split(chunks), strict=True
    ):
        out.copy_(norms_along_rows(part.T.to(precision) @ factor))
        tiny = (part.abs().amax(dim=0) * smallest < limit).nonzero().squeeze(1)
        if tiny.numel():
            rows = (part.T @ hidden)[tiny].double()
            peak = rows.abs().amax(dim=1, keepdim=True)
            scaled = rows / peak.where(peak > 0, 1.0)
            out[tiny] = torch.linalg.vector_norm(scaled, dim=1) * peak.squeeze(1)
    return norms


def lookup_rows(
    lookups: list[LookupGradient], vocab_size: int
) -> tuple[Int[Tensor, " U"], Float[Tensor, "U d"]]:
    """Distinct ids that were looked up, ascending, and the long route's gradient of their rows.

    Autograd's own kernel adds up repeated ids, so order of summation, `padding_idx` and
    `scale_grad_by_freq` are the model's; only the rows that were not read are left out.
    """
    ids = torch.cat([item.use.ids.flatten() for item in lookups]).unique()
    total = lookups[0].gradient.new_zeros(len(ids), lookups[0].gradient.shape[-1])
    for item in lookups:
        padding = item.use.padding_idx
        where = -1
        if padding is not None and bool((ids == padding).any()):
            where = int(torch.searchsorted(ids, padding))
        total += torch.ops.aten.embedding_dense_backward(
            item.gradient,
            torch.searchsorted(ids, item.use.ids),
            len(ids),
            where,
            item.use.scale_grad_by_freq,
        )
    return ids, total


def materialised(
    lookups: list[LookupGradient],
    projections: list[ProjectionGradient],
    table: Tensor,
    head: Tensor,
) -> tuple[Float[Tensor, "V d"], Float[Tensor, "V_head d_head"]]:
    """Both routes in full, long and short, through autograd's own kernels for each use alone."""
    long = torch.zeros_like(table)
    short = torch.zeros_like(head)
    with torch.enable_grad():
        alone = table.detach().requires_grad_()
        for item in lookups:
            rows = F.embedding(
                item.use.ids,
                alone,
                item.use.padding_idx,
                scale_grad_by_freq=item.use.scale_grad_by_freq,
            )
            long += torch.autograd.grad(rows, alone, item.gradient)[0]
        alone = head.detach().requires_grad_()
        for projection in projections:
            logits = F.linear(projection.use.hidden, alone, projection.use.bias)
            short += torch.autograd.grad(logits, alone, projection.gradient)[0]
    return long, short
