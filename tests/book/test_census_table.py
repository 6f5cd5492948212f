"""The census in the page: searched, filtered and sorted by mouse and keyboard, from a file."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.book.browser import chromium_or_skip
from wtlib import census, census_page

STATIC = Path(__file__).parents[2] / "book" / "_static"
MODELS = census.load()
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Census</title>
<style>:root {{ color-scheme: light dark; }}</style>
<link rel="stylesheet" href="{static}/book.css"><link rel="stylesheet" href="{static}/census.css">
</head><body>{table}<script src="{static}/census.js"></script></body></html>"""


def write(path: Path) -> str:
    table = census_page.page(MODELS, "The census")._repr_html_()
    path.write_text(PAGE.format(static=STATIC.as_uri(), table=table), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium_or_skip() as browser:
        yield browser


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The table alone on a page of the file system, at a phone's width; an error fails."""
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    page.goto(write(tmp_path_factory.mktemp("census") / "index.html"))
    return page


@pytest.fixture
def fresh(page: Any) -> Any:
    page.reload()
    return page


def shown(page: Any, column: int = 0) -> list[str]:
    """The sort keys of a column in the rows that can be seen, from the top."""
    script = "(rs, c) => rs.filter(r => r.offsetParent).map(r => r.cells[c].dataset.sort)"
    keys: list[str] = page.locator("tbody tr").evaluate_all(script, column)
    return keys


def status(page: Any) -> str:
    return str(page.get_by_role("status").inner_text())


def column(page: Any, name: str) -> int:
    script = "hs => hs.map(h => h.textContent)"
    return int(page.locator("thead th").evaluate_all(script).index(name))


def test_at_first_every_model_is_shown_in_the_files_order(fresh: Any) -> None:
    assert shown(fresh) == [model.id for model in MODELS]
    tied = sum(model.tie_word_embeddings for model in MODELS)
    assert status(fresh) == f"All 176 models: {tied} tied, {176 - tied} untied."


def test_the_search_finds_words_in_any_order(fresh: Any) -> None:
    fresh.get_by_label("Search", exact=True).fill("2025 QWEN3")
    found = [model for model in MODELS if model.family == "Qwen3"]
    assert shown(fresh) == [model.id for model in found]
    tied = sum(model.tie_word_embeddings for model in found)
    assert status(fresh) == f"7 of 176 models: {tied} tied, {len(found) - tied} untied."


def test_a_search_without_a_match_says_what_to_do_and_clear_does_it(fresh: Any) -> None:
    field = fresh.get_by_label("Search", exact=True)
    field.fill("no such model")
    assert shown(fresh) == []
    assert status(fresh) == "No model matches. Clear the search to see all 176."
    fresh.get_by_role("button", name="Clear").click()
    fresh.wait_for_function("document.activeElement.type === 'search'")
    assert field.input_value() == ""
    assert len(shown(fresh)) == 176


@pytest.mark.parametrize(
    ("label", "option", "expected"),
    [
        ("Weights", "tied", [m.id for m in MODELS if m.tie_word_embeddings]),
        ("Weights", "untied", [m.id for m in MODELS if not m.tie_word_embeddings]),
        ("Kind", "masked", [m.id for m in MODELS if m.kind == "masked"]),
        ("Kind", "encoder-decoder", [m.id for m in MODELS if m.kind == "encoder-decoder"]),
        ("Evidence", "not verified", [m.id for m in MODELS if not m.verified]),
    ],
)
def test_filters(fresh: Any, label: str, option: str, expected: list[str]) -> None:
    fresh.get_by_label(label, exact=True).select_option(label=option)
    assert shown(fresh) == expected


def test_filters_and_search_combine(fresh: Any) -> None:
    fresh.get_by_label("Weights", exact=True).select_option("untied")
    fresh.get_by_label("Kind", exact=True).select_option("causal")
    fresh.get_by_label("Search", exact=True).fill("olmo")
    assert shown(fresh) == [
        model.id
        for model in MODELS
        if "olmo" in model.id.lower() and not model.tie_word_embeddings and model.kind == "causal"
    ]


@pytest.mark.parametrize("name", ["parameters", "saving", "year", "V", "d", "L"])
def test_numbers_sort_as_numbers_both_ways(fresh: Any, name: str) -> None:
    at = column(fresh, name)
    button = fresh.locator("thead th").nth(at).get_by_role("button")
    button.click()
    up = [float(key) for key in shown(fresh, at)]
    assert up == sorted(up)
    button.click()
    down = [float(key) for key in shown(fresh, at)]
    assert down == sorted(down, reverse=True)
    assert len(set(shown(fresh))) == 176


def test_names_sort_as_a_reader_would(fresh: Any) -> None:
    fresh.get_by_label("Search", exact=True).fill("qwen/qwen3")
    fresh.get_by_role("button", name="model", exact=True).click()
    names = [name.removeprefix("Qwen/Qwen3-") for name in shown(fresh)]
    assert names == ["0.6B", "1.7B", "4B", "8B", "14B", "30B-A3B", "32B"]


def test_one_column_at_a_time_is_marked_as_sorted(fresh: Any) -> None:
    script = "hs => hs.map(h => h.getAttribute('aria-sort')).filter(Boolean)"
    heads = fresh.locator("thead th")
    assert heads.evaluate_all(script) == []
    for name, press, expected in [
        ("year", "Enter", "ascending"),
        ("year", "Space", "descending"),
        ("family", "Enter", "ascending"),
    ]:
        head = heads.nth(column(fresh, name))
        head.get_by_role("button").focus()
        fresh.keyboard.press(press)
        assert head.get_attribute("aria-sort") == expected
        assert heads.evaluate_all(script) == [expected]


def test_sorting_keeps_the_filter(fresh: Any) -> None:
    fresh.get_by_label("Search", exact=True).fill("pythia")
    before = set(shown(fresh))
    fresh.get_by_role("button", name="parameters", exact=True).click()
    assert set(shown(fresh)) == before


def test_tab_goes_from_the_fields_through_the_table_to_the_heads(fresh: Any) -> None:
    fresh.get_by_label("Search", exact=True).focus()
    reached = []
    for _ in range(8):
        name = "a => a.name || a.className || a.textContent"
        reached.append(fresh.evaluate(f"({name})(document.activeElement)"))
        fresh.keyboard.press("Tab")
    assert reached[1:6] == ["tie", "kind", "verified", "Clear", "wt-table"]
    assert reached[6:] == ["model", "weights"]


def test_every_control_has_one_label_and_the_status_is_polite(fresh: Any) -> None:
    controls = fresh.locator(".wt-census :is(input, select)")
    assert controls.count() == 4
    assert controls.evaluate_all("cs => cs.every(c => c.labels.length === 1)")
    assert fresh.get_by_role("status").get_attribute("aria-live") == "polite"
    assert fresh.get_by_role("search", name="Search the census").count() == 1


def test_a_row_opens_its_sources(fresh: Any) -> None:
    fresh.get_by_label("Search", exact=True).fill("grok")
    fresh.get_by_label("sources of xai-org/grok-1").click()
    assert census.find("xai-org/grok-1").source in fresh.locator("tbody").inner_text()


def test_only_the_table_scrolls_sideways_on_a_phone(fresh: Any) -> None:
    assert fresh.evaluate("document.documentElement.scrollWidth") <= 390
    region = fresh.locator(".wt-table")
    assert region.evaluate("r => r.scrollWidth > r.clientWidth && r.clientWidth <= 390")
    assert region.evaluate("r => r.clientHeight < 600")


def contrast(colours: list[str]) -> float:
    """The contrast ratio of two CSS colours, as WCAG defines it."""

    def luminance(colour: str) -> float:
        channels = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted(map(luminance, colours), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_heads_and_fields_can_be_read_in_both_schemes(fresh: Any) -> None:
    script = "e => { const s = getComputedStyle(e); return [s.color, s.backgroundColor]; }"
    found = {}
    for scheme in ("light", "dark"):
        fresh.emulate_media(color_scheme=scheme)
        for selector in ("thead th", "input", "select", "form button"):
            found[scheme, selector] = fresh.locator(selector).first.evaluate(script)
            assert contrast(found[scheme, selector]) > 7, (scheme, selector)
    assert found["light", "thead th"] != found["dark", "thead th"]
    fresh.emulate_media(color_scheme="light")


def test_without_scripts_the_table_is_whole(browser: Any, tmp_path: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(write(tmp_path / "index.html"))
    assert page.get_by_role("row").count() == 177
    assert page.get_by_role("search").count() == 0
    context.close()
