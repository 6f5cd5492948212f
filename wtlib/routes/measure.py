"""Measure the two gradient routes into a model's vocabulary matrix."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import chain

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge
from torch.nn import functional as F  # noqa: N812

from wtlib.routes.errors import RouteInputError, RouteNotFoundError
from wtlib.routes.inputs import IGNORED, Batch, check_batch, check_rows
from wtlib.routes.results import Cosines, Decomposition, Route, Routes, quotient
from wtlib.routes.rows import (
    LookupGradient,
    ProjectionGradient,
    lookup_rows,
    materialised,
    norms_along_rows,
    product_row_norms,
)
from wtlib.routes.uses import Uses, block_list, context_length, vocabulary_matrices, watch_blocks

CHUNK = 8192  # rows of the vocabulary whose norms are computed at a time


def measure_routes(
    model: nn.Module,
    input_ids: Tensor,
    labels: Tensor | None = None,
    mask: Tensor | None = None,
    *,
    rows: Sequence[int] | Tensor | None = None,
    verify: bool = False,
    chunk: int = CHUNK,
) -> Routes:
    """Separate the gradient of the loss with respect to the vocabulary matrix into its two routes.

    With `X_0 = W[ids]` and `logits = H W^T`, the gradient of a tied `W` is, by the chain rule over
    its two uses, the sum of

        short = D^T H            through the head, where `D = dL/dlogits`
        long  = scatter(G, ids)  through the lookup, where `G = dL/dX_0`

    One forward and one backward pass on the model as it is, for activations only: no parameter's
    gradient is computed, and the parameters, their `.grad`, the hooks, the mode and the random
    state are left as they were. Dropout acts if the model is in train mode. An untied model has
    the same two routes, into two matrices.

    Args:
        model: a causal language model of transformers, or any module with `get_input_embeddings`
            whose forward takes `input_ids` and returns an object with `.loss` or `.logits`.
        input_ids: token ids, `(B, T)` or `(T,)`, integer.
        labels: ids to predict, same shape, aligned with `input_ids` as in transformers: the model
            shifts them, and -100 is left out of the loss. Default: `input_ids`, with -100 where
            `mask` hides the token or the one before it.
        mask: attention mask, same shape, 1 where a token is read and 0 for padding.
        rows: token ids whose gradient is wanted, for `short.rows` and `long.rows`, `(R, d)`.
        verify: also materialise both routes `(V, d)`, let autograd compute the gradient of the
            model's own parameters, and report the largest difference.
        chunk: rows of the vocabulary whose norms are computed at a time; working memory beyond
            the logits' own is proportional to it.

    Returns:
        Norms of gradients of the model's own loss (a mean over predictions, in nats).

    Raises:
        RouteInputError: ids, labels, mask, rows or chunk cannot be used, or the numbers that come
            out are not finite.
        RouteNotFoundError: the model uses its vocabulary matrix in a way that cannot be followed,
            or a route carries no gradient.
    """
    if chunk < 1:
        raise RouteInputError(f"chunk is {chunk}: it counts rows of the vocabulary, at least 1")
    table, head = vocabulary_matrices(model)
    chosen = check_rows(rows, table, head)

    uses = Uses(table, head)
    own: tuple[Tensor, ...] = ()
    matrices = (table,) if table is head else (table, head)
    with (
        torch.inference_mode(False),
        torch.enable_grad(),
        _random_state_kept(table.device),
        _requiring_grad(matrices if verify else ()),
    ):
        batch = check_batch(input_ids, labels, mask, table, head, context_length(model))
        loss, blocks = _forward(model, batch, uses)
        lookups, projections, top, activations = _backward(loss, uses, blocks, retain=verify)
        if verify:
            own = torch.autograd.grad(loss, matrices)
        loss_value = loss.item()
        del loss

    difference = None
    if verify:
        long_full, short_full = materialised(lookups, projections, table, head)
        found = (long_full + short_full,) if table is head else (long_full, short_full)
        difference = max(
            float((a - b.to_dense()).abs().max()) for a, b in zip(found, own, strict=True)
        )

    short = _short_route(projections, chosen, chunk)
    ids, gradients = lookup_rows(lookups, table.shape[0])
    long = _long_route(ids, gradients, table.shape[0], chosen)
    if not (math.isfinite(short.norm) and math.isfinite(long.norm)):
        raise RouteInputError(
            f"the gradient is not finite (short route {short.norm}, long route {long.norm}) "
            f"although the loss is {loss_value}; measure in a wider dtype such as float32"
        )
    seen = batch.ids if batch.mask is None else batch.ids[batch.mask.bool()]
    return Routes(
        tied=table is head,
        loss=loss_value,
        tokens=seen.numel(),
        distinct_tokens=seen.unique().numel(),
        predictions=int((batch.labels[:, 1:] != IGNORED).sum()),
        short=short,
        long=long,
        cosines=_cosines(ids, gradients, projections, same_shape=table.shape == head.shape),
        activation_norms=tuple(_norm([grad]) for grad in activations),
        decomposition=_decomposition(short, long, projections, lookups, top),
        max_difference=difference,
    )


def _forward(model: nn.Module, batch: Batch, uses: Uses) -> tuple[Tensor, list[GradientEdge]]:
    """The loss, with `uses` filled, and where the gradient leaving each block arrives."""
    accepted = inspect.signature(model.forward).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in accepted.values())
    inputs: dict[str, object] = {"input_ids": batch.ids, "labels": batch.labels, "use_cache": False}
    if batch.mask is not None:
        if "attention_mask" not in accepted and not takes_any:
            raise RouteInputError(
                f"{type(model).__name__} takes no attention_mask; leave `mask` out and mark "
                f"padding with label {IGNORED}"
            )
        inputs["attention_mask"] = batch.mask
    edges, handles = watch_blocks(block_list(model))
    try:
        with uses:
            output = model(**{k: v for k, v in inputs.items() if k in accepted or takes_any})
    finally:
        for handle in handles:
            handle.remove()
    loss = getattr(output, "loss", None)
    if loss is None:
        logits = getattr(output, "logits", None)
        if logits is None:
            raise RouteNotFoundError(
                f"{type(model).__name__} returned {type(output).__name__} without loss or "
                "logits; pass a model with a language-modelling head"
            )
        loss = F.cross_entropy(
            logits[:, :-1].flatten(0, 1).float(),
            batch.labels[:, 1:].flatten(),
            ignore_index=IGNORED,
        )
    if not torch.isfinite(loss):
        raise RouteInputError(
            f"the loss is {loss.item()}: the model's logits are not finite on this text; check "
            "its weights, or measure in a wider dtype such as float32"
        )
    return loss, edges


def _backward(
    loss: Tensor, uses: Uses, blocks: list[GradientEdge], *, retain: bool
) -> tuple[list[LookupGradient], list[ProjectionGradient], list[Tensor], list[Tensor]]:
    """Gradients at the lookups, the logits, the head's input, and leaving each block."""
    if not uses.projections:
        raise RouteNotFoundError(
            "no logits were seen to come from the model's output matrix through F.linear; a "
            "fused head or loss hides them: switch it off, or call the head as a module"
        )
    if not uses.lookups:
        raise RouteNotFoundError(
            "no row of the model's input table was looked up through F.embedding; call the "
            "embedding as a module"
        )
    if not loss.requires_grad:
        raise RouteNotFoundError(
            "the loss carries no gradient: the model runs its forward under no_grad or detaches "
            "its logits"
        )
    groups = (
        [use.output for use in uses.lookups],
        [use.output for use in uses.projections],
        [use.input for use in uses.projections],
        blocks,
    )
    found = iter(
        torch.autograd.grad(loss, list(chain(*groups)), allow_unused=True, retain_graph=retain)
    )
    at_lookups, at_logits, at_head, at_blocks = ([next(found) for _ in g] for g in groups)
    lookups = [
        LookupGradient(use, grad)
        for use, grad in zip(uses.lookups, at_lookups, strict=True)
        if grad is not None
    ]
    projections = [
        ProjectionGradient(use, grad)
        for use, grad in zip(uses.projections, at_logits, strict=True)
        if grad is not None
    ]
    if not projections or not lookups:
        where = "lookup in the input table" if projections else "head's logits"
        raise RouteNotFoundError(
            f"no gradient of the loss reaches the {where}: the model cuts the graph on the way"
        )
    return (
        lookups,
        projections,
        [grad for grad in at_head if grad is not None],
        [loss.new_zeros(()) if grad is None else grad for grad in at_blocks],
    )


