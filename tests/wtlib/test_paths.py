"""Words that may or may not be paths."""

from pathlib import Path

import pytest

from wtlib.paths import existing, expanded

ODD = ["", " ", "a" * 5000, "a\0b", "a\nb", "\ud800", "~no-such-user/x", "~no-such-user", "é/世界"]


@pytest.mark.parametrize("word", ODD)
def test_an_odd_word_names_nothing(
    word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert existing(word) is None


def test_a_loop_of_links_names_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert existing(str(tmp_path / "a")) is None


def test_files_and_folders_are_found_from_where_you_stand_and_from_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "é 世界").mkdir()
    (tmp_path / "é 世界" / "x").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert existing("é 世界/x") == Path("é 世界/x")
    assert existing("~/é 世界") == tmp_path / "é 世界"
    assert existing(".") == Path()


def test_a_user_without_a_home_is_left_as_written() -> None:
    assert expanded("~no-such-user/x") == Path("~no-such-user/x")
