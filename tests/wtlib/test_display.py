import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wtlib import display
from wtlib.display import DisplayError


class _Cells(HTMLParser):
    """Reads back the texts of a table's cells."""

    def __init__(self) -> None:
        super().__init__()
        self.cells: list[str] = []
        self._open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("td", "th"):
            self._open = True
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._open = False

    def handle_data(self, data: str) -> None:
        if self._open:
            self.cells[-1] += data


def _html_cells(table: display.Table) -> list[str]:
    reader = _Cells()
    reader.feed(table.to_html())
    return reader.cells


def test_text_form_aligns_numbers_right_and_words_left() -> None:
    table = display.table([["gpt2", 124439808], ["x", 7]], ["model", "parameters"], caption="Sizes")
    assert repr(table).splitlines() == [
        "Sizes",
        "model   parameters",
        "-----  -----------",
        "gpt2   124,439,808",
        "x                7",
    ]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, "–"),
        (True, "yes"),
        (False, "no"),
        (1234567, "1,234,567"),
        (0.123456, "0.1235"),
        (0.5, "0.5000"),
        (1499.6, "1500.0"),
        (123456.0, "1.235e+05"),
        (float("nan"), "nan"),
    ],
)
def test_cells_are_formatted_by_type(cell: display.Cell, text: str) -> None:
    assert display.format_cell(cell) == text


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1))
def test_html_holds_every_cell_whatever_its_characters(rows: list[tuple[str, str]]) -> None:
    # HTML itself folds carriage returns and drops NUL, so these are left out of the comparison.
    rows = [tuple(re.sub(r"[\r\0\ud800-\udfff]", "", c) for c in row) for row in rows]  # type: ignore[misc]
    table = display.table(rows, ["a", "b"])
    assert _html_cells(table) == ["a", "b", *(c for row in rows for c in row)]


def test_html_table_is_a_labelled_region_reachable_by_keyboard() -> None:
    page = display.table([[1]], ["n"], caption='a "quoted" <caption>')._repr_html_()
    assert 'tabindex="0"' in page
    assert 'aria-label="a &quot;quoted&quot; &lt;caption&gt;"' in page


def test_row_ids_become_anchors() -> None:
    page = display.table([[1], [2]], ["n"], row_ids=["one", "two"]).to_html()
    assert '<tr id="one">' in page
    assert '<tr id="two">' in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rows": [[1, 2]], "headers": ["a"]}, "row 0 has 2 cells"),
        ({"rows": [[1]], "headers": ["a"], "align": ["left", "left"]}, "2 alignments for 1 header"),
        ({"rows": [[1]], "headers": ["a"], "row_ids": ["x", "y"]}, "2 row ids for 1 rows"),
        ({"rows": [[1], [2]], "headers": ["a"], "row_ids": ["x", "x"]}, "an id stands once"),
        ({"rows": ["ab"], "headers": ["a", "b"]}, "row 0 is the string 'ab'"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(
    arguments: dict[str, list[object]], message: str
) -> None:
    with pytest.raises(DisplayError, match=message):
        display.table(**arguments)  # type: ignore[arg-type]


def test_rows_may_come_one_by_one() -> None:
    rows = [("a", 1), ("b", 2)]
    by_one = display.table(iter(rows), iter(["x", "y"]), row_ids=iter(["r", "s"]))
    assert by_one == display.table(rows, ["x", "y"], row_ids=["r", "s"])
    assert len(by_one.rows) == 2


@pytest.mark.parametrize("name", ["", "1st", "Two", "a-b", "a b"])
def test_a_value_needs_a_plain_name(name: str) -> None:
    with pytest.raises(DisplayError, match="is not a name for a value"):
        display.value(name, 1)


def test_a_value_that_cannot_be_formatted_is_refused() -> None:
    with pytest.raises(DisplayError, match=r"cannot format 'x' as '.2f'"):
        display.value("x", "x", ".2f")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("14.3164, '.2f'", "14.32"),
        ("15.0, '.2f'", "15.00"),
        ("124439808, ','", "124,439,808"),
        ("'differs'", "differs"),
    ],
)
def test_a_value_is_found_by_myst_nb_without_importing_it(call: str, text: str) -> None:
    import nbformat
    from myst_nb.core.variables import format_plain_text
    from nbclient import NotebookClient

    cell = nbformat.v4.new_code_cell(
        "import sys\nfrom wtlib import display\n"
        f"display.value('short_norm', {call})\n"
        "print('myst_nb' in sys.modules)"
    )
    notebook = nbformat.v4.new_notebook(cells=[cell])
    NotebookClient(notebook, kernel_name="python3").execute()
    shown, glued, printed = notebook.cells[0].outputs
    assert shown["data"]["text/plain"] == f"short_norm = {text}"
    name = glued["metadata"]["scrapbook"]
    assert name["name"] == "short_norm"
    assert list(glued["data"]) == [name["mime_prefix"] + "text/plain"]
    assert format_plain_text(*glued["data"].values(), fmt_spec="") == text
    assert printed["text"].strip() == "False"


def test_provenance_says_what_ran() -> None:
    entries = dict(display.provenance().entries)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", entries["date"])
    assert entries["versions"].startswith("Python 3.")
    assert float(entries["peak memory"].removesuffix(" GB")) > 0.01


def test_peak_memory_grows_with_what_is_held() -> None:
    code = (
        "from wtlib.display import peak_memory_bytes as peak; before = peak(); "
        "held = bytearray(b'x') * 200_000_000; print(peak() - before)"
    )
    grown = int(subprocess.check_output([sys.executable, "-c", code]))
    assert 190e6 < grown < 260e6


def test_light_modules_load_nothing_heavy() -> None:
    code = (
        "import sys, json; import wtlib; from wtlib import display, counting, claims, census; "
        "heavy = {'torch', 'transformers', 'matplotlib'}; "
        "print(json.dumps(sorted(heavy & set(sys.modules))))"
    )
    assert json.loads(subprocess.check_output([sys.executable, "-c", code])) == []
