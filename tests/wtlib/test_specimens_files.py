"""Files that can be trusted: digests, publication, locks, the cache's folder."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from wtlib.specimens import SpecimenError, files


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cache of its own."""
    monkeypatch.setenv("WTLIB_CACHE", str(tmp_path / "cache"))


def test_a_digest_is_remembered_until_the_file_is_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one")
    first = files.sha256(path)
    monkeypatch.setattr(hashlib, "file_digest", None)
    assert files.sha256(path) == first == hashlib.sha256(b"one").hexdigest()
    monkeypatch.undo()
    stamp = path.stat()
    path.write_bytes(b"two")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # as a careful forger would
    assert files.sha256(path) == hashlib.sha256(b"two").hexdigest()


def test_what_cannot_be_filled_is_not_published(tmp_path: Path) -> None:
    def fill(folder: Path) -> None:
        (folder / "half").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        files.publish(tmp_path / "new", fill)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_cleared_away(tmp_path: Path) -> None:
    stale = tmp_path / ".new-it-abc"
    stale.mkdir()
    old = time.time() - 2 * files.LOCK_SECONDS
    os.utime(stale, (old, old))
    files.publish(tmp_path / "it", lambda folder: (folder / "a").touch())
    assert [path.name for path in tmp_path.iterdir()] == ["it"]


def test_a_lock_that_is_held_too_long_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LOCK_SECONDS", 0)
    with (
        files.only_one("it"),
        pytest.raises(SpecimenError, match=r"it\.lock is held: another process"),
        files.only_one("it"),
    ):
        pass


def test_a_cache_that_cannot_be_written_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("WTLIB_CACHE", str(tmp_path / "file"))
    with (
        pytest.raises(SpecimenError, match=r"The cache folder .*file cannot be written"),
        files.only_one("it"),
    ):
        pass


def test_a_cache_in_the_home_of_nobody_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WTLIB_CACHE", "~no-such-user/cache")
    with pytest.raises(SpecimenError, match=r"WTLIB_CACHE is '~no-such-user/cache', and that user"):
        files.cache_folder()
