"""The ledger: what the sources print, what measuring it gives, and the verdict.

The rows stand in ``data/claims.yml``, whose head describes them. A verdict is computed each time.
"""

from wtlib.claims.entries import LedgerError
from wtlib.claims.page import Page, pages
from wtlib.claims.rows import PATH, Beside, Claim, Measure, Source, find, load
from wtlib.claims.values import Bounds, Value, ValueFormError
from wtlib.claims.verdicts import WORDS, Verdict, table, tally, verdict

__all__ = [
    "PATH",
    "WORDS",
    "Beside",
    "Bounds",
    "Claim",
    "LedgerError",
    "Measure",
    "Page",
    "Source",
    "Value",
    "ValueFormError",
    "Verdict",
    "find",
    "load",
    "pages",
    "table",
    "tally",
    "verdict",
]
