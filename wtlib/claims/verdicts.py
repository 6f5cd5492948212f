"""Verdicts: computed by measuring a claim, never typed."""

import functools
import math
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from wtlib import display, measures
from wtlib.claims import values
from wtlib.claims.rows import SPECIMENS, Beside, Claim, Measure, find
from wtlib.measures import models

if TYPE_CHECKING:
    from wtlib.specimens import Specimen

Word = Literal["reproduced", "differs", "not re-measured here"]
WORDS: tuple[Word, ...] = ("reproduced", "differs", "not re-measured here")


@dataclass(frozen=True)
class Verdict:
    """What became of a claim when it was measured.

    Attributes:
        claim: the claim.
        word: the verdict.
        measured: the measured value, in the published value's unit; None if not re-measured.
        on: the model it was measured on, and at which weights; empty where no model is needed.
        reason: why it is not re-measured; empty otherwise.
        command: what would measure it; empty if nothing here would.
        beside: the other measurements of the claim, as pairs of label and text.
    """

    claim: Claim
    word: Word
    measured: Any
    on: str
    reason: str
    command: str
    beside: tuple[tuple[str, str], ...]

    @property
    def measured_text(self) -> str:
        """The measured value as prose writes it; empty if there is none."""
        if self.measured is None:
            return ""
        return _measured_text(self.measured, self.claim.unit, self.claim.places)

    def __str__(self) -> str:
        """Return the verdict with the measured value, as prose quotes it."""
        return f"{self.word}: {self.measured_text}" if self.measured_text else self.word


def verdict(claim: Claim, specimen: "Specimen | None" = None) -> Verdict:
    """Measure a claim and compare.

    Args:
        claim: a row of the ledger.
        specimen: the edition's specimen. Claims about the weights of another one are not
            re-measured; structural ones are then measured at random initialisation.

    Raises:
        WtlibError: a measure cannot be taken.
    """
    beside = tuple(
        (other.label, text)
        for other in claim.beside
        if (text := _beside_text(other, specimen)) is not None
    )
    word: Word = "not re-measured here"
    if claim.measure is None:
        return Verdict(claim, word, None, "", claim.unmeasured, claim.command, beside)
    on, observation = "", None
    if claim.specimen is not None:
        name = SPECIMENS[claim.specimen]
        if specimen is not None and specimen.name == claim.specimen:
            on, observation = f"{name}, trained", _observe(specimen)
        elif claim.structural:
            on, observation = f"{name}, random initialisation", _observe_random(claim.specimen)
        else:
            command = f"python -m wtlib claims --specimen {claim.specimen} --id {claim.id}"
            reason = f"needs the trained weights of {name}"
            return Verdict(claim, word, None, "", reason, command, beside)
    measured = _measured(claim.measure, observation)
    agreed = values.agrees(claim.published, measured, claim.tolerance)
    word = "reproduced" if agreed else "differs"
    return Verdict(claim, word, measured, on, "", "", beside)


def table(*names: str, specimen: "Specimen | None" = None, caption: str = "") -> display.Table:
    """Return the ledger's rows of these ids, with verdicts, for a chapter or the ledger's page.

    Args:
        names: ids or slugs.
        specimen: the edition's specimen, as for `verdict`.
        caption: the table's caption.

    Raises:
        LedgerError: there is no such claim.
    """
    verdicts = [verdict(find(name), specimen) for name in names]
    return display.table(
        [
            (v.claim.id, v.claim.claim, v.claim.ledger_text, _measured_cell(v), v.word)
            for v in verdicts
        ],
        ("id", "claim", "published", "measured", "verdict"),
        caption=caption,
    )


def tally(verdicts: Iterable[Verdict]) -> display.Table:
    """Return how many verdicts there are of each word, source by source."""
    counts: dict[str, dict[Word, int]] = {}
    for found in verdicts:
        of_source = counts.setdefault(found.claim.source.key, dict.fromkeys(WORDS, 0))
        of_source[found.word] += 1
    rows: list[tuple[str | int, ...]] = [
        (key, *(words[word] for word in WORDS), sum(words.values()))
        for key, words in counts.items()
    ]
    sums = [sum(words[word] for words in counts.values()) for word in WORDS]
    return display.table([*rows, ("all", *sums, sum(sums))], ("source", *WORDS, "claims"))


def _measured_cell(found: Verdict) -> str:
    return found.measured_text or "–"


def _measured(measure: Measure, observation: models.Observation | None) -> Any:
    function = measures.find(measure.function)
    before = () if observation is None else (observation,)
    measured = function(*before, **measure.arguments)
    return measured if measure.per == 1 else measured / measure.per


def _beside_text(other: Beside, specimen: "Specimen | None") -> str | None:
    observation = None
    if other.specimen is not None:
        if specimen is None or specimen.name != other.specimen:
            return None
        observation = _observe(specimen)
    elif other.architecture is not None:
        observation = _observe_random(other.architecture)
    measured = _measured(other.measure, observation)
    return values.text(measured, other.unit, other.places)


def _measured_text(measured: Any, unit: str, places: int) -> str:
    """Write a measurement with one place more than the published value, whole numbers as such."""
    items = measured if isinstance(measured, list | tuple) else (measured,)
    whole = all(not isinstance(item, float) or item.is_integer() for item in items)
    if (whole and places <= 0) or measured == 0:
        return values.text(measured, unit, places)
    tiny = isinstance(measured, float) and 0 < abs(measured) < 10.0 ** -(places + 1)
    if tiny:
        places = -math.floor(math.log10(abs(measured)))
    return values.text(measured, unit, max(places, 0) + (not tiny))


# One observation of a model serves all its claims. A specimen's is kept as long as its model is;
# of a random initialisation, only the numbers are kept.
_observations: "weakref.WeakKeyDictionary[Any, models.Observation]" = weakref.WeakKeyDictionary()


def _observe(specimen: "Specimen") -> models.Observation:
    if specimen.model not in _observations:
        _observations[specimen.model] = models.observe(specimen)
    return _observations[specimen.model]


@functools.cache
def _observe_random(name: str) -> models.Observation:
    return models.observe_random(name)
