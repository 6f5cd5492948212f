"""The inspector's reference page: its tables are made from the code.

`python -m tests.book.inspector_page` writes them anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from wtlib.tying import CODES, MECHANISMS, THREATS

_CODE = re.compile(r"[\w.]*\w_[\w.]*\w(\([^()]*\))?|\w+(\.\w+)+(\([^()]*\))?|\w+\(\)")
PAGE = Path(__file__).parents[2] / "book" / "inspector.md"


def tables() -> dict[str, str]:
    """Each table's markdown, by the name that marks its place."""
    return {
        "mechanisms": _table(
            ("code", "how the two uses are related"),
            ((f"`{code}`", what) for code, what in MECHANISMS.items()),
        ),
        "codes": _table(
            ("code", "severity", "what is the case", "what to do"),
            ((f"`{code}`", kind.severity, kind.when, kind.do) for code, kind in CODES.items()),
        ),
        "threats": _table(
            ("operation", "what it does", "instead", "mechanisms"),
            (
                (t.operation, t.effect, t.instead, ", ".join(f"`{code}`" for code in t.mechanisms))
                for t in THREATS
            ),
        ),
    }


def filled(page: str) -> str:
    """The page with every marked table made anew."""
    for name, table in tables().items():
        start, rest = page.split(f"% {name}\n", 1)
        page = f"{start}% {name}\n\n{table}\n\n% end{rest.split('% end', 1)[1]}"
    return page


def _table(headers: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [headers, tuple("---" for _ in headers), *(tuple(map(_marked, row)) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _marked(text: str) -> str:
    """The text with what is code in it marked as code."""
    return text if "`" in text else _CODE.sub(r"`\g<0>`", text)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text()))
