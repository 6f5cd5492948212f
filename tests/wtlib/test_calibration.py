"""Calibration, against sums written out, closed forms and a search on a grid."""

import math

import pytest
import torch
from torch.nn import functional as F  # noqa: N812

from wtlib import calibration
from wtlib.errors import WtlibError


def drawn(
    n: int = 400, vocab_size: int = 7, sharpness: float = 2.0
) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits, and labels drawn from their softmax: calibrated by construction."""
    generator = torch.Generator().manual_seed(0)
    logits = sharpness * torch.randn(n, vocab_size, generator=generator)
    return logits, torch.multinomial(logits.softmax(-1), 1, generator=generator)[:, 0]


def test_loss_is_torchs() -> None:
    logits, labels = drawn()
    expected = F.cross_entropy(logits / 1.7, labels)
    assert calibration.loss(logits, labels, 1.7) == pytest.approx(float(expected), rel=1e-5)


def test_the_error_is_the_mean_gap_of_the_bins() -> None:
    logits, labels = drawn()
    best = logits.softmax(-1).max(-1)
    gaps = 0.0
    for k in range(10):
        inside = [i for i in range(len(labels)) if k / 10 <= float(best.values[i]) < (k + 1) / 10]
        if inside:
            stated = sum(float(best.values[i]) for i in inside) / len(inside)
            right = sum(int(best.indices[i] == labels[i]) for i in inside) / len(inside)
            gaps += len(inside) / len(labels) * abs(stated - right)
    found = calibration.reliability(logits, labels, bins=10)
    assert found.error == pytest.approx(gaps, rel=1e-6)
    assert int(found.counts.sum()) == len(labels)


def test_one_bin_gives_the_difference_of_the_means() -> None:
    logits, labels = drawn()
    found = calibration.reliability(logits, labels, bins=1)
    right = (logits.argmax(-1) == labels).double().mean()
    stated = logits.softmax(-1).amax(-1).double().mean()
    assert found.overconfidence == pytest.approx(float(stated - right), abs=1e-6)
    assert found.error == pytest.approx(abs(found.overconfidence))


def test_certainty_lies_in_the_last_bin() -> None:
    found = calibration.reliability(torch.tensor([[200.0, 0.0]]), torch.tensor([0]))
    assert found.counts.tolist() == [1]
    assert found.error == 0


def test_two_tokens_have_a_temperature_in_closed_form() -> None:
    # The first of two tokens has logit a, and comes in three cases of four.
    a = 5.0
    logits = torch.tensor([[a, 0.0]]).expand(8, 2)
    labels = torch.tensor([0, 0, 0, 1] * 2)
    assert calibration.temperature(logits, labels) == pytest.approx(a / math.log(3), rel=1e-4)


def test_the_temperature_is_the_best_on_a_grid() -> None:
    logits, labels = drawn(sharpness=3.0)
    grid = [0.02 * k for k in range(20, 120)]
    best = min(grid, key=lambda t: float(F.cross_entropy(logits / t, labels)))
    assert calibration.temperature(logits, labels) == pytest.approx(best, abs=0.02)


@pytest.mark.parametrize("factor", [0.03, 0.5, 8.0, 40.0])
def test_a_factor_on_the_logits_is_a_temperature(factor: float) -> None:
    logits, labels = drawn()
    plain = calibration.calibration(logits, labels)
    scaled = calibration.calibration(factor * logits, labels)
    assert scaled.temperature == pytest.approx(factor * plain.temperature, rel=3e-4)
    assert scaled.repaired_loss == pytest.approx(plain.repaired_loss, rel=1e-5)


def test_labels_drawn_from_the_probabilities_are_nearly_calibrated() -> None:
    found = calibration.calibration(*drawn(n=4000))
    assert found.reliability.error < 0.03
    assert found.temperature == pytest.approx(1, abs=0.1)


def test_predictions_pair_each_position_with_its_next_token() -> None:
    from wtlib.training import LanguageModel, ModelConfig, cross_entropy

    model = LanguageModel(ModelConfig(11, d_model=8))
    ids = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8]])
    logits, came = calibration.predictions(model, ids)
    assert came.tolist() == [2, 3, 4, 6, 7, 8]

    expected = cross_entropy(model, ids).detach()
    assert calibration.loss(logits, came) == pytest.approx(float(expected))


def test_no_positions() -> None:
    with pytest.raises(WtlibError, match="no positions to measure"):
        calibration.loss(torch.zeros(0, 3), torch.zeros(0, dtype=torch.int64))


def test_no_bins() -> None:
    with pytest.raises(WtlibError, match="bins=0"):
        calibration.reliability(*drawn(), bins=0)


@pytest.mark.parametrize("label", [0, 1])
def test_no_temperature_is_best(label: int) -> None:
    logits = torch.tensor([[3.0, 0.0]]).expand(4, 2)
    with pytest.raises(WtlibError, match="no temperature"):
        calibration.temperature(logits, torch.full((4,), label))
