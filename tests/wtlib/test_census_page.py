"""The census as a table: every row, every source, in text and in HTML."""

import html
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from wtlib import census, census_page

MODELS = census.load()


def document(models: Any) -> ET.Element:
    return ET.fromstring(census_page.page(models, "A <caption>")._repr_html_())


def test_the_text_has_a_line_for_each_model() -> None:
    caption, heads, _, *lines = repr(census_page.page(MODELS, "The census")).splitlines()
    assert caption == "The census"
    assert heads.split()[:2] == ["model", "weights"]
    assert [line.split()[0] for line in lines] == [model.id for model in MODELS]


def test_the_html_has_a_row_for_each_model_with_its_sources() -> None:
    root = document(MODELS)
    rows = root.findall(".//tbody/tr")
    assert len(rows) == len(MODELS)
    for row, model in zip(rows, MODELS, strict=True):
        text = " ".join(row.itertext())
        for fact in (model.id, model.source, model.source_dims, model.flag_evidence, model.note):
            assert fact in text, model.id
        assert row.get("data-tie") == ("tied" if model.tie_word_embeddings else "untied")
        assert row.get("data-kind") == model.kind
        assert row.get("data-verified") == ("yes" if model.verified else "no")
        assert model.id.lower() in str(row.get("data-search"))
        assert len(row) == len(root.findall(".//thead/tr/th"))


def test_numbers_are_sorted_as_numbers() -> None:
    heads = [head.text for head in document(MODELS).findall(".//thead/tr/th")]
    for column in ("parameters", "saving", "year", "V", "d", "L"):
        index = heads.index(column)
        for row in document(MODELS).findall(".//tbody/tr"):
            float(str(row[index].get("data-sort")))
    [row] = document([census.find("openai-community/gpt2")]).findall(".//tbody/tr")
    assert row[heads.index("parameters")].get("data-sort") == "124439808"
    assert row[heads.index("saving")].get("data-sort") == "23.67"


def test_every_details_is_named_for_its_model() -> None:
    labels = [s.get("aria-label") for s in document(MODELS).findall(".//summary")]
    assert labels == [f"sources of {model.id}" for model in MODELS]


def test_the_caption_is_escaped() -> None:
    page = census_page.page(MODELS[:1], "A <caption>")
    assert html.escape("A <caption>") in page._repr_html_()
    assert "<caption>A <" not in page._repr_html_()


@pytest.mark.parametrize(
    ("name", "weights", "flag"),
    [
        ("openai-community/gpt2", "tied", "tied"),
        ("Qwen/Qwen3-8B", "untied", "untied"),
        ("facebook/MobileLLM-125M", "tied", "untied"),
        ("xai-org/grok-1", "tied", "–"),
        ("microsoft/phi-4", "untied?", "untied"),
        ("mosaicml/mpt-30b", "tied?", "tied"),
    ],
)
def test_words(name: str, weights: str, flag: str) -> None:
    model = census.find(name)
    assert (census_page.tie_word(model), census_page.flag_word(model)) == (weights, flag)


def test_unverified_flags_say_so_in_html() -> None:
    marks = document(MODELS).findall(".//tbody//abbr")
    assert len(marks) == sum(not model.verified for model in MODELS) == 13
    assert all("not verified" in str(mark.get("title")) for mark in marks)


def test_saving_is_one_matrix_over_the_untied_total() -> None:
    for model in MODELS:
        matrix = model.total_if_untied - model.total_if_tied
        assert census_page.saving(model) == pytest.approx(matrix / model.total_if_untied)
