import io
import struct
from pathlib import Path

import gguf
import pytest

from tests.wtlib.tying.files import gguf_file, matrix
from wtlib.tying.checkpoint import HeaderError
from wtlib.tying.checkpoint.entries import Header
from wtlib.tying.checkpoint.gguf import read


def header(content: bytes) -> Header:
    return read(io.BytesIO(content), len(content), "model.gguf")


def string(text: bytes, length: int | None = None) -> bytes:
    return struct.pack("<Q", len(text) if length is None else length) + text


def pair(key: bytes, kind: int, value: bytes) -> bytes:
    return string(key) + struct.pack("<I", kind) + value


def info(
    name: bytes = b"a", shape: tuple[int, ...] = (4,), kind: int = 0, offset: int = 0
) -> bytes:
    return (
        string(name)
        + struct.pack("<I", len(shape))
        + struct.pack(f"<{len(shape)}Q", *shape)
        + struct.pack("<IQ", kind, offset)
    )


def file(
    pairs: tuple[bytes, ...] = (),
    infos: tuple[bytes, ...] = (),
    data: bytes = b"",
    version: int = 3,
    counts: tuple[int, int] | None = None,
) -> bytes:
    tensors, keys = counts or (len(infos), len(pairs))
    content = b"GGUF" + struct.pack("<IQQ", version, tensors, keys) + b"".join((*pairs, *infos))
    return content + bytes(-len(content) % 32) + data


def test_reads_what_the_formats_own_library_wrote(tmp_path: Path) -> None:
    kind = gguf.GGMLQuantizationType.Q4_1
    tensors = {"token_embd.weight": matrix(columns=64), "output_norm.weight": matrix(1)[0]}
    path = gguf_file(
        tmp_path / "m.gguf", tensors, tokens=["a", "b", "ü"], quantised={"token_embd.weight": kind},
        logit_scale=0.5, note="x" * 9_000,
    )  # fmt: skip
    content = path.read_bytes()
    found, theirs = header(content), gguf.GGUFReader(path)
    assert found.lengths == {"tokenizer.ggml.tokens": 3}
    assert found.metadata["general.architecture"] == "llama"
    assert found.metadata["llama.logit_scale"] == 0.5
    assert found.metadata["llama.note"] == ""
    assert {t.name for t in theirs.tensors} == set(found.entries)
    for tensor in theirs.tensors:
        entry = found.entries[tensor.name]
        assert (entry.dtype, entry.start) == (tensor.tensor_type.name, tensor.data_offset)
        assert entry.nbytes == tensor.n_bytes
        assert entry.shape == tuple(reversed(tensor.shape.tolist()))


def test_a_big_endian_file_is_read_too() -> None:
    content = b"GGUF" + struct.pack(">IQQ", 3, 0, 1) + struct.pack(">Q", 1) + b"k"
    assert header(content + struct.pack(">II", 4, 7)).metadata == {"k": 7}


NESTED = struct.pack("<IQ", 9, 1) * 5
FAULTS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "truncated: the magic needs 4 bytes and 0 are left"),
    "another kind": (b"PK\x03\x04" + bytes(40), "does not start with GGUF"),
    "only the magic": (b"GGUF", "truncated: the version"),
    "version 1": (file(version=1), "GGUF version 1; versions 2 and 3 are read"),
    "version 9": (file(version=9), "GGUF version 9"),
    "no counts": (file()[:10], "truncated: the number of tensors"),
    "absurd tensors": (file(counts=(2**63, 0)), "9,223,372,036,854,775,808 tensors; at most"),
    "absurd pairs": (file(counts=(0, 2**63)), "pairs; at most 100,000 are read"),
    "fewer pairs than said": (file(counts=(0, 5))[:24], "truncated: the length of a key"),
    "a long key": (file((string(b"k", 2**62) + bytes(4),)), "a key has 4,611,686"),
    "a key of no UTF-8": (file((pair(b"\xff", 4, bytes(4)),)), "a key is not UTF-8"),
    "a key twice": (file((pair(b"k", 7, b"\1"), pair(b"k", 7, b"\0"))), "the key 'k' twice"),
    "unknown type": (file((pair(b"k", 99, bytes(4)),)), "'k' has the unknown type 99"),
    "a string beyond the file": (
        file((pair(b"k", 8, string(b"v", 2**60)),)), "the value of 'k' has 1,152,921"
    ),
    "an array beyond the file": (
        file((pair(b"k", 9, struct.pack("<IQ", 4, 2**61)),)), "the array 'k' has 9,223,372"
    ),
    "an array of too many strings": (
        file((pair(b"k", 9, struct.pack("<IQ", 8, 2**61)),)), "more than 5,000,000 items"
    ),
    "an array's string beyond the file": (
        file((pair(b"k", 9, struct.pack("<IQ", 8, 1) + string(b"", 2**40)),)), "an item of 'k'"
    ),
    "an array of an unknown type": (
        file((pair(b"k", 9, struct.pack("<IQ", 77, 1)),)), "the unknown type 77"
    ),
    "deep arrays": (file((pair(b"k", 9, NESTED),)), "nests arrays deeper than 4"),
    "alignment 0": (file((pair(b"general.alignment", 4, bytes(4)),)), "a power of two"),
    "alignment 24": (
        file((pair(b"general.alignment", 4, struct.pack("<I", 24)),)), "the general.alignment 24"
    ),
    "alignment of words": (file((pair(b"general.alignment", 8, string(b"x")),)), "alignment 'x'"),
    "absurd alignment": (
        file((pair(b"general.alignment", 10, struct.pack("<Q", 2**40)),)), "a power of two up to"
    ),
    "fewer tensors than said": (file(counts=(3, 0))[:24], "truncated: the length of a tensor's"),
    "a tensor twice": (file((), (info(), info(offset=32)), bytes(64)), "the tensor 'a' twice"),
    "many dimensions": (file((), (info(shape=(1,) * 9),)), "9 dimensions; GGUF has at most 4"),
    "absurd shape": (file((), (info(shape=(2**60,)),)), "a dimension of"),
    "unknown tensor type": (file((), (info(kind=77),), bytes(16)), "the unknown tensor type 77"),
    "part of a block": (file((), (info(kind=2),), bytes(32)), "rows of 4, no multiple of 32"),
    "a scalar of blocks": (file((), (info(shape=(), kind=2),), bytes(32)), "rows of 1, no mult"),
    "unaligned": (file((), (info(offset=8),), bytes(64)), "no multiple of 32"),
    "outside the file": (file((), (info(offset=2**40),), bytes(16)), "ends at byte"),
    "truncated": (file((), (info(),), bytes(15)), "truncated or its header lies"),
    "overlapping": (
        file((), (info(shape=(16,)), info(b"b", offset=32)), bytes(64)), "'a' and 'b' overlap"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("content", "message"), FAULTS.values(), ids=FAULTS)
def test_one_clear_error(content: bytes, message: str) -> None:
    with pytest.raises(HeaderError, match=message) as caught:
        header(content)
    assert str(caught.value).startswith("model.gguf")
    assert len(str(caught.value)) < 1_000
