"""The rows of the ledger: read from ``data/claims.yml`` and checked."""

import functools
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

from wtlib import measures
from wtlib.claims import values
from wtlib.claims.entries import LedgerError, checked, read

Needs = Literal["nothing", "configs", "specimen", "experiment"]
# The specimens that a claim can be about, and how reasons and tables name them.
SPECIMENS = {"gpt2": "GPT-2", "smollm2-135m": "SmolLM2-135M-Instruct"}
PATH = Path(__file__).parent.parent / "data" / "claims.yml"

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")


@dataclass(frozen=True)
class Source:
    """A source of the book: who printed it, under what title, and when."""

    key: str
    author: str
    title: str
    date: str


@dataclass(frozen=True)
class Measure:
    """A call of a function of ``wtlib.measures``.

    Attributes:
        function: ``module.function``.
        arguments: keyword arguments, beside the observed model where the function takes one.
        per: what the result is divided by; 1 leaves it as it is.
    """

    function: str
    arguments: Mapping[str, Any]
    per: int = 1


@dataclass(frozen=True)
class Beside:
    """Another measurement, for judging a claim.

    Attributes:
        label: what it is of.
        measure: what computes it.
        specimen: the specimen whose weights it needs, or none.
        architecture: the specimen at whose random initialisation it is taken, or none.
        unit, places: as for a claim.
    """

    label: str
    measure: Measure
    specimen: str | None
    architecture: str | None
    unit: str
    places: int


@dataclass(frozen=True)
class Claim:
    """One published value. The fields are those described at the head of ``claims.yml``."""

    id: str
    slug: str | None
    source: Source
    chapter: int
    claim: str
    published: values.Value
    unit: str
    places: int
    tolerance: float
    needs: Needs
    specimen: str | None
    structural: bool
    in_words: bool
    measure: Measure | None
    unmeasured: str
    command: str
    beside: tuple[Beside, ...]
    note: str

    @property
    def published_text(self) -> str:
        """The published value as prose writes it."""
        return values.text(self.published, self.unit, self.places)

    @property
    def ledger_text(self) -> str:
        """The published value as the ledger prints it, which says what is only a reading."""
        return f"in words; read as {self.published_text}" if self.in_words else self.published_text

    @property
    def anchor(self) -> str:
        """The HTML id of this claim's row on the ledger's page."""
        return f"claim-{self.id}"


@functools.cache
def load(path: Path = PATH) -> tuple[Claim, ...]:
    """Return every claim, in the file's order.

    Raises:
        LedgerError: the file cannot be read, has an unknown, missing or contradictory entry, two
            claims of one name, a claim without its source, or a function that wtlib.measures does
            not have.
    """
    described, entries = read(path)
    sources = {
        key: Source(key=key, **checked(f"source {key}", entry, _SOURCE_KEYS, _SOURCE_KEYS))
        for key, entry in described.items()
    }
    claims = tuple(_claim(entry, sources) for entry in entries)
    names: set[str] = set()
    for claim in claims:
        for name in (claim.id, claim.slug):
            if name in names:
                raise LedgerError(f"{name!r} names two claims: give each claim a name of its own")
            if name is not None:
                names.add(name)
    return claims


@functools.cache
def _by_name(path: Path) -> Mapping[str, Claim]:
    by_id = {claim.id: claim for claim in load(path)}
    return by_id | {claim.slug: claim for claim in load(path) if claim.slug is not None}


def find(name: str) -> Claim:
    """Return the claim of that id or slug.

    Raises:
        LedgerError: there is none.
    """
    claims = _by_name(PATH)
    if name not in claims:
        import difflib

        near = difflib.get_close_matches(name, claims, n=3)
        hint = f"did you mean {', '.join(near)}?" if near else "`python -m wtlib claims` lists all"
        raise LedgerError(f"no claim {name!r} in the ledger: {hint}")
    return claims[name]


_SOURCE_KEYS = frozenset({"author", "title", "date"})
_MEASURE_KEYS = frozenset({"function", "arguments", "per"})
_BESIDE_KEYS = _MEASURE_KEYS | {"label", "unit", "places", "specimen", "architecture"}
_REQUIRED = frozenset({"id", "source", "chapter", "claim", "published", "needs"})
_CLAIM_KEYS = _REQUIRED | {
    "slug", "in_words", "unit", "places", "tolerance", "specimen", "structural", "measure",
    "unmeasured", "command", "beside", "note",
}  # fmt: skip


