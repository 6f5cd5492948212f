"""Linear CKA against its definition, and the residual stream against transformers' own."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.wtlib.routes_models import build, text
from wtlib import similarity
from wtlib.errors import WtlibError


def draw(n: int, d: int, seed: int) -> Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def hsic(x: Tensor, y: Tensor) -> float:
    """Song et al.'s unbiased estimator, term by term over distinct indices."""
    n = len(x)
    k, ell = (z @ z.T for z in (x, y))
    for kernel in (k, ell):
        kernel.fill_diagonal_(0)
    ones = torch.ones(n, dtype=torch.float64)
    trace = torch.trace(k @ ell)
    whole = (ones @ k @ ones) * (ones @ ell @ ones) / ((n - 1) * (n - 2))
    rows = 2 * (ones @ k @ ell @ ones) / (n - 2)
    return float((trace + whole - rows) / (n * (n - 3)))


def test_cka_is_the_ratio_of_unbiased_estimates() -> None:
    x, y = draw(12, 5, 0), draw(12, 3, 1)
    y = y + x[:, :3]
    expected = hsic(x, y) / math.sqrt(hsic(x, x) * hsic(y, y))
    assert similarity.linear_cka(x, y) == pytest.approx(expected, rel=1e-9)


def test_rotation_scale_and_shift_change_nothing() -> None:
    x = draw(40, 6, 0)
    rotation, _ = torch.linalg.qr(draw(6, 6, 1))
    assert similarity.linear_cka(x, 3 * x @ rotation + 7) == pytest.approx(1, abs=1e-9)


def test_unrelated_vectors_have_none_although_they_are_few() -> None:
    # The plain estimator gives about 0.9 here.
    found = [
        similarity.linear_cka(draw(50, 400, seed), draw(50, 400, seed + 100)) for seed in range(8)
    ]
    assert abs(sum(found) / len(found)) < 0.03


def test_the_matrix_holds_every_pair() -> None:
    features = [draw(20, d, seed) for seed, d in enumerate((4, 5, 6))]
    matrix = similarity.cka_matrix(features)
    for i, x in enumerate(features):
        for j, y in enumerate(features):
            assert float(matrix[i, j]) == pytest.approx(similarity.linear_cka(x, y), abs=1e-12)


def test_too_few_things() -> None:
    with pytest.raises(WtlibError, match="3 things are too few"):
        similarity.linear_cka(draw(3, 2, 0), draw(3, 2, 1))


@pytest.mark.parametrize("family", ["gpt2", "smollm2"])
def test_the_stream_is_what_transformers_calls_hidden_states(family: str) -> None:
    model: Any = build(family)
    ids = text()
    with torch.no_grad():
        hidden = model(ids, output_hidden_states=True, use_cache=False).hidden_states
    found = similarity.stream(model, ids)
    # The last of transformers' has passed the final norm.
    assert len(found) == len(hidden)
    for ours, theirs in zip(found[:-1], hidden[:-1], strict=True):
        assert torch.equal(ours, theirs)


def test_a_model_without_blocks() -> None:
    with pytest.raises(WtlibError, match="no list of blocks can be found in a Linear"):
        similarity.stream(torch.nn.Linear(2, 2), text())
