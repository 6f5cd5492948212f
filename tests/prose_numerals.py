"""List the numerals of the book's prose that are bound to nothing.

    python -m tests.prose_numerals [FILE…]

Without files: the markdown cells of the notebooks and the pages of ``book/``. A numeral may stand
in a role that binds it, in code, mathematics, an address or a label; else it must be of one of the
`KINDS`. Exits with 1 if any is not.
"""

import argparse
import html
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from tests.numbercheck.reading import NotReadableError, parse

ROOT = Path(__file__).parents[1]
ADVICE = (
    "bind it: {glue:text} for a measured number, {published} or {verdict} for a claim's; "
    "write a small one as a word, a quantity of code in `code`, a formula in $math$"
)

# Roles whose content is a name or a formula, and directives whose content is not prose.
_ROLES = re.compile(
    r"glue:\w+|published|verdict|cite(:\w+)?|ref|term|numref|eq|doc|download|math|code|prf:ref"
)
_NO_PROSE = frozenset(
    {
        "bibliography",
        "code",
        "code-block",
        "code-cell",
        "contents",
        "include",
        "literalinclude",
        "math",
        "raw",
        "tableofcontents",
        "toctree",
    }
)
_ARGUMENT_IS_NO_PROSE = frozenset(
    {"figure", "glue:figure", "grid", "image", "solution", "solution-start"}
)

