"""What came out of timing two stacks against each other."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from wtlib.latency.setting import Setting


@dataclass(frozen=True)
class Latency:
    """Processor seconds of a forward pass, unshared and shared, in pairs measured in turn.

    `flops` are those that PyTorch counts in one pass, unshared and shared.
    """

    setting: Setting
    unshared: tuple[float, ...]
    shared: tuple[float, ...]
    flops: tuple[int, int]
    load: float | None = None
    """The machine's load average where it is known; above the number of cores, others waited."""

    @property
    def ratios(self) -> tuple[float, ...]:
        """Shared over unshared, pair by pair: what slowed both of a pair cancels."""
        return tuple(s / u for s, u in zip(self.shared, self.unshared, strict=True))

    @property
    def ratio(self) -> float:
        """The median ratio."""
        return statistics.median(self.ratios)

    @property
    def seconds(self) -> float:
        """The median time of the shared stack."""
        return statistics.median(self.shared)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The first and the third quartile of the ratios; the median twice if there is one."""
        if len(self.ratios) < 2:
            return self.ratio, self.ratio
        low, _, high = statistics.quantiles(self.ratios, n=4, method="inclusive")
        return low, high
