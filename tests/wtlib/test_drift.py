"""Drift and resemblance, on matrices whose answer is known."""

import math

import pytest
import torch
from torch import Tensor

from wtlib import drift
from wtlib.errors import WtlibError
from wtlib.training import LstmConfig, build


def draw(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_ends_are_copies_and_equal_when_tied() -> None:
    model = build(LstmConfig(vocab_size=30, d_model=4), seed=0)
    before = drift.ends(model)
    with torch.no_grad():
        model.wte.weight.add_(1)
    after = drift.ends(model)
    assert torch.equal(before.table, before.head)
    assert torch.equal(after.head, before.head + 1)


def test_bands_hold_every_token_once_and_name_their_counts() -> None:
    counts = torch.tensor([120, 40, 9, 9, 1, 1, 0])
    found = drift.bands(counts, edges=(1, 2, 10, 1000))
    assert [band.ids.tolist() for band in found] == [[6], [4, 5], [2, 3], [0, 1]]
    assert [band.label for band in found] == ["0 times", "once", "9 times", "40–120 times"]


def test_edges_must_rise() -> None:
    with pytest.raises(WtlibError, match=r"edges must rise, not \(5, 2\)"):
        drift.bands(torch.tensor([1]), edges=(5, 2))


def test_parting_measures_the_angle_and_both_ways() -> None:
    start = drift.Ends(torch.tensor([[2.0, 0.0]]), torch.tensor([[2.0, 0.0]]))
    now = drift.Ends(torch.tensor([[2.0, 0.0]]), torch.tensor([[2.0, 2.0]]))
    parted = drift.parting(start, now, drift.Band(torch.tensor([0]), 1, 1))
    assert parted.cosine == pytest.approx(math.cos(math.pi / 4))
    assert (parted.table_moved, parted.head_moved) == (0.0, 1.0)


def test_a_row_of_zeros_has_no_unit() -> None:
    start = drift.Ends(torch.ones(1, 2), torch.zeros(1, 2))
    with pytest.raises(WtlibError, match="a row of the head is zero at the start"):
        drift.parting(start, start, drift.Band(torch.tensor([0]), 1, 1))


def test_an_affine_image_is_met_exactly_from_rows_not_seen() -> None:
    source = draw(80, 6, seed=0)
    target = source @ draw(6, 9, seed=1) + draw(9, seed=2)
    found = drift.resemblance(source, target)
    assert found.cosines.min() > 1 - 1e-6
    assert abs(found.shuffled) < 0.15


def test_unrelated_rows_and_a_common_direction_are_no_resemblance() -> None:
    common = 10 * torch.ones(6)
    found = drift.resemblance(draw(2000, 6, seed=3) + common, draw(2000, 6, seed=4) + common)
    # Without centring the mean would be close to 1. The standard error is about 1/sqrt(6 * 2000).
    assert abs(found.mean) < 0.04


def test_a_half_share_gives_the_cosine_of_its_angle() -> None:
    source, noise = draw(20_000, 50, seed=5), draw(20_000, 50, seed=6)
    found = drift.resemblance(source, source + noise)
    # cos(x, x + e) for independent x and e of equal length is sqrt(1/2) as the width grows.
    assert found.mean == pytest.approx(math.sqrt(0.5), abs=0.01)
    band = drift.Band(torch.arange(10_000), 1, 1)
    assert found.mean_over(band) == pytest.approx(found.cosines[:10_000].mean())


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (torch.ones(5, 2), torch.ones(6, 2), "the rows must come in pairs: 5 against 6"),
        (torch.ones(8, 6), torch.ones(8, 6), "8 rows in 5 folds are too few .* width 6"),
    ],
)
def test_what_cannot_be_compared_is_refused(source: Tensor, target: Tensor, message: str) -> None:
    with pytest.raises(WtlibError, match=message):
        drift.resemblance(source, target)
