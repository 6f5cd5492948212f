"""What a grid of recorded runs says: means by setting, and differences paired by seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wtlib.errors import WtlibError
from wtlib.sweeps.records import Record

Settings = tuple[tuple[str, Any], ...]
"""Names and values of the settings that a group has in common."""

RESAMPLES = 10_000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Group:
    """Runs that have some settings in common, and what a metric of them was.

    `standard_deviation` is the sample's (over n - 1), None for one run. Diverged runs have no
    number: they are counted, and are in neither the mean nor `n`.
    """

    settings: Settings
    n: int
    diverged: int
    mean: float | None
    standard_deviation: float | None


@dataclass(frozen=True)
class PairedDifference:
    """A metric of tied runs minus that of untied runs, paired by all other settings and the seed.

    `low` and `high` bound the bootstrap's percentile interval of the mean, None for fewer than two
    pairs. From five pairs such an interval is too narrow: read it as a lower bound of the doubt.
    `unpaired` counts runs left out because their partner is missing or one of the two diverged.
    """

    settings: Settings
    differences: tuple[float, ...]
    mean: float | None
    low: float | None
    high: float | None
    unpaired: int

    @property
    def n(self) -> int:
        """The number of pairs."""
        return len(self.differences)

    @property
    def agree(self) -> bool:
        """Whether all differences have one sign."""
        return len({difference > 0 for difference in self.differences}) == 1


def means(records: Iterable[Record], metric: str, by: Sequence[str] = ()) -> tuple[Group, ...]:
    """Return a metric's mean and standard deviation in each group of runs.

    `by` names the settings that runs of a group have in common; groups come in the order of the
    records. ``by=()`` puts all runs into one group.

    Raises:
        WtlibError: if there is no such metric or setting.
    """
    groups = []
    for settings, members in _grouped(records, by).items():
        numbers = [value for r in members if (value := r.number(metric)) is not None]
        groups.append(
            Group(
                settings=settings,
                n=len(numbers),
                diverged=len(members) - len(numbers),
                mean=float(np.mean(numbers)) if numbers else None,
                standard_deviation=float(np.std(numbers, ddof=1)) if len(numbers) > 1 else None,
            )
        )
    return tuple(groups)


def paired_differences(
    records: Iterable[Record], metric: str, by: Sequence[str] = (), *, seed: int = 0
) -> tuple[PairedDifference, ...]:
    """Return tied minus untied of a metric in each group of runs, with a bootstrap interval.

    `by` is as in `means`. The interval is the percentile interval of 10,000 resamples of the
    pairs, at 95%, drawn with `seed`.

    Raises:
        WtlibError: if there is no such metric or setting.
    """
    results = []
    for settings, members in _grouped(records, by).items():
        pairs: dict[object, dict[bool, float | None]] = {}
        for record in members:
            others = {**record.config.settings, "seed": record.seed}
            tied = others.pop("tie_word_embeddings")
            partners = pairs.setdefault(tuple(others.items()), {})
            partners[tied] = record.number(metric)
        differences = tuple(
            tied - untied
            for pair in pairs.values()
            if (tied := pair.get(True)) is not None and (untied := pair.get(False)) is not None
        )
        low, high = _interval(differences, seed)
        results.append(
            PairedDifference(
                settings=settings,
                differences=differences,
                mean=float(np.mean(differences)) if differences else None,
                low=low,
                high=high,
                unpaired=len(members) - 2 * len(differences),
            )
        )
    return tuple(results)


def _grouped(records: Iterable[Record], by: Sequence[str]) -> dict[Settings, list[Record]]:
    groups: dict[Settings, list[Record]] = {}
    for record in records:
        settings = record.config.settings
        for name in by:
            if name not in settings:
                raise WtlibError(
                    f"{name!r} is no setting of sweep {record.sweep}; "
                    f"there are {', '.join(sorted(settings))}"
                )
        key = tuple((name, settings[name]) for name in by)
        groups.setdefault(key, []).append(record)
    return groups


def _interval(values: Sequence[float], seed: int) -> tuple[float | None, float | None]:
    if len(values) < 2:
        return None, None
    draws = np.random.default_rng(seed).integers(len(values), size=(RESAMPLES, len(values)))
    resampled = np.asarray(values)[draws].mean(axis=1)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(resampled, (tail, 1 - tail))
    return float(low), float(high)
