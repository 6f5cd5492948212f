"""The ledger's page and the roles that quote it, in a small Sphinx project with the real page."""

import html
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from wtlib import claims

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "book" / "ledger.ipynb"
CONF = f"""
import sys
sys.path.insert(0, {str(ROOT / "book" / "_ext")!r})
extensions = ["myst_nb", "ledger"]
nb_execution_mode = "off"
html_theme = "basic"
"""

Build = Callable[..., tuple[int, str, Path]]


def stored_rows() -> dict[str, str]:
    """The verdict that each row of the recorded page carries, by claim."""
    page = nbformat.read(PAGE, as_version=4)
    outputs = [output for cell in page.cells for output in cell.get("outputs", ())]
    pages = "".join(output.get("data", {}).get("text/html", "") for output in outputs)
    row = re.compile(r'<tr id="claim-([a-z0-9-]+)" data-claim="\1" data-verdict="([^"]*)"')
    return {name: html.unescape(verdict) for name, verdict in row.findall(pages)}


def test_the_page_has_each_claim_once_in_order() -> None:
    by_source: dict[str, list[str]] = {}
    for claim in claims.load():
        by_source.setdefault(claim.source.key, []).append(claim.id)
    assert list(stored_rows()) == [name for names in by_source.values() for name in names]


def test_the_page_says_what_measuring_says() -> None:
    # Claims that need no model, measured again; the number check runs the others.
    for claim in claims.load():
        if claim.needs in ("nothing", "configs"):
            assert stored_rows()[claim.id] == str(claims.verdict(claim)), claim.id


@pytest.fixture
def build(tmp_path: Path) -> Build:
    source = tmp_path / "source"
    (source / "book").mkdir(parents=True)
    (source / "conf.py").write_text(CONF)
    shutil.copy(PAGE, source / "book" / "ledger.ipynb")

    def run(chapter: str, *, ledger: bool = True) -> tuple[int, str, Path]:
        toctree = "```{toctree}\nchapters/one\n" + "book/ledger\n" * ledger + "```\n"
        (source / "index.md").write_text(f"# Index\n\n{toctree}")
        if not ledger:
            (source / "book" / "ledger.ipynb").unlink(missing_ok=True)
        (source / "chapters").mkdir(exist_ok=True)
        (source / "chapters" / "one.md").write_text(f"# One\n\n{chapter}\n")
        out = tmp_path / "html"
        ran = subprocess.run(
            [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", str(source), str(out)],
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
        )
        return ran.returncode, ran.stderr, out / "chapters" / "one.html"

    return run


def link(page: Path, anchor: str) -> tuple[str, str]:
    """The class and the text of the link to a row of the ledger's page."""
    found = re.search(
        rf'<a class="([^"]*)" href="\.\./book/ledger\.html#{anchor}"[^>]*>(.*?)</a>',
        page.read_text(encoding="utf-8"),
    )
    assert found, page.read_text(encoding="utf-8")
    return found[1], html.unescape(re.sub("<[^>]*>", "", found[2]))


def test_published_and_verdict_link_to_the_row(build: Build) -> None:
    status, errors, page = build(
        "Printed {published}`post-73`.\n\nIt {verdict}`post-routes-ratio`."
    )
    assert status == 0, errors
    assert link(page, "claim-post-73") == ("wt-published reference internal", "31%")
    assert link(page, "claim-post-routes-ratio") == (
        "wt-verdict reference internal",
        "not re-measured here",
    )


def test_a_slug_is_quoted_as_its_claim(build: Build) -> None:
    status, errors, page = build("It {verdict}`post-qwen3-06b`.")
    assert status == 0, errors
    assert link(page, "claim-post-73")[1] == "differs: 26.1%"


def test_an_unknown_claim_fails_the_build(build: Build) -> None:
    status, errors, _ = build("Printed {published}`post-7`.")
    assert status != 0
    assert "no claim 'post-7' in the ledger" in errors
    assert "one.md" in errors


def test_a_verdict_without_the_page_fails_the_build(build: Build) -> None:
    status, errors, _ = build("It {verdict}`post-73`.", ledger=False)
    assert status != 0
    assert "book/ledger has no verdict for post-73" in errors


def test_a_changed_page_changes_the_quotations(build: Build, tmp_path: Path) -> None:
    build("It {verdict}`post-73`.")
    page = tmp_path / "source" / "book" / "ledger.ipynb"
    page.write_text(page.read_text().replace("differs: 26.1%", "differs: 26.2%"))
    status, errors, chapter = build("It {verdict}`post-73`.")
    assert status == 0, errors
    assert link(chapter, "claim-post-73")[1] == "differs: 26.2%"
