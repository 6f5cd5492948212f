"""The figures of chapter 6 draw the numbers they say."""

import torch

from wtlib.calibration import calibration, reliability
from wtlib.plots import breaking


def _calibrations() -> dict[float, object]:
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(300, 5, generator=generator)
    labels = torch.multinomial(logits.softmax(-1), 1, generator=generator)[:, 0]
    return {factor: calibration(factor * logits, labels) for factor in (0.5, 1.0, 2.0)}


def test_factors() -> None:
    found = _calibrations()
    figure = breaking.factors({"logits": found, "inputs": {1.0: found[1.0]}}, model="toy")  # type: ignore[dict-item]
    assert len(figure.data.rows) == 4
    assert figure.data.rows[2][2] == f"{found[2].loss:.3f}"  # type: ignore[attr-defined]
    assert "toy" in figure.caption


def test_reliability() -> None:
    logits = torch.tensor([[4.0, 0.0], [4.0, 0.0], [0.5, 0.0]])
    found = reliability(logits, torch.tensor([0, 1, 0]))
    figure = breaking.reliability({"sure": found}, what="a toy")
    assert [row[3] for row in figure.data.rows] == ["1", "2"]
    assert "mostly below" in figure.alt


def test_layers_and_bits() -> None:
    figure = breaking.layers({"a": {0: 1.0, 3: 0.5}}, {"a": {2: 0.7, 4: 0.0}}, {"a": 4})
    assert ("a", "layers run", "2", "0.700") in figure.data.rows
    costs = {"table": {4: 0.1, 8: 0.0}, "head": {4: 0.3, 8: 0.01}, "both": {4: 0.4, 8: 0.01}}
    drawn = breaking.bits(costs, model="toy")
    assert drawn.data.rows[0] == ("table", "8", "0.000")
    assert "the head 0.30" in drawn.alt
