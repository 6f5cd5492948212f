"""The pytest plugin, on tiny notebooks: one run over all of them, read back from its report."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import pytest
from nbformat.v4 import new_output

from tests.numbercheck.record import record
from tests.numbercheck.samples import cell, stdout, tagged, write

ROOT = Path(__file__).parents[1]
LOOSE = {"tolerance": {"rel": 1e-3, "abs": 0}}
SHOW = """
from IPython.display import HTML, display
class Both:
    def __repr__(self): return "norm 0.5"
    def _repr_html_(self): return "<b>a new 0.75</b>"
"""


def glued(text: str, name: str = "norm"):  # type: ignore[no-untyped-def]
    mime = "application/papermill.record/text/plain"
    return new_output("display_data", {mime: text}, metadata={"scrapbook": {"name": name}})


def glue(text: str, name: str = "norm") -> str:
    return (
        f'display({{"application/papermill.record/text/plain": "{text}"}}, raw=True, '
        f'metadata={{"scrapbook": {{"name": "{name}"}}}})'
    )


def result(**forms: str):  # type: ignore[no-untyped-def]
    return new_output("execute_result", {f"text/{form}": text for form, text in forms.items()})


# Each cell with what its failure must say; None: it must pass.
CELLS = [
    (cell(SHOW), None),
    (cell("print('norm', 14.3161)", stdout("norm 14.3160"), **LOOSE), None),
    (cell("print(14.4160)", stdout("14.3160"), **LOOSE), "stored 14.3160, fresh 14.416"),
    (cell("print(14.3161)", stdout("14.3160")), "no tolerance is declared"),
    (cell("print('49,153', 0.5)", stdout("49,152 0.5"), **LOOSE), "an integer must stay exact"),
    (cell("print('untied 0.5')", stdout("tied 0.5"), **LOOSE), "words differ"),
    (cell("print(float('nan'))", stdout("0.5"), **LOOSE), 'fresh output prints "nan"'),
    (cell("print(0.5, 0.6)", stdout("0.5"), **LOOSE), "only fresh: 0.6"),
    (cell("print(0.5)", stdout("0.5 0.6"), **LOOSE), "only stored: 0.6"),
    (cell("0", stdout("0")), "outputs appear or disappear"),
    (cell("import sys; print('hot', file=sys.stderr)"), "printed to stderr ('hot')"),
    (
        cell("print('hot', file=sys.stderr)", **tagged("nbval-ignore-output")),
        "printed to stderr ('hot')",
    ),
    (cell("print(2)", stdout("1"), **tagged("nbval-ignore-output")), None),
    (cell("Both()", result(plain="norm 0.5", html="<b>an old 0.25</b>")), None),
    (cell("Both()", result(plain="norm 0.5")), "outputs appear or disappear"),
    (
        cell(
            "HTML('<b>2</b>')",
            result(plain="<IPython.core.display.HTML object>", html="<b>1</b>"),
        ),
        "stored 1, fresh 2",
    ),
    (cell(glue("0.5001"), glued("0.5000"), **LOOSE), None),
    (cell(glue("0.6"), glued("0.5"), **LOOSE), "relative difference 0.2"),
    (cell(glue("0.5", "ratio"), glued("0.5", "norm")), "outputs appear or disappear"),
    (
        cell(
            "raise ValueError('norm 0.5')",
            new_output("error", ename="ValueError", evalue="norm 0.25", traceback=[]),
            **tagged("raises-exception"),
        ),
        "stored 0.25, fresh 0.5",
    ),
    (cell("1 / 0"), "ZeroDivisionError"),
]
NUMBERS_STORED = 18
FLOATS_UNDER_TOLERANCE = 10


@dataclass(frozen=True)
class Run:
    """What one pytest run said, cell by cell and at its end."""

    failures: dict[str, str]
    passed: set[str]
    output: str
    returncode: int


def run_check(folder: Path, *options: str, **environment: str) -> Run:
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", "-p", "tests.numbercheck.plugin", "--nbval"]
    done = subprocess.run(
        [*command, f"--junitxml={report}", "-p", "no:cacheprovider", *options, str(folder)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    failures, passed = {}, set()
    for case in ET.parse(report).iter("testcase"):
        key = (
            f"{case.get('classname', '').rpartition('.')[0].rpartition('.')[2]} {case.get('name')}"
        )
        failed = case.find("failure")
        if failed is None:
            passed.add(key)
        else:
            failures[key] = failed.text or ""
    return Run(failures, passed, done.stdout + done.stderr, done.returncode)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("notebooks")
    write(folder / "cells.ipynb", *(found for found, _ in CELLS))
    edition = "import os; print(os.environ['WTLIB_SPECIMEN'])"
    write(folder / "one.ipynb", cell(edition, stdout("tiny-one")), specimen="tiny-one")
    write(folder / "two.ipynb", cell(edition, stdout("tiny-two")), specimen="tiny-two")
    write(folder / "rules.ipynb", cell("open('ran', 'w')"), cell("1", **tagged("hide-imput")))
    write(folder / "dead.ipynb", cell("import os; os._exit(9)"))
    return run_check(folder, "--color=no")


@pytest.mark.parametrize("number", range(len(CELLS)))
def test_each_cell_passes_or_fails_as_it_must(run: Run, number: int) -> None:
    says = CELLS[number][1]
    name = f"cells Cell {number}"
    if says is None:
        assert name in run.passed
    else:
        assert says in run.failures[name]


def test_a_failure_names_the_cell_and_how_to_record(run: Run) -> None:
    report = run.failures["cells Cell 2"]
    assert "cells.ipynb, Cell 2 (In [3]: 'print(14.4160)')" in report
    assert "relative difference 0.007; declared tolerance rel 0.001, abs 0" in report
    assert "python -m tests.numbercheck.record" in report


def test_each_notebook_runs_in_its_own_edition(run: Run) -> None:
    assert {"one Cell 0", "two Cell 0"} <= run.passed


def test_a_broken_rule_fails_before_any_cell_runs(run: Run) -> None:
    assert "unknown tag 'hide-imput'" in run.failures["rules Record"]
    assert not any(name.startswith("rules Cell") for name in (*run.passed, *run.failures))


def test_a_dead_kernel_is_noticed(run: Run) -> None:
    assert "the kernel died" in run.failures["dead Cell 0"]


def test_the_run_ends_with_its_counts(run: Run) -> None:
    assert run.returncode == 1
    assert (
        f"number check: {NUMBERS_STORED} numbers compared, {FLOATS_UNDER_TOLERANCE} of them under "
        "a tolerance, in 4 notebook(s); 2 cell(s) shown, not compared"
    ) in run.output


def test_a_torn_notebook_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "torn.ipynb").write_text('{"cells": [')
    run = run_check(tmp_path)
    assert run.returncode != 0
    assert "torn.ipynb: not a readable notebook" in run.output


@pytest.fixture(scope="module")
def noisy_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """One notebook of float arithmetic, recorded here and checked on "other machines".

    Vector width and thread count change the order of sums, and so their last digits.
    """
    folder = tmp_path_factory.mktemp("noise")
    source = (
        "import sys, torch\n"
        "torch.manual_seed(0)\n"
        "x = torch.randn(257, 3001); w = torch.randn(3001, 130) / 50\n"
        "y = (x @ w).log_softmax(-1)\n"
        "line = ' '.join(f'{v:.9g}' for v in [y.sum(), y.norm(), y.std(), *y[0, :40]])\n"
        "print(line)"
    )
    path = write(
        folder / "noise.ipynb",
        cell(source, tolerance={"rel": 1e-4, "abs": 1e-6}),
        cell("print(line)"),
        cell("print(y.shape, y.numel(), sys.executable)"),
    )
    record([path], "tiny")
    return [
        run_check(folder, ATEN_CPU_CAPABILITY="default", OMP_NUM_THREADS="1"),
        run_check(
            folder,
            "--nbval-kernel-name=python3",
            ATEN_CPU_CAPABILITY="avx2",
            OMP_NUM_THREADS="2",
        ),
    ]


def test_float_noise_of_another_machine_passes(noisy_runs: list[Run]) -> None:
    for run in noisy_runs:
        assert "noise Cell 0" in run.passed, run.output
    if all("noise Cell 1" in run.passed for run in noisy_runs):
        pytest.skip("on this processor torch printed the same digits in every variation")


def test_the_kernel_is_this_environments_own_also_by_name(noisy_runs: list[Run]) -> None:
    for run in noisy_runs:
        assert "noise Cell 2" in run.passed, run.output
