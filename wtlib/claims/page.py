"""The ledger's page: every row of a source with its verdict, as text and as HTML."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

from wtlib.claims.rows import Claim, Source
from wtlib.claims.verdicts import Verdict


@dataclass(frozen=True)
class Page:
    """The verdicts on one source's claims.

    As HTML, each row has the id ``claim-<id>``, to which the book's quotations link, and carries
    its verdict in ``data-verdict``, from which they are made.
    """

    source: Source
    verdicts: tuple[Verdict, ...]

    def __repr__(self) -> str:
        """Return one paragraph of text per claim, under the source."""
        paragraphs = ("\n".join(_text_lines(verdict)) for verdict in self.verdicts)
        return "\n\n".join((self._heading(), *paragraphs))

    def _repr_html_(self) -> str:
        heads = "".join(
            f'<th scope="col" class="wt-left">{head}</th>'
            for head in ("claim", "published", "measured and verdict")
        )
        heading = html.escape(self._heading(), quote=True)
        return (
            f'<div class="wt-table wt-ledger" role="region" aria-label="{heading}" tabindex="0">'
            f"<table><caption>{heading}</caption><thead><tr>{heads}</tr></thead><tbody>"
            + "".join(map(_row, self.verdicts))
            + "</tbody></table></div>"
        )

    def _heading(self) -> str:
        return f"{self.source.author}: {self.source.title} ({self.source.date})"


def pages(verdicts: Sequence[Verdict]) -> tuple[Page, ...]:
    """Return one page per source, in the ledger's order."""
    by_source: dict[Source, list[Verdict]] = {}
    for verdict in verdicts:
        by_source.setdefault(verdict.claim.source, []).append(verdict)
    return tuple(Page(source, tuple(found)) for source, found in by_source.items())


def _details(verdict: Verdict) -> list[tuple[str, str]]:
    """What there is to say about a verdict beyond its row, as pairs of what and text."""
    claim = verdict.claim
    pairs = [
        ("note", claim.note),
        *verdict.beside,
        ("measured on", verdict.on),
        ("not measured", verdict.reason),
        ("command", verdict.command),
        ("measured by", _call(claim)),
    ]
    return [(what, text) for what, text in pairs if text]


def _call(claim: Claim) -> str:
    return f"wtlib.measures.{claim.measure.function}" if claim.measure else ""


def _text_lines(verdict: Verdict) -> list[str]:
    claim = verdict.claim
    return [
        f"{claim.id}  {verdict.word}",
        f"  {claim.claim}",
        f"  published: {claim.ledger_text}",
        *([f"  measured: {verdict.measured_text}"] if verdict.measured_text else []),
        *(f"  {what}: {text}" for what, text in _details(verdict)),
    ]


def _row(verdict: Verdict) -> str:
    claim, escape = verdict.claim, html.escape
    items = "".join(
        f"<dt>{escape(what)}</dt><dd>{_code(text) if what in _CODE else escape(text)}</dd>"
        for what, text in _details(verdict)
    )
    # Each row has details: a measure, or the reason why there is none.
    details = f"<details><summary>how to read it</summary><dl>{items}</dl></details>"
    measured = f"{escape(verdict.measured_text)}<br>" if verdict.measured_text else ""
    return (
        f'<tr id="{claim.anchor}" data-claim="{claim.id}" '
        f'data-verdict="{escape(str(verdict), quote=True)}">'
        f'<td class="wt-left">{escape(claim.claim)} <code>{claim.id}</code>{details}</td>'
        f'<td class="wt-left">{escape(claim.ledger_text)}</td>'
        f'<td class="wt-left">{measured}<span class="wt-verdict-{verdict.word.split()[0]}">'
        f"{verdict.word}</span></td></tr>"
    )


_CODE = frozenset({"command", "measured by"})


def _code(text: str) -> str:
    return f"<code>{html.escape(text)}</code>"
