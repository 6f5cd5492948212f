import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from wtlib.tying import memory
from wtlib.tying.cases import CASES, Blocks, Case, by_data, by_part
from wtlib.tying.memory import distinct, named_tensors, overlap, same_elements, shared

BUFFER = torch.arange(64.0)
GRID = BUFFER.view(8, 8)


@pytest.mark.parametrize(
    ("a", "b", "common"),
    [
        (BUFFER[:32], BUFFER[32:], False),
        (BUFFER[:33], BUFFER[32:], True),
        (GRID[:, :4], GRID[:, 4:], False),
        (GRID[:, :5], GRID[:, 4:], True),
        (BUFFER[::2], BUFFER[1::2], False),
        (BUFFER[::2], BUFFER[::3], True),
        (GRID, GRID.t(), True),
        (GRID, GRID.clone(), False),
        (GRID, torch.empty(8, 8, device="meta"), None),
        (GRID, torch.empty(0), None),
    ],
)
def test_overlap_is_exact(a: torch.Tensor, b: torch.Tensor, common: bool | None) -> None:
    assert overlap(a, b) is overlap(b, a) is common


@settings(max_examples=200, deadline=None)
@given(*[st.tuples(st.integers(0, 20), st.integers(1, 4), st.integers(1, 4),
                   st.integers(1, 6), st.integers(1, 6))] * 2)  # fmt: skip
def test_overlap_is_what_writing_shows(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    buffer = torch.zeros(64)
    views = [buffer.as_strided(v[1:3], v[3:5], v[0]) for v in (a, b)]
    views[0].fill_(1)
    assert overlap(*views) is bool(views[1].any())


def test_a_transpose_covers_the_same_elements_and_a_part_does_not() -> None:
    assert same_elements(GRID, GRID.t())
    assert not same_elements(GRID, GRID[:4])
    assert same_elements(GRID[:, :4], GRID[:, :4].t())
    assert not same_elements(GRID[:, :4], GRID[:4])  # as many, from the same start


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_groups_and_counts_of_every_case(case: Case) -> None:
    model = case.build()
    found = frozenset(frozenset(group.names) for group in shared(named_tensors(model)))
    assert found == case.shared
    assert distinct(model.parameters())[0] == case.unique


def test_kinds_of_sharing() -> None:
    kinds = {g.sharing for build in (by_data, by_part, Blocks) for g in
             shared(named_tensors(build()))}  # fmt: skip
    assert kinds == {"two Parameters, one storage", "overlapping views", "one Parameter"}


def test_a_chain_of_views_is_one_group_and_counts_as_its_largest() -> None:
    tensors = {"a": BUFFER[:20], "b": BUFFER[10:40], "c": BUFFER[35:50], "d": BUFFER[50:]}
    assert [group.names for group in shared(tensors)] == [("a", "b", "c")]
    assert distinct(tensors.values()) == (30 + 14, 4 * 44)


def test_thousands_of_views_of_one_flat_buffer_are_quick_and_no_tie() -> None:
    flat = torch.zeros(3_000 * 64)
    views = {f"p{i}": nn.Parameter(flat[i * 64 : (i + 1) * 64]) for i in range(3_000)}
    assert shared(views) == ()
    assert distinct(views.values())[0] == flat.numel()


def test_a_view_too_intricate_to_decide_counts_as_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_MOST_WORK", 1)
    buffer = torch.zeros(10_000)
    a = buffer.as_strided((8, 8, 2), (19, 35, 34), 0)
    b = buffer.as_strided((8, 6, 9), (25, 40, 60), 13)
    assert overlap(a, b) is True
