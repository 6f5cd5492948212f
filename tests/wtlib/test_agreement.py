"""The mean cosine and its yardsticks, against closed forms and direct loops."""

import math

import pytest
import torch
from torch import Tensor

from wtlib.agreement import agreement
from wtlib.errors import WtlibError


def random_rows(n: int, d: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(n, d, generator=draw), torch.randn(n, d, generator=draw)


def test_cosines_are_those_of_torch() -> None:
    first, second = random_rows(20, 16)
    found = agreement(first, second)
    expected = torch.cosine_similarity(first.double(), second.double())
    torch.testing.assert_close(found.cosines, expected)
    assert found.mean == pytest.approx(expected.mean().item())
    assert found.sd == pytest.approx(expected.std().item())
    assert found.standard_error == pytest.approx(expected.std().item() / math.sqrt(20))
    assert found.negative_share == pytest.approx((expected < 0).sum().item() / 20)


def test_random_directions_spread_as_the_null_says() -> None:
    found = agreement(*random_rows(3000, 64), resamples=10)
    assert found.isotropic_sd == 1 / 8
    assert found.sd == pytest.approx(found.isotropic_sd, rel=0.05)
    assert found.isotropic_standard_error == pytest.approx(1 / math.sqrt(3000 * 64))
    assert abs(found.mean) < 4 * found.isotropic_standard_error


def test_unpaired_are_all_pairs_but_the_true_ones() -> None:
    first, second = random_rows(5, 3)
    found = agreement(first, second, resamples=10)
    cosines = [
        torch.cosine_similarity(first[i].double(), second[j].double(), dim=0)
        for i in range(5)
        for j in range(5)
        if i != j
    ]
    torch.testing.assert_close(found.unpaired, torch.stack(cosines))


def test_agreeing_rows_stand_out_from_their_shuffles() -> None:
    first, noise = random_rows(50, 32)
    found = agreement(first, first + noise)
    assert found.interval[0] > 0.6
    assert found.shuffled_tail == pytest.approx(1 / 4001)
    assert abs(found.shuffled_means.mean()) < 0.05


def test_a_common_direction_alone_does_not_stand_out() -> None:
    first, second = random_rows(50, 32)
    shift = torch.full((32,), 2.0)
    found = agreement(first + shift, second + shift)
    assert found.mean > 0.7
    assert found.shuffled_tail > 0.01


def test_the_bootstrap_interval_has_the_width_of_the_normal_one() -> None:
    found = agreement(*random_rows(400, 64))
    low, high = found.interval
    assert high - low == pytest.approx(2 * 1.96 * found.standard_error, rel=0.05)
    assert low < found.mean < high


def test_a_seed_fixes_the_resampling() -> None:
    rows = random_rows(30, 8)
    assert agreement(*rows, seed=1).interval == agreement(*rows, seed=1).interval
    assert agreement(*rows, seed=1).interval != agreement(*rows, seed=2).interval


def test_rows_that_do_not_pair_are_refused() -> None:
    with pytest.raises(WtlibError, match=r"must come in pairs: \(3, 4\) against \(2, 4\)"):
        agreement(torch.ones(3, 4), torch.ones(2, 4))


def test_one_row_has_no_spread() -> None:
    with pytest.raises(WtlibError, match="at least two rows, not 1"):
        agreement(torch.ones(1, 4), torch.ones(1, 4))


def test_a_zero_row_is_named() -> None:
    rows = torch.ones(3, 4)
    rows[1] = 0
    with pytest.raises(WtlibError, match="row 1 is zero and has no direction"):
        agreement(torch.ones(3, 4), rows)


def test_a_confidence_outside_the_unit_interval_is_refused() -> None:
    with pytest.raises(WtlibError, match="confidence must lie between 0 and 1, not 95"):
        agreement(torch.ones(3, 4), torch.ones(3, 4), confidence=95.0)
