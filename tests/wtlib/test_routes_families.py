"""Both routes of every family against plain autograd on an untied copy of the real module."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.wtlib.routes_models import FAMILIES, build, by_autograd, row_norms, text, touched
from wtlib.routes import measure_routes


def _plain() -> dict[str, Any]:
    return {"input_ids": text()}


def _padded_batch(left: bool) -> dict[str, Any]:
    ids, mask = text(3), torch.ones(3, 12, dtype=torch.long)
    for row, padding in enumerate((0, 3, 5)):
        where = slice(None, padding) if left else slice(12 - padding, None)
        mask[row, where] = 0
    ids[mask == 0] = 0
    return {"input_ids": ids, "mask": mask}


def _masked_labels() -> dict[str, Any]:
    ids = text(2)
    labels = ids.clone()
    labels[0, :6] = -100
    labels[1, 9:] = -100
    return {"input_ids": ids, "labels": labels}


BATCHES = {
    "plain": _plain(),
    "right padding": _padded_batch(left=False),
    "left padding": _padded_batch(left=True),
    "masked labels": _masked_labels(),
}


def expected_labels(ids: Tensor, mask: Tensor) -> Tensor:
    """Only tokens that are read, and whose predecessor is read, are predicted."""
    labels = ids.clone()
    for b, t in ((b, t) for b in range(ids.shape[0]) for t in range(ids.shape[1])):
        if not mask[b, t] or (t and not mask[b, t - 1]):
            labels[b, t] = -100
    return labels


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["fp32", "bf16"])
@pytest.mark.parametrize("family", FAMILIES)
def test_routes_are_autograds(family: str, dtype: torch.dtype, batch: str) -> None:
    model = build(family).to(dtype)
    inputs = BATCHES[batch]
    ids, mask, labels = inputs["input_ids"], inputs.get("mask"), inputs.get("labels")
    if mask is not None:
        labels = expected_labels(ids, mask)
    reference = by_autograd(model, ids, labels, mask)

    routes = measure_routes(model, **inputs, rows=range(61), verify=True)

    rtol, atol = (1e-4, 1e-9) if dtype == torch.float32 else (2e-2, 1e-7)
    assert routes.loss == pytest.approx(reference.loss, rel=1e-5)
    for route, gradient in ((routes.short, reference.short), (routes.long, reference.long)):
        torch.testing.assert_close(route.row_norms, row_norms(gradient), rtol=rtol, atol=atol)
        assert route.norm == pytest.approx(float(gradient.double().norm()), rel=rtol)
        assert route.rows_touched == touched(gradient)
        assert route.rows is not None
        torch.testing.assert_close(route.rows, gradient, rtol=rtol, atol=1e-4)
    assert routes.tied == (model.get_input_embeddings().weight is model.lm_head.weight)
    assert routes.max_difference is not None
    assert routes.max_difference <= (1e-6 if dtype == torch.float32 else 1e-2)
    assert len(routes.activation_norms) == 3
    assert routes.decomposition.ratio == pytest.approx(routes.ratio, rel=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_sum_is_the_tied_gradient(family: str) -> None:
    model = build(family)
    ids = text(2)
    routes = measure_routes(model, ids, rows=range(61))
    assert routes.short.rows is not None
    assert routes.long.rows is not None

    model(input_ids=ids, labels=ids).loss.backward()
    table, head = model.get_input_embeddings().weight, model.lm_head.weight
    if table is head:
        torch.testing.assert_close(routes.short.rows + routes.long.rows, table.grad)
    else:
        torch.testing.assert_close(routes.short.rows, head.grad)
        torch.testing.assert_close(routes.long.rows, table.grad)


@pytest.mark.parametrize("family", FAMILIES)
def test_train_mode_without_dropout_changes_nothing(family: str) -> None:
    model = build(family)
    evaluated = measure_routes(model, text())
    trained = measure_routes(model.train(), text())
    assert trained.loss == evaluated.loss
    torch.testing.assert_close(trained.short.row_norms, evaluated.short.row_norms)
    torch.testing.assert_close(trained.long.row_norms, evaluated.long.row_norms)


@pytest.mark.parametrize("family", FAMILIES)
def test_activation_norms_are_the_gradients_leaving_each_block(family: str) -> None:
    model = build(family)
    kept: list[Tensor] = []

    def keep(_module: Any, _args: Any, output: Any) -> None:
        hidden = output[0] if isinstance(output, tuple) else output
        hidden.retain_grad()
        kept.append(hidden)

    blocks = next(m for m in model.modules() if isinstance(m, torch.nn.ModuleList) and len(m) == 3)
    handles = [block.register_forward_hook(keep) for block in blocks]
    model(input_ids=text(), labels=text()).loss.backward()
    for handle in handles:
        handle.remove()

    norms = measure_routes(model, text()).activation_norms
    expected = [float(hidden.grad.norm()) for hidden in kept if hidden.grad is not None]
    assert norms == pytest.approx(expected, rel=1e-5)


def test_counts_of_a_padded_batch() -> None:
    inputs = BATCHES["right padding"]
    routes = measure_routes(build("llama"), **inputs)
    read = inputs["input_ids"][inputs["mask"] == 1]
    assert routes.tokens == 12 + 9 + 7
    assert routes.distinct_tokens == len(set(read.tolist()))
    assert routes.predictions == 11 + 8 + 6
    assert math.isinf(routes.ratio) is False
