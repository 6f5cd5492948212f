import importlib
import pkgutil
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import wtlib.plots
from wtlib import display
from wtlib.plots import Figure, canvas, palette, styled
from wtlib.plots.figure import FigureError


@styled
def _bars(alt: str = "two bars") -> Figure:
    drawing, ax = canvas()
    ax.bar([1, 2], [3, 4], color=palette.TABLE)
    ax.set_title("A & B < C")
    ax.axhline(2, color=palette.INK)
    return Figure(drawing, alt, "Which is larger?", display.table([[3], [4]], ["n"]))


def _svg(figure: Figure) -> str:
    found = re.search(r"<svg.*</svg>", figure._repr_html_(), flags=re.DOTALL)
    assert found is not None
    return found.group(0)


def test_the_drawing_is_well_formed_and_named() -> None:
    root = ET.fromstring(_svg(_bars('bars "quoted" & <more>')))
    assert root.get("role") == "img"
    assert root.get("aria-label") == 'bars "quoted" & <more>'
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "A & B < C" in texts


def test_ink_is_the_pages_own_colour() -> None:
    svg = _svg(_bars())
    assert palette.INK not in svg
    assert "#000000" not in svg
    assert "currentColor" in svg
    assert "<style" not in svg  # a rule inside an inline drawing would apply to the whole page


def test_the_same_figure_gives_the_same_bytes_and_another_gives_other_ids() -> None:
    assert _bars()._repr_html_() == _bars()._repr_html_()

    @styled
    def other() -> Figure:
        drawing, ax = canvas()
        ax.plot([1, 2], [4, 3])
        return Figure(drawing, "a line", "Does it fall?", display.table([[4], [3]], ["n"]))

    ids = [set(re.findall(r'\bid="([^"]+)"', _svg(figure))) for figure in (_bars(), other())]
    assert ids[0]
    assert not ids[0] & ids[1]


def test_every_reference_inside_the_drawing_resolves() -> None:
    svg = _svg(_bars())
    ids = set(re.findall(r'\bid="([^"]+)"', svg))
    used = set(re.findall(r"url\(#([^)]+)\)", svg)) | set(re.findall(r'href="#([^"]+)"', svg))
    assert used
    assert used <= ids


def test_the_text_form_is_the_alternative_text_and_the_data() -> None:
    assert repr(_bars()).splitlines() == ["Figure: two bars", "n", "-", "3", "4"]


@pytest.mark.parametrize(
    ("alt", "caption", "rows", "message"),
    [
        (" ", "c", [[1]], "alt is empty"),
        ("a", "", [[1]], "caption is empty"),
        ("a", "c", [], "has no data rows"),
    ],
)
def test_a_figure_without_what_a_reader_needs_is_refused(
    alt: str, caption: str, rows: list[list[int]], message: str
) -> None:
    drawing, _ = canvas()
    with pytest.raises(FigureError, match=message):
        Figure(drawing, alt, caption, display.table(rows, ["n"]))


def _luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("page", ["#ffffff", "#121212"])
@pytest.mark.parametrize("colour", palette.SERIES)
def test_colours_stand_out_from_a_light_and_a_dark_page(colour: str, page: str) -> None:
    # WCAG 2.2, 1.4.11: graphical objects need a contrast of 3:1.
    bright, dim = sorted((_luminance(colour), _luminance(page)), reverse=True)
    assert (bright + 0.05) / (dim + 0.05) >= 3


def test_no_plot_module_uses_pyplot() -> None:
    folder = Path(wtlib.plots.__path__[0])
    for module in pkgutil.iter_modules([str(folder)]):
        importlib.import_module(f"wtlib.plots.{module.name}")
        source = (folder / f"{module.name}.py").read_text(encoding="utf-8")
        assert "matplotlib.pyplot" not in source
        assert "import pyplot" not in source
