"""Schemes against the papers' definitions, and the messages of impossible ones."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wtlib.errors import WtlibError
from wtlib.sharing import Plan, blocks, plan


def takase_kiyono(scheme: str, stored: int, layers: int) -> tuple[int, ...]:
    """Algorithm 1 of arXiv:2104.06022, with its M and N, counted from one as there."""
    chosen = []
    for i in range(1, layers + 1):
        if scheme == "groups":
            chosen.append((i - 1) // (layers // stored) + 1)
        elif scheme == "cycle" or i <= stored * (layers // stored - 1):
            chosen.append((i - 1) % stored + 1)
        else:
            chosen.append(stored - (i - 1) % stored)
    return tuple(block - 1 for block in chosen)


@given(st.sampled_from(["groups", "cycle", "reverse-cycle"]), st.integers(1, 6), st.integers(1, 6))
def test_repeated_schemes_are_those_of_takase_and_kiyono(
    scheme: str, stored: int, uses: int
) -> None:
    layers = stored * uses
    expected = takase_kiyono(scheme, stored, layers)
    # With one pass nothing is shared, and the order of the names means nothing.
    if scheme == "reverse-cycle" and uses == 1:
        expected = expected[::-1]
    found = blocks(f"{scheme}-{uses}", layers)
    assert found == expected
    assert len(set(found)) == stored


def test_whole_schemes() -> None:
    assert blocks("none", 4) == (0, 1, 2, 3)
    assert blocks("all", 4) == (0, 0, 0, 0)
    assert blocks("ends-apart", 5) == (0, 1, 1, 1, 2)
    assert [blocks("ends-apart", n) for n in (1, 2, 3)] == [(0,), (0, 1), (0, 1, 2)]


@given(st.sampled_from(["all", "ends-apart", "groups-2", "cycle-3", "reverse-cycle-2"]))
def test_partial_sharing_leaves_the_other_sublayer_alone(scheme: str) -> None:
    whole, own = blocks(scheme, 6), blocks("none", 6)
    assert plan(scheme, 6) == Plan(attention=whole, mlp=whole)
    assert plan(f"{scheme}:attention", 6) == Plan(attention=whole, mlp=own)
    assert plan(f"{scheme}:mlp", 6) == Plan(attention=own, mlp=whole)


def test_short_names() -> None:
    assert plan("attention-only", 3) == plan("all:attention", 3)
    assert plan("mlp-only", 3) == plan("all:mlp", 3)


@given(st.sampled_from(["none", "all", "ends-apart", "groups-2", "cycle-2", "reverse-cycle-2"]))
def test_new_blocks_take_the_next_index(scheme: str) -> None:
    first_uses = list(dict.fromkeys(blocks(scheme, 12)))
    assert first_uses == list(range(len(first_uses)))


def test_albert_s_block_parameters_fall_twelvefold() -> None:
    attention, mlp = 4 * (768 * 768 + 768) + 2 * 768, 2 * 768 * 3072 + 3072 + 768 + 2 * 768
    assert plan("none", 12).parameters(attention, mlp) == 85_054_464
    assert plan("all", 12).parameters(attention, mlp) == 7_087_872
    assert plan("attention-only", 12).parameters(attention, mlp) == attention + 12 * mlp


@pytest.mark.parametrize(
    ("sharing", "layers", "message"),
    [
        ("some", 4, "sharing='some' is no scheme; there are none, all, ends-apart, groups-k, "),
        ("groups", 4, "sharing='groups' is no scheme"),
        ("groups-0", 4, "sharing='groups-0' is no scheme"),
        ("groups-3", 4, "sharing='groups-3': 3 does not divide the depth, n_layers=4"),
        ("all:norms", 4, "sharing='all:norms': after the colon stands attention or mlp, not 'norm"),
        ("all:", 4, "sharing='all:': after the colon stands attention or mlp, not ''"),
        ("all", 0, "n_layers=0: a stack has at least one layer"),
    ],
)
def test_impossible_schemes(sharing: str, layers: int, message: str) -> None:
    with pytest.raises(WtlibError, match=re.escape(message)):
        plan(sharing, layers)
