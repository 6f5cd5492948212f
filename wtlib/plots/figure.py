"""The form every figure of the book takes."""

import hashlib
import html
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec

import matplotlib
import matplotlib.figure
from cycler import cycler

from wtlib.display import Table
from wtlib.errors import WtlibError
from wtlib.plots import palette

P = ParamSpec("P")

_STYLE: Any = {
    "svg.fonttype": "none",  # text stays text: it can be read aloud, searched and zoomed
    "svg.hashsalt": "wtlib",  # the same figure, the same bytes
    "figure.constrained_layout.use": True,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.facecolor": "none",
    "axes.edgecolor": palette.INK,
    "axes.labelcolor": palette.INK,
    "axes.titlecolor": palette.INK,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=palette.SERIES),
    "font.size": 11,
    "grid.alpha": 0.25,
    "grid.color": palette.INK,
    "hatch.color": palette.INK,
    "legend.frameon": False,
    "text.color": palette.INK,
    "xtick.color": palette.INK,
    "ytick.color": palette.INK,
}


class FigureError(WtlibError):
    """A figure lacks what a reader needs of it."""


def styled(draw: "Callable[P, Figure]") -> "Callable[P, Figure]":
    """Run a plot function in the book's style. Every public plot function wears it."""

    @wraps(draw)
    def draw_in_style(*args: P.args, **kwargs: P.kwargs) -> "Figure":
        with matplotlib.rc_context(_STYLE):
            return draw(*args, **kwargs)

    return draw_in_style


def canvas(
    width: float = 7.0, height: float = 4.0, rows: int = 1, columns: int = 1, **grid: Any
) -> tuple[matplotlib.figure.Figure, Any]:
    """Return an empty figure (sizes in inches) and its axes, outside pyplot's global state."""
    drawing = matplotlib.figure.Figure(figsize=(width, height))
    return drawing, drawing.subplots(rows, columns, **grid)


@dataclass(frozen=True)
class Figure:
    """A drawing with its alternative text, its caption and its data.

    Attributes:
        drawing: the matplotlib figure.
        alt: what the figure shows, for a reader who cannot see it.
        caption: the question the figure answers.
        data: the numbers drawn; the text form of the figure, which the number check compares.
    """

    drawing: matplotlib.figure.Figure
    alt: str
    caption: str
    data: Table

    def __post_init__(self) -> None:
        for name in ("alt", "caption"):
            if not getattr(self, name).strip():
                raise FigureError(f"the figure's {name} is empty: say what a reader should see")
        if not self.data.rows:
            raise FigureError(
                f"the figure {self.caption!r} has no data rows: give the table it draws"
            )

    def __repr__(self) -> str:
        """Return the alternative text and the data."""
        return f"Figure: {self.alt}\n{self.data!r}"

    def _repr_html_(self) -> str:
        alt = html.escape(self.alt, quote=True)
        caption = html.escape(self.caption)
        return (
            f'<figure class="wt-figure"><div class="wt-drawing">{self.svg(alt)}</div>'
            f"<figcaption>{caption}</figcaption>"
            f"<details><summary>The data behind this figure</summary>"
            f"{self.data.to_html()}</details></figure>"
        )

    def svg(self, escaped_alt: str) -> str:
        """Return the drawing as an inline SVG element that takes its ink from the page."""
        buffer = io.StringIO()
        with matplotlib.rc_context(_STYLE):
            self.drawing.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        return _for_a_page(buffer.getvalue(), escaped_alt)


def _for_a_page(svg: str, escaped_alt: str) -> str:
    """Make a standalone SVG document fit to stand beside others inside one HTML page."""
    svg = svg[svg.index("<svg") :].strip()
    # The document's own style rule would apply to every element of the page.
    svg = re.sub(r"<(metadata|style)\b.*?</\1>\s*", "", svg, flags=re.DOTALL)
    # Ids must be unique in the page, and the same in every run.
    prefix = "f" + hashlib.sha256(svg.encode()).hexdigest()[:8]
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', svg)
    svg = svg.replace(palette.INK, "currentColor").replace("#000000", "currentColor")
    # Matplotlib names its own fonts; the page's font is the one a reader has. Unstyled text is
    # black in SVG, so the root takes the page's colour.
    svg = re.sub(r"(font: [^;\"]*?\d+(?:\.\d+)?px )[^;\"]*", r"\1 sans-serif", svg)
    root = f'<svg role="img" aria-label="{escaped_alt}" fill="currentColor" '
    return svg.replace("<svg ", root + 'stroke-linejoin="round" ', 1)
