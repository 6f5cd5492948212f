"""The built pages in a browser: opened from the file system, in both modes, at two widths.

Run by ``make pages`` after a build; not collected by ``make test``, which needs no built book.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.book.browser import chromium_or_skip

HTML = Path(__file__).parents[1] / "_build" / "html"
PAGES = sorted(
    page.relative_to(HTML).as_posix()
    for folder in ("book", "notebooks")
    for page in (HTML / folder).glob("*.html")
)
# What the theme puts outside the article is the theme's to mend, and so is docutils' markup of a
# bibliography: a list whose entries have the role doc-biblioentry, which ARIA no longer allows.
OURS = {"include": [["article"]], "exclude": [[".headerlink"], [".citation-list"]]}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium_or_skip() as chromium:
        yield chromium


class Visit:
    """One page opened from the file system, with what it asked for and complained of."""

    def __init__(self, browser: Any, page: str, mode: str, width: int) -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=mode
        )
        self.page = self.context.new_page()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on(
            "console",
            lambda message: (
                self.complaints.append(message.text) if message.type == "error" else None
            ),
        )
        self.page.goto((HTML / page).as_uri())
        self.page.wait_for_load_state("networkidle")

    def __enter__(self) -> "Visit":
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()


def test_the_book_is_built() -> None:
    assert len(PAGES) >= 9, f"found {PAGES} under {HTML}: run make book first"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_loads_from_the_book_alone_and_without_complaint(browser: Any, page: str) -> None:
    with Visit(browser, page, "light", 1280) as visit:
        outside = [url for url in visit.requests if not url.startswith(("file:", "data:"))]
        assert outside == []
        assert visit.complaints == []


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_accessible(browser: Any, page: str, mode: str) -> None:
    with Visit(browser, page, mode, 1280) as visit:
        assert visit.page.evaluate("document.documentElement.dataset.theme") == mode
        results = Axe().run(visit.page, context=OURS)
        serious = [
            (v["id"], v["impact"], [node["html"][:200] for node in v["nodes"][:3]])
            for v in results.response["violations"]
            if v["impact"] in ("serious", "critical")
        ]
        assert serious == []


@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_a_phone(browser: Any, page: str) -> None:
    with Visit(browser, page, "light", 390) as visit:
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("page", [p for p in PAGES if p.startswith("notebooks/")])
def test_a_chapters_figures_speak(browser: Any, page: str) -> None:
    with Visit(browser, page, "dark", 1280) as visit:
        drawings = visit.page.locator("figure.wt-figure svg[role=img]")
        assert drawings.count() >= 1
        for index in range(drawings.count()):
            assert len(drawings.nth(index).get_attribute("aria-label")) > 40
        assert visit.page.locator("figure.wt-figure details table").count() == drawings.count()
        # Axe cannot see inside a drawing: its ink must be the page's text colour.
        ink = visit.page.evaluate("getComputedStyle(document.querySelector('article p')).color")
        drawn = visit.page.evaluate(
            "getComputedStyle(document.querySelector('figure.wt-figure svg')).color"
        )
        assert drawn == ink


@pytest.mark.parametrize("page", [p for p in PAGES if p.startswith("notebooks/")])
def test_a_term_explains_itself_on_the_page(browser: Any, page: str) -> None:
    with Visit(browser, page, "light", 1280) as visit:
        visit.page.locator("article a[href*='glossary.html#term']").first.hover()
        tip = visit.page.locator(".tippy-content").first
        tip.wait_for(timeout=5000)
        assert len(tip.inner_text()) > 20


@pytest.mark.parametrize("page", [p for p in PAGES if p.startswith("notebooks/")])
def test_a_chapter_shows_its_provenance_and_no_raw_markup(browser: Any, page: str) -> None:
    with Visit(browser, page, "light", 1280) as visit:
        assert visit.page.locator("dl.wt-provenance dt").count() >= 5
        text = visit.page.locator("article").inner_text()
        for markup in ("{glue:", "{published}", "{verdict}", "{term}", "{cite}", "<IPython"):
            assert markup not in text
