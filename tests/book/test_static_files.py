import importlib.util
from pathlib import Path

EXTENSION = Path(__file__).parents[2] / "book/_ext/static_files.py"


def test_a_changed_renamed_or_new_file_changes_the_digest(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("static_files", EXTENSION)
    assert spec is not None
    assert spec.loader is not None
    extension = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(extension)

    style = tmp_path / "book.css"
    style.write_text("a {}")
    seen = [extension.digest([tmp_path])]
    assert extension.digest([tmp_path]) == seen[0]
    style.write_text("b {}")
    seen.append(extension.digest([tmp_path]))
    style = style.rename(tmp_path / "other.css")
    seen.append(extension.digest([tmp_path]))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "new.js").write_text("")
    seen.append(extension.digest([tmp_path]))
    assert len(set(seen)) == len(seen)
