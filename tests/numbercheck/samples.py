"""Tiny notebooks for the tests of the number check."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tests.numbercheck.record import KERNEL


def stdout(text: str) -> NotebookNode:
    """Return the output of printing this line."""
    return new_output("stream", name="stdout", text=f"{text}\n")


def cell(source: str, *outputs: NotebookNode, **metadata: Any) -> NotebookNode:
    """Return a code cell with its stored outputs; `notebook` numbers it."""
    return new_code_cell(source, outputs=list(outputs), metadata=metadata)


def tagged(*tags: str) -> Mapping[str, Any]:
    """Return the metadata of a cell with these tags."""
    return {"tags": list(tags)}


def notebook(*cells: NotebookNode, specimen: str = "tiny") -> NotebookNode:
    """Return a notebook as the recorder would leave it, with whatever outputs the cells hold."""
    for count, code_cell in enumerate(cells, start=1):
        code_cell.execution_count = count
    return new_notebook(
        cells=list(cells), metadata={"kernelspec": KERNEL, "wtlib": {"specimen": specimen}}
    )


def write(path: Path, *cells: NotebookNode, specimen: str = "tiny") -> Path:
    """Write such a notebook and return its path."""
    nbformat.write(notebook(*cells, specimen=specimen), path)
    return path
