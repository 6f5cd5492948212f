"""The table of contents lists what exists, and what exists is in it."""

from pathlib import Path
from typing import Any

import nbformat
import yaml
from sphinx.util.matching import Matcher

ROOT = Path(__file__).parents[2]


def _listed() -> list[str]:
    toc: dict[str, Any] = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [toc["root"], *(c["file"] for part in toc["parts"] for c in part["chapters"])]


def _existing() -> list[str]:
    pages = [*(ROOT / "notebooks").glob("*.ipynb"), *(ROOT / "book").glob("*.ipynb")]
    pages += (ROOT / "book").glob("*.md")
    return [page.relative_to(ROOT).with_suffix("").as_posix() for page in pages]


def test_every_page_is_in_the_contents_once() -> None:
    assert sorted(_listed()) == sorted(_existing())


def test_chapters_stand_in_order() -> None:
    chapters = [page for page in _listed() if page.startswith("notebooks/")]
    assert chapters == sorted(chapters)


def test_a_chapter_has_the_parts_a_reader_counts_on() -> None:
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        for part in (
            "{admonition} After this chapter you can",
            "{admonition} Before you start",
            "## Summary",
            "## Further reading",
            "## Exercises",
        ):
            assert part in prose, f"{path.name} lacks {part!r}"
        assert prose.count("```{exercise}") + prose.count(":::{exercise}") >= 5, path.name
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert "display.provenance(" in code[-1].source, path.name


def test_a_chapters_peak_memory_stays_under_3_gb() -> None:
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        text = notebook.cells[-1].outputs[-1]["data"]["text/plain"]
        peak = next(line for line in text.splitlines() if line.startswith("peak memory: "))
        assert float(peak.removeprefix("peak memory: ").removesuffix(" GB")) < 3, path.name


def test_what_tools_leave_behind_is_no_page() -> None:
    # pytest writes a README.md into its cache; a page outside the contents fails the build.
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    left_out = Matcher(config["exclude_patterns"])
    for folder in (".venv", ".pytest_cache", ".hypothesis", "_build", "tests", "wtlib"):
        assert left_out(folder), folder
    assert not any(left_out(page) for page in _listed())
