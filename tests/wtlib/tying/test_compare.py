from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import safetensors.torch
import torch

from tests.wtlib.tying.files import V, matrix
from wtlib.tying.checkpoint import Checkpoint, InspectError, compare, copies, identical_last_rows
from wtlib.tying.checkpoint.entries import Entry
from wtlib.tying.checkpoint.folder import open_checkpoint


def opened(path: Path, **tensors: Any) -> Checkpoint:
    safetensors.torch.save_file(
        {name: torch.as_tensor(tensor).contiguous() for name, tensor in tensors.items()},
        path / "m.safetensors",
    )
    return open_checkpoint(path / "m.safetensors")


@pytest.mark.parametrize(
    "dtype",
    [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.int8],
)
def test_equal_bytes_in_any_dtype(dtype: torch.dtype, tmp_path: Path) -> None:
    a = torch.from_numpy(matrix() * 10).to(dtype)
    b = a.clone()
    b[7, 1] = 0
    entries = opened(tmp_path, a=a, same=a.clone(), other=b).entries
    assert compare(entries["a"], entries["same"]).equal
    differing = compare(entries["a"], entries["other"])
    assert (differing.equal, differing.first_row) == (False, 7)


def test_a_difference_beyond_the_first_chunk_is_found_in_its_row(tmp_path: Path) -> None:
    rows = 3_000
    a = torch.arange(rows * 512, dtype=torch.float32).reshape(rows, 512)  # 6 MB, two chunks
    b = a.clone()
    b[-1, -1] = 0
    entries = opened(tmp_path, a=a, b=b).entries
    assert compare(entries["a"], entries["b"]).first_row == rows - 1


def test_dtypes_that_differ_are_compared_by_value(tmp_path: Path) -> None:
    exact = torch.tensor([[1.0, -2.5], [float("nan"), 0.0]])
    entries = opened(
        tmp_path, a=exact, b=exact.bfloat16(), c=exact.half() + 1, d=exact.to(torch.int8)
    ).entries
    assert compare(entries["a"], entries["b"]).equal is True
    assert compare(entries["a"], entries["c"]).equal is False
    assert compare(entries["a"], entries["d"]).equal is None


def test_a_transposed_copy_is_a_copy_and_another_shape_is_not(tmp_path: Path) -> None:
    a = torch.from_numpy(matrix())
    entries = opened(tmp_path, a=a, t=a.t(), u=a.t() + 1, part=a[:-1].clone()).entries
    assert compare(entries["a"], entries["t"]).equal is True
    assert compare(entries["a"], entries["u"]).equal is False
    assert compare(entries["a"], entries["part"]).equal is False


def test_copies_are_groups_of_equal_matrices_and_constants_are_none(tmp_path: Path) -> None:
    a, b = torch.from_numpy(matrix()), torch.from_numpy(matrix(1))
    late = a.clone()
    late[-1, -1] += 1
    checkpoint = opened(
        tmp_path, a=a, b=b, c=a.clone(), d=b.clone(), e=a.clone(), late=late,
        zeros=torch.zeros(9, 9), zeros2=torch.zeros(9, 9), ones=torch.ones(9, 9),
        ones2=torch.ones(9, 9), bias=a[0].clone(), bias2=a[0].clone(),
    )  # fmt: skip
    assert sorted(copies(checkpoint.entries.values())) == [("a", "c", "e"), ("b", "d")]


def test_copies_that_differ_only_between_the_samples_are_told_apart(tmp_path: Path) -> None:
    a = torch.randn(64, 1024)
    b = a.clone()
    b[10, 0] += 1
    checkpoint = opened(tmp_path, a=a, b=b)
    assert copies(checkpoint.entries.values()) == ()


@pytest.mark.parametrize("number", [1, 2, V])
def test_identical_last_rows(number: int, tmp_path: Path) -> None:
    table = matrix()
    table[V - number :] = table[-1]
    assert identical_last_rows(opened(tmp_path, a=table).entries["a"]) == number


def test_rows_of_an_empty_matrix_and_of_a_vector_are_none(tmp_path: Path) -> None:
    entries = opened(tmp_path, a=np.zeros((0, 4)), b=np.zeros(4)).entries
    assert identical_last_rows(entries["a"]) == identical_last_rows(entries["b"]) == 0


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    entries = opened(tmp_path, a=matrix(), b=matrix()).entries
    path = tmp_path / "m.safetensors"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(InspectError, match="became shorter while it was read"):
        compare(entries["a"], entries["b"])


def test_a_tensor_of_a_stream_has_no_bytes_to_compare() -> None:
    entry = Entry("a", "F32", (1, 1), 0, 4)
    with pytest.raises(InspectError, match="only files can be compared"):
        compare(entry, entry)
