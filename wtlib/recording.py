"""What a record says of where it was made, besides what the sweeps' own records say."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from wtlib.sweeps.running import machine

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def circumstances() -> dict[str, Any]:
    """Return versions, machine (with its last-level cache) and load, as JSON has them."""
    return {
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in ("wtlib", "torch", "numpy")},
        },
        "machine": {
            **machine(),
            "last_level_cache_bytes": last_level_cache_bytes(),
            "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        },
    }


def last_level_cache_bytes() -> int | None:
    """Return the size of the largest cache that the first core uses; None where Linux is not."""
    sizes = [file.read_text(encoding="ascii") for file in _CACHES.glob("index*/size")]
    return max((_bytes(size.strip()) for size in sizes), default=None)


def _bytes(size: str) -> int:
    units = {"K": 1024, "M": 1024**2}
    return int(size[:-1]) * units[size[-1]] if size[-1] in units else int(size)
