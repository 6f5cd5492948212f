"""Quote the ledger in prose: ``{published}`post-55` `` and ``{verdict}`post-55` ``.

Both link to the claim's row on the ledger's page. The published value comes from claims.yml. The
verdict is read off the ledger's page as this build executed it, so that every page says what that
page says, about the same edition, and nothing is measured twice.
"""

from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from wtlib import claims

LEDGER = "book/ledger"

logger = logging.getLogger(__name__)


class claim_quote(nodes.Inline, nodes.TextElement):  # noqa: N801 - the builders' naming of nodes
    """A quotation of a claim, before the ledger's page is known."""


class ClaimRole(SphinxRole):
    """Quote the published value, or the verdict, of the claim with that id or slug."""

    def __init__(self, quotes: str) -> None:
        """Quote ``published`` or ``verdict``."""
        super().__init__()
        self.quotes = quotes

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the quotation; an error if there is no such claim."""
        try:
            claim = claims.find(self.text)
        except claims.LedgerError as error:
            message = self.inliner.reporter.error(str(error), line=self.lineno)
            return [nodes.problematic(self.rawtext, self.rawtext)], [message]
        quote = claim_quote(self.rawtext, claim.published_text, claim=claim.id, quotes=self.quotes)
        self.set_source_info(quote)
        return [quote], []


class _VerdictReader(HTMLParser):
    """Collect the rows' verdicts out of the ledger page's tables."""

    def __init__(self) -> None:
        super().__init__()
        self.verdicts: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        claim, verdict = attributes.get("data-claim"), attributes.get("data-verdict")
        if claim and verdict:
            self.verdicts[claim] = verdict


def read_verdicts(env: BuildEnvironment) -> dict[str, str]:
    """Return the verdict of each claim on the ledger's page; none if the build has no such page."""
    if LEDGER not in env.found_docs:
        return {}
    reader = _VerdictReader()
    for raw in env.get_doctree(LEDGER).findall(nodes.raw):
        reader.feed(raw.astext())
    return reader.verdicts


def resolve_quotes(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Turn a page's quotations into links, once every page has been read and executed."""
    quotes = list(doctree.findall(claim_quote))
    if not quotes:
        return
    verdicts = read_verdicts(app.env)
    for quote in quotes:
        claim = claims.find(quote["claim"])
        text = claim.published_text
        if quote["quotes"] == "verdict":
            text = verdicts.get(claim.id, "")
            if not text:
                logger.warning(
                    "%s has no verdict for %s: run its notebook again", LEDGER, claim.id,
                    location=quote, type="ledger",
                )  # fmt: skip
        link = nodes.reference(
            "",
            text,
            internal=True,
            refuri=f"{app.builder.get_relative_uri(docname, LEDGER)}#{claim.anchor}",
            reftitle=f"{claim.source.author}, {claim.source.title}: {claim.claim}",
            classes=[f"wt-{quote['quotes']}"],
        )
        quote.replace_self(link)


def pages_to_read_again(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """Return every page that quotes a verdict, when the ledger's page has changed."""
    if LEDGER not in added | changed:
        return []
    return [
        docname
        for docname in env.all_docs
        if docname != LEDGER and docname not in removed and _quotes_verdicts(env, docname)
    ]


def _quotes_verdicts(env: BuildEnvironment, docname: str) -> bool:
    quotes = env.get_doctree(docname).findall(claim_quote)
    return any(quote["quotes"] == "verdict" for quote in quotes)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the roles with Sphinx."""
    app.add_node(claim_quote)
    app.add_role("published", ClaimRole("published"))
    app.add_role("verdict", ClaimRole("verdict"))
    app.add_css_file("ledger.css")
    app.connect("env-get-outdated", pages_to_read_again)
    app.connect("doctree-resolved", resolve_quotes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
