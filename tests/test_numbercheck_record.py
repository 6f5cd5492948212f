"""The recorder: what it stores, and that it leaves files alone when it refuses."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell

from tests.numbercheck import record, rules
from tests.numbercheck.samples import cell, notebook, stdout, tagged, write
from wtlib import specimens

ROOT = Path(__file__).parents[1]
OPEN = "import os, sys; print(os.environ['WTLIB_SPECIMEN'], os.path.basename(os.getcwd()))"


@pytest.fixture
def any_specimen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every name stand for itself; None for "auto-found"."""
    monkeypatch.setattr(
        specimens, "resolve", lambda name: SimpleNamespace(name=name or "auto-found")
    )


@pytest.mark.usefixtures("any_specimen")
def test_a_record_is_complete_clean_and_stable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book = notebook(
        cell(OPEN, stdout("stale"), collapsed=True),
        cell("for i in range(3): print(i, flush=True)", **tagged("hide-output")),
        cell("1 / 0", **tagged("raises-exception")),
    )
    book.cells.insert(1, new_markdown_cell("Words – and more."))
    book.metadata["widgets"] = {"state": {}}
    book.metadata["language_info"] = {"name": "python", "version": "2.7"}
    del book.metadata["wtlib"]
    path = tmp_path / "one.ipynb"
    nbformat.write(book, path)
    ids = [found.id for found in book.cells]
    path.chmod(0o640)

    assert record.main([str(path)]) == 0
    text = path.read_text()
    recorded = nbformat.reads(text, as_version=4)
    assert [*rules.declared(recorded), *rules.recorded(recorded)] == []
    assert [found.id for found in recorded.cells] == ids
    assert recorded.cells[0].outputs == [stdout(f"auto-found {tmp_path.name}")]
    assert recorded.cells[2].outputs == [stdout("0\n1\n2")]
    assert [found.metadata for found in recorded.cells[:2]] == [{}, {}]
    assert recorded.metadata == {
        "kernelspec": record.KERNEL,
        "language_info": {"name": "python"},
        "wtlib": {"specimen": "auto-found"},
    }
    assert text.endswith("}\n")
    assert "Words – and more." in text
    assert path.stat().st_mode & 0o777 == 0o640
    assert [found.name for found in tmp_path.iterdir()] == ["one.ipynb"]
    assert "one.ipynb with auto-found ... " in capsys.readouterr().out

    assert record.main([str(path)]) == 0
    assert path.read_text() == text


@pytest.mark.usefixtures("any_specimen")
def test_the_edition_is_the_requested_one_else_the_recorded_one(tmp_path: Path) -> None:
    path = write(tmp_path / "one.ipynb", cell(OPEN), specimen="before")
    assert record.main([str(path)]) == 0
    assert rules.specimen(nbformat.read(path, as_version=4)) == "before"
    assert record.main([str(path), "--specimen", "after"]) == 0
    assert rules.specimen(nbformat.read(path, as_version=4)) == "after"
    assert "after" in json.dumps(nbformat.read(path, as_version=4).cells[0].outputs)


@pytest.mark.usefixtures("any_specimen")
@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (cell("1 / 0"), "Cell 0 (In [1]: '1 / 0') failed"),
        (cell("import sys; print('hot', file=sys.stderr)"), "printed to stderr ('hot')"),
        (cell("1", **tagged("hide-imput")), "unknown tag 'hide-imput'"),
        (cell("1", tolerence={}), "unknown metadata key 'tolerence'"),
        (cell("float('nan')"), 'prints "nan"'),
        (cell("import os; os._exit(9)"), "the kernel did not start, or died"),
    ],
)
def test_a_failing_notebook_leaves_every_file_as_it_was(
    broken: nbformat.NotebookNode,
    says: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    sound = write(tmp_path / "sound.ipynb", cell("1"))
    failing = write(tmp_path / "failing.ipynb", broken)
    before = sound.read_bytes(), failing.read_bytes()
    assert record.main([str(sound), str(failing)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"{failing}: ")
    assert says in said
    assert "Nothing was recorded; every file is as it was." in said
    assert (sound.read_bytes(), failing.read_bytes()) == before
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.usefixtures("any_specimen")
def test_a_failing_cell_shows_its_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "one.ipynb", cell("1"), cell("def f():\n    1 / 0\nf()"))
    assert record.main([str(path)]) == 1
    said = capsys.readouterr().err
    assert "Cell 1 (In [2]: 'def f():') failed" in said
    assert "ZeroDivisionError: division by zero" in said
    assert "\x1b" not in said


@pytest.mark.usefixtures("any_specimen")
def test_refusals_before_anything_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = write(tmp_path / "one.ipynb", cell("1"), specimen="one")
    two = write(tmp_path / "two.ipynb", cell("1"), specimen="two")
    assert record.main([str(one), str(two)]) == 1
    assert "several editions (one, two); choose one with --specimen" in capsys.readouterr().err
    assert record.main([str(tmp_path / "none.ipynb")]) == 1
    assert "none.ipynb: not a readable notebook" in capsys.readouterr().err
    (tmp_path / "torn.ipynb").write_bytes(one.read_bytes()[:50])
    assert record.main([str(tmp_path / "torn.ipynb")]) == 1
    assert "torn.ipynb: not a readable notebook" in capsys.readouterr().err


def test_an_unknown_specimen_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "one.ipynb", cell("1"))
    assert record.main([str(path), "--specimen", "gtp2"]) == 1
    assert "gtp2" in capsys.readouterr().err


@pytest.mark.usefixtures("any_specimen")
def test_an_edit_made_while_recording_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "one.ipynb", cell("open('one.ipynb', 'a').write(' ') and None"))
    before = path.read_bytes()
    assert record.main([str(path)]) == 1
    assert "changed while it was being recorded" in capsys.readouterr().err
    assert path.read_bytes() == before + b" "


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_record_changes_nothing(sent: signal.Signals, tmp_path: Path) -> None:
    quick = write(tmp_path / "quick.ipynb", cell("1"))
    slow = write(
        tmp_path / "slow.ipynb",
        cell("open('started', 'w').close()"),
        cell("import time\nfor _ in range(600): time.sleep(0.1)"),
    )
    before = quick.read_bytes(), slow.read_bytes()
    program = (
        "import sys; from pathlib import Path; from tests.numbercheck import record; "
        "record.edition = lambda *_: 'tiny'; sys.exit(record.main(sys.argv[1:]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(quick), str(slow)],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Where the tests run in the background, SIGINT comes ignored; the recorder's must not be.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    while process.stdout.read(1) != "":
        if (tmp_path / "started").exists():
            break
    process.send_signal(sent)
    _, said = process.communicate(timeout=20)
    assert process.returncode != 0
    assert "Traceback" not in said
    assert (quick.read_bytes(), slow.read_bytes()) == before
    assert sorted(found.suffix for found in tmp_path.iterdir()) == ["", ".ipynb", ".ipynb"]
