"""The header of a safetensors file, read without trusting it.

A file is eight bytes (the header's length, little-endian), a JSON object, and the data. Source:
the format's description, https://huggingface.co/docs/safetensors.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from io import BufferedIOBase
from pathlib import Path
from typing import Any

from wtlib.tying.checkpoint.entries import (
    LONGEST_NAME,
    MOST_TENSORS,
    Entry,
    Header,
    HeaderError,
    check_layout,
    check_shape,
    read_exactly,
)

# A header has some hundred bytes and a dozen items a tensor: these hold two hundred thousand.
LARGEST_HEADER = 25 * 2**20
_MOST_ITEMS = 2_000_000
_BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
    "U16": 16, "I16": 16, "F16": 16, "BF16": 16, "U32": 32, "I32": 32, "F32": 32,
    "U64": 64, "I64": 64, "F64": 64, "C64": 64,
}  # fmt: skip


def read(stream: BufferedIOBase, size: int, where: str, path: Path | None = None) -> Header:
    """Read and check a header; the stream stands at its start and the file has ``size`` bytes.

    Raises:
        HeaderError: the file is empty, truncated or malformed, or its header lies.
    """
    if size < 8:
        raise HeaderError(
            f"{where} has {size} bytes; a safetensors file has at least 8: fetch or write it again"
        )
    (length,) = struct.unpack("<Q", read_exactly(stream, 8, where, "the header's length"))
    if length > size - 8:
        raise HeaderError(
            f"{where} says its header has {length:,} bytes and the file has {size - 8:,} more: "
            "it is truncated, or no safetensors file"
        )
    if length > LARGEST_HEADER:
        raise HeaderError(
            f"{where} has a header of {length:,} bytes; at most {LARGEST_HEADER:,} are read: "
            "split the checkpoint into shards"
        )
    document = _document(read_exactly(stream, length, where, "the header"), where)
    metadata = _metadata(document.pop("__metadata__", {}), where)
    if len(document) > MOST_TENSORS:
        raise HeaderError(
            f"{where} names {len(document):,} tensors; at most {MOST_TENSORS:,} are read: split "
            "the checkpoint into shards"
        )
    entries = {name: _entry(name, value, 8 + length, where, path) for name, value in
               document.items()}  # fmt: skip
    check_layout(entries.values(), size, where)
    held = sum(entry.nbytes for entry in entries.values())
    if held != size - 8 - length:
        raise HeaderError(
            f"{where} holds {size - 8 - length:,} bytes of data and its header describes {held:,}; "
            "fetch or write it again"
        )
    return Header("safetensors", entries, metadata)


def _document(content: bytes, where: str) -> dict[str, Any]:
    # Each item costs memory once parsed, so they are counted before.
    if sum(content.count(sign) for sign in (b",", b"[", b"{")) > _MOST_ITEMS:
        raise HeaderError(
            f"{where} has a header of more than {_MOST_ITEMS:,} items; no checkpoint has as many"
        )
    try:
        document = json.loads(content, object_pairs_hook=_unique, parse_constant=_refuse)
    except HeaderError as error:
        raise HeaderError(f"{where}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise HeaderError(f"{where} has a header that is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise HeaderError(f"{where} has a header that is a {type(document).__name__}, no object")
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        seen: set[str] = set()
        name = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise HeaderError(f"its header has the key {name[:80]!r} twice; readers would disagree")
    return document


def _refuse(word: str) -> None:
    raise HeaderError(f"its header holds {word}, which is no JSON")


def _metadata(value: Any, where: str) -> Mapping[str, str]:
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise HeaderError(f"{where} has a __metadata__ that is not an object of strings")
    return value


def _entry(name: str, value: Any, offset: int, where: str, path: Path | None) -> Entry:
    if len(name) > LONGEST_NAME:
        raise HeaderError(f"{where} has a tensor's name of {len(name):,} characters")
    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data_offsets"}:
        raise HeaderError(
            f"{where}: {name!r} must have dtype, shape and data_offsets, no more; the file is "
            "corrupt"
        )
    dtype, shape = value["dtype"], _whole_numbers(value["shape"], name, "shape", where)
    offsets = _whole_numbers(value["data_offsets"], name, "data_offsets", where)
    if not isinstance(dtype, str) or dtype not in _BITS:
        raise HeaderError(
            f"{where}: {name!r} has the dtype {str(dtype)[:40]!r}; known: {', '.join(_BITS)}"
        )
    check_shape(shape, name, where)
    if len(offsets) != 2 or not 0 <= offsets[0] <= offsets[1]:
        raise HeaderError(
            f"{where}: {name!r} has the data_offsets {list(offsets[:4])}; "
            "they must be a start and an end"
        )
    entry = Entry(name, dtype, shape, offset + offsets[0], offsets[1] - offsets[0], path)
    if entry.numel * _BITS[dtype] != 8 * entry.nbytes:
        raise HeaderError(
            f"{where}: {name!r} of {dtype} {list(shape)} does not fit its {entry.nbytes:,} bytes; "
            "the file is corrupt"
        )
    return entry


def _whole_numbers(value: Any, name: str, key: str, where: str) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(type(item) is int for item in value):
        raise HeaderError(f"{where}: {name!r} has a {key} that is not a list of whole numbers")
    return tuple(value)
