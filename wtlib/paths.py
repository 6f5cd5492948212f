"""What a reader's word names on this machine. No word is an error here, however odd."""

import contextlib
from pathlib import Path


def expanded(text: str) -> Path:
    """The path with its ``~`` filled in; as it stands where that user has no home."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


def existing(text: str) -> Path | None:
    """The file or folder of that name; None where there is none, or where none can be.

    An empty word names nothing, not the current folder. Neither does one that the system cannot
    look up: too long, a loop of links, behind a folder that may not be read.
    """
    with contextlib.suppress(OSError, ValueError):
        path = expanded(text)
        if text and path.exists():
            return path
    return None
