"""What a weights file says it holds, whatever its format, and the rules every header must obey."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from io import BufferedIOBase
from pathlib import Path
from typing import Literal

from wtlib.errors import WtlibError

Format = Literal["safetensors", "gguf"]

# Far above what any model has, far below what would exhaust a reader.
MOST_TENSORS = 200_000
LONGEST_NAME = 4_096
MOST_DIMENSIONS = 8
_LARGEST_DIMENSION = 2**48


class InspectError(WtlibError):
    """A target that cannot be inspected: what it is, and what to do instead."""


class HeaderError(InspectError):
    """A weights file whose header is malformed, truncated, or says what cannot be."""


@dataclass(frozen=True)
class Entry:
    """One tensor of a file: where its ``nbytes`` bytes start, and what they mean.

    ``shape`` is row-major, as torch writes it; ``dtype`` is the format's own word for it.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    nbytes: int
    path: Path | None = None

    @property
    def numel(self) -> int:
        """Numbers in the tensor."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Header:
    """All tensors of one file by name, and its metadata.

    ``metadata`` holds strings (safetensors) or scalars (GGUF); ``lengths`` the number of items of
    each metadata array, whose items are skipped.
    """

    format: Format
    entries: Mapping[str, Entry]
    metadata: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    lengths: Mapping[str, int] = field(default_factory=dict)


def read_exactly(stream: BufferedIOBase, length: int, where: str, what: str) -> bytes:
    """Read ``length`` bytes, or say what ended too early.

    Raises:
        HeaderError: the file ends first.
    """
    content = stream.read(length)
    if len(content) < length:
        raise HeaderError(
            f"{where} is truncated: {what} needs {length:,} bytes and {len(content):,} are left; "
            "fetch or write the file again"
        )
    return content


def check_shape(shape: tuple[int, ...], name: str, where: str) -> None:
    """Refuse dimensions that no tensor has.

    Raises:
        HeaderError: too many of them, or one that is negative or absurd.
    """
    if len(shape) > MOST_DIMENSIONS:
        raise HeaderError(
            f"{where}: {name!r} has {len(shape)} dimensions; at most {MOST_DIMENSIONS} are read"
        )
    for size in shape:
        if not 0 <= size <= _LARGEST_DIMENSION:
            raise HeaderError(f"{where}: {name!r} has a dimension of {size}; the header is corrupt")


def check_layout(entries: Iterable[Entry], end: int, where: str) -> None:
    """Refuse tensors that leave the file or overlap.

    Raises:
        HeaderError: names the tensor, or the two.
    """
    last: Entry | None = None
    for entry in sorted(entries, key=lambda entry: (entry.start, entry.nbytes)):
        if entry.start + entry.nbytes > end:
            raise HeaderError(
                f"{where}: {entry.name!r} ends at byte {entry.start + entry.nbytes:,} of a file "
                f"of {end:,}; it is truncated or its header lies: fetch or write it again"
            )
        if last is not None and entry.start < last.start + last.nbytes:
            raise HeaderError(
                f"{where}: {last.name!r} and {entry.name!r} overlap; two names of one tensor are "
                "stored once: write the file again with a safetensors or GGUF writer"
            )
        if entry.nbytes:
            last = entry
