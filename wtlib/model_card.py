"""What a model card's advertised counts reveal about the tie.

A card often prints two numbers: all parameters, and those that are not embeddings. Their
difference holds the vocabulary matrices, so divided by V·d it is one if the model is tied and two
if it is not: up to the rounding of what was printed.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from wtlib.errors import WtlibError

Reading = Literal["tied", "untied", "cannot say", "neither"]

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
_PRINTED = re.compile(r"(\d[\d,]*)(?:\.(\d+))?\s*([KMBT]?)", re.IGNORECASE)


@dataclass(frozen=True)
class Printed:
    """A count as printed, and the range of counts that rounding may have turned into it."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class CardReading:
    """What a card says about the tie.

    Attributes:
        total, non_embedding: the two counts, with the range that their rounding allows.
        matrix: parameters of one vocabulary matrix, V·d.
        matrices: how many of them fit between the two counts as printed.
        low, high: the range of that number over what the rounding allows.
    """

    total: Printed
    non_embedding: Printed
    matrix: int
    matrices: float
    low: float
    high: float

    @property
    def reading(self) -> Reading:
        """Tied if of one and two only one lies in the range, untied if only two does.

        "Neither" means that the card does not count as assumed: positions, padded rows, a narrow
        table or a vision tower stand on one side and not on the other, or "non-embedding" leaves
        out something else.
        """
        one, two = self.low <= 1 <= self.high, self.low <= 2 <= self.high
        if one and two:
            return "cannot say"
        return "tied" if one else "untied" if two else "neither"


def printed(count: int | float | str) -> Printed:
    """Read a count and what its rounding leaves open.

    A text may carry a unit: ``"6.95B"`` stands for anything that rounds to it, 6.945 to 6.955
    billion. A whole number, and a text without unit and point, is exact. A float is read as exact
    too: give a text to keep the places that were printed.

    Raises:
        WtlibError: it is not a count.
    """
    if isinstance(count, str):
        return _printed_text(count)
    if isinstance(count, bool) or not isinstance(count, int | float) or not 0 <= count < math.inf:
        raise WtlibError(
            f'{count!r} is not a count of parameters: give a number, or a text such as "6.95B"'
        )
    return Printed(float(count), float(count), float(count))


def what_the_card_says(
    total: int | float | str, non_embedding: int | float | str, vocab_size: int, d_model: int
) -> CardReading:
    """Read the tie off a card's two counts.

    The card is assumed to subtract *every* vocabulary matrix from the total. Some tools subtract
    the input table alone; for an untied model their difference is one matrix too, and reads as
    tied.

    Args:
        total: all parameters, as printed.
        non_embedding: parameters without the vocabulary matrices, as printed.
        vocab_size: rows of the matrix, V: those stored, padding included.
        d_model: width of the matrix, d.

    Raises:
        WtlibError: a count or a size is not one, or the total is the smaller count.
    """
    for name, size in (("vocab_size", vocab_size), ("d_model", d_model)):
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise WtlibError(f"{name} is {size!r}; it must be a whole number, at least 1")
    everything, body = printed(total), printed(non_embedding)
    if everything.high < body.low:
        raise WtlibError(
            f"total {total!r} is below non_embedding {non_embedding!r}: check which is which"
        )
    matrix = vocab_size * d_model
    return CardReading(
        everything,
        body,
        matrix,
        matrices=(everything.value - body.value) / matrix,
        low=(everything.low - body.high) / matrix,
        high=(everything.high - body.low) / matrix,
    )


def _printed_text(text: str) -> Printed:
    match = _PRINTED.fullmatch(text.strip())
    if match is None:
        raise WtlibError(
            f'{text!r} is not a count of parameters: give a number, or a text such as "6.95B"'
        )
    whole, decimals, unit = match[1].replace(",", ""), match[2] or "", match[3].upper()
    scale = _UNITS[unit]
    value = float(f"{whole}.{decimals or 0}") * scale
    if not unit and not decimals:
        return Printed(value, value, value)
    half = 0.5 * scale / 10 ** len(decimals)
    return Printed(value, value - half, value + half)
