"""Find the numbers in a printed text, and compare two texts number by number.

An integer (`12`, `1,234`) and a word must stay as they are. A float (`0.5`, `1,234.5`, `1e-3`) may
move within a declared tolerance. Digits glued to a word (`gpt2`, `x1`, `135m`, `Llama-3.2`) and
versions (`2.13.0`) are part of that word.
"""

import difflib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

_NUMBER = re.compile(
    r"""
    (?<![\w.])                        # not glued to a word or to the tail of a version
    (?<![^\W\d]-)                     # nor by a hyphen: Llama-3.2
    (?P<sign>(?<![)\]])[+\-−])?
    (?:
        (?P<whole>[0-9]{1,3}(?:,[0-9]{3})+ | [0-9]+)
        (?P<fraction>
            \.[0-9]+
          | \.(?=[,\])eE] | \s+[+\-−]?[0-9])   # NumPy's "1.", never the end of a sentence
        )?
      | (?P<bare>\.[0-9]+)
    )
    (?P<exponent>[eE][+\-−]?[0-9]+)?
    (?!\w) (?!\.[0-9])
    """,
    re.VERBOSE,
)
_NAN = re.compile(r"(?<![\w-])[+\-−]?nan(?![\w-])", re.IGNORECASE)
_SPACES = re.compile(r"[^\S\n]+")
_SPACE_AROUND_NEWLINE = re.compile(r" ?\n ?")
_RULE_LINE = re.compile(r"([-=_─━═])\1{2,}")


@dataclass(frozen=True)
class Tolerance:
    """How far a printed float may move: `max(rel * larger magnitude, abs)`, as `math.isclose`."""

    rel: float = 0.0
    abs: float = 0.0

    @classmethod
    def from_metadata(cls, declared: object) -> "Tolerance":
        """Read a cell's `"tolerance"`; raise `ValueError` that says what is wrong with it."""
        if not isinstance(declared, Mapping):
            raise ValueError(f'tolerance is {declared!r}; write {{"rel": 1e-3, "abs": 0}}')
        unknown = sorted(set(declared) - {"rel", "abs"})
        if unknown:
            raise ValueError(f"unknown tolerance key {unknown[0]!r}; the keys are 'rel' and 'abs'")
        for key, value in declared.items():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not math.isfinite(value) or value < 0:
                raise ValueError(f"tolerance {key!r} is {value!r}; write a number of 0 or more")
        tolerance = cls(**declared)
        if tolerance.rel >= 1:
            raise ValueError(f"tolerance 'rel' is {tolerance.rel}; 1 or more lets anything pass")
        if tolerance == cls():
            raise ValueError("a tolerance of zero does nothing; remove it or give 'rel' or 'abs'")
        return tolerance

    def __str__(self) -> str:
        return f"rel {self.rel:g}, abs {self.abs:g}"


@dataclass(frozen=True)
class Number:
    """A number as printed, its value, and the line it stands in."""

    text: str
    value: float
    is_float: bool
    line: str

    @property
    def last_digit(self) -> float:
        """What one unit in the last printed digit is worth."""
        mantissa, _, exponent = self.text.replace("−", "-").lower().partition("e")
        decimals = len(mantissa.partition(".")[2])
        return float(f"1e{int(exponent or 0) - decimals}")


@dataclass(frozen=True)
class Tokens:
    """A text cut at its numbers: `words[0] numbers[0] words[1] … numbers[-1] words[-1]`."""

    words: tuple[str, ...]
    numbers: tuple[Number, ...]

    @property
    def floats(self) -> int:
        """How many of the numbers are floats."""
        return sum(number.is_float for number in self.numbers)


def tokenise(text: str) -> Tokens:
    """Cut a text at its numbers. Joining words and numbers again gives the text back."""
    words, numbers, end = [], [], 0
    for match in _NUMBER.finditer(text):
        words.append(text[end : match.start()])
        numbers.append(_number(match))
        end = match.end()
    words.append(text[end:])
    return Tokens(tuple(words), tuple(numbers))


def _number(match: re.Match[str]) -> Number:
    text = match.group()
    value = float(text.replace(",", "").replace("−", "-"))
    is_float = any(match[part] for part in ("fraction", "bare", "exponent"))
    start = match.string.rfind("\n", 0, match.start()) + 1
    end = match.string.find("\n", match.end())
    line = match.string[start : end if end >= 0 else None]
    return Number(text, value, is_float, " ".join(line.split()))


