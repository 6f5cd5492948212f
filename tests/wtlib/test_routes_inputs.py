"""Every message about what was passed to `measure_routes`."""

import inspect
from typing import Any

import pytest
import torch

from tests.wtlib.routes_models import build, text
from tests.wtlib.test_routes_model import IDS, Toy
from wtlib.errors import WtlibError
from wtlib.routes import RouteInputError, RouteNotFoundError, measure_routes

LABELS = torch.full((1, 12), -100)
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "float ids": ({"input_ids": text().float()}, "input_ids has dtype torch.float32"),
    "bool ids": ({"input_ids": text().bool()}, "input_ids has dtype torch.bool"),
    "three dimensions": ({"input_ids": text()[None]}, r"shape \(1, 1, 12\); expected \(T,\)"),
    "no dimension": ({"input_ids": torch.tensor(3)}, r"shape \(\); expected \(T,\)"),
    "one token": ({"input_ids": text()[:, :1]}, "at least two tokens"),
    "no token": ({"input_ids": text()[:, :0]}, "at least two tokens"),
    "empty batch": ({"input_ids": text()[:0]}, "at least two tokens"),
    "too long": ({"input_ids": text(1, 65)}, "65 tokens in a sequence .* at most 64"),
    "id too large": ({"input_ids": text() + 60}, r"input_ids holds \d+, .* rows 0 to 60"),
    "negative id": ({"input_ids": text() - 61}, r"input_ids holds -\d+, .* rows 0 to 60"),
    "labels' shape": (
        {"input_ids": text(), "labels": text()[:, 1:]},
        r"labels has shape \(1, 11\) and input_ids \(1, 12\)",
    ),
    "labels' dtype": ({"input_ids": text(), "labels": text().float()}, "labels has dtype"),
    "label too large": ({"input_ids": text(), "labels": text() + 60}, "labels holds"),
    "negative label": ({"input_ids": text(), "labels": LABELS + 99}, "labels holds -1"),
    "no label": ({"input_ids": text(), "labels": LABELS}, "no position has a label"),
    "only the first label": (
        {"input_ids": text(), "labels": LABELS.index_fill(1, torch.tensor([0]), 3)},
        "no position has a label",
    ),
    "mask's shape": ({"input_ids": text(), "mask": torch.ones(12)}, "mask has shape"),
    "mask of floats": ({"input_ids": text(), "mask": torch.ones(1, 12)}, "mask has dtype"),
    "mask of twos": ({"input_ids": text(), "mask": text() * 0 + 2}, "values from 2 to 2"),
    "mask that hides all": ({"input_ids": text(), "mask": text() * 0}, "no position has a label"),
    "row too large": ({"input_ids": text(), "rows": [3, 61]}, "rows holds 61"),
    "rows of floats": ({"input_ids": text(), "rows": torch.rand(2)}, "rows has dtype"),
    "endless row": ({"input_ids": text(), "rows": [10**30]}, r"rows is \[10+\]; pass a flat"),
    "meta ids": ({"input_ids": text().to("meta")}, "input_ids is on the meta device; pass a dense"),
    "sparse mask": (
        {"input_ids": text(), "mask": torch.ones_like(text()).to_sparse()},
        r"mask is of layout torch.sparse_coo; pass a dense",
    ),
    "nested rows": ({"input_ids": text(), "rows": torch.ones(2, 2).long()}, r"shape \(2, 2\)"),
    "chunk": ({"input_ids": text(), "chunk": 0}, "chunk is 0"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str) -> None:
    inputs, message = BAD[case]
    with pytest.raises(RouteInputError, match=message):
        measure_routes(build("gpt2"), **inputs)


@pytest.mark.parametrize("name", ["input_ids", "labels", "mask"])
def test_lists_are_not_tensors(name: str) -> None:
    inputs: dict[str, Any] = {"input_ids": text(), name: [1, 2, 3]}
    unchecked = inspect.unwrap(measure_routes)  # without the tests' run-time type check
    with pytest.raises(RouteInputError, match=f"{name} is a list; pass a tensor"):
        unchecked(build("gpt2"), **inputs)


def test_a_model_that_takes_no_mask() -> None:
    with pytest.raises(RouteInputError, match="Toy takes no attention_mask"):
        measure_routes(Toy(), IDS, mask=torch.ones_like(IDS))


def test_logits_that_are_not_finite() -> None:
    model = build("gpt2")
    with torch.no_grad():
        model.transformer.ln_f.bias.fill_(float("nan"))
    with pytest.raises(RouteInputError, match="the loss is nan"):
        measure_routes(model, text())


def test_gradients_that_are_not_finite() -> None:
    class Steep(Toy):
        def head(self, hidden: torch.Tensor) -> torch.Tensor:
            return super().head(torch.sqrt(torch.relu(hidden) * 0))

    with pytest.raises(RouteInputError, match="the gradient is not finite"):
        measure_routes(Steep(), IDS)


def test_errors_are_the_librarys() -> None:
    assert issubclass(RouteInputError, WtlibError)
    assert issubclass(RouteNotFoundError, WtlibError)


def test_boolean_mask_and_small_integers_are_fine() -> None:
    model, mask = build("gpt2"), torch.ones(1, 12, dtype=torch.bool)
    mask[0, 9:] = False
    by_bool = measure_routes(model, text().int(), mask=mask)
    by_int = measure_routes(model, text(), mask=mask.long())
    assert torch.equal(by_bool.short.row_norms, by_int.short.row_norms)
