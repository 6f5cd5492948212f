"""The pytest plugin: nbval's cells, compared number by number, under the rules of a record.

    python -m pytest -p tests.numbercheck.plugin --nbval notebooks book/ledger.ipynb

Each notebook runs in the edition it was recorded with. A notebook that breaks a rule of
`tests.numbercheck.rules` fails at once, and its cells do not run.
"""

import os
import subprocess
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from nbformat import NotebookNode
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, RunningKernel, start_new_kernel
from nbval.plugin import IPyNbCell, IPyNbFile

from tests.numbercheck import rules
from tests.numbercheck.compare import tokenise
from tests.numbercheck.outputs import differences, texts
from tests.numbercheck.record import RecordError, read

MOST_PROBLEMS = 12  # shown for one cell
HOW_TO_RECORD = "If the new output is right, " + rules.RECORD


@dataclass
class Tally:
    """What the run compared, for its last line."""

    numbers: int = 0
    tolerated: int = 0
    shown_only: int = 0
    notebooks: set[Path] = field(default_factory=set)

    def __str__(self) -> str:
        return (
            f"number check: {self.numbers:,} numbers compared, {self.tolerated:,} of them under "
            f"a tolerance, in {len(self.notebooks)} notebook(s); "
            f"{self.shown_only} cell(s) shown, not compared"
        )


TALLY = pytest.StashKey[Tally]()


class EditionKernel(RunningKernel):
    """A kernel with an environment of its own, and a death that is noticed."""

    def __init__(self, kernel_name: str, cwd: Path, startup_timeout: float, env: dict[str, str]):
        self.km, self.kc = start_new_kernel(
            startup_timeout=startup_timeout,
            kernel_name=kernel_name,
            stderr=subprocess.DEVNULL,
            cwd=str(cwd),
            env=env,
        )
        self._ensure_iopub_up()

    def await_reply(self, msg_id: str, timeout: float | None = None) -> None:
        """Wait as nbval does, but not for a kernel that has died."""
        deadline = time.monotonic() + (float("inf") if timeout is None else timeout)
        while True:
            try:
                return super().await_reply(msg_id, timeout=1)
            except Empty:
                if not self.is_alive():
                    raise RuntimeError("the kernel died (out of memory?)") from None
                if time.monotonic() > deadline:
                    raise


class CheckedNotebook(IPyNbFile):
    """A notebook whose record is read before it runs, in the edition it names."""

    @property
    def label(self) -> str:
        """The notebook as the command line would name it."""
        here = self.config.invocation_params.dir
        return str(self.path.relative_to(here) if self.path.is_relative_to(here) else self.path)

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the rules of the record and, when they hold, nbval's cells."""
        try:
            notebook = read(self.path).notebook
        except RecordError as error:
            raise self.CollectError(str(error)) from error
        problems = [
            f"{self.label}: {problem}"
            for problem in (*rules.declared(notebook), *rules.recorded(notebook))
        ]
        self.specimen = None if problems else rules.specimen(notebook)
        yield RecordRules.from_parent(self, name="Record", problems=problems)
        if not problems:
            for cell in super().collect():
                yield CheckedCell.from_parent(
                    self,
                    name=cell.name,
                    cell_num=cell.cell_num,
                    cell=cell.cell,
                    options=cell.options,
                )

    def setup(self) -> None:
        """Start a kernel in the notebook's edition, unless no cell will run."""
        self.setup_sanitize_files()
        if self.specimen is not None:
            self.kernel = EditionKernel(
                self.config.option.nbval_kernel_name or CURRENT_ENV_KERNEL_NAME,
                cwd=self.path.parent,
                startup_timeout=self.config.option.nbval_kernel_startup_timeout,
                env={**os.environ, "WTLIB_SPECIMEN": self.specimen},
            )


class RecordRules(pytest.Item):
    """The rules a recorded notebook must keep, as one test."""

    def __init__(self, *, problems: Sequence[str], **kwargs: Any):
        super().__init__(**kwargs)
        self.problems = problems

    def runtest(self) -> None:
        """Fail with every problem found."""
        if self.problems:
            pytest.fail("\n".join(self.problems), pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Name this test as nbval names its cells."""
        return self.path, 0, f"{self.path.name}::{self.name}"


class CheckedCell(IPyNbCell):
    """A cell whose printed floats may move within its declared tolerance."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.output_timeout = 60  # nbval's five seconds are too few on a busy machine

    def runtest(self) -> None:
        """Run the cell, compare its outputs, and refuse a stderr stream even if only shown."""
        tally = self.config.stash[TALLY]
        tally.notebooks.add(self.parent.path)
        if not self.options["check"]:
            tally.shown_only += 1
        super().runtest()
        problems = list(stderr_problems(self.test_outputs))
        if problems:
            self.raise_cell_error("Cell printed to stderr", self.report(problems))

    def compare_outputs(
        self,
        test: Sequence[NotebookNode],
        ref: Sequence[NotebookNode],
        skip_compare: Sequence[str] | None = None,
    ) -> bool:
        """Compare fresh outputs (`test`) with the stored ones (`ref`), counting numbers."""
        tolerance = rules.tolerance(self.cell)
        tally = self.config.stash[TALLY]
        for stored in texts(ref):
            tokens = tokenise(stored.text)
            tally.numbers += len(tokens.numbers)
            tally.tolerated += tokens.floats if tolerance else 0
        problems = [*stderr_problems(test), *differences(ref, test, tolerance)]
        self.comparison_traceback = [self.report(problems)] if problems else []
        return not problems

    def report(self, problems: Sequence[str]) -> str:
        """Say where and what differs, and how to record the cell again."""
        where = f"{self.parent.label}, {rules.cell_label(self.cell_num, self.cell)}"
        shown = list(problems[:MOST_PROBLEMS])
        if len(problems) > MOST_PROBLEMS:
            shown.append(f"… and {len(problems) - MOST_PROBLEMS} more differences")
        return "\n  ".join([where, *shown, f"{HOW_TO_RECORD} {self.parent.label}"])


def stderr_problems(outputs: Sequence[NotebookNode]) -> Iterator[str]:
    """Yield what a cell printed to stderr."""
    for output in outputs:
        if output.output_type == "stream" and output.name == "stderr":
            yield f"printed to stderr ({output.text.strip()[:80]!r}); silence it at its source"


def pytest_configure(config: pytest.Config) -> None:
    """Start counting."""
    config.stash[TALLY] = Tally()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(parent: pytest.Collector) -> Generator[None, list[Any], list[Any]]:
    """Put the checked notebook where nbval would put its own."""
    collected = yield
    return [
        CheckedNotebook.from_parent(parent, path=node.path) if type(node) is IPyNbFile else node
        for node in collected
    ]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """End the run with how many numbers were compared."""
    tally = config.stash[TALLY]
    if tally.notebooks:
        terminalreporter.write_line(str(tally))