def has_nan(text: str) -> bool:
    """Whether a text prints "not a number"."""
    return _NAN.search(text) is not None


def compare(stored: str, fresh: str, tolerance: Tolerance | None = None) -> list[str]:
    """Say what differs between two texts, one message a difference; nothing when they agree.

    Without a tolerance the texts must be equal. With one, floats may move within it, and the
    padding and rules of a table may follow the width of its floats. "Not a number" never agrees.
    """
    problems = [
        f'the {name} output prints "nan"; a number is missing: mend what computes it'
        for name, text in (("stored", stored), ("fresh", fresh))
        if has_nan(text)
    ]
    if problems or stored == fresh:
        return problems
    before, after = tokenise(stored), tokenise(fresh)
    if len(before.numbers) != len(after.numbers):
        return [_count_message(before, after)]
    moved = [
        _number_message(old, new, tolerance)
        for old, new in zip(before.numbers, after.numbers, strict=True)
        if not _agree(old, new, tolerance)
    ]
    worded = [
        f"words differ: {_apart(old, new)}"
        for old, new in zip(_layout_free(before), _layout_free(after), strict=True)
        if old != new
    ]
    if moved or worded or tolerance is not None:
        return moved + worded
    return [f"spacing differs: {_apart(stored, fresh)}"]


def fragile(text: str, tolerance: Tolerance) -> list[Number]:
    """Return the floats printed so short that the least rounding the other way would fail."""
    return [
        number
        for number in tokenise(text).numbers
        if number.is_float
        and max(tolerance.rel * abs(number.value), tolerance.abs) < number.last_digit
    ]


def _agree(old: Number, new: Number, tolerance: Tolerance | None) -> bool:
    if old.text == new.text:
        return True
    if tolerance is None or not (old.is_float and new.is_float):
        return False
    if math.isinf(old.value) or math.isinf(new.value):
        return False
    return math.isclose(old.value, new.value, rel_tol=tolerance.rel, abs_tol=tolerance.abs)


def _layout_free(tokens: Tokens) -> list[str]:
    """Words without what follows from a float's width: padding beside it, rules above it."""
    last = len(tokens.words) - 1
    free = []
    for place, text in enumerate(tokens.words):
        text = _SPACE_AROUND_NEWLINE.sub("\n", _SPACES.sub(" ", text))
        text = _RULE_LINE.sub(r"\1\1\1", text)
        if place > 0:
            text = text.removeprefix(" ")
        if place < last:
            text = text.removesuffix(" ")
        free.append(text)
    return free


def _number_message(old: Number, new: Number, tolerance: Tolerance | None) -> str:
    message = (
        f"number differs in {old.line[:70]!r}: stored {old.text}, fresh {new.text}, "
        f"{_difference(old, new)}"
    )
    if not (old.is_float and new.is_float):
        return f"{message}; an integer must stay exact"
    if tolerance is None:
        return f"{message}; no tolerance is declared on this cell"
    message = f"{message}; declared tolerance {tolerance}"
    if math.isclose(abs(new.value - old.value), old.last_digit, rel_tol=1e-3):
        message += ' (one unit in the last digit: print more digits, or declare it as "abs")'
    return message


def _apart(old: str, new: str, around: int = 30) -> str:
    """Quote two texts about the place where they part."""
    place = next(
        (i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b),
        min(len(old), len(new)),
    )
    part = slice(max(0, place - around), place + around)
    return f"stored {old[part]!r}, fresh {new[part]!r}"


def _difference(old: Number, new: Number) -> str:
    if old.value == new.value:
        return "the same value printed differently"
    if old.value == 0:
        return f"absolute difference {abs(new.value - old.value):.2g}"
    return f"relative difference {abs(new.value - old.value) / abs(old.value):.2g}"


def _count_message(before: Tokens, after: Tokens) -> str:
    old = [number.text for number in before.numbers]
    new = [number.text for number in after.numbers]
    gone, come = [], []
    for kind, i, j, k, m in difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        if kind != "equal":
            gone += old[i:j]
            come += new[k:m]
    return (
        f"a number appears or disappears: stored {len(old)} numbers, fresh {len(new)}; "
        f"only stored: {_some(gone)}; only fresh: {_some(come)}"
    )


def _some(texts: list[str], most: int = 8) -> str:
    return ", ".join(texts[:most]) + (" …" if len(texts) > most else "") or "none"
