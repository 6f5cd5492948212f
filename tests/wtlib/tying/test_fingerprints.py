from collections.abc import Callable

import pytest
import torch
from torch import nn

from tests.wtlib.tying.models import TinyLM, tied
from wtlib.tying import fingerprint
from wtlib.tying.fingerprints import next_token_loss

IDS = torch.randint(50, (2, 9), generator=torch.Generator().manual_seed(0))


def one_storage() -> TinyLM:
    model = TinyLM()
    model.lm_head.weight = nn.Parameter(model.wte.weight.detach())
    return model


def equal_copies() -> TinyLM:
    model = TinyLM()
    model.lm_head.weight = nn.Parameter(model.wte.weight.detach().clone())
    return model


class Reuse(nn.Module):
    """The head is a use of the table, not a module."""

    def __init__(self) -> None:
        super().__init__()
        self.wte = nn.Embedding(50, 8)
        self.body = nn.Linear(8, 8)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.body(self.wte(input_ids))) @ self.wte.weight.T

    def get_input_embeddings(self) -> nn.Embedding:
        return self.wte


@pytest.mark.parametrize(
    ("model", "names", "tensors", "counted", "move", "before", "after"),
    [
        (tied, 4, 3, 472, 1, "one Parameter", "one Parameter"),
        (one_storage, 4, 4, 872, 2, *["two Parameters, one storage"] * 2),
        (equal_copies, 4, 4, 872, 1, "equal copies", "separate"),
        (Reuse, 3, 3, 472, 1, None, None),
    ],
)
def test_four_kinds_leave_four_fingerprints(
    model: Callable[[], nn.Module],
    names: int,
    tensors: int,
    counted: int,
    move: float,
    before: str | None,
    after: str | None,
) -> None:
    torch.manual_seed(0)
    result = fingerprint(model(), IDS)
    assert len(result.names) == names
    assert result.vocabulary_names == ("wte.weight", "lm_head.weight")[: names - 2]
    assert result.tensors == result.states == tensors
    assert result.counted == counted
    assert result.largest_move == pytest.approx(move, rel=1e-3)
    assert (result.before and result.before.kind) == before
    assert result.kind_after == (after or "one name")


def test_the_loss_is_the_mean_of_minus_log_probabilities() -> None:
    logits = torch.randn(2, 5, 7)
    ids = torch.randint(7, (2, 5))
    by_hand = [
        -torch.softmax(logits[b, t], -1)[ids[b, t + 1]].log() for b in range(2) for t in range(4)
    ]
    torch.testing.assert_close(next_token_loss(logits, ids), torch.stack(by_hand).mean())
