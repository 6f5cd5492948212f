"""The lint of the prose's numerals: what it lets pass, and what it lists."""

import re
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from markdown_it import MarkdownIt

from tests import prose_numerals


@pytest.fixture(scope="module")
def markdown() -> MarkdownIt:
    return prose_numerals.parser()


@pytest.fixture
def numerals(markdown: MarkdownIt) -> Callable[[str], list[str]]:
    return lambda source: [n.text for n in prose_numerals.in_markdown(source, "x", markdown)]


Numerals = Callable[[str], list[str]]


@pytest.mark.parametrize(
    "source",
    [
        "Roles: {glue:text}`norm_2` {published}`post-55` {verdict}`post-55` {term}`rank 1`.",
        "References: {cite}`press2017` {ref}`sec-3` {numref}`fig-4` {doc}`ch 05`.",
        "Code `x[0]` and mathematics $d^2 = 4$ and\n\n$$ 12 d^2 $$ (eq-12)",
        "```python\nx = 1\n```",
        "    indented = 1",
        "```{math}\n12\n```",
        "```{toctree}\n:maxdepth: 2\n01-one\n```",
        "```{figure} figure-9.png\n:name: fig-9\n:width: 80%\n\nA caption.\n```",
        "```{exercise} A title\n:label: ex-01-slug\n\nA statement.\n```",
        "```{admonition} Title\n---\nclass: n19\n---\nBody.\n```",
        "````{grid} 1 1 3 3\n```{grid-item-card} Title\n:link: 01-one\nText.\n```\n````",
        "(section-3)=\nText.",
        "% 3 things to do",
        "An address https://example.org/1608 and a [link](https://example.org/3 'of four').",
        "[A chapter](../notebooks/01-one.ipynb) and ![a drawing](drawing-1.png)",
        '<div class="column-3" data-x="4">words</div>',
        'Inline <b id="row-4">HTML</b>.',
        "<style>\na { margin: 3px }\n</style>",
        "1. a list marker\n2. another",
        "{numref}`Figure %s <fig-4>` {ref}`the section <sec-3>` {doc}`this <../notebooks/03-x>`.",
        '[x](y "a title") and <abbr title="megabytes">MB</abbr> and <!-- 3 things -->',
        "```{raw} html\n<td class='w4'>words &amp; signs&nbsp;– more</td>\n```",
        "```{code-block} python\n:caption: A caption\nx = 1\n```",
        "```{glue:figure} fig_3\n:name: fig-3\nA caption.\n```",
        "In 2017, (1999), 2024–25 and the 1990s.",
        "Updated 17 June 2025.",
        "See chapter 3, chapters 4 and 5, sections 3.1 to 3.4, § 5, Table 2, figure 1, row 55.",
        "GPT-2, GPT-2's, GPT-2 124M, GPT-2 1.5B, SmolLM2-135M-Instruct, Qwen3-0.6B, mT5-small, T5.",
        "Qwen2.5-1.5B, Llama-3.2-1B, Llama 3.1, Llama 3.1 8B, Gemma 3, Pythia-14M, OPT-350M.",
        "Python 3.11, PyTorch 2.13, Jupyter Book 1.0.4.post1, Apache-2.0, CC BY 4.0.",
        "In bf16 and fp32, float64, UTF-8; a sha256; a 70B model and 7B models.",
        "arXiv:1608.05859",
        "Small cardinals are words: seven of eight. Squares such as d² are signs, not digits.",
    ],
)
def test_free(source: str, numerals: Numerals) -> None:
    assert numerals(source) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("The norm is 52.94.", ["52.94"]),
        ("It saves 38,597,376 parameters.", ["38,597,376"]),
        ("It is 64 times larger, or 31%.", ["64", "31"]),
        ("*3* and **4** and [5](x.md)", ["3", "4", "5"]),
        ("![6 bars](x.png)", ["6"]),
        ("| a | b |\n|---|---|\n| 7 | eight |", ["7"]),
        ("> 8\n\n- 9\n\nterm\n: 10", ["8", "9", "10"]),
        ("A note.[^n]\n\n[^n]: It has 11 words.", ["11"]),
        ("```{admonition} The 12 rules\n:class: n3\nBody 13.\n```", ["12", "13"]),
        (":::{figure} f-9.png\n:alt: 14 bars\n\nCaption 15.\n:::", ["14", "15"]),
        ("````{note}\n```{tip}\n16\n```\n````", ["16"]),
        ("<p>17 &amp; more</p>", ["17"]),
        ("<b>18</b>", ["18"]),
        ("{sub}`19`", ["19"]),
        ("# 3 Routes of 20\n\n## 42 parameters", ["3", "20", "42"]),
        ("½ of it, 2½ times, ⅔ or ¼; &frac12;; ① and ❷", ["½", "2½", "⅔", "¼", "½", "①", "❷"]),
        ("10⁹ and 3.2·10⁻⁴, the 1st, 5×, １２", ["10", "3.2", "10", "1", "5", "１２"]),
        ("{term}`31 signs <rank>` {ref}`32 signs <x>`", ["31", "32"]),
        ("{numref}`%s of 33 <x>` {doc}`34 <x>` {download}`35 files <x>`", ["33", "34", "35"]),
        ('[x](y "title 36") ![a](b "title 37")', ["36", "37"]),
        ("<abbr title='38 MB'>x</abbr> <img alt=\"39 bars\" src='x4.png'>", ["38", "39"]),
        ('<button aria-label="40 rows">x</button>', ["40"]),
        ("<p>&#51;&frac12;</p>", ["3½"]),
        ("```{raw} html\n<p>\n41</p>\n```", ["41"]),
        ("```{code-block} python\n:caption: Saves 42\nx = 1\n```", ["42"]),
        ("```{glue:figure} fig_3\n:name: fig-3\nSaves 43.\n```", ["43"]),
        ("After 2000 steps, 1950 rows and 2017 tokens.", ["2000", "1950", "2017"]),
        ("Part 31%, figure 5 ×, Phi 3×", ["31", "5", "3"]),
        ("Chapter three has 21 pages.", ["21"]),
        ("A vocabulary of 1,999 and 2000.5, 2048× and 1900%.", ["1,999", "2000.5", "2048", "1900"]),
        ("In 1899 and 2100, at width 2048.", ["1899", "2100", "2048"]),
        ("On 32 June.", ["32"]),
        ("A saving of 98M; 70B parameters.", ["98", "70"]),
        ("About 124M and a top-5 list.", ["124", "5"]),
        ("arXiv:16 and 1608.05859", ["16", "1608.05859"]),
        ("A float of 3 and an int 4", ["3", "4"]),
        ("GPT has 2 sides, Python has 3.11 more.", ["2", "3.11"]),
    ],
)
def test_listed(source: str, found: list[str], numerals: Numerals) -> None:
    assert numerals(source) == found


