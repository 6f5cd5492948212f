"""Write the pages again when a style or a script of theirs has changed.

Sphinx copies static files only when it writes a page, so a build with no changed page would leave
the old style beside it. A configuration value that names their content makes it write.
"""

import hashlib
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config


def digest(folders: list[Path]) -> str:
    """Return 16 hex digits over the names and contents of the files in these folders."""
    found = hashlib.sha256()
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        found.update(f"{path.name}\0".encode() + path.read_bytes())
    return found.hexdigest()[:16]


def name_content(app: Sphinx, config: Config) -> None:
    """Put the static files' digest into the configuration."""
    config.static_files_digest = digest([Path(app.confdir) / p for p in config.html_static_path])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension with Sphinx."""
    app.add_config_value("static_files_digest", "", "html", str)
    app.connect("config-inited", name_content)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
