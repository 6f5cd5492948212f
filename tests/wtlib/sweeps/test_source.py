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

@dataclass
class Settings:
    """How."""

    rate: float = 0.1

    def __post_init__(self) -> None:
        at_least(self, 0, "rate")

    @property
    def double(self) -> float:
        return 2 * self.rate
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
        ("rate: float = 0.1", "rate: float = 0.2\n    least: int = 0"),
        ('at_least(self, 0, "rate")', 'at_least(self, 1, "rate")'),
    ],
)
def test_what_changes_no_number_changes_no_hash(old: str, new: str) -> None:
    assert essence(SOURCE.replace(old, new)) == essence(SOURCE)
    assert SOURCE.replace(old, new) != SOURCE


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *(("2]", "3]"), ("/", "*"), ("[None", "[0"), ("[None, 2]", "(None, 2)"), ("y[1]", "y[0]")),
        *(("2 * self", "3 * self"), ("@property", "@cached_property")),
    ],
)
def test_what_may_change_a_number_changes_the_hash(old: str, new: str) -> None:
    assert essence(SOURCE.replace(old, new)) != essence(SOURCE)


def test_each_kind_of_model_has_its_own_sources() -> None:
    assert code_hash("lstm") != code_hash("gpt")
    assert len(code_hash("gpt")) == 16
    assert set(SOURCES["gpt"]) - set(SOURCES["lstm"]) == {"training/gpt.py", "sharing.py"}
