import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest

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
    "changed", ["wtlib/display.py", "wtlib/data/claims.yml", "requirements.txt", "constraints.txt"]
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
    assert extension.execution_key(book, "a") != before


def test_text_moved_between_files_changes_the_key(extension: ModuleType, book: Path) -> None:
    (book / "wtlib/a.py").write_text("xy")
    (book / "wtlib/b.py").write_text("z")
    before = extension.execution_key(book, "a")
    (book / "wtlib/a.py").write_text("x")
    (book / "wtlib/b.py").write_text("yz")
    assert extension.execution_key(book, "a") != before