def test_each_kind_matters(numerals: Numerals, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = {
        "dates": "17 June 2025",
        "years": "2017",
        "numbered parts of a text": "chapter 3",
        "arXiv ids": "arXiv:1608.05859",
        "addresses": "https://example.org/3",
        "names of models and licences": "GPT-2",
        "names with a version": "Llama 3.1",
        "classes of models": "a 70B model",
        "formats and digests": "fp32",
    }
    assert samples.keys() == prose_numerals.KINDS.keys()
    for kind, sample in samples.items():
        assert numerals(sample) == []
        with monkeypatch.context() as without:
            without.setitem(prose_numerals.KINDS, kind, re.compile(r"(?!)"))
            assert numerals(sample), kind


def test_names_file_cell_and_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell("x = 1"),
            nbformat.v4.new_markdown_cell("# Title\n\nOne\nline, then 42."),
            nbformat.v4.new_markdown_cell("```{note}\n:class: x\n\nIn 43.\n```"),
        ]
    )
    path = tmp_path / "chapter.ipynb"
    nbformat.write(notebook, path)
    page = tmp_path / "page.md"
    page.write_text("Text.\n\n44\n")
    assert prose_numerals.main([str(path), str(page)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{path}:cell 2:4: '42' in “One line, then 42.”"
    assert lines[1] == f"{path}:cell 3:4: '43' in “In 43.”"
    assert lines[2] == f"{page}:3: '44' in “44”"
    assert lines[3].startswith("prose numerals: 3 bound to nothing. bind it: {glue:text}")


def test_passes_with_a_count_of_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Words only\n")
    assert prose_numerals.main([str(page)]) == 0
    assert capsys.readouterr().out == "prose numerals: none unbound in 1 files\n"


def test_a_file_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "missing.md"
    assert prose_numerals.main([str(missing)]) == 2
    assert f"{missing} cannot be read" in capsys.readouterr().err


def test_the_book_is_looked_at() -> None:
    names = {path.name for path in prose_numerals.files()}
    assert {"ledger.ipynb", "index.md", "glossary.md"} <= names
