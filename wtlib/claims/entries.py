"""The entries of the ledger's file before they mean anything: their keys, and what each holds."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from wtlib.errors import WtlibError


class LedgerError(WtlibError):
    """The ledger's file is wrong, or has no such claim."""


class _Loader(yaml.SafeLoader):
    """YAML in which a key stands once in a mapping; the last of two would win unseen."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        for index, key in enumerate(keys):
            if key in keys[:index]:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key!r} stands twice; remove one", node.start_mark
                )
        return super().construct_mapping(node, deep)


def read(path: Path) -> tuple[dict[str, Any], list[Any]]:
    """Return the sources and the claims of a ledger's file, as they stand there.

    Raises:
        LedgerError: the file cannot be read, is not YAML, holds a key twice, or lacks either.
    """
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise LedgerError(f"{path} cannot be read as a ledger: {error}") from error
    parts = {"sources": dict, "claims": list}
    if not isinstance(data, dict) or not all(
        isinstance(data.get(key), kind) for key, kind in parts.items()
    ):
        raise LedgerError(f"{path}: give a mapping `sources` and a list `claims`")
    return data["sources"], data["claims"]


def _words(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _amount(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and value >= 0


# What a key holds, wherever it stands: how to tell, and how to say it.
_KINDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(
        (
            "architecture", "author", "claim", "command", "date", "function", "id", "label",
            "needs", "note", "slug", "source", "specimen", "title", "unit", "unmeasured",
        ),
        (_words, "words, in quotes if YAML reads them as something else"),
    ),
    **dict.fromkeys(("chapter", "places"), (_whole, "a whole number")),
    "per": (lambda value: _whole(value) and value > 0, "a whole number above zero"),
    "tolerance": (_amount, "a number, zero or more"),
    "structural": (lambda value: isinstance(value, bool), "true or false"),
    "in_words": (lambda value: isinstance(value, bool), "true or false"),
    "beside": (lambda value: isinstance(value, list), "a list"),
    "arguments": (
        lambda value: isinstance(value, dict) and all(isinstance(key, str) for key in value),
        "a mapping of names to values",
    ),
}  # fmt: skip


def checked(
    what: str, entry: Any, known: frozenset[str], required: frozenset[str]
) -> dict[str, Any]:
    """Return the entry, which has all required keys, no unknown one, and under each what it holds.

    Raises:
        LedgerError: it does not; the message begins with ``what``.
    """
    if not isinstance(entry, dict):
        raise LedgerError(f"{what}: {entry!r} is not a mapping")
    for key in entry:
        if key not in known:
            raise LedgerError(f"{what}: unknown key {key!r}; known are {', '.join(sorted(known))}")
    for key in sorted(required):
        if key not in entry:
            raise LedgerError(f"{what}: no {key!r}; add it")
    for key, value in entry.items():
        fits, kind = _KINDS.get(key, (lambda _: True, ""))
        if not fits(value):
            raise LedgerError(f"{what}: {key} is {value!r}; give {kind}")
    return entry
