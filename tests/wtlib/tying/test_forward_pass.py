import pytest
import torch
from torch import nn

from tests.wtlib.tying.examples import embedding
from wtlib.tying import InspectError, inspect
from wtlib.tying.cases import Blocks, OneName, TwoEnds, tied
from wtlib.tying.facts import Pass

IDS = torch.tensor([[1, 2, 3]])


class Loop(nn.Module):
    """A block that runs four times, and a head made by another product."""

    def __init__(self) -> None:
        super().__init__()
        self.wte = nn.Embedding(11, 4)
        self.block = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Dropout(0.5))

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        hidden = self.wte(input_ids)
        for _ in range(4):
            hidden = self.block(hidden)
        return hidden @ self.wte.weight.T


def passed(model: nn.Module) -> Pass:
    live = inspect(model, input_ids=IDS).live
    assert live is not None
    assert live.forward is not None
    return live.forward


def test_logits_from_the_table_itself() -> None:
    assert passed(OneName()).scores_with_table
    assert passed(Loop()).scores_with_table
    assert passed(tied()).scores_with_table
    assert not passed(TwoEnds()).scores_with_table
    found = inspect(OneName(), input_ids=IDS)
    assert (found.tied, found.mechanisms) == (True, ("M3",))
    assert [(route.matrix, route.route) for route in found.routes] == [
        ("wte.weight", "input"),
        ("wte.weight", "output"),
    ]


def test_without_a_pass_nothing_is_claimed_about_one_name() -> None:
    found = inspect(OneName())
    assert (found.tied, found.mechanisms) == (None, ())
    assert [route.route for route in found.routes] == ["input"]


def test_loops_are_counted_by_their_outermost_module() -> None:
    assert passed(Loop()).calls == {"block": 4}
    assert passed(Blocks(3)).calls == {"blocks.0": 3}
    assert passed(Blocks()).calls == {}
    assert "shared-block" in inspect(Loop(), input_ids=IDS).codes


def test_a_pass_changes_nothing() -> None:
    model = Loop().train()
    model.block[1].eval()
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    torch.manual_seed(0)
    chance = torch.rand(1)
    torch.manual_seed(0)
    inspect(model, input_ids=IDS)
    assert torch.equal(torch.rand(1), chance)
    assert [module.training for module in model.modules()] == [True, True, True, True, False, True]
    assert all(torch.equal(state[name], tensor) for name, tensor in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_a_lookup_that_would_rewrite_the_table_is_refused() -> None:
    with pytest.raises(InspectError, match="max_norm, whose lookup rewrites"):
        inspect(embedding(max_norm=1.0), input_ids=IDS)


def test_a_model_that_does_not_run() -> None:
    with pytest.raises(InspectError, match="does not run on input_ids: index out of range"):
        inspect(OneName(), input_ids=torch.tensor([[99]]))