_NUMBER = r"\d+(?:\.\d+)*"
# No year is followed by these.
_COUNTED = (
    r"(?:bits?|bytes|columns|dimensions|entries|examples|ids|kB|layers|lines|matrices|MB|GB|models|"
    r"numbers|parameters|passages|percent|positions|rows|runs|seconds|sentences|steps|times|tokens|"
    r"units|values|weights|windows|words)"
)
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
KINDS: dict[str, re.Pattern[str]] = {
    "dates": re.compile(rf"\b\d{{1,2}} (?:{_MONTHS}) (?:19|20)\d\d\b"),
    # 2048 is a width or a context in this book, not a year.
    "years": re.compile(
        r"(?<![\w.,×−-])(?!2048)(?:19|20)\d\d(?:[–-]\d\d(?:\d\d)?)?s?(?![\w%×]|[.,]\d|-\w| ?[×%])"
        rf"(?! {_COUNTED}\b)"
    ),
    "numbered parts of a text": re.compile(
        r"(?:\b(?:chapter|section|part|table|figure|equation|exercise|row|case|page)s?|§)\s?"
        rf"{_NUMBER}(?:(?:, | and | to | or |–|-){_NUMBER})*(?![\d.]*\d)(?! ?[%×])",
        re.IGNORECASE,
    ),
    "arXiv ids": re.compile(r"\barXiv:\d{4}\.\d{4,5}(?:v\d+)?\b"),
    "addresses": re.compile(r"\bhttps?://\S+"),
    # A capital in it, and the number hangs on it: GPT-2, SmolLM2-135M, Qwen3-0.6B, mT5, Apache-2.0.
    "names of models and licences": re.compile(
        r"(?<![\w-])(?=[a-z]*[A-Z])[A-Za-z]+(?:-[A-Za-z]+)*-?\d[\w.]*(?:-\w+(?:\.\d+\w*)*)*"
        r"(?: (?:124M|355M|774M|1\.5B)(?!\w))?"
    ),
    "names with a version": re.compile(
        r"\b(?:Llama|Gemma|Qwen|Phi|Granite|OLMo|Mistral|StableLM|Python|PyTorch|torch|transformers"
        rf"|Jupyter Book|CC BY(?:-SA)?) {_NUMBER}(?:\.post\d+)?(?:[ -]{_NUMBER}[BM](?!\w))?"
        r"(?! ?[%×])"
    ),
    # Only as a name of a kind of model: a 70B model, 7B models.
    "classes of models": re.compile(rf"(?<![\w.,]){_NUMBER}[BM](?=[ -](?:class|models?)\b)"),
    "formats and digests": re.compile(
        r"(?<![\w-])(?:bf|fp|float|int|uint|utf-?|sha)\d+\b", re.IGNORECASE
    ),
}
# Fractions and numbers in circles too; superscripts are signs of a formula.
_NUMERAL = re.compile(r"\d+(?:[.,]\d+)*[¼-¾⅐-⅞]?|[¼-¾⅐-⅞①-⓿❶-➓]")
_OPTION = re.compile(r":[\w-]+:")
_TAG = re.compile(r"<!--.*?-->|<(script|style|svg)\b.*?</\1>|<[^>]*>", re.DOTALL)
# What a reader meets of a tag: shown on hovering, or read aloud.
_SAID = re.compile(r"""\s(?:alt|title|aria-label)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_TITLED = re.compile(r"(.*\S)\s*<[^<>]*>", re.DOTALL)
_PLACE = re.compile(r"%s|\{(?:number|name)\}")  # where {numref} puts the number
_OBJECT = "\N{OBJECT REPLACEMENT CHARACTER}"


@dataclass(frozen=True)
class Numeral:
    """A numeral that nothing binds.

    Attributes:
        place: file, with the cell, counted from 1, if it is a notebook, and the line in it.
        text: the numeral.
        context: the words around it.
    """

    place: str
    text: str
    context: str


def parser() -> MarkdownIt:
    """Return a parser that reads markdown as the book does."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    extensions = set(config["parse"]["myst_enable_extensions"])
    return create_md_parser(MdParserConfig(enable_extensions=extensions), RendererHTML)


def in_file(path: Path, markdown: MarkdownIt) -> Iterator[Numeral]:
    """Yield the numerals of a notebook's markdown cells or of a markdown file."""
    try:
        name = path.resolve().relative_to(ROOT).as_posix()
    except ValueError:
        name = path.as_posix()
    if path.suffix != ".ipynb":
        yield from in_markdown(path.read_text(encoding="utf-8"), name, markdown)
        return
    for number, cell in enumerate(parse(path.read_bytes()).cells, start=1):
        if cell.cell_type == "markdown":
            yield from in_markdown(cell.source, f"{name}:cell {number}", markdown)


def in_markdown(
    source: str, name: str, markdown: MarkdownIt, first_line: int = 1
) -> Iterator[Numeral]:
    """Yield the numerals of some markdown; ``first_line`` is its line in the file or cell."""
    for token in markdown.parse(source):
        line = first_line + (token.map[0] if token.map else 0)
        if token.type == "inline":
            yield from _numerals(_prose(token), name, line)
        elif token.type == "html_block":
            yield from _numerals(_in_html(token.content), name, line)
        elif token.type in ("fence", "colon_fence") and token.info.startswith("{"):
            yield from _in_directive(token, name, line, markdown)


def _in_directive(token: Token, name: str, line: int, markdown: MarkdownIt) -> Iterator[Numeral]:
    directive, _, argument = token.info.removeprefix("{").partition("}")
    if directive == "raw":
        yield from _numerals(_in_html(token.content), name, line + 1)
    if directive not in _NO_PROSE | _ARGUMENT_IS_NO_PROSE:
        yield from in_markdown(argument.strip(), name, markdown, line)
    lines = token.content.split("\n")
    options = 0
    if lines[0].strip() == "---" and "---" in lines[1:]:
        options = lines.index("---", 1) + 1
    else:
        while options < len(lines) and _OPTION.match(lines[options].strip()):
            options += 1
    for offset, option in enumerate(lines[:options]):
        # An alternative text and a caption are read like prose.
        key, _, value = option.strip().lstrip(":").partition(":")
        if key in ("alt", "caption"):
            yield from in_markdown(value.strip(), name, markdown, line + 1 + offset)
    if directive not in _NO_PROSE:
        yield from in_markdown("\n".join(lines[options:]), name, markdown, line + 1 + options)


def _prose(inline: Token) -> str:
    """The text of a paragraph; whatever is not prose is a sign that no numeral contains."""
    parts = []
    for token in inline.children or ():
        if token.type in ("text", "image"):
            parts.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            parts.append("\n")
        elif token.type == "myst_role" and not _ROLES.fullmatch(token.meta["name"]):
            parts.append(token.content)
        elif token.type == "myst_role" and (title := _TITLED.fullmatch(token.content)):
            parts.append(_PLACE.sub(_OBJECT, title[1]))
        elif token.type == "html_inline":
            parts.extend(_said(token.content))
        elif token.type not in ("link_open", "link_close", "em_open", "em_close", "strong_open",
                                "strong_close"):  # fmt: skip
            parts.append(_OBJECT)
        if shown := token.attrGet("title"):  # on hovering
            parts.append(f" {shown} ")
    return "".join(parts)


def _in_html(source: str) -> str:
    """What a reader sees or is told of some HTML, on the lines where it stands."""

    def told(match: re.Match[str]) -> str:
        # What is said may stand on any line of a long tag: its line breaks follow.
        return " ".join(["", *_said(match[0])]) + "\n" * match[0].count("\n")

    # An entity may stand for a numeral: &frac12;, &#51;.
    return html.unescape(_TAG.sub(told, source))


def _said(tag: str) -> list[str]:
    if tag.startswith(("<!--", "<script", "<style", "<svg")):
        return []
    return [f" {double or single} " for double, single in _SAID.findall(tag)]


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _numerals(text: str, name: str, line: int) -> Iterator[Numeral]:
    free = text
    for kind in KINDS.values():
        free = kind.sub(_blank, free)
    for match in _NUMERAL.finditer(free):
        here = line + text.count("\n", 0, match.start())
        around = text[max(0, match.start() - 30) : match.end() + 30]
        yield Numeral(f"{name}:{here}", match[0], " ".join(around.split()))


def files() -> list[Path]:
    """Return the book's notebooks and pages."""
    folders = (ROOT / "notebooks", ROOT / "book")
    notebooks = [path for folder in folders for path in sorted(folder.glob("*.ipynb"))]
    return notebooks + sorted((ROOT / "book").glob("*.md"))


def main(argv: Sequence[str] | None = None) -> int:
    """List the numerals; return 1 if there are any, 2 if a file cannot be read."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("files", nargs="*", type=Path, metavar="FILE")
    chosen = arguments.parse_args(argv).files or files()
    markdown = parser()
    found: list[Numeral] = []
    for path in chosen:
        try:
            found += in_file(path, markdown)
        except (OSError, UnicodeDecodeError, NotReadableError) as error:
            print(f"prose numerals: {path} cannot be read: {error}", file=sys.stderr)
            return 2
    for numeral in found:
        print(f"{numeral.place}: {numeral.text!r} in “{numeral.context}”")
    if found:
        print(f"prose numerals: {len(found)} bound to nothing. {ADVICE}.")
        return 1
    print(f"prose numerals: none unbound in {len(chosen)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
