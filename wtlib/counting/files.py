"""Configs on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from wtlib.errors import WtlibError
from wtlib.paths import existing, expanded


def read_config(path: str | Path) -> dict[str, Any]:
    """Read a ``config.json``, or the one inside a folder.

    Raises:
        WtlibError: there is none, or it does not hold a JSON object.
    """
    path = existing(str(path)) or expanded(str(path))
    if path.is_dir():
        path = path / "config.json"
        if not path.is_file():
            raise WtlibError(f"{path.parent} holds no config.json; give a model's folder")
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise WtlibError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise WtlibError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(content, dict):
        raise WtlibError(f"{path} holds a {type(content).__name__}; a config is a JSON object")
    return content
