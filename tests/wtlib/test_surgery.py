"""Layers left out, rounded matrices, ends that hold something else: against models built so."""

import copy
from typing import Any

import pytest
import torch
from torch import nn

from tests.wtlib.routes_models import build, text
from wtlib import surgery
from wtlib.errors import WtlibError
from wtlib.training import Gpt, GptConfig


def logits(model: Any) -> torch.Tensor:
    with torch.no_grad():
        return model(text(), use_cache=False).logits


@pytest.mark.parametrize("family", ["gpt2", "smollm2", "bloom"])
def test_the_first_layers_are_a_model_of_that_depth(family: str) -> None:
    model = build(family)
    shallow = build(family, **({"n_layer": 2} if family != "smollm2" else {"num_hidden_layers": 2}))
    shallow.load_state_dict(model.state_dict(), strict=False)
    whole = logits(model)
    with surgery.running(model, range(2)):
        assert torch.equal(logits(model), logits(shallow))
    assert torch.equal(logits(model), whole)


def test_the_order_is_the_callers() -> None:
    model = build("smollm2")
    turned = copy.deepcopy(model)
    turned.model.layers = nn.ModuleList([turned.model.layers[2], turned.model.layers[0]])
    with surgery.running(model, [2, 0]):
        assert torch.equal(logits(model), logits(turned))


@pytest.mark.parametrize("left_out", range(4))
def test_a_shared_stack_has_no_which(left_out: int) -> None:
    model = Gpt(GptConfig(vocab_size=9, d_model=8, n_layers=4, sharing="all"), 0)
    ids = torch.tensor([[1, 2, 3]])
    with torch.no_grad(), surgery.running(model, range(3)):
        early = model(ids)[0]
    with torch.no_grad(), surgery.running(model, [i for i in range(4) if i != left_out]):
        assert torch.equal(model(ids)[0], early)


def test_depth_counts_places() -> None:
    assert surgery.depth(build("gpt2")) == 3
    assert surgery.depth(Gpt(GptConfig(vocab_size=9, d_model=8, n_layers=4, sharing="all"), 0)) == 4


def test_the_stack_is_whole_after_an_error() -> None:
    model = build("gpt2")
    with pytest.raises(RuntimeError, match="mine"), surgery.running(model, [0]):
        raise RuntimeError("mine")
    assert surgery.depth(model) == 3


def test_no_such_layer() -> None:
    with pytest.raises(WtlibError, match="layer 3: the model has layers 0 to 2"):
        surgery.running(build("gpt2"), [0, 3]).__enter__()


def test_no_list_of_layers() -> None:
    with pytest.raises(WtlibError, match="Linear has no list of as many layers"):
        surgery.depth(nn.Linear(2, 2))


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
def test_rounding_is_to_the_nearest_of_its_levels(bits: int) -> None:
    weight = torch.randn(5, 40, generator=torch.Generator().manual_seed(0))
    coarse = surgery.quantised(weight, bits)
    levels = 2 ** (bits - 1) - 1
    step = weight.abs().amax(1, keepdim=True) / levels
    assert all(len(row.unique()) <= 2 * levels + 1 for row in coarse)
    assert bool(((coarse - weight).abs() <= step / 2 + 1e-6).all())
    assert torch.allclose(surgery.quantised(coarse, bits), coarse)


def test_a_row_of_zeros_stays() -> None:
    assert torch.equal(surgery.quantised(torch.zeros(1, 3), 4), torch.zeros(1, 3))


def test_too_few_bits() -> None:
    with pytest.raises(WtlibError, match="bits=1"):
        surgery.quantised(torch.ones(1, 1), 1)


@pytest.mark.parametrize("side", ["table", "head"])
@pytest.mark.parametrize("family", ["smollm2", "gemma"])
def test_one_side_holds_other_values(family: str, side: str) -> None:
    model = build(family)
    other = torch.randn_like(model.get_input_embeddings().weight)
    untied = copy.deepcopy(model)
    ends = {"table": untied.get_input_embeddings(), "head": untied.get_output_embeddings()}
    for name, module in ends.items():
        keep = module.weight.detach().clone()
        module.weight = nn.Parameter(other.clone() if name == side else keep)
    whole = logits(model)
    with surgery.ends_holding(model, **{side: other}):
        assert torch.allclose(logits(model), logits(untied), atol=1e-5)
    assert torch.equal(logits(model), whole)


def test_held_values_go_back() -> None:
    weight = nn.Parameter(torch.ones(2, 2))
    with surgery.holding([(weight, torch.zeros(2, 2))]):
        assert weight.sum() == 0
    assert weight.sum() == 4
