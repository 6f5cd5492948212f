"""Which texts of a cell's outputs are compared, and the comparison of two lists of outputs.

An output's text form carries its numbers; its HTML and images are drawn from the same values and
are not compared, but the kinds of form present must stay. Where the text form is only a name for
the object (`<IPython.core.display.HTML object>`), the HTML is what a reader sees and is compared.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nbformat import NotebookNode

from tests.numbercheck.compare import Tolerance, compare

_GLUED = "application/papermill.record/"  # a named value's display: the same form, registered
_NAME_ONLY = re.compile(r"^<[\w.]+ .*>$")
_DRAWN = ("text/html", "text/latex", "image/")


class Text(NamedTuple):
    """A compared text and where it stands: `stdout`, `text/plain`, `error` …"""

    place: str
    text: str


def texts(outputs: Sequence[NotebookNode]) -> Iterator[Text]:
    """Yield the texts of these outputs that are compared, in order."""
    for output in outputs:
        if output.output_type == "stream":
            yield Text(output.name, output.text)
        elif output.output_type == "error":
            yield Text("error", f"{output.ename}: {output.evalue}")
        else:
            yield from _data_texts(output.data)


def _data_texts(data: NotebookNode) -> Iterator[Text]:
    plain = data.get("text/plain", data.get(f"{_GLUED}text/plain", ""))
    has_text = bool(plain) and not _NAME_ONLY.match(plain)
    for mime in sorted(data):
        form = mime.removeprefix(_GLUED)
        if form.startswith("image/") and form != "image/svg+xml":
            continue
        if not (has_text and form.startswith(_DRAWN)):
            yield Text(mime, str(data[mime]))


def shape(outputs: Sequence[NotebookNode]) -> list[str]:
    """Describe each output by its kind and forms; these must stay exactly as they are."""
    return [_kind(output) for output in outputs]


def _kind(output: NotebookNode) -> str:
    if output.output_type == "stream":
        return str(output.name)
    if output.output_type == "error":
        return "error"
    name = output.metadata.get("scrapbook", {}).get("name")
    forms = ", ".join(sorted(output.data))
    return f"{output.output_type} {name or ''}({forms})"


def differences(
    stored: Sequence[NotebookNode], fresh: Sequence[NotebookNode], tolerance: Tolerance | None
) -> list[str]:
    """Say what differs between a cell's stored and fresh outputs; nothing when they agree."""
    if shape(stored) != shape(fresh):
        return [f"outputs appear or disappear: stored {_listed(stored)}; fresh {_listed(fresh)}"]
    return [
        f"in {old.place}: {problem}"
        for old, new in zip(texts(stored), texts(fresh), strict=True)
        for problem in compare(old.text, new.text, tolerance)
    ]


def _listed(outputs: Sequence[NotebookNode]) -> str:
    return "; ".join(shape(outputs)) or "nothing"