def _short_route(
    projections: list[ProjectionGradient], chosen: Int[Tensor, " R"] | None, chunk: int
) -> Route:
    delta, hidden = _stacked(projections)
    norms = product_row_norms(delta, hidden, chunk)
    return Route(
        row_norms=norms.cpu(),
        norm=_norm([norms]),
        rows_touched=int((norms > 0).sum()),
        rows=None if chosen is None else (delta[:, chosen].T @ hidden).cpu(),
    )


def _long_route(
    ids: Int[Tensor, " U"],
    gradients: Float[Tensor, "U d"],
    vocab_size: int,
    chosen: Int[Tensor, " R"] | None,
) -> Route:
    norms = torch.zeros(vocab_size, dtype=torch.float64, device=ids.device)
    norms[ids] = norms_along_rows(gradients)
    rows = None
    if chosen is not None:
        rows = gradients.new_zeros(len(chosen), gradients.shape[1])
        at = torch.searchsorted(ids, chosen).clamp(max=len(ids) - 1)
        read = ids[at] == chosen
        rows[read] = gradients[at[read]]
        rows = rows.cpu()
    return Route(
        row_norms=norms.cpu(),
        norm=_norm([norms]),
        rows_touched=int((norms > 0).sum()),
        rows=rows,
    )


def _cosines(
    ids: Int[Tensor, " U"],
    gradients: Float[Tensor, "U d"],
    projections: list[ProjectionGradient],
    *,
    same_shape: bool,
) -> Cosines:
    if not same_shape:
        return Cosines(torch.empty(0, dtype=torch.long), torch.empty(0, dtype=torch.float64))
    delta, hidden = _stacked(projections)
    long = gradients.double()
    short = (delta[:, ids].T @ hidden).double()
    shared = (long.ne(0).any(dim=1) & short.ne(0).any(dim=1)).nonzero().squeeze(1)
    values = F.cosine_similarity(_unit(short[shared]), _unit(long[shared]), dim=1)
    return Cosines(ids[shared].cpu(), values.cpu())


