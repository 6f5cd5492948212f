"""Re-record notebooks: run each from top to bottom, and store its outputs.

    python -m tests.numbercheck.record NOTEBOOK… [--specimen NAME]

All notebooks are recorded with one specimen, or none is: every one runs first, and only when all
have passed are the files replaced. A notebook that fails, prints to stderr or breaks a rule of
`tests.numbercheck.rules` is left as it was.
"""

import argparse
import contextlib
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, NbvalKernelspecManager

from tests.numbercheck import rules
from tests.numbercheck.reading import NotReadableError, parse
from wtlib import specimens
from wtlib.errors import WtlibError

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
# What editors and runners leave behind; anything else unknown is refused, not dropped.
EDITORS_CELL_METADATA = frozenset(
    {
        "ExecuteTime",
        "collapsed",
        "editable",
        "execution",
        "jupyter",
        "scrolled",
        "trusted",
        "vscode",
    }
)
EDITORS_METADATA = frozenset(
    {"celltoolbar", "colab", "papermill", "signature", "toc", "varInspector", "vscode", "widgets"}
)
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


class RecordError(Exception):
    """A notebook cannot be recorded: which one, which cell, why."""


@dataclass(frozen=True)
class Source:
    """A notebook as it was read, and the bytes it was read from."""

    path: Path
    content: bytes
    notebook: NotebookNode


def read(path: Path) -> Source:
    """Read a notebook; raise `RecordError` when there is none or it is not valid."""
    try:
        content = path.read_bytes()
        return Source(path, content, parse(content))
    except OSError as error:
        raise RecordError(f"{path}: not a readable notebook: {error}") from error
    except NotReadableError as error:
        raise RecordError(f"{path}: {error}") from error


def clean(notebook: NotebookNode) -> None:
    """Remove earlier outputs and what editors leave behind; keep what the author wrote."""
    for key in EDITORS_METADATA & set(notebook.metadata):
        del notebook.metadata[key]
    notebook.metadata.kernelspec = nbformat.from_dict(KERNEL)
    for cell in notebook.cells:
        for key in EDITORS_CELL_METADATA & set(cell.metadata):
            del cell.metadata[key]
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None


def refuse(path: Path, problems: Iterator[str]) -> None:
    """Raise `RecordError` with every problem, when there is one."""
    found = list(problems)
    if found:
        raise RecordError("\n".join(f"{path}: {problem}" for problem in found))


def execute(source: Source, specimen: str) -> bytes:
    """Run a notebook in its folder and return the file to store; raise `RecordError`."""
    notebook = nbformat.v4.upgrade(source.notebook, from_minor=source.notebook.nbformat_minor)
    clean(notebook)
    refuse(source.path, rules.declared(notebook))
    client = NotebookClient(
        notebook,
        km=AsyncKernelManager(
            kernel_name=CURRENT_ENV_KERNEL_NAME, kernel_spec_manager=NbvalKernelspecManager()
        ),
        timeout=None,
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],  # the kernel's own chatter, not the notebook's
        shutdown_kernel="immediate",
    )
    folder = str(source.path.resolve().parent)
    environment = {**os.environ, "WTLIB_SPECIMEN": specimen}
    try:
        # Not client.execute: its handling of signals ends a stopped run in a traceback.
        with client.setup_kernel(cleanup_kc=True, cwd=folder, env=environment):
            for index, cell in enumerate(notebook.cells):
                client.execute_cell(cell, index)
                print("." if cell.cell_type == "code" else "", end="", flush=True)
    except CellExecutionError as error:
        raise RecordError(f"{source.path}: {_failure(notebook, error)}") from error
    except RuntimeError as error:
        raise RecordError(f"{source.path}: the kernel did not start, or died: {error}") from error
    # Without the version of Python, which would differ from machine to machine.
    notebook.metadata.language_info = nbformat.from_dict({"name": "python"})
    notebook.metadata.wtlib = nbformat.from_dict({"specimen": specimen})
    refuse(source.path, rules.recorded(notebook))
    return (nbformat.writes(notebook) + "\n").encode()


def _failure(notebook: NotebookNode, error: CellExecutionError) -> str:
    failed = [
        rules.cell_label(number, cell)
        for number, cell in enumerate(rules.code_cells(notebook))
        if any(output.output_type == "error" for output in cell.outputs)
    ]
    where = failed[-1] if failed else "a cell"
    return f"{where} failed; nothing is recorded\n{_ANSI.sub('', str(error))}"


def replace_all(recorded: Sequence[tuple[Source, bytes]]) -> None:
    """Replace every file, each atomically, after all have been written beside their targets."""
    with contextlib.ExitStack() as stack:
        try:
            staged = [(stage(*pair, stack), pair[0].path.resolve()) for pair in recorded]
        except OSError as error:
            raise RecordError(f"cannot write beside the notebooks: {error}") from error
        for temporary, target in staged:
            temporary.replace(target)


def stage(source: Source, content: bytes, stack: contextlib.ExitStack) -> Path:
    """Write the new content beside its notebook; the stack removes it if it is not used."""
    target = source.path.resolve()
    if target.read_bytes() != source.content:
        raise RecordError(f"{source.path}: changed while it was being recorded; try again")
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.stem}-", suffix=".tmp")
    stack.callback(Path(name).unlink, missing_ok=True)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    shutil.copymode(target, name)
    return Path(name)


def record(paths: Sequence[Path], specimen: str) -> None:
    """Record these notebooks with one specimen, or none of them; raise `RecordError`."""
    sources = [read(path) for path in paths]
    recorded = []
    for source in sources:
        print(f"{source.path} with {specimen} ", end="", flush=True)
        start = time.perf_counter()
        try:
            recorded.append((source, execute(source, specimen)))
        finally:
            print(f" {time.perf_counter() - start:.1f} s", flush=True)
        for note in rules.advice(source.notebook):
            print(f"  note: {note}")
    replace_all(recorded)
    print(f"recorded {len(recorded)} notebook(s), edition {specimen}")


def edition(paths: Sequence[Path], requested: str | None) -> str:
    """Choose the edition: as requested, else the one recorded before, else as `auto` finds."""
    before = {name for path in paths if (name := rules.specimen(read(path).notebook))}
    if requested is None and len(before) > 1:
        raise RecordError(
            f"these notebooks hold several editions ({', '.join(sorted(before))}); "
            "choose one with --specimen"
        )
    return specimens.resolve(requested or next(iter(before), None)).name


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 when nothing was recorded."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.numbercheck.record",
        description="Run notebooks from top to bottom and store their outputs.",
    )
    parser.add_argument("notebooks", nargs="+", type=Path, metavar="NOTEBOOK")
    parser.add_argument("--specimen", help="the edition to record; else the one recorded before")
    options = parser.parse_args(arguments)
    try:
        record(options.notebooks, edition(options.notebooks, options.specimen))
    except (RecordError, WtlibError) as error:
        print(f"{error}\nNothing was recorded; every file is as it was.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped; nothing was recorded.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
