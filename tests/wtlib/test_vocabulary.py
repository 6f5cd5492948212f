"""Growing a vocabulary: what grew, and what new rows take, against logits put side by side."""

import math

import pytest
import torch
from torch.nn import functional as F  # noqa: N812

from wtlib import vocabulary
from wtlib.errors import WtlibError
from wtlib.faults import building

D = building.D


def test_a_tied_model_grows_one_matrix_whichever_way() -> None:
    for growth in vocabulary.growths(building.gpt2):
        assert (growth.table, growth.head, growth.bias) == (3, 3, None)
        assert (growth.added, growth.works) == (3 * D, True)


def test_an_untied_model_grown_by_its_base_leaves_the_head_behind() -> None:
    whole, base, tied = vocabulary.growths(lambda: building.gpt2(tied=False))
    assert (whole.table, whole.head, whole.added, whole.works) == (3, 3, 6 * D, True)
    for growth in (base, tied):
        assert (growth.table, growth.head, growth.works) == (3, 0, False)


def test_a_bias_grows_when_the_tie_is_made_again() -> None:
    whole, base, tied = vocabulary.growths(building.bert)
    assert (whole.head, whole.bias, whole.added) == (3, 3, 3 * D + 3)
    assert (base.head, base.bias, base.works) == (3, 0, False)
    assert (tied.head, tied.bias, tied.works) == (3, 3, True)


def test_new_rows() -> None:
    table = torch.randn(40, 6, generator=torch.Generator().manual_seed(0))
    assert vocabulary.new_rows(table, 2, "zeros").abs().sum() == 0
    mean = vocabulary.new_rows(table, 2, "mean")
    assert torch.allclose(mean, table.mean(0).expand(2, 6))
    random = vocabulary.new_rows(table, 4000, "random", std=0.3)
    assert float(random.std()) == pytest.approx(0.3, rel=0.03)


def test_no_such_start() -> None:
    with pytest.raises(WtlibError, match="start='ones' is none of zeros, random, mean"):
        vocabulary.new_rows(torch.ones(2, 2), 1, "ones")


def test_what_new_rows_take_is_the_softmaxs() -> None:
    generator = torch.Generator().manual_seed(0)
    hidden, table = torch.randn(9, 4, generator=generator), torch.randn(20, 4, generator=generator)
    new, labels = torch.randn(3, 4, generator=generator), torch.arange(9)
    logits = 2 * hidden @ table.T
    joined = torch.cat([logits, 2 * hidden @ new.T], -1)
    found = vocabulary.with_new_rows(hidden, logits, labels, new, start="random", factor=2.0)
    share = joined.softmax(-1)[:, 20:].sum(-1).mean()
    assert found.share == pytest.approx(float(share), rel=1e-5)
    assert found.loss_after == pytest.approx(float(F.cross_entropy(joined, labels)), rel=1e-5)


def test_the_mean_row_takes_at_most_its_part() -> None:
    generator = torch.Generator().manual_seed(0)
    hidden, table = 5 * torch.randn(9, 4, generator=generator), torch.randn(20, 4)
    logits, labels = hidden @ table.T, torch.arange(9)
    mean = vocabulary.new_rows(table, 1, "mean")
    found = vocabulary.with_new_rows(hidden, logits, labels, mean, start="mean")
    assert found.share <= 1 / 21
    assert found.loss_after - found.loss_before <= math.log(21 / 20) + 1e-6