def _unit(rows: Float[Tensor, "S d"]) -> Float[Tensor, "S d"]:
    # Two steps, because the squares of a tiny row underflow.
    rows = rows / rows.abs().amax(dim=1, keepdim=True)
    return rows / torch.linalg.vector_norm(rows, dim=1, keepdim=True)


def _decomposition(
    short: Route,
    long: Route,
    projections: list[ProjectionGradient],
    lookups: list[LookupGradient],
    top: list[Tensor],
) -> Decomposition:
    delta, hidden = _stacked(projections)
    delta_norms = norms_along_rows(delta)
    predicting = norms_along_rows(hidden[delta_norms > 0])
    logits = _norm([delta_norms])
    head_input = _norm(top)
    lookup_output = _norm([item.gradient for item in lookups])
    return Decomposition(
        logits=logits,
        head_input=head_input,
        lookup_output=lookup_output,
        hidden_scale=quotient(short.norm, logits),
        row_scale=quotient(head_input, logits),
        stack_gain=quotient(lookup_output, head_input),
        scatter_gain=quotient(long.norm, lookup_output),
        hidden_norm=float(predicting.square().mean().sqrt()),
    )


def _stacked(
    projections: list[ProjectionGradient],
) -> tuple[Float[Tensor, "N V"], Float[Tensor, "N d"]]:
    """Logits' gradients and the hidden states they meet, one row per position."""
    deltas = [item.gradient.flatten(0, -2) for item in projections]
    hiddens = [item.use.hidden.flatten(0, -2).to(item.gradient.dtype) for item in projections]
    if len(deltas) == 1:  # the usual case, without a copy of the logits' gradient
        return deltas[0], hiddens[0]
    return torch.cat(deltas), torch.cat(hiddens)


def _norm(tensors: list[Tensor]) -> float:
    """Frobenius norm over all of them, accumulated in float64."""
    parts = [float(torch.linalg.vector_norm(t, dtype=torch.float64)) for t in tensors]
    return math.hypot(*parts)


def _random_state_kept(device: torch.device) -> AbstractContextManager[None]:
    if device.type == "cpu":
        return torch.random.fork_rng(devices=[])
    return torch.random.fork_rng(devices=[device], device_type=device.type)


@contextmanager
def _requiring_grad(matrices: Sequence[Tensor]) -> Iterator[None]:
    """Let frozen matrices take part in autograd for a while."""
    before = [matrix.requires_grad for matrix in matrices]
    try:
        for matrix in matrices:
            matrix.requires_grad_(True)
        yield
    finally:
        for matrix, flag in zip(matrices, before, strict=True):
            matrix.requires_grad_(flag)
