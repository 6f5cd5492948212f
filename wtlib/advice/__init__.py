"""Whether to tie: a recommendation for a model that is about to be built, with its evidence.

>>> advise(151_936, 1024, 28).recommendation
'tie'
"""

from wtlib.advice.branches import BRANCHES, LARGE_SAVING, PURPOSES, SMALL_SAVING, Branch, Word
from wtlib.advice.deciding import Advice, Neighbours, Reason, advise
from wtlib.advice.report import report

__all__ = [
    "BRANCHES",
    "LARGE_SAVING",
    "PURPOSES",
    "SMALL_SAVING",
    "Advice",
    "Branch",
    "Neighbours",
    "Reason",
    "Word",
    "advise",
    "report",
]
