"""Comparing tensors in files by their bytes: in chunks, each byte read once."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wtlib.tying.checkpoint.entries import Entry, InspectError

CHUNK = 4 * 2**20
_SAMPLE = 4_096
_TAIL_ROWS = 4_096
_SMALL = 20
# What numpy has no name for is widened by hand; what is not here has no values without its scales.
_FLOATS = {"F16": "<f2", "BF16": "<u2", "F32": "<f4", "F64": "<f8"}


@dataclass(frozen=True)
class Comparison:
    """Whether two stored tensors are equal; ``None`` where their forms cannot be compared.

    ``first_row`` is the first row in which they differ.
    """

    equal: bool | None
    first_row: int | None = None


def compare(a: Entry, b: Entry) -> Comparison:
    """Compare two stored matrices: byte by byte, or by value where only their dtypes differ.

    Different shapes are different, except that a matrix stored transposed is compared so.
    """
    if a.shape != b.shape:
        return Comparison(_equal_transposed(a, b) if a.shape == b.shape[::-1] else False)
    if a.dtype == b.dtype:
        chunks = zip(_chunks(a, CHUNK), _chunks(b, CHUNK), strict=True)
        return _first_difference(chunks, a)
    if a.dtype in _FLOATS and b.dtype in _FLOATS:
        return Comparison(_equal_values(a, b))
    return Comparison(None)


def copies(entries: Iterable[Entry]) -> tuple[tuple[str, ...], ...]:
    """Groups of names whose stored matrices are equal byte for byte.

    Two samples of each matrix say which are worth reading. Left out is what is equal by
    initialisation and not by a tie: matrices whose sample repeats one number (all zeros, all ones),
    vectors of whatever shape, and matrices far smaller than the largest (a recurrence's decay).
    """
    entries = [entry for entry in entries if entry.numel > max(entry.shape, default=1)]
    least = max((entry.nbytes for entry in entries), default=0) // _SMALL
    alike: dict[tuple[str, tuple[int, ...], bytes], list[Entry]] = defaultdict(list)
    for entry in entries:
        sample = _sample(entry) if entry.nbytes > least else b""
        if sample and not _constant(sample):
            alike[entry.dtype, entry.shape, sample].append(entry)
    equal: dict[bytes, list[str]] = defaultdict(list)
    for group in alike.values():
        if len(group) > 1:
            for entry in group:
                equal[_digest(entry)].append(entry.name)
    return tuple(tuple(sorted(names)) for names in equal.values() if len(names) > 1)


def identical_last_rows(entry: Entry) -> int:
    """How many rows at the end of a matrix are equal to its last; 1 when only that one is.

    At most the last few thousand rows are read.
    """
    rows = entry.shape[0] if len(entry.shape) == 2 else 0
    if not rows or not entry.nbytes or entry.nbytes % rows:
        return 0
    width, last = entry.nbytes // rows, min(rows, _TAIL_ROWS, max(1, CHUNK * rows // entry.nbytes))
    with _path(entry).open("rb") as stream:
        stream.seek(entry.start + entry.nbytes - last * width)
        tail = stream.read(last * width)
    model = tail[-width:]
    for count in range(1, last):
        if tail[-(count + 1) * width : -count * width] != model:
            return count
    return last


def _path(entry: Entry) -> Path:
    if entry.path is None:
        raise InspectError(f"{entry.name} comes from a stream; only files can be compared")
    return entry.path


def _chunks(entry: Entry, size: int) -> Iterator[bytes]:
    with _path(entry).open("rb", buffering=0) as stream:
        stream.seek(entry.start)
        left = entry.nbytes
        while left:
            # Each raw read may return less than asked.
            chunk = b""
            while len(chunk) < min(size, left):
                more = stream.read(min(size, left) - len(chunk))
                if not more:
                    raise InspectError(f"{entry.path} became shorter while it was read")
                chunk = chunk + more if chunk else more
            left -= len(chunk)
            yield chunk


def _first_difference(chunks: Iterable[tuple[bytes, bytes]], entry: Entry) -> Comparison:
    row_bytes = max(1, entry.nbytes // max(1, entry.shape[0] if entry.shape else 1))
    position = 0
    for left, right in chunks:
        if left != right:
            while left[:1024] == right[:1024]:
                left, right, position = left[1024:], right[1024:], position + 1024
            offset = next(i for i, (x, y) in enumerate(zip(left, right, strict=True)) if x != y)
            return Comparison(False, (position + offset) // row_bytes)
        position += len(left)
    return Comparison(True)


def _sample(entry: Entry) -> bytes:
    with _path(entry).open("rb", buffering=0) as stream:
        stream.seek(entry.start)
        first = stream.read(min(_SAMPLE, entry.nbytes))
        middle = entry.nbytes // 16 * 8  # at the start of a number
        stream.seek(entry.start + middle)
        return first + stream.read(min(_SAMPLE, entry.nbytes - middle))


def _constant(sample: bytes) -> bool:
    return sample[:-8] == sample[8:]


def _digest(entry: Entry) -> bytes:
    digest = hashlib.blake2b(repr((entry.dtype, entry.shape)).encode(), digest_size=32)
    for chunk in _chunks(entry, CHUNK):
        digest.update(chunk)
    return digest.digest()


def _values(chunk: bytes, dtype: str) -> Any:
    import numpy as np

    raw = np.frombuffer(chunk, _FLOATS[dtype])
    if dtype == "BF16":
        raw = (raw.astype("<u4") << 16).view("<f4")
    return raw.astype(np.float64)


def _equal_values(a: Entry, b: Entry) -> bool:
    import numpy as np

    numbers = CHUNK // 8
    sizes = (numbers * a.nbytes // max(1, a.numel), numbers * b.nbytes // max(1, b.numel))
    return all(
        np.array_equal(_values(left, a.dtype), _values(right, b.dtype), equal_nan=True)
        for left, right in zip(_chunks(a, sizes[0]), _chunks(b, sizes[1]), strict=True)
    )


def _equal_transposed(a: Entry, b: Entry) -> bool | None:
    if a.dtype != b.dtype or not a.numel or a.nbytes % a.numel:
        return None
    import numpy as np

    dtype, rows = f"V{a.nbytes // a.numel}", max(1, CHUNK * a.shape[0] // a.nbytes)
    other = np.memmap(_path(b), dtype, "r", b.start, b.shape).T
    start = 0
    for chunk in _chunks(a, rows * a.nbytes // a.shape[0]):
        block = np.frombuffer(chunk, dtype).reshape(-1, a.shape[1])
        if block.tobytes() != other[start : start + len(block)].tobytes():
            return False
        start += len(block)
    return True