def _measure(what: str, entry: Mapping[str, Any], on_model: bool) -> Measure:
    measure = Measure(
        function=entry["function"],
        arguments=MappingProxyType(dict(entry["arguments"])),
        per=entry.get("per", 1),
    )
    try:
        function = measures.find(measure.function)
    except measures.MeasureError as error:
        raise LedgerError(f"{what}: {error}") from error
    if measures.takes_model(measure.function) != on_model:
        state = "takes" if not on_model else "does not take"
        raise LedgerError(
            f"{what}: {measure.function} {state} a model: name a specimen for those that do, and "
            "only for those"
        )
    try:
        inspect.signature(function).bind(*([None] * on_model), **measure.arguments)
    except TypeError as error:
        raise LedgerError(f"{what}: {measure.function}: {error}") from error
    return measure


def _beside(what: str, entry: Any) -> Beside:
    entry = checked(what, entry, _BESIDE_KEYS, frozenset({"label", "function", "arguments"}))
    specimen, architecture = entry.get("specimen"), entry.get("architecture")
    for name in (specimen, architecture):
        if name not in (None, *SPECIMENS):
            raise LedgerError(f"{what}: no specimen {name!r}; known are {', '.join(SPECIMENS)}")
    if specimen is not None and architecture is not None:
        raise LedgerError(f"{what}: a specimen and an architecture: give one of them")
    return Beside(
        label=entry["label"],
        measure=_measure(what, entry, on_model=(specimen or architecture) is not None),
        specimen=specimen,
        architecture=architecture,
        unit=entry.get("unit", ""),
        places=entry.get("places", 0),
    )


def _claim(entry: Any, sources: Mapping[str, Source]) -> Claim:
    name = entry.get("id") if isinstance(entry, dict) else entry
    what = f"claim {name!r}"
    entry = checked(what, entry, _CLAIM_KEYS, _REQUIRED)
    if not _ID.fullmatch(entry["id"]):
        raise LedgerError(f"{what}: an id is lower-case words and digits joined by hyphens")
    if entry["source"] not in sources:
        raise LedgerError(
            f"{what}: no source {entry['source']!r}; described are {', '.join(sources)}"
        )
    if not entry["id"].startswith(f"{entry['source']}-"):
        raise LedgerError(f"{what}: an id begins with its source, here {entry['source']!r}")
    needs = entry["needs"]
    if needs not in get_args(Needs):
        raise LedgerError(f"{what}: needs {needs!r}; known are {', '.join(get_args(Needs))}")
    specimen = entry.get("specimen")
    if (needs == "specimen") != (specimen is not None):
        raise LedgerError(f"{what}: needs {needs!r}, specimen {specimen!r}: one asks for the other")
    if specimen not in (None, *SPECIMENS):
        raise LedgerError(f"{what}: no specimen {specimen!r}; known are {', '.join(SPECIMENS)}")
    if ("measure" in entry) == ("unmeasured" in entry):
        raise LedgerError(f"{what}: give either a measure, or why it is unmeasured")
    try:
        published = values.parse(entry["published"])
    except values.ValueFormError as error:
        raise LedgerError(f"{what}: {error}") from error
    measure = None
    if "measure" in entry:
        required = frozenset({"function", "arguments"})
        measure = _measure(
            what,
            checked(f"{what}, measure", entry["measure"], _MEASURE_KEYS, required),
            on_model=specimen is not None,
        )
    places = entry.get("places", 0)
    return Claim(
        id=entry["id"],
        slug=entry.get("slug"),
        source=sources[entry["source"]],
        chapter=entry["chapter"],
        claim=entry["claim"],
        published=published,
        unit=entry.get("unit", ""),
        places=places,
        # A published number stands for whatever rounds to it.
        tolerance=float(entry.get("tolerance", 0.5 * 10.0**-places)),
        needs=needs,
        specimen=specimen,
        structural=entry.get("structural", False),
        in_words=entry.get("in_words", False),
        measure=measure,
        unmeasured=entry.get("unmeasured", ""),
        command=entry.get("command", ""),
        beside=tuple(
            _beside(f"{what}, beside {index}", other)
            for index, other in enumerate(entry.get("beside", ()), start=1)
        ),
        note=entry.get("note", ""),
    )
