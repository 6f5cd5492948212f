"""The comparer of printed numbers, as pure functions."""

import math
from itertools import chain, zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.numbercheck.compare import Tolerance, compare, fragile, has_nan, tokenise

LOOSE = Tolerance(rel=1e-3)


@pytest.mark.parametrize(
    ("text", "integers", "floats"),
    [
        ("49,152 rows, norm 14.316", ["49,152"], ["14.316"]),
        ("1,234.5 of 1,234", ["1,234"], ["1,234.5"]),
        ("38.9% and −0.5 and +2.0", [], ["38.9", "−0.5", "+2.0"]),
        ("1e-3 2E5 1.5e+04", [], ["1e-3", "2E5", "1.5e+04"]),
        ("gpt2 x1 135m 2.5x SmolLM2-1.7B Llama-3.2 GPT-2", [], []),
        ("torch 2.13.0, 10.0.0.1 and v1.2", [], []),
        ("(9, 576) in 2026-05-01", ["9", "576", "2026", "05", "01"], []),
        ("array([1., -2., 3.5])", [], ["1.", "-2.", "3.5"]),
        ("[1. 2. 3.]", [], ["1.", "2.", "3."]),
        ("There are 7. Then 8.5.", ["7"], ["8.5"]),
        ("loss=3.66204;ratio=.25", [], ["3.66204", ".25"]),
        ("1.5-2.5 (3)-0.5", ["3"], ["1.5", "2.5", "0.5"]),
        ("0x7f3a 1_000 2nd", [], []),
    ],
)
def test_numbers_are_told_from_words(text: str, integers: list[str], floats: list[str]) -> None:
    numbers = tokenise(text).numbers
    assert [n.text for n in numbers if not n.is_float] == integers
    assert [n.text for n in numbers if n.is_float] == floats


@given(st.text(st.sampled_from("0123456789.,-−+eE%x_ \n[]()nai")))
def test_tokens_join_to_the_text(text: str) -> None:
    tokens = tokenise(text)
    texts = [number.text for number in tokens.numbers]
    assert "".join(chain.from_iterable(zip_longest(tokens.words, texts, fillvalue=""))) == text


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_printed_floats_are_read_back(values: list[float]) -> None:
    tokens = tokenise(str(values))
    assert [n.value for n in tokens.numbers] == values
    assert tokens.floats == len(values)


@given(st.lists(st.integers(), min_size=1))
def test_printed_integers_are_read_back(values: list[int]) -> None:
    tokens = tokenise(" ".join(f"{value:,}" for value in values))
    assert [n.value for n in tokens.numbers] == [float(value) for value in values]
    assert tokens.floats == 0


@given(
    st.floats(1e-6, 1e6).flatmap(lambda x: st.tuples(st.just(x), st.floats(-3e-3, 3e-3))),
)
def test_a_float_passes_exactly_within_its_tolerance(drawn: tuple[float, float]) -> None:
    stored, shift = drawn
    fresh = stored * (1 + shift)
    agrees = compare(f"norm {stored!r}", f"norm {fresh!r}", LOOSE) == []
    assert agrees == (abs(fresh - stored) <= 1e-3 * max(stored, fresh))


@given(st.integers(10**6, 10**9))
def test_an_integer_never_moves(stored: int) -> None:
    assert compare(f"{stored:,} rows", f"{stored + 1:,} rows", LOOSE)


@given(st.text(), st.text())
def test_undeclared_texts_agree_only_when_equal(stored: str, fresh: str) -> None:
    agrees = compare(stored, fresh) == []
    assert agrees == (stored == fresh and not has_nan(stored))


@pytest.mark.parametrize(
    ("stored", "fresh"),
    [
        ("norm 14.316", "norm 14.317"),
        ("norm   9.999\n--------", "norm  10.001\n---------"),
        ("[ 9.999 10.010]", "[10.001 10.010]"),
        ("0.0", "-0.0"),
        ("inf 1.0", "inf 1.0001"),
        ("1,000.2 tokens", "999.9 tokens"),
    ],
)
def test_noise_within_the_tolerance_passes(stored: str, fresh: str) -> None:
    assert compare(stored, fresh, LOOSE) == []


@pytest.mark.parametrize(
    ("stored", "fresh", "says"),
    [
        ("norm 14.316", "norm 14.416", "stored 14.316, fresh 14.416, relative difference 0.007"),
        ("norm 1.00", "norm 1.01", "one unit in the last digit"),
        ("norm 0.0", "norm 0.1", "absolute difference 0.1"),
        ("rows 49,152", "rows 49,153", "an integer must stay exact"),
        ("norm 1.0", "norm 1", "an integer must stay exact"),
        ("tied 0.5", "untied 0.5", "words differ"),
        ("tied 0.5", "tied 0.5\n", "words differ"),
        (
            "norm 0.5",
            "norm 0.5 0.6",
            "stored 1 numbers, fresh 2; only stored: none; only fresh: 0.6",
        ),
        ("norm 0.5 0.6", "norm 0.5", "only stored: 0.6; only fresh: none"),
        ("norm 0.5", "norm inf", "appears or disappears"),
        ("norm 1e999", "norm 1e998", "number differs"),
        ("norm 0.5", "norm nan", "the fresh output prints"),
        ("norm NaN", "norm NaN", "the stored output prints"),
        ("norm 0.001", "norm -0.001", "relative difference 2"),
    ],
)
def test_what_must_fail_fails_and_says_why(stored: str, fresh: str, says: str) -> None:
    assert any(says in problem for problem in compare(stored, fresh, LOOSE))


def test_a_message_quotes_the_line_or_the_place() -> None:
    stored, fresh = "route  norm\nhead   14.3\ntable   3.7", "route  norm\nhead   15.3\ntabel   3.7"
    number, words = compare(stored, fresh, LOOSE)
    assert number.startswith("number differs in 'head 14.3': stored 14.3, fresh 15.3")
    assert words == r"words differ: stored '\ntable', fresh '\ntabel'"


def test_an_undeclared_float_is_exact() -> None:
    assert "no tolerance is declared" in compare("0.5", "0.5000001")[0]
    assert "spacing differs" in compare("a  b", "a b")[0]


@pytest.mark.parametrize("width", range(1, 40))
def test_a_long_digit_string_is_one_number(width: int) -> None:
    assert [n.text for n in tokenise("7" * width).numbers] == ["7" * width]


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        (1e-3, "tolerance is 0.001; write"),
        ({"relative": 1e-3}, "unknown tolerance key 'relative'"),
        ({"rel": "1e-3"}, "tolerance 'rel' is '1e-3'"),
        ({"rel": True}, "tolerance 'rel' is True"),
        ({"rel": -1e-3}, "a number of 0 or more"),
        ({"abs": math.inf}, "a number of 0 or more"),
        ({"rel": 1}, "1 or more lets anything pass"),
        ({"rel": 0, "abs": 0}, "does nothing"),
        ({}, "does nothing"),
    ],
)
def test_a_malformed_tolerance_says_what_is_wrong(declared: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Tolerance.from_metadata(declared)


def test_a_tolerance_is_read() -> None:
    assert Tolerance.from_metadata({"rel": 1e-3, "abs": 0}) == Tolerance(1e-3, 0)
    assert Tolerance.from_metadata({"abs": 2}) == Tolerance(0, 2)


def test_floats_printed_too_short_are_found() -> None:
    text = "3.66 14.316 12 1.5e-05 1.5004e-05"
    assert [n.text for n in fragile(text, LOOSE)] == ["3.66", "1.5e-05"]
