"""Weights on disk: headers read with suspicion, bytes compared, nothing loaded."""

from wtlib.tying.checkpoint.compare import Comparison, compare, copies, identical_last_rows
from wtlib.tying.checkpoint.entries import Entry, Header, HeaderError, InspectError
from wtlib.tying.checkpoint.folder import Checkpoint, bounded_json, open_checkpoint

__all__ = [
    "Checkpoint",
    "Comparison",
    "Entry",
    "Header",
    "HeaderError",
    "InspectError",
    "bounded_json",
    "compare",
    "copies",
    "identical_last_rows",
    "open_checkpoint",
]
