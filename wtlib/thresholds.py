"""How well one number predicts who ties: the best threshold, and the errors it still makes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from wtlib.errors import WtlibError

Side = Literal["below", "above"]
Number = int | float


@dataclass(frozen=True)
class Confusion:
    """How many models a rule calls right and wrong. A rule calls each model tied or untied."""

    tied_called_tied: int
    tied_called_untied: int
    untied_called_tied: int
    untied_called_untied: int

    @property
    def errors(self) -> int:
        """Models called wrong."""
        return self.tied_called_untied + self.untied_called_tied

    @property
    def total(self) -> int:
        """Models called."""
        return self.errors + self.tied_called_tied + self.untied_called_untied

    @property
    def error_rate(self) -> float:
        """Errors over models, a fraction."""
        return self.errors / self.total

    @property
    def guess_errors(self) -> int:
        """Errors of the rule that looks at nothing and always calls the more frequent answer."""
        tied = self.tied_called_tied + self.tied_called_untied
        return min(tied, self.total - tied)


@dataclass(frozen=True)
class Threshold:
    """The rule "tied on this side of the value, untied on the other", at its best.

    Attributes:
        ties: on which side of the threshold a model is called tied.
        values: every threshold that makes the fewest errors, ascending. Each stands for the gap
            between two neighbouring models, at its geometric mean.
        confusion: the counts at the first of them.
    """

    ties: Side
    values: tuple[float, ...]
    confusion: Confusion

    @property
    def value(self) -> float:
        """The lowest of the best thresholds."""
        return self.values[0]


def confusion(
    numbers: Sequence[Number], tied: Sequence[bool], threshold: Number, ties: Side
) -> Confusion:
    """Count what the rule "tied on this side of the threshold" gets right and wrong.

    Args:
        numbers: one number per model, such as its total or its saving.
        tied: whether each model is tied.
        threshold: the boundary; a number equal to it counts as above.
        ties: the side on which the rule calls a model tied.

    Raises:
        WtlibError: no numbers, or not one flag for each.
    """
    _check(numbers, tied)
    called = [(number < threshold) == (ties == "below") for number in numbers]
    pairs = list(zip(tied, called, strict=True))
    return Confusion(
        tied_called_tied=pairs.count((True, True)),
        tied_called_untied=pairs.count((True, False)),
        untied_called_tied=pairs.count((False, True)),
        untied_called_untied=pairs.count((False, False)),
    )


def error_curve(
    numbers: Sequence[Number], tied: Sequence[bool], ties: Side
) -> tuple[tuple[float, int], ...]:
    """Return (threshold, errors) for every threshold that differs in what it calls.

    One threshold lies in each gap between neighbouring numbers, at its geometric mean; the first
    is the lowest number itself and the last is infinity, where every model falls on one side.

    Raises:
        WtlibError: no numbers, not one flag for each, or a number that is not positive.
    """
    _check(numbers, tied)
    for number in numbers:
        if not 0 < number < math.inf:
            raise WtlibError(f"{number!r} has no place on a logarithmic axis: give numbers above 0")
    distinct = sorted(set(numbers))
    cuts = [
        float(distinct[0]),
        *(math.sqrt(low) * math.sqrt(high) for low, high in itertools.pairwise(distinct)),
        math.inf,
    ]
    # With the cut at the lowest number all models are above. Moving it past one number flips what
    # the rule calls the models of that number.
    change = dict.fromkeys(distinct, 0)
    for number, is_tied in zip(numbers, tied, strict=True):
        change[number] += -1 if is_tied == (ties == "below") else 1
    errors = sum(is_tied != (ties == "above") for is_tied in tied)
    curve = [(cuts[0], errors)]
    for number, cut in zip(distinct, cuts[1:], strict=True):
        errors += change[number]
        curve.append((cut, errors))
    return tuple(curve)


def best_threshold(numbers: Sequence[Number], tied: Sequence[bool], ties: Side) -> Threshold:
    """Find the thresholds that make the fewest errors.

    Raises:
        WtlibError: as `error_curve`.
    """
    curve = error_curve(numbers, tied, ties)
    fewest = min(errors for _, errors in curve)
    values = tuple(cut for cut, errors in curve if errors == fewest)
    return Threshold(ties, values, confusion(numbers, tied, values[0], ties))


def _check(numbers: Sequence[Number], tied: Sequence[bool]) -> None:
    if not numbers:
        raise WtlibError("no models to call: give at least one number")
    if len(numbers) != len(tied):
        raise WtlibError(f"{len(numbers)} numbers for {len(tied)} flags: give one each")
