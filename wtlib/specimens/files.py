"""Files that can be trusted: verified once, remembered, published whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from filelock import FileLock, Timeout
from platformdirs import user_cache_path

from wtlib.specimens.pins import FilePin, SpecimenError

LOCK_SECONDS = 900


def cache_folder() -> Path:
    """The library's own cache: `WTLIB_CACHE`, else the platform's cache folder for the user.

    Raises:
        SpecimenError: `WTLIB_CACHE` begins with the ``~`` of a user who has no home.
    """
    named = os.environ.get("WTLIB_CACHE")
    if not named:
        return user_cache_path("wtlib")
    try:
        return Path(named).expanduser().absolute()
    except RuntimeError as error:
        raise SpecimenError(
            f"WTLIB_CACHE is {named!r}, and that user has no home here. Name another folder."
        ) from error


def sha256(path: Path) -> str:
    """The file's sha256 in hexadecimal, remembered until the file changes.

    The memory is a small file in the cache that holds the size and times of what was read; a file
    that was touched in any way is read again.
    """
    path = path.resolve()
    status = path.stat()
    seen = [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
    stamp = cache_folder() / "verified" / hashlib.sha256(str(path).encode()).hexdigest()[:32]
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        remembered = json.loads(stamp.read_text())
        if remembered["seen"] == seen:
            return str(remembered["sha256"])
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    # A read-only cache costs time at the next load, nothing else.
    with contextlib.suppress(OSError):
        write(stamp, json.dumps({"path": str(path), "seen": seen, "sha256": digest}).encode())
    return digest


def fault(path: Path, pin: FilePin) -> str | None:
    """What is wrong with the file against its pin, in words; None when it is the pinned file."""
    if not path.is_file():
        return f"{path} is missing"
    size = path.stat().st_size
    if pin.size is not None and size != pin.size:
        return f"{path} is not the pinned file: expected {pin.size:,} bytes, found {size:,}"
    found = sha256(path)
    if found != pin.sha256:
        return f"{path} is not the pinned file: expected sha256 {pin.sha256}, found {found}"
    return None


def write(path: Path, content: bytes) -> None:
    """Write a file so that another process sees all of it or none of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def publish(folder: Path, fill: Callable[[Path], None]) -> None:
    """Make a folder that appears whole or not at all: `fill` writes into a temporary one."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".new-{folder.name}-"
    for stale in folder.parent.glob(f"{prefix}*"):  # of a process that was killed
        if time.time() - stale.stat().st_mtime > LOCK_SECONDS:
            shutil.rmtree(stale, ignore_errors=True)
    temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=prefix))
    try:
        fill(temporary)
        for path in temporary.iterdir():
            with path.open("rb+") as stream:
                os.fsync(stream.fileno())
        # Where locks do not hold, another process may have published the same folder meanwhile.
        with contextlib.suppress(OSError):
            temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextlib.contextmanager
def only_one(name: str) -> Iterator[None]:
    """Let one process at a time make `name`; a process that dies gives way to the next.

    Raises:
        SpecimenError: another one holds it for `LOCK_SECONDS`, or the cache cannot be written.
    """
    path = cache_folder() / "locks" / f"{name}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, timeout=LOCK_SECONDS)
        lock.acquire()
    except Timeout:
        raise SpecimenError(
            f"{path} is held: another process has been making {name} ready for more than "
            f"{LOCK_SECONDS // 60} minutes. Wait for it or stop it, then try again."
        ) from None
    except OSError as error:
        raise SpecimenError(
            f"The cache folder {cache_folder()} cannot be written ({error}). "
            "Set WTLIB_CACHE to a folder you can write to."
        ) from error
    try:
        yield
    finally:
        lock.release()
