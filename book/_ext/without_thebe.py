"""Leave sphinx-thebe's scripts out of the pages.

Jupyter Book always loads sphinx-thebe. No page here has a live kernel, and its scripts put the
address of a public host into every page, twice.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def drop_scripts(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.Node
) -> None:
    """Remove sphinx-thebe's scripts from one page."""
    context["script_files"] = [
        script
        for script in context["script_files"]
        if "sphinx-thebe.js" not in str(script.filename)
        and "THEBE_JS_URL" not in script.attributes.get("body", "")
    ]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension with Sphinx."""
    app.connect("html-page-context", drop_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
