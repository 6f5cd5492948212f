"""The rules of a recorded notebook: each broken one is named, and the rest pass."""

from collections.abc import Callable
from typing import Any

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_output

from tests.numbercheck import rules
from tests.numbercheck.samples import cell, notebook, stdout, tagged

LOOSE = {"rel": 1e-3, "abs": 0}


def problems(book: NotebookNode) -> list[str]:
    return [*rules.declared(book), *rules.recorded(book)]


def error() -> NotebookNode:
    return new_output("error", ename="ValueError", evalue="no", traceback=[])


def test_a_sound_notebook_has_no_problem() -> None:
    book = notebook(
        cell("print(0.5)", stdout("0.5"), tolerance=LOOSE, tags=["hide-input"]),
        cell("print('nan')", stdout("nan"), **tagged("nbval-ignore-output")),
        cell("raise ValueError('no')", error(), **tagged("raises-exception")),
        cell("print(float('inf'))", stdout("inf")),
    )
    book.cells.append(new_markdown_cell("Words."))
    book.cells.append(cell(""))
    assert problems(book) == []


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (cell("1", **tagged("hide-imput")), "unknown tag 'hide-imput'; allowed: hide-input"),
        (cell("1", tolerence=LOOSE), "unknown metadata key 'tolerence'"),
        (cell("1", stdout("0.5"), tolerance={"rell": 1}), "unknown tolerance key 'rell'"),
        (cell("1", stdout("0.5"), tolerance="1e-3"), "tolerance is '1e-3'"),
        (cell("1", stdout("12"), tolerance=LOOSE), "prints no float"),
        (
            cell("1", stdout("0.5"), tolerance=LOOSE, tags=["nbval-ignore-output"]),
            "keep one of them",
        ),
        (cell("# NBVAL_SKIP\n1"), "an nbval comment"),
        (cell("1", **tagged("nbval-raises-exception")), "without 'raises-exception'"),
        (cell("1", **tagged("raises-exception")), "raised nothing"),
        (cell("1", error()), "an error is stored"),
        (cell("1", new_output("stream", name="stderr", text="Warning")), "printed to stderr"),
        (cell("1", stdout("loss NaN")), 'prints "nan"'),
        (cell("1", stdout("<Model at 0x7f12ab34cd56>")), "memory address"),
    ],
)
def test_a_broken_cell_is_named(broken: NotebookNode, says: str) -> None:
    found = problems(notebook(cell("0", stdout("0")), broken))
    assert len(found) == 1
    assert says in found[0]
    assert found[0].startswith("Cell 1 (In [2]: ")


def unname(book: NotebookNode) -> None:
    del book.metadata["wtlib"]


def other_kernel(book: NotebookNode) -> None:
    book.metadata.kernelspec = {"name": "julia-1.11", "display_name": "Julia"}


def unrun(book: NotebookNode) -> None:
    book.cells[1].execution_count = None


def out_of_order(book: NotebookNode) -> None:
    book.cells[1].execution_count = 7


def tolerant_prose(book: NotebookNode) -> None:
    book.cells.append(new_markdown_cell("Words.", metadata={"tolerance": LOOSE}))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (unname, "no edition is named"),
        (other_kernel, "not 'python3'"),
        (unrun, "Cell 1 (In [ ]: '1'): this cell was never run"),
        (out_of_order, "run out of order, expected In [2]"),
        (tolerant_prose, "cell 2 of the notebook (markdown): unknown metadata key 'tolerance'"),
    ],
)
def test_a_broken_record_is_named(damage: Callable[[NotebookNode], Any], says: str) -> None:
    book = notebook(cell("0"), cell("1"))
    damage(book)
    found = problems(book)
    assert len(found) == 1
    assert says in found[0]


def test_a_float_printed_short_for_its_tolerance_gets_advice() -> None:
    book = notebook(cell("1", stdout("3.66 14.316"), tolerance=LOOSE))
    assert "last digit of 3.66 is more than the tolerance" in next(rules.advice(book))
    assert problems(book) == []
