import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.numpy

from tests.wtlib.tying.files import matrix, safetensors_bytes
from wtlib.tying.checkpoint import HeaderError
from wtlib.tying.checkpoint.entries import Header
from wtlib.tying.checkpoint.safetensors import LARGEST_HEADER, read


def header(content: bytes) -> Header:
    return read(io.BytesIO(content), len(content), "model.safetensors")


def tensor(start: int = 0, end: int = 8, **changes: Any) -> dict[str, Any]:
    return {"dtype": "F32", "shape": [2], "data_offsets": [start, end], **changes}


def test_reads_what_the_formats_own_library_wrote(tmp_path: Path) -> None:
    tensors = {"a": matrix(), "b.weight": np.arange(6, dtype=np.int64).reshape(3, 2)}
    content = safetensors.numpy.save(tensors, {"format": "np"})
    found = header(content)
    assert found.metadata == {"format": "np"}
    assert set(found.entries) == set(tensors)
    for name, entry in found.entries.items():
        assert entry.shape == tensors[name].shape
        assert content[entry.start : entry.start + entry.nbytes] == tensors[name].tobytes()


@pytest.mark.parametrize(
    "dtype",
    [
        "BOOL",
        "U8",
        "I8",
        "F8_E4M3",
        "F8_E5M2",
        "I16",
        "U16",
        "F16",
        "BF16",
        "I32",
        "U32",
        "F32",
        "F64",
        "I64",
        "U64",
        "C64",
    ],
)
def test_every_dtype_has_the_size_the_formats_own_library_gives_it(dtype: str) -> None:
    def size_is_right(width: int) -> bool:
        content = safetensors_bytes(
            {"a": {"dtype": dtype, "shape": [3], "data_offsets": [0, 3 * width]}}, bytes(3 * width)
        )
        try:
            safetensors.deserialize(content)
        except safetensors.SafetensorError:
            with pytest.raises(HeaderError):
                header(content)
            return False
        return header(content).entries["a"].nbytes == 3 * width

    assert sum(size_is_right(width) for width in (1, 2, 4, 8)) == 1


def test_an_empty_tensor_and_an_empty_file_of_tensors_are_fine() -> None:
    assert header(safetensors_bytes({})).entries == {}
    empty = {"dtype": "F32", "shape": [0, 4], "data_offsets": [8, 8]}
    assert header(safetensors_bytes({"a": tensor(), "b": empty}, bytes(8))).entries["b"].numel == 0


FAULTS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "0 bytes; a safetensors file has at least 8"),
    "short": (b"abc", "3 bytes"),
    "length beyond the file": (safetensors_bytes({}, length=99), "truncated, or no safetensors"),
    "absurd length": (safetensors_bytes({}, length=2**64 - 1), "18,446,744,073,709,551,615"),
    "no JSON": (safetensors_bytes(b"{,"), "a header that is not JSON"),
    "not UTF-8": (safetensors_bytes(b'{"\xff\xfe": 1}'), "a header that is not JSON"),
    "no object": (safetensors_bytes([1]), "a header that is a list, no object"),
    "deep": (safetensors_bytes(b'{"a":' * 90_000 + b"1" + b"}" * 90_000), "is not JSON"),
    "many items": (safetensors_bytes(b"[" + b"1," * 2_000_001 + b"1]"), "more than 2,000,000"),
    "long number": (safetensors_bytes(b'{"a":' + b"9" * 9_999 + b"}"), "is not JSON"),
    "NaN": (safetensors_bytes(b'{"a": NaN}'), "holds NaN, which is no JSON"),
    "duplicate tensor": (
        safetensors_bytes(f'{{"a":{json.dumps(tensor())},"a":{json.dumps(tensor())}}}'.encode(),
                          bytes(8)),
        "the key 'a' twice",
    ),
    "duplicate key": (
        safetensors_bytes(b'{"a":{"dtype":"F32","dtype":"F64","shape":[],"data_offsets":[0,4]}}'),
        "the key 'dtype' twice",
    ),
    "metadata of numbers": (safetensors_bytes({"__metadata__": {"a": 1}}), "no|not an object of"),
    "a tensor of no object": (safetensors_bytes({"a": 1}), "dtype, shape and data_offsets"),
    "a key too many": (safetensors_bytes({"a": tensor(x=1)}, bytes(8)), "no more"),
    "unknown dtype": (safetensors_bytes({"a": tensor(dtype="F33")}, bytes(8)), "the dtype 'F33'"),
    "a dtype of no string": (safetensors_bytes({"a": tensor(dtype=[])}, bytes(8)), "the dtype"),
    "shape of floats": (safetensors_bytes({"a": tensor(shape=[2.0])}, bytes(8)), "whole numbers"),
    "shape of booleans": (safetensors_bytes({"a": tensor(shape=[True])}, bytes(4)), "whole numb"),
    "negative shape": (safetensors_bytes({"a": tensor(shape=[-2])}, bytes(8)), "a dimension of -2"),
    "absurd shape": (safetensors_bytes({"a": tensor(shape=[2**60])}), "a dimension of"),
    "many dimensions": (safetensors_bytes({"a": tensor(shape=[1] * 99)}), "99 dimensions"),
    "shape and bytes differ": (safetensors_bytes({"a": tensor(shape=[3])}, bytes(8)), "not fit"),
    "offsets the wrong way": (safetensors_bytes({"a": tensor(8, 0)}, bytes(8)), "a start and an"),
    "negative offset": (safetensors_bytes({"a": tensor(-8, 0)}, bytes(8)), "a start and an end"),
    "three offsets": (
        safetensors_bytes({"a": tensor(data_offsets=[0, 4, 8])}, bytes(8)), "a start and an end"
    ),
    "outside the file": (safetensors_bytes({"a": tensor(8, 16)}, bytes(8)), "ends at byte"),
    "truncated": (safetensors_bytes({"a": tensor()}, bytes(7)), "is truncated or its header lies"),
    "overlapping": (
        safetensors_bytes({"a": tensor(0, 8), "b": tensor(4, 12)}, bytes(12)),
        "'a' and 'b' overlap",
    ),
    "the same bytes twice": (
        safetensors_bytes({"a": tensor(), "b": tensor()}, bytes(8)), "'a' and 'b' overlap"
    ),
    "bytes no tensor owns": (safetensors_bytes({"a": tensor()}, bytes(9)), "9 bytes of data and"),
    "a hole": (safetensors_bytes({"a": tensor(8, 16)}, bytes(16)), "16 bytes of data and"),
    "a long name": (safetensors_bytes({"a" * 5_000: tensor()}, bytes(8)), "5,000 characters"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "message"), FAULTS.values(), ids=FAULTS)
def test_one_clear_error(content: bytes, message: str) -> None:
    with pytest.raises(HeaderError, match=message) as caught:
        header(content)
    assert str(caught.value).startswith("model.safetensors")
    assert len(str(caught.value)) < 1_000


def test_a_header_is_not_read_beyond_the_limit() -> None:
    class Huge(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            assert size is not None
            assert size <= 8
            return (LARGEST_HEADER + 1).to_bytes(8, "little")

    with pytest.raises(HeaderError, match="split the checkpoint into shards"):
        read(Huge(), 10**12, "model.safetensors")


def test_many_tensors_are_refused() -> None:
    names = {f"{i:06d}": 1 for i in range(200_001)}
    with pytest.raises(HeaderError, match="names 200,001 tensors"):
        header(safetensors_bytes(names))
