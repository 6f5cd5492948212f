"""What is tied to what in a live model, and what a tie survives."""

from wtlib.tying.fingerprint import Fingerprint, fingerprint
from wtlib.tying.live import NoEndsError, Tie, counted, ends, tie_between
from wtlib.tying.loading import CONTENTS, Loaded, loading
from wtlib.tying.survival import PYTORCH, TRANSFORMERS, RefusedError, Survival, survival

__all__ = [
    "CONTENTS",
    "PYTORCH",
    "TRANSFORMERS",
    "Fingerprint",
    "Loaded",
    "NoEndsError",
    "RefusedError",
    "Survival",
    "Tie",
    "counted",
    "ends",
    "fingerprint",
    "loading",
    "survival",
    "tie_between",
]
