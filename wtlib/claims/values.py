"""Published values: what kinds there are, when a measurement agrees, how both are written.

A value is a number, yes or no, words, a list of these, or bounds that a number is claimed to keep.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wtlib.errors import WtlibError

Number = int | float
Scalar = bool | Number | str


@dataclass(frozen=True)
class Bounds:
    """Bounds that a number is claimed to keep; a bound is None where there is none.

    Attributes:
        low, high: the bounds.
        strict: whether the bounds themselves are excluded.
    """

    low: Number | None
    high: Number | None
    strict: bool


Value = Scalar | Bounds | tuple[Scalar, ...]

# One key for each way of printing a bound: (which keys together, strict, words around the number).
_BOUNDS: Mapping[tuple[str, ...], tuple[bool, str]] = {
    ("above",): (True, "more than {low}"),
    ("below",): (True, "less than {high}"),
    ("at_least",): (False, "at least {low}"),
    ("at_most",): (False, "at most {high}"),
    ("from", "to"): (False, "{low} to {high}"),
}
_LOWS = ("above", "at_least", "from")
_HIGHS = ("below", "at_most", "to")

# A decimal such as 23.8 has no exact binary form: half a unit of its last place needs this slack.
_SLACK = 1e-9


class ValueFormError(WtlibError):
    """A published value is of no known kind."""


def parse(raw: Any) -> Value:
    """Return the value that a row of claims.yml prints.

    Raises:
        ValueFormError: it is none of the kinds above.
    """
    if any(isinstance(number, float) and not math.isfinite(number) for number in _parts(raw)):
        raise ValueFormError(f"{raw!r}: give finite numbers")
    if isinstance(raw, Mapping):
        keys = tuple(raw)
        if keys not in _BOUNDS or not all(_is_number(number) for number in raw.values()):
            known = "; ".join(" and ".join(known) for known in _BOUNDS)
            raise ValueFormError(f"bounds {dict(raw)!r}: give numbers, under {known}")
        return Bounds(
            low=next((raw[key] for key in keys if key in _LOWS), None),
            high=next((raw[key] for key in keys if key in _HIGHS), None),
            strict=_BOUNDS[keys][0],
        )
    if isinstance(raw, list):
        if not raw or not all(isinstance(item, Scalar) for item in raw):
            raise ValueFormError(f"list {raw!r}: give numbers, yes/no or words, at least one")
        return tuple(raw)
    if isinstance(raw, Scalar):
        return raw
    raise ValueFormError(f"{raw!r}: give a number, words, yes/no, a list or bounds")


def agrees(published: Value, measured: Any, tolerance: float) -> bool:
    """Return whether a measurement reproduces a published value.

    Args:
        published: what the source prints.
        measured: a scalar, or a sequence of them; a bound is kept when each of them keeps it.
        tolerance: absolute, inclusive; applies to numbers, not to bounds.
    """
    if isinstance(published, Bounds):
        return all(_keeps(published, number) for number in _as_sequence(measured))
    if isinstance(published, tuple):
        items = _as_sequence(measured)
        return len(items) == len(published) and all(
            agrees(one, other, tolerance) for one, other in zip(published, items, strict=True)
        )
    if _is_number(published) and _is_number(measured):
        return abs(float(measured) - float(published)) <= tolerance + _SLACK * (tolerance > 0)
    return type(published) is type(measured) and published == measured


def _keeps(bounds: Bounds, number: Number) -> bool:
    if bounds.strict:
        above = bounds.low is None or number > bounds.low
        below = bounds.high is None or number < bounds.high
    else:
        above = bounds.low is None or number >= bounds.low
        below = bounds.high is None or number <= bounds.high
    return above and below


def text(value: Value | Sequence[Scalar], unit: str = "", places: int = 0) -> str:
    """Write a value as prose would: ``23.8%``, ``at most 52.94``, ``yes / yes / no``, ``84 rows``.

    Args:
        value: published or measured.
        unit: set against the number when it is % or M or B, after a space otherwise.
        places: decimal places; negative ones count to the left of the point.
    """
    if isinstance(value, Bounds):
        low, high = (
            None if bound is None else _scalar_text(bound, places)
            for bound in (value.low, value.high)
        )
        template = next(
            words
            for keys, (strict, words) in _BOUNDS.items()
            if strict == value.strict
            and ("{low}" in words) == (low is not None)
            and ("{high}" in words) == (high is not None)
        )
        return template.format(low=low, high=high) + _unit_text(unit)
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return _scalar_text(value, places)
    if isinstance(value, Sequence):
        return " / ".join(_scalar_text(item, places) for item in value) + _unit_text(unit)
    return _scalar_text(value, places) + _unit_text(unit)


def _unit_text(unit: str) -> str:
    # A non-breaking space keeps a number and its unit on one line.
    return unit if unit in ("", "%", "M", "B") else f"\N{NO-BREAK SPACE}{unit}"


def _scalar_text(value: Scalar, places: int) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    number = f"{round(value, places):,.{max(places, 0)}f}"
    return number.replace("-", "\N{MINUS SIGN}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _parts(raw: Any) -> Sequence[Any]:
    return tuple(raw.values()) if isinstance(raw, Mapping) else _as_sequence(raw)


def _as_sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else (value,)
