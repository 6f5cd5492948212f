"""The hash of the code: deaf to wording, alert to numbers."""

import pytest

from wtlib.sweeps.source import SOURCES, code_hash, essence

SOURCE = '''
def half(x: float) -> float:
    """Return a half."""
    if x < 0:
        raise ValueError("negative")
    y = [None, 2]  # two
    return x / y[1]
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Return a half."""', '"""Halve."""\n\n'),
        ("# two", ""),
        ("x: float) -> float", "x) -> 'a number'"),
        ('"negative"', '"below zero"'),
        ("x < 0", "x <= 0"),
        ("x / y[1]", "(x /\n            y[1])"),
    ],
)
def test_what_changes_no_number_changes_no_hash(old: str, new: str) -> None:
    assert essence(SOURCE.replace(old, new)) == essence(SOURCE)
    assert SOURCE.replace(old, new) != SOURCE


@pytest.mark.parametrize(
    ("old", "new"),
    [("2]", "3]"), ("/", "*"), ("None", "0"), ("[None, 2]", "(None, 2)"), ("y[1]", "y[0]")],
)
def test_what_may_change_a_number_changes_the_hash(old: str, new: str) -> None:
    assert essence(SOURCE.replace(old, new)) != essence(SOURCE)


def test_each_kind_of_model_has_its_own_sources() -> None:
    assert code_hash("lstm") != code_hash("gpt")
    assert len(code_hash("gpt")) == 16
    assert set(SOURCES["gpt"]) - set(SOURCES["lstm"]) == {"training/gpt.py", "sharing.py"}
