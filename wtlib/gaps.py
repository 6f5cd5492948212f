"""What sharing costs: recorded losses against those of unshared stacks of equal depth."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from wtlib.sweeps import Record

METRIC = "test_loss"


@dataclass(frozen=True)
class Gap:
    """A scheme at a depth: what it stores, and what it loses against the unshared stack.

    `by_seed` is, for each seed that both were run with, the loss minus the unshared stack's, in
    nats per token: it started from the same seed, and read the same text in the same order.
    """

    sharing: str
    n_layers: int
    n_parameters: int
    loss: float
    """Mean over those seeds."""
    by_seed: Mapping[int, float]

    @property
    def mean(self) -> float:
        """The mean gap."""
        return statistics.fmean(self.by_seed.values())

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest of the gaps."""
        return min(self.by_seed.values()), max(self.by_seed.values())


@dataclass(frozen=True)
class Trend:
    """How a scheme's gap changes when the depth doubles: a straight line's slope for each seed."""

    sharing: str
    slopes: tuple[float, ...]
    """In nats per token and doubling."""

    @property
    def mean(self) -> float:
        """The mean slope."""
        return statistics.fmean(self.slopes)

    @property
    def agree(self) -> bool:
        """Whether all slopes have one sign."""
        return len({slope > 0 for slope in self.slopes}) == 1

    @property
    def word(self) -> str:
        """What the seeds say together: ``grows``, ``shrinks`` or ``undecided``."""
        if not self.agree:
            return "undecided"
        return "grows" if self.mean > 0 else "shrinks"


def gaps(records: Iterable[Record]) -> tuple[Gap, ...]:
    """Return every scheme's gap at every depth, in the order of the records.

    Runs that diverged, or whose unshared partner is missing or diverged, are left out.
    """
    losses: dict[tuple[str, int], dict[int, float]] = {}
    parameters: dict[tuple[str, int], int] = {}
    for record in records:
        settings = record.config.settings
        cell = settings["sharing"], settings["n_layers"]
        parameters[cell] = int(record.metrics["n_parameters"])
        loss = record.number(METRIC)
        if loss is not None:
            losses.setdefault(cell, {})[record.seed] = loss
    found = []
    for (sharing, n_layers), of_cell in losses.items():
        unshared = losses.get(("none", n_layers), {})
        seeds = sorted(of_cell.keys() & unshared.keys())
        if seeds:
            found.append(
                Gap(
                    sharing=sharing,
                    n_layers=n_layers,
                    n_parameters=parameters[sharing, n_layers],
                    loss=statistics.fmean(of_cell[seed] for seed in seeds),
                    by_seed={seed: of_cell[seed] - unshared[seed] for seed in seeds},
                )
            )
    return tuple(found)


SHALLOWEST = 4
"""Layers from which schemes differ: with two, groups, cycles and sharing all are one scheme."""


def trends(found: Iterable[Gap]) -> tuple[Trend, ...]:
    """Return the trend of each scheme but ``none`` over depths of at least `SHALLOWEST`.

    It takes the seeds that all of these depths have. A scheme with fewer than two depths has none.
    """
    by_scheme: dict[str, list[Gap]] = {}
    for gap in found:
        if gap.sharing != "none" and gap.n_layers >= SHALLOWEST:
            by_scheme.setdefault(gap.sharing, []).append(gap)
    result = []
    for sharing, members in by_scheme.items():
        seeds = sorted(set.intersection(*(set(gap.by_seed) for gap in members)))
        if len(members) > 1 and seeds:
            doublings = [math.log2(gap.n_layers) for gap in members]
            slopes = [
                statistics.linear_regression(doublings, [gap.by_seed[s] for gap in members]).slope
                for s in seeds
            ]
            result.append(Trend(sharing, tuple(slopes)))
    return tuple(result)


def differences(
    records: Iterable[Record], these: tuple[str, int], those: tuple[str, int]
) -> Mapping[int, float]:
    """Return, for each seed, the loss of one (scheme, depth) minus that of another, in nats.

    Seeds of which one run is missing or diverged are left out.
    """
    losses: dict[tuple[str, int, int], float] = {}
    for record in records:
        settings, loss = record.config.settings, record.number(METRIC)
        if loss is not None:
            losses[settings["sharing"], settings["n_layers"], record.seed] = loss
    seeds = sorted(seed for *cell, seed in losses if tuple(cell) == these)
    return {s: losses[*these, s] - losses[*those, s] for s in seeds if (*those, s) in losses}
