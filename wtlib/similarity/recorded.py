"""The map of block replacements, recorded for the book's edition and measured for any other."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Int64
from torch import Tensor

from wtlib import corpus
from wtlib.routes.uses import block_list
from wtlib.similarity.replacing import Place, replacements
from wtlib.sweeps.records import RECORDS

if TYPE_CHECKING:
    from wtlib.specimens import Specimen

FILE = "block-replacement.jsonl"
WINDOWS, LENGTH = 1, 48
_START = 20_000  # characters into the text, at the end of Noah's preparations


@dataclass(frozen=True)
class ReplacementMap:
    """Every block at every place of a specimen; see `Place`."""

    specimen: str
    places: tuple[Place, ...]
    recorded: bool
    """Whether it was read from the book's records, and not measured now."""

    @property
    def intact(self) -> float:
        """The loss of the model as it is, in nats per predicted token."""
        return self.places[0].intact


def passage(
    specimen: Specimen, windows: int = WINDOWS, length: int = LENGTH
) -> Int64[Tensor, "B T"]:
    """Return a passage of Genesis as `windows` stretches of `length` tokens, one after another."""
    characters = corpus.text()[_START : _START + 8 * windows * length]
    ids: list[int] = specimen.tokenizer(characters)["input_ids"]
    return torch.tensor(ids[: windows * length]).view(windows, length)


def replacement_map(specimen: Specimen, folder: Path = RECORDS) -> ReplacementMap:
    """Return the specimen's map on `passage`: the recorded one if it is complete, else a new one.

    A new one takes a forward pass for each pair of blocks.
    """
    n = len(block_list(specimen.model))
    places = _read(folder / FILE, specimen)
    if places.keys() == set(range(n)):
        return ReplacementMap(specimen.name, tuple(places[i] for i in range(n)), recorded=True)
    measured = tuple(replacements(specimen.model, passage(specimen)))
    return ReplacementMap(specimen.name, measured, recorded=False)


def record(
    specimen: Specimen,
    about: dict[str, Any],
    folder: Path = RECORDS,
    report: Callable[[Place], None] | None = None,
) -> None:
    """Measure what of the map is not recorded yet; append one line of JSON for each place.

    `about` is what the record says of machine and versions; `report` is called after each place.
    """
    path = folder / FILE
    recorded = _read(path, specimen)
    todo = [i for i in range(len(block_list(specimen.model))) if i not in recorded]
    for place in replacements(specimen.model, passage(specimen), todo):
        line = {**_key(specimen), **asdict(place), **about}
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, allow_nan=False) + "\n")
        if report is not None:
            report(place)


def _key(specimen: Specimen) -> dict[str, Any]:
    """What makes two measurements of one place the same."""
    return {
        "specimen": specimen.name,
        "sha256": specimen.identity.sha256,
        "passage": passage(specimen).tolist(),
    }


def _read(path: Path, specimen: Specimen) -> dict[int, Place]:
    key = _key(specimen)
    places = {}
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        line = json.loads(text)
        if all(line[name] == value for name, value in key.items()):
            places[line["place"]] = Place(line["place"], tuple(line["losses"]), line["without"])
    return places
