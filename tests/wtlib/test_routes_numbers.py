"""The numbers of a measurement: closed forms, improbable tokens, chunks, cosines, factors."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.wtlib.routes_models import build, by_autograd, row_norms, text, touched
from wtlib.routes import measure_routes


def sharpened(factor: float, dtype: torch.dtype = torch.float32) -> Any:
    """An untied model so sure of itself that most tokens' probabilities leave fp32's range."""
    model = build("llama").to(dtype)
    with torch.no_grad():
        model.lm_head.weight.mul_(factor)
    return model


@pytest.mark.parametrize("factor", [5.0, 20.0, 30.0, 45.0, 60.0, 200.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_improbable_tokens_are_touched_as_autograd_touches_them(
    dtype: torch.dtype, factor: float
) -> None:
    model, ids = sharpened(factor, dtype), text(length=3)
    reference = by_autograd(model, ids)
    routes = measure_routes(model, ids)
    assert routes.short.rows_touched == touched(reference.short)
    expected = row_norms(reference.short)
    at = expected > 1e-37  # below, the reference itself has lost digits
    rtol = 2e-2 if dtype == torch.bfloat16 else 1e-3
    torch.testing.assert_close(routes.short.row_norms[at], expected[at], rtol=rtol, atol=0)
    assert routes.decomposition.ratio == pytest.approx(routes.ratio, rel=1e-9)


def test_the_improbable_case_is_a_hard_one() -> None:
    gradient = by_autograd(sharpened(60.0), text(length=3)).short
    norms = gradient.norm(dim=1)
    assert int((norms > 0).sum()) < touched(gradient) < 61


@pytest.mark.parametrize("length", [2, 12, 40])
@pytest.mark.parametrize("chunk", [1, 7, 61, 10_000])
def test_chunks_change_memory_not_numbers(chunk: int, length: int) -> None:
    model, ids = build("gpt2"), text(2, length)
    gradient = by_autograd(model, ids).short
    routes = measure_routes(model, ids, chunk=chunk)
    torch.testing.assert_close(routes.short.row_norms, row_norms(gradient), rtol=1e-4, atol=1e-9)
    assert routes.short.rows_touched == touched(gradient)


def test_cancelling_contributions_keep_their_digits() -> None:
    """Nearly equal hidden states with opposite gradients: the Gram form would lose the norm."""
    from wtlib.routes.rows import product_row_norms

    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(1, 64, generator=generator).repeat(2, 1)
    hidden[1] += 1e-4 * torch.randn(64, generator=generator)
    delta = torch.tensor([[1.0, 1.0], [-1.0, 1.0]])
    exact = row_norms(delta.double().T @ hidden.double())
    torch.testing.assert_close(product_row_norms(delta, hidden, 8), exact, rtol=1e-3, atol=0)


def test_one_prediction_in_closed_form() -> None:
    """Two tokens, one loss term: row v of the short route is (p_v - [v is the target]) h."""
    model, ids = build("gpt2"), torch.tensor([[7, 11]])
    with torch.no_grad():
        hidden = model.transformer(ids).last_hidden_state[0, 0].double()
        delta = (hidden @ model.lm_head.weight.double().T).softmax(dim=0)
    delta[11] -= 1
    routes = measure_routes(model, ids)
    torch.testing.assert_close(
        routes.short.row_norms, delta.abs() * hidden.norm(), rtol=1e-4, atol=1e-9
    )
    assert routes.decomposition.hidden_scale == pytest.approx(float(hidden.norm()), rel=1e-5)
    assert routes.decomposition.hidden_norm == pytest.approx(float(hidden.norm()), rel=1e-5)
    start = delta @ model.lm_head.weight.detach().double()
    assert routes.decomposition.row_scale == pytest.approx(
        float(start.norm() / delta.norm()), rel=1e-5
    )
    assert routes.decomposition.scatter_gain == pytest.approx(1.0)
    assert routes.long.rows_touched == 1


def test_the_last_token_asks_nothing() -> None:
    ids = torch.tensor([[5, 6, 7, 5, 9]])
    routes = measure_routes(build("smollm2"), ids)
    assert routes.tokens == 5
    assert routes.distinct_tokens == 4
    assert routes.long.rows_touched == 3
    assert float(routes.long.row_norms[9]) == 0.0


def test_a_flat_sequence_is_a_batch_of_one() -> None:
    model, ids = build("gpt2"), text()
    flat, batched = measure_routes(model, ids[0]), measure_routes(model, ids)
    assert torch.equal(flat.short.row_norms, batched.short.row_norms)
    assert torch.equal(flat.long.row_norms, batched.long.row_norms)


def test_cosines_on_shared_rows() -> None:
    model, ids = build("gpt2"), text(2)
    reference = by_autograd(model, ids)
    cosines = measure_routes(model, ids).cosines
    shared = [v for v in range(61) if reference.long[v].any() and reference.short[v].any()]
    expected = torch.nn.functional.cosine_similarity(
        reference.short[shared].double(), reference.long[shared].double()
    )
    assert cosines.token_ids.tolist() == shared
    torch.testing.assert_close(cosines.values, expected, rtol=1e-4, atol=1e-6)
    values = expected.tolist()
    mean = sum(values) / len(values)
    sd = math.sqrt(sum((x - mean) ** 2 for x in values) / (len(values) - 1))
    assert cosines.count == len(shared)
    assert cosines.mean == pytest.approx(mean, abs=1e-6)
    assert cosines.sd == pytest.approx(sd, rel=1e-4)
    assert cosines.standard_error == pytest.approx(sd / math.sqrt(len(values)), rel=1e-4)
    assert cosines.negative_share == pytest.approx(sum(x < 0 for x in values) / len(values))


def test_cosines_of_one_or_no_shared_row() -> None:
    one = measure_routes(build("gpt2"), torch.tensor([[7, 11]])).cosines
    assert one.count == 1
    assert math.isnan(one.sd)
    narrow = build("opt", tie_word_embeddings=False)
    narrow.lm_head = torch.nn.Linear(16, 70, bias=False)
    narrow.config.vocab_size = 70
    none = measure_routes(narrow, text()).cosines
    assert none.count == 0
    assert math.isnan(none.mean)
    assert math.isnan(none.standard_error)
    assert math.isnan(none.negative_share)


def test_chosen_rows_in_the_order_asked_for() -> None:
    model, ids = build("gpt2"), text()
    reference = by_autograd(model, ids)
    chosen = [60, 3, int(ids[0, 0]), 3]
    routes = measure_routes(model, ids, rows=chosen)
    for route, gradient in ((routes.short, reference.short), (routes.long, reference.long)):
        assert route.rows is not None
        torch.testing.assert_close(route.rows, gradient[chosen], rtol=1e-4, atol=1e-7)
    assert measure_routes(model, ids).short.rows is None
    empty = measure_routes(model, ids, rows=[]).long.rows
    assert empty is not None
    assert empty.shape == (0, 32)


def test_decomposition_against_retained_gradients() -> None:
    model, ids = build("granite"), text()
    seen: dict[str, Tensor] = {}

    def keep(name: str) -> Any:
        def hook(_module: Any, args: tuple[Tensor, ...], output: Tensor) -> None:
            for key, tensor in ((f"{name} in", args[0]), (f"{name} out", output)):
                if tensor.requires_grad:
                    tensor.retain_grad()
                    seen[key] = tensor

        return hook

    handles = [
        model.lm_head.register_forward_hook(keep("head")),
        model.get_input_embeddings().register_forward_hook(keep("table")),
    ]
    model(input_ids=ids, labels=ids).loss.backward()
    for handle in handles:
        handle.remove()

    def norm(key: str) -> float:
        gradient = seen[key].grad
        assert gradient is not None
        return float(gradient.double().norm())

    measured = measure_routes(model, ids).decomposition
    assert measured.logits == pytest.approx(norm("head out"), rel=1e-5)
    assert measured.head_input == pytest.approx(norm("head in"), rel=1e-5)
    assert measured.lookup_output == pytest.approx(norm("table out"), rel=1e-5)
    assert measured.row_scale == pytest.approx(norm("head in") / norm("head out"), rel=1e-5)
    assert measured.stack_gain == pytest.approx(norm("table out") / norm("head in"), rel=1e-5)


def test_ratio_is_infinite_when_nothing_reaches_the_table() -> None:
    model = build("gpt2")
    table = model.get_input_embeddings()
    table.padding_idx = 4  # the only token whose reading is followed by a prediction
    routes = measure_routes(model, torch.tensor([[4, 9]]))
    assert routes.long.rows_touched == 0
    assert math.isinf(routes.ratio)
    assert math.isinf(routes.decomposition.ratio)


def test_a_model_that_is_right_beyond_doubt_has_no_gradient() -> None:
    model, ids = sharpened(1e5), text(length=2)
    with torch.no_grad():
        ids[0, 1] = model(ids).logits[0, 0].argmax()
    routes = measure_routes(model, ids)
    assert routes.loss == 0.0
    assert routes.short.rows_touched == routes.long.rows_touched == 0
    assert math.isnan(routes.ratio)
    assert math.isnan(routes.decomposition.hidden_scale)


def test_the_embedded_specimens_table() -> None:
    from wtlib import specimens

    specimen = specimens.load("smollm2-135m")
    ids = specimen.tokenizer("The sky is blue and the grass is green", return_tensors="pt")
    routes = measure_routes(specimen.model, ids.input_ids, verify=True)
    assert ids.input_ids.tolist() == [[504, 6376, 314, 4461, 284, 260, 5372, 314, 2654]]
    assert routes.loss == pytest.approx(3.66204, abs=5e-5)
    assert (routes.short.rows_touched, routes.long.rows_touched) == (49_152, 7)
    assert routes.short.norm == pytest.approx(14.316, abs=2e-3)
    assert routes.long.norm == pytest.approx(3.775, abs=1e-3)
    assert routes.max_difference == 0.0
    assert len(routes.activation_norms) == 30
