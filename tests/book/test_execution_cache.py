import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from wtlib import sweeps

ROOT = Path(__file__).parents[2]


@pytest.fixture
def extension() -> ModuleType:
    path = ROOT / "book/_ext/execution_cache.py"
    spec = importlib.util.spec_from_file_location("execution_cache", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def book(tmp_path: Path) -> Path:
    shutil.copytree(
        ROOT / "wtlib", tmp_path / "wtlib", ignore=shutil.ignore_patterns("__pycache__")
    )
    (tmp_path / "notebooks" / "records").mkdir(parents=True)
    (tmp_path / "notebooks" / "records" / "runs.jsonl").write_text("{}\n")
    for pins in ("requirements.txt", "constraints.txt"):
        shutil.copy(ROOT / pins, tmp_path)
    return tmp_path


def test_the_key_is_the_same_for_the_same_files_anywhere(
    extension: ModuleType, book: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "book"
    shutil.copytree(book, elsewhere)
    (elsewhere / "wtlib" / "__pycache__").mkdir()
    (elsewhere / "wtlib" / "__pycache__" / "x.pyc").write_bytes(b"compiled")
    assert extension.execution_key(book, "a") == extension.execution_key(elsewhere, "a")


@pytest.mark.parametrize(
    "changed",
    [
        "wtlib/display.py",
        "wtlib/data/claims.yml",
        "notebooks/records/runs.jsonl",
        "requirements.txt",
        "constraints.txt",
    ],
)
def test_a_change_in_any_file_changes_the_key(
    extension: ModuleType, book: Path, changed: str
) -> None:
    before = extension.execution_key(book, "a")
    path = book / changed
    path.write_bytes(path.read_bytes() + b"\n")
    assert extension.execution_key(book, "a") != before


def test_a_new_module_and_other_weights_change_the_key(extension: ModuleType, book: Path) -> None:
    before = extension.execution_key(book, "a")
    assert extension.execution_key(book, "b") != before
    (book / "wtlib" / "new.py").write_text("")
    with_module = extension.execution_key(book, "a")
    assert with_module != before
    (book / "notebooks" / "records" / "new.jsonl").write_text("")
    assert extension.execution_key(book, "a") != with_module


def test_text_moved_between_files_changes_the_key(extension: ModuleType, book: Path) -> None:
    (book / "wtlib/a.py").write_text("xy")
    (book / "wtlib/b.py").write_text("z")
    before = extension.execution_key(book, "a")
    (book / "wtlib/a.py").write_text("x")
    (book / "wtlib/b.py").write_text("yz")
    assert extension.execution_key(book, "a") != before


def test_prose_a_lock_and_a_build_do_not_change_the_key(extension: ModuleType, book: Path) -> None:
    before = extension.execution_key(book, "a")
    for path in ("notebooks/01.ipynb", "notebooks/records/runs.lock", "book/x.md", "_build/x"):
        (book / path).parent.mkdir(exist_ok=True)
        (book / path).write_text("words")
    assert extension.execution_key(book, "a") == before


def test_the_records_are_where_the_library_reads_them() -> None:
    assert sweeps.RECORDS == ROOT / "notebooks" / "records"


def test_a_specimen_that_cannot_be_had_ends_the_build_in_one_line(tmp_path: Path) -> None:
    for part in ("_config.yml", "_toc.yml", "book", "notebooks"):
        (tmp_path / part).symlink_to(ROOT / part)
    jupyter_book = str(Path(sys.executable).with_name("jupyter-book"))
    done = subprocess.run(
        [jupyter_book, "build", str(tmp_path), "-W", "-n", "--keep-going"],
        env={**os.environ, "WTLIB_SPECIMEN": "nonsense"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stdout + done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("specimen: There is no specimen 'nonsense': it is not one of auto, gpt2")
    assert not list(tmp_path.rglob(".jupyter_cache"))
