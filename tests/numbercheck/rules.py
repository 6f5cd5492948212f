"""What a recorded notebook must look like, whatever its numbers are.

`declared` reads what the author wrote (tags, metadata, tolerances); `recorded` reads what the
recorder wrote (edition, execution counts, outputs). Each yields messages that name the cell and
say what to do. Cells are named as nbval names them: code cells counted from 0.
"""

import re
from collections.abc import Iterator

from nbformat import NotebookNode
from nbval.plugin import find_comment_markers

from tests.numbercheck.compare import Tolerance, fragile, has_nan, tokenise
from tests.numbercheck.outputs import texts

ALLOWED_TAGS = frozenset(
    {
        "hide-input",
        "hide-output",
        "remove-input",
        "remove-output",
        "remove-cell",
        "scroll-output",
        "nbval-ignore-output",
        "raises-exception",
        "nbval-raises-exception",
    }
)
ALLOWED_METADATA = frozenset({"tags", "tolerance"})
RECORD = "record it again: python -m tests.numbercheck.record"
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{6,}")


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the notebook's code cells; their places here are the numbers in messages."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def cell_label(number: int, cell: NotebookNode) -> str:
    """Name a code cell so that it can be found: number, execution count, first line."""
    first = cell.source.strip().split("\n", 1)[0]
    return f"Cell {number} (In [{cell.execution_count or ' '}]: {first[:60]!r})"


def tags(cell: NotebookNode) -> list[str]:
    """Return a cell's tags."""
    return list(cell.metadata.get("tags", []))


def is_compared(cell: NotebookNode) -> bool:
    """Whether a code cell's outputs are compared, not only shown."""
    return "nbval-ignore-output" not in tags(cell)


def tolerance(cell: NotebookNode) -> Tolerance | None:
    """Return a cell's declared tolerance; raise `ValueError` when it is malformed."""
    if "tolerance" not in cell.metadata:
        return None
    return Tolerance.from_metadata(cell.metadata["tolerance"])


def specimen(notebook: NotebookNode) -> str | None:
    """Return the edition a notebook was recorded with, or None."""
    recorded = notebook.metadata.get("wtlib")
    name = recorded.get("specimen") if isinstance(recorded, dict) else None
    return name if isinstance(name, str) and name else None


def declared(notebook: NotebookNode) -> Iterator[str]:
    """Yield what is wrong with the author's tags, metadata and tolerances."""
    for place, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            for problem in _metadata_problems(cell, ALLOWED_METADATA - {"tolerance"}):
                yield f"cell {place} of the notebook ({cell.cell_type}): {problem}"
    for number, cell in enumerate(code_cells(notebook)):
        for problem in _metadata_problems(cell, ALLOWED_METADATA):
            yield f"{cell_label(number, cell)}: {problem}"
        for problem in _tolerance_problems(cell):
            yield f"{cell_label(number, cell)}: {problem}"
        if any(True for _ in find_comment_markers(cell.source)):
            yield f"{cell_label(number, cell)}: an nbval comment; use the cell's tags"


def _metadata_problems(cell: NotebookNode, allowed: frozenset[str]) -> Iterator[str]:
    for key in sorted(set(cell.metadata) - allowed):
        yield f"unknown metadata key {key!r}; allowed here: {', '.join(sorted(allowed))}"
    for tag in tags(cell):
        if tag not in ALLOWED_TAGS:
            yield f"unknown tag {tag!r}; allowed: {', '.join(sorted(ALLOWED_TAGS))}"
    if "nbval-raises-exception" in tags(cell) and "raises-exception" not in tags(cell):
        yield "tag 'nbval-raises-exception' without 'raises-exception', which the book reads"


def _tolerance_problems(cell: NotebookNode) -> Iterator[str]:
    try:
        found = tolerance(cell)
    except ValueError as error:
        yield str(error)
        return
    if found is not None and not is_compared(cell):
        yield "a tolerance on a cell with 'nbval-ignore-output' does nothing; keep one of them"


def recorded(notebook: NotebookNode) -> Iterator[str]:
    """Yield what is wrong with the notebook's record: its edition, counts and outputs."""
    if specimen(notebook) is None:
        yield f'metadata "wtlib": {{"specimen": …}} is missing, so no edition is named; {RECORD}'
    kernel = notebook.metadata.get("kernelspec", {}).get("name")
    if kernel != "python3":
        yield f"the kernel is {kernel!r}, not 'python3'; {RECORD}"
    expected = 1
    for number, cell in enumerate(code_cells(notebook)):
        label = cell_label(number, cell)
        if cell.source.strip():
            if cell.execution_count is None:
                yield f"{label}: this cell was never run; {RECORD}"
            elif cell.execution_count != expected:
                yield f"{label}: run out of order, expected In [{expected}]; {RECORD}"
            expected += 1
        for problem in _output_problems(cell):
            yield f"{label}: {problem}"


def advice(notebook: NotebookNode) -> Iterator[str]:
    """Yield what is allowed but likely to fail on another machine."""
    for number, cell in enumerate(code_cells(notebook)):
        declared_here = tolerance(cell)
        if declared_here is not None:
            short = [n.text for t in texts(cell.outputs) for n in fragile(t.text, declared_here)]
            if short:
                yield (
                    f"{cell_label(number, cell)}: one unit in the last digit of "
                    f"{', '.join(short[:6])} is more than the tolerance ({declared_here}); "
                    'print more digits, or declare that unit as "abs"'
                )


def _output_problems(cell: NotebookNode) -> Iterator[str]:
    kinds = {output.output_type for output in cell.outputs}
    may_raise = "raises-exception" in tags(cell)
    if "error" in kinds and not may_raise:
        yield f"an error is stored; mend the cell, or tag it 'raises-exception', and {RECORD}"
    if may_raise and "error" not in kinds:
        yield "tagged 'raises-exception' but raised nothing; remove the tag or mend the cell"
    for output in cell.outputs:
        if output.output_type == "stream" and output.name == "stderr":
            yield f"printed to stderr ({output.text.strip()[:80]!r}); silence it at its source"
    if is_compared(cell):
        yield from _text_problems(cell)


def _text_problems(cell: NotebookNode) -> Iterator[str]:
    compared = [found.text for found in texts(cell.outputs)]
    if any(has_nan(text) for text in compared):
        yield 'the output prints "nan"; a number is missing: mend what computes it'
    if any(_ADDRESS.search(text) for text in compared):
        yield "the output prints a memory address, which no two runs share; show a value instead"
    if "tolerance" in cell.metadata and not any(tokenise(text).floats for text in compared):
        yield "a tolerance on a cell that prints no float does nothing; remove it"
