"""Execute a notebook again when anything its numbers depend on has changed.

MyST-NB's cache knows a notebook by its code cells alone, so it would keep an old number on the page
after the library, a record of training runs, a pin or the weights changed. Here the cache's folder
is named by a key made of all of these: another key is another, empty cache. The folder is a
configuration value, so a new key also makes Sphinx read every page again.
"""

import hashlib
import os
import platform
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging

from wtlib import specimens

logger = logging.getLogger(__name__)


def execution_key(root: Path, weights: str) -> str:
    """Return 16 hex digits over all that a number depends on beside its notebook's code.

    That is the library's files, the records it reads, the pins, Python's version and the weights.
    """
    library = [
        path
        for path in sorted((root / "wtlib").rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    ]
    digest = hashlib.sha256()
    records = sorted((root / "notebooks" / "records").glob("*.jsonl"))
    for path in [*library, *records, root / "requirements.txt", root / "constraints.txt"]:
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    digest.update(f"{platform.python_version()}\0{weights}".encode())
    return digest.hexdigest()[:16]


def choose_cache(app: Sphinx, config: Config) -> None:
    """Settle the edition for every kernel of this build, and the cache that belongs to it."""
    try:
        resolution = specimens.prepare(progress=True)
    except specimens.SpecimenError as error:
        # Jupyter Book shows an error of an extension under pages of traceback. This one is the
        # reader's to mend, and says how.
        raise SystemExit(f"specimen: {error}") from error
    logger.info("specimen: %s", resolution)
    os.environ["WTLIB_SPECIMEN"] = resolution.name
    root = Path(app.srcdir)
    key = execution_key(root, str(resolution.identity))
    config.nb_execution_cache_path = str(root / "_build" / ".jupyter_cache" / key)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension with Sphinx."""
    app.connect("config-inited", choose_cache)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
