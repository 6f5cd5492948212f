"""Do stated probabilities come true? Reliability, expected calibration error, temperature.

Everything here works on logits `(N, V)` and the token that came, `(N,)`. A position's *confidence*
is the probability it gives its best token; it is *right* if that token came.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from wtlib.errors import WtlibError

BINS = 15
_ROWS = 256  # positions at a time: probabilities of a large vocabulary need memory
_HOTTEST = 12.0  # the largest |ln T| looked for


@dataclass(frozen=True, eq=False)
class Reliability:
    """Positions sorted into bins of equal width by their confidence; empty bins are left out."""

    counts: Int64[Tensor, " bins"]
    confidence: Float64[Tensor, " bins"]
    """Mean confidence in each bin."""
    accuracy: Float64[Tensor, " bins"]
    """Share of positions in each bin that are right."""

    @property
    def error(self) -> float:
        """The expected calibration error: the mean gap between confidence and accuracy.

        The gap of each bin counts with its share of the positions (Guo et al., arXiv:1706.04599).
        """
        gaps = (self.confidence - self.accuracy).abs()
        return float((gaps * self.counts).sum() / self.counts.sum())

    @property
    def overconfidence(self) -> float:
        """Mean confidence minus the share that is right; negative for a model that is too timid."""
        gaps = self.confidence - self.accuracy
        return float((gaps * self.counts).sum() / self.counts.sum())


@dataclass(frozen=True, eq=False)
class Calibration:
    """A model's probabilities on one text, as they are and at the best temperature.

    Losses are in nats per token. Dividing the logits by `temperature` gives the lowest loss that
    any one factor gives, `repaired_loss`.
    """

    loss: float
    reliability: Reliability
    temperature: float
    repaired_loss: float
    repaired: Reliability


@torch.no_grad()
def predictions(
    model: Any, input_ids: Int64[Tensor, "B T"]
) -> tuple[Float[Tensor, "N V"], Int64[Tensor, " N"]]:
    """Return the logits at every position that has a next token, and the tokens that came."""
    logits = model(input_ids).logits[:, :-1]
    return logits.flatten(0, 1), input_ids[:, 1:].flatten()


def calibration(
    logits: Float[Tensor, "N V"], labels: Int64[Tensor, " N"], bins: int = BINS
) -> Calibration:
    """Measure loss and reliability, find the temperature that repairs most, and measure again."""
    found = temperature(logits, labels)
    return Calibration(
        loss=loss(logits, labels),
        reliability=reliability(logits, labels, bins),
        temperature=found,
        repaired_loss=loss(logits, labels, found),
        repaired=reliability(logits, labels, bins, found),
    )


def loss(
    logits: Float[Tensor, "N V"], labels: Int64[Tensor, " N"], temperature: float = 1.0
) -> float:
    """Return the mean cross-entropy in nats per token, of the logits over a temperature."""
    return _mean(
        logits, labels, lambda rows, own: F.cross_entropy(rows / temperature, own, reduction="none")
    )


def reliability(
    logits: Float[Tensor, "N V"],
    labels: Int64[Tensor, " N"],
    bins: int = BINS,
    temperature: float = 1.0,
) -> Reliability:
    """Sort positions by confidence and compare each bin's confidence with how often it is right.

    Raises:
        WtlibError: if there are no positions, or fewer than one bin.
    """
    _check(logits, labels)
    if bins < 1:
        raise WtlibError(f"bins={bins}: at least one bin is needed")
    best = [((rows / temperature).softmax(-1).max(-1), own) for rows, own in _parts(logits, labels)]
    confidence = torch.cat([top.values for top, _ in best]).double()
    right = torch.cat([top.indices == own for top, own in best]).double()
    place = (confidence * bins).long().clamp(max=bins - 1)
    counts = torch.bincount(place, minlength=bins)
    kept = counts > 0
    means = [
        torch.bincount(place, weights=what, minlength=bins)[kept] / counts[kept]
        for what in (confidence, right)
    ]
    return Reliability(counts[kept], *means)


def temperature(logits: Float[Tensor, "N V"], labels: Int64[Tensor, " N"]) -> float:
    """Return the temperature that minimises the loss of the logits divided by it.

    The loss is convex in the inverse temperature, so its slope there has one zero. Bisection
    comes within a hundredth of its logarithm, and a straight line does the rest.

    Raises:
        WtlibError: if there are no positions, or no temperature is best, because the best tokens
            always come or the logits say nothing.
    """
    _check(logits, labels)

    def slope(log_beta: float) -> float:
        beta = math.exp(log_beta)

        def excess(rows: Tensor, own: Tensor) -> Tensor:
            expected = ((rows * beta).softmax(-1) * rows).sum(-1)
            return expected - rows.gather(-1, own[:, None])[:, 0]

        return _mean(logits, labels, excess)

    low, high = -1.0, 1.0
    while slope(low) > 0 and low > -_HOTTEST:
        low -= 1.0
    while slope(high) < 0 and high < _HOTTEST:
        high += 1.0
    if slope(low) >= 0 or slope(high) <= 0:
        raise WtlibError(
            "no temperature between e^-12 and e^12 minimises the loss: the best token always "
            "comes, or the logits say nothing about what comes; measure on more text"
        )
    while high - low > 0.01:
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    # Over so short an interval the slope is all but straight.
    below, above = slope(low), slope(high)
    return math.exp(-(low - below * (high - low) / (above - below)))


def _parts(logits: Tensor, labels: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    return zip(logits.split(_ROWS), labels.split(_ROWS), strict=True)


def _mean(logits: Tensor, labels: Tensor, of: Callable[[Tensor, Tensor], Tensor]) -> float:
    _check(logits, labels)
    return float(sum(of(*part).double().sum() for part in _parts(logits, labels)) / len(labels))


def _check(logits: Tensor, labels: Tensor) -> None:
    if not len(labels):
        raise WtlibError("there are no positions to measure: give at least one token")
