"""What a reader sees of a result: tables, named values, the provenance of a run.

Every object here has two forms made from the same cells: text, for terminals and for the number
check, and HTML, for the page. Nothing in this module measures.
"""

import html
import importlib.metadata
import platform
import re
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from wtlib.errors import WtlibError

Cell = str | int | float | None
Align = Literal["left", "right"]

# The mime prefix and the metadata key by which myst-nb finds a value for {glue:text}: its own
# format, written here so that a notebook runs without myst-nb.
_GLUE_PREFIX = "application/papermill.record/"
_VALUE_NAME = re.compile(r"[a-z][a-z0-9_]*")


class DisplayError(WtlibError):
    """Something cannot be shown as asked."""


def format_cell(cell: Cell) -> str:
    """Format one cell: integers with thousands separators, floats to four significant digits.

    A float always shows a decimal point or an exponent: without one it would read as a count.
    """
    if cell is None:
        return "–"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        text = f"{cell:#.4g}"
        return f"{text}0" if text.endswith(".") else text
    return str(cell)


@dataclass(frozen=True)
class Table:
    """A table of formatted cells with a caption.

    Attributes:
        headers: one string per column.
        rows: formatted cells, one tuple per row.
        caption: one sentence that says what the table shows; may be empty.
        align: "left" or "right" per column.
        row_ids: HTML ids per row, for links; empty when there are none.
    """

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str
    align: tuple[Align, ...]
    row_ids: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return the table as aligned text."""
        cells = [self.headers, *self.rows]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.headers))]
        pad = {"left": str.ljust, "right": str.rjust}

        def line(row: Sequence[str]) -> str:
            padded = (pad[a](c, w) for c, w, a in zip(row, widths, self.align, strict=True))
            return "  ".join(padded).rstrip()

        lines = [line(self.headers), "  ".join("-" * w for w in widths), *map(line, self.rows)]
        return "\n".join(([self.caption] if self.caption else []) + lines)

    def to_html(self) -> str:
        """Return the table as HTML, scrollable sideways on a narrow screen."""
        escape = html.escape
        label = escape(self.caption or ", ".join(self.headers), quote=True)
        parts = [f'<div class="wt-table" role="region" aria-label="{label}" tabindex="0"><table>']
        if self.caption:
            parts.append(f"<caption>{escape(self.caption)}</caption>")
        heads = "".join(
            f'<th scope="col" class="wt-{a}">{escape(h)}</th>'
            for h, a in zip(self.headers, self.align, strict=True)
        )
        parts.append(f"<thead><tr>{heads}</tr></thead><tbody>")
        for index, row in enumerate(self.rows):
            row_id = f' id="{escape(self.row_ids[index], quote=True)}"' if self.row_ids else ""
            cells = "".join(
                f'<td class="wt-{a}">{escape(c)}</td>' for c, a in zip(row, self.align, strict=True)
            )
            parts.append(f"<tr{row_id}>{cells}</tr>")
        parts.append("</tbody></table></div>")
        return "".join(parts)

    def _repr_html_(self) -> str:
        return self.to_html()


def _natural_align(column: Sequence[Cell]) -> Align:
    numbers = all(cell is None or isinstance(cell, int | float) for cell in column)
    return "right" if column and numbers else "left"


def table(
    rows: Iterable[Sequence[Cell]],
    headers: Iterable[str],
    *,
    caption: str = "",
    align: Sequence[Align] | None = None,
    row_ids: Iterable[str] = (),
) -> Table:
    """Make a table. Without ``align``, a column is right-aligned when all its cells are numbers.

    Raises:
        DisplayError: a row, the alignments or the row ids do not fit the headers or the rows, a
            row is a string, or a row id stands twice.
    """
    rows, headers, row_ids = list(rows), list(headers), list(row_ids)
    for index, row in enumerate(rows):
        if isinstance(row, str):
            raise DisplayError(f"row {index} is the string {row!r}: give a sequence of cells")
        if len(row) != len(headers):
            raise DisplayError(
                f"row {index} has {len(row)} cells {tuple(row)!r} for {len(headers)} headers "
                f"{tuple(headers)!r}: give one cell per header"
            )
    if align is not None and len(align) != len(headers):
        raise DisplayError(f"{len(align)} alignments for {len(headers)} headers: give one each")
    if len(set(row_ids)) < len(row_ids):
        raise DisplayError(f"row ids {row_ids!r}: an id stands once on a page")
    if row_ids and len(row_ids) != len(rows):
        raise DisplayError(f"{len(row_ids)} row ids for {len(rows)} rows: give one each")
    if align is None:
        align = tuple(_natural_align([row[i] for row in rows]) for i in range(len(headers)))
    return Table(
        headers=tuple(headers),
        rows=tuple(tuple(format_cell(cell) for cell in row) for row in rows),
        caption=caption,
        align=tuple(align),
        row_ids=tuple(row_ids),
    )


def value(name: str, value: Any, spec: str = "") -> None:
    """Show ``name = value`` and register the value for the prose, as ``{glue:text}`name` ``.

    Args:
        name: lower-case letters, digits and underscores; one name once per notebook.
        value: what to show.
        spec: a format specification such as ``".2f"`` or ``","``.

    Raises:
        DisplayError: the name is not of that form, or the value cannot be formatted so.
    """
    if not _VALUE_NAME.fullmatch(name):
        raise DisplayError(
            f"{name!r} is not a name for a value: use lower-case letters, digits and underscores"
        )
    try:
        text = format(value, spec)
    except (TypeError, ValueError) as error:
        raise DisplayError(f"{name}: cannot format {value!r} as {spec!r}: {error}") from error
    from IPython.display import display

    display({"text/plain": f"{name} = {text}"}, raw=True)
    # myst-nb reads the text as a Python literal where it can: unquoted, "1,234" would be a tuple
    # and "15.00" would lose its zeros.
    display(
        {f"{_GLUE_PREFIX}text/plain": repr(text)},
        metadata={"scrapbook": {"name": name, "mime_prefix": _GLUE_PREFIX}},
        raw=True,
    )


@dataclass(frozen=True)
class Provenance:
    """What a run was made with: shown as the last output of every chapter.

    Attributes:
        entries: pairs of what and its value, in the order shown.
    """

    entries: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        """Return one line per entry."""
        return "\n".join(f"{what}: {value}" for what, value in self.entries)

    def _repr_html_(self) -> str:
        items = "".join(
            f"<dt>{html.escape(what)}</dt><dd>{html.escape(value)}</dd>"
            for what, value in self.entries
        )
        return f'<dl class="wt-provenance">{items}</dl>'


def peak_memory_bytes() -> int:
    """Return the largest resident memory this process has had, in bytes."""
    if sys.platform == "linux":
        # getrusage would count what the parent process held when it started this one.
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024  # type: ignore[index]
    if sys.platform == "win32":
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def provenance(specimen: Any = None) -> Provenance:
    """Say what this notebook's numbers were made with.

    Args:
        specimen: a ``wtlib.specimens.Specimen``; None in a chapter that needs no weights.

    Returns:
        Specimen with source, revision, sha256 and licence; versions; processor; threads; date
        (UTC); seconds since the process started; peak memory of the process in GB (10^9 bytes).
    """
    import psutil

    entries: list[tuple[str, str]] = []
    if specimen is not None:
        identity = specimen.identity
        entries += [
            ("specimen", f"{identity.name}, {identity.source}"),
            ("revision", f"{identity.revision}, sha256 {identity.sha256[:12]}…"),
            ("licence", identity.licence),
            ("dtype", identity.dtype),
        ]
    packages = [p for p in ("torch", "transformers", "numpy") if p in sys.modules]
    versions = [f"Python {platform.python_version()}"]
    versions += [f"{p} {importlib.metadata.version(p)}" for p in ["wtlib", *packages]]
    entries.append(("versions", ", ".join(versions)))
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        capability = torch.backends.cpu.get_cpu_capability()
        threads = torch.get_num_threads()
        plural = "" if threads == 1 else "s"
        entries.append(("device", f"CPU, {capability}, {threads} thread{plural}"))
    seconds = time.time() - psutil.Process().create_time()
    entries += [
        ("date", datetime.now(UTC).strftime("%Y-%m-%d")),
        ("seconds", f"{seconds:.0f}"),
        ("peak memory", f"{peak_memory_bytes() / 1e9:.2f} GB"),
    ]
    return Provenance(tuple(entries))
