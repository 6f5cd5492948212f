"""The header of a GGUF file, read without trusting it.

Magic, version, two counts, key-value pairs, tensor descriptions, padding, data. Source: the
format's description in ggml, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. The
`gguf` package's reader maps the whole file and believes every length, so it is not used here; its
table of block sizes is.
"""

from __future__ import annotations

import struct
from io import BufferedIOBase
from pathlib import Path

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

MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_STRING, _ARRAY = 8, 9
_MOST_PAIRS = 100_000
_MOST_ITEMS = 5_000_000  # strings and nested arrays, which must be walked one by one
_LONGEST_KEPT = 4_096
_DEEPEST = 4
_LARGEST_ALIGNMENT = 2**20
_MOST_DIMENSIONS = 4
_DEFAULT_ALIGNMENT = 32

Value = str | int | float | bool


def read(stream: BufferedIOBase, size: int, where: str, path: Path | None = None) -> Header:
    """Read and check a header; the stream stands at its start and the file has ``size`` bytes.

    Raises:
        HeaderError: the file is empty, truncated or malformed, or its header lies.
    """
    cursor = _Cursor(stream, size, where)
    if cursor.take(4, "the magic") != MAGIC:
        raise HeaderError(f"{where} does not start with GGUF: it is another kind of file")
    cursor.set_version(cursor.take(4, "the version"))
    tensors, pairs = cursor.count("tensors", MOST_TENSORS), cursor.count("pairs", _MOST_PAIRS)
    metadata: dict[str, Value] = {}
    lengths: dict[str, int] = {}
    for _ in range(pairs):
        key = cursor.name("a key")
        if key in metadata or key in lengths:
            raise HeaderError(f"{where} has the key {key[:80]!r} twice; readers would disagree")
        kind = cursor.number("I", f"the type of {key!r}")
        if kind == _ARRAY:
            lengths[key] = cursor.skip_array(key)
        else:
            metadata[key] = cursor.value(kind, key)
    found = [_described(cursor) for _ in range(tensors)]
    alignment = _alignment(metadata.get("general.alignment", _DEFAULT_ALIGNMENT), where)
    start = -(-cursor.position // alignment) * alignment
    entries: dict[str, Entry] = {}
    for name, kind, shape, offset in found:
        if name in entries:
            raise HeaderError(f"{where} has the tensor {name!r} twice; readers would disagree")
        if offset % alignment:
            raise HeaderError(
                f"{where}: {name!r} starts at {offset:,}, no multiple of {alignment}; "
                "the file is corrupt"
            )
        dtype, nbytes = _type_and_bytes(kind, shape, name, where)
        entries[name] = Entry(name, dtype, shape, start + offset, nbytes, path)
    check_layout(entries.values(), size, where)
    return Header("gguf", entries, metadata, lengths)


class _Cursor:
    """Reads forward through the header, each length checked against what the file still has."""

    def __init__(self, stream: BufferedIOBase, size: int, where: str) -> None:
        self.where = where
        self.position = 0
        self._stream = stream
        self._size = size
        self._order = "<"
        self._items = 0

    def take(self, length: int, what: str) -> bytes:
        content = read_exactly(self._stream, length, self.where, what)
        self.position += length
        return content

    def skip(self, length: int, what: str) -> None:
        if length > self._size - self.position:
            raise HeaderError(
                f"{self.where}: {what} has {length:,} bytes and the file has "
                f"{self._size - self.position:,} left; it is truncated or its header lies"
            )
        self._stream.seek(length, 1)
        self.position += length

    def set_version(self, content: bytes) -> None:
        version = int.from_bytes(content, "little")
        if version & 0xFFFF == 0:  # a small number whose bytes stand the other way round
            self._order = ">"
            version = int.from_bytes(content, "big")
        if version not in _VERSIONS:
            raise HeaderError(
                f"{self.where} is GGUF version {version}; versions 2 and 3 are read: convert it "
                "again with a current llama.cpp"
            )

    def number(self, code: str, what: str) -> int:
        layout = struct.Struct(self._order + code)
        (value,) = layout.unpack(self.take(layout.size, what))
        return int(value)

    def count(self, what: str, most: int) -> int:
        found = self.number("Q", f"the number of {what}")
        if found > most:
            raise HeaderError(
                f"{self.where} says it has {found:,} {what}; at most {most:,} are read"
            )
        return found

    def name(self, what: str) -> str:
        length = self.number("Q", f"the length of {what}")
        if length > LONGEST_NAME:
            raise HeaderError(f"{self.where}: {what} has {length:,} bytes; the header is corrupt")
        try:
            return self.take(length, what).decode()
        except UnicodeDecodeError as error:
            raise HeaderError(
                f"{self.where}: {what} is not UTF-8; the header is corrupt"
            ) from error

    def value(self, kind: int, key: str) -> Value:
        if kind == _STRING:
            length = self.number("Q", f"the length of {key!r}")
            if length > _LONGEST_KEPT:  # a chat template, say
                self.skip(length, f"the value of {key!r}")
                return ""
            return self.take(length, f"the value of {key!r}").decode(errors="replace")
        layout = struct.Struct(self._order + self._code(kind, key))
        (value,) = layout.unpack(self.take(layout.size, f"the value of {key!r}"))
        return value

    def skip_array(self, key: str, depth: int = 1) -> int:
        """Pass over an array, nested ones included, and return its length."""
        if depth > _DEEPEST:
            raise HeaderError(f"{self.where}: {key!r} nests arrays deeper than {_DEEPEST}")
        kind = self.number("I", f"the type of the items of {key!r}")
        length = self.number("Q", f"the length of {key!r}")
        if kind not in (_STRING, _ARRAY):
            self.skip(length * struct.calcsize("<" + self._code(kind, key)), f"the array {key!r}")
            return length
        self._items += length
        if self._items > _MOST_ITEMS:
            raise HeaderError(f"{self.where} has arrays of more than {_MOST_ITEMS:,} items in all")
        if kind == _ARRAY:
            for _ in range(length):
                self.skip_array(key, depth + 1)
        else:
            self._skip_strings(length, f"an item of {key!r}")
        return length

    def _skip_strings(self, count: int, what: str) -> None:
        length_of = struct.Struct(self._order + "Q")
        for _ in range(count):
            (length,) = length_of.unpack(self.take(8, what))
            self.skip(length, what)

    def _code(self, kind: int, key: str) -> str:
        if kind not in _SCALARS:
            raise HeaderError(f"{self.where}: {key!r} has the unknown type {kind}")
        return _SCALARS[kind]


def _described(cursor: _Cursor) -> tuple[str, int, tuple[int, ...], int]:
    name = cursor.name("a tensor's name")
    dimensions = cursor.number("I", f"the dimensions of {name!r}")
    if dimensions > _MOST_DIMENSIONS:
        raise HeaderError(
            f"{cursor.where}: {name!r} has {dimensions} dimensions; GGUF has at most "
            f"{_MOST_DIMENSIONS}"
        )
    sizes = [cursor.number("Q", f"the shape of {name!r}") for _ in range(dimensions)]
    kind = cursor.number("I", f"the type of {name!r}")
    # GGUF writes the fastest dimension first.
    return name, kind, tuple(reversed(sizes)), cursor.number("Q", f"the offset of {name!r}")


def _alignment(value: Value, where: str) -> int:
    if type(value) is not int or not 0 < value <= _LARGEST_ALIGNMENT or value & (value - 1):
        raise HeaderError(
            f"{where} has the general.alignment {value!r}; it must be a power of two up to "
            f"{_LARGEST_ALIGNMENT:,}"
        )
    return value


def _type_and_bytes(kind: int, shape: tuple[int, ...], name: str, where: str) -> tuple[str, int]:
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

    check_shape(shape, name, where)
    try:
        dtype = GGMLQuantizationType(kind)
        block, nbytes = GGML_QUANT_SIZES[dtype]
    except (ValueError, KeyError) as error:
        raise HeaderError(f"{where}: {name!r} has the unknown tensor type {kind}") from error
    entry = Entry(name, dtype.name, shape, 0, 0)
    row = shape[-1] if shape else 1
    if row % block:
        raise HeaderError(
            f"{where}: {name!r} of {dtype.name} has rows of {row:,}, no multiple of {block}; "
            "the file is corrupt"
        )
    return dtype.name, entry.numel * nbytes // block
