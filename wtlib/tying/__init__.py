"""What is tied to what: in a config, a checkpoint file and a live model; what a tie survives."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wtlib.tying.cases import CASES, Case
    from wtlib.tying.checkpoint import HeaderError, InspectError
    from wtlib.tying.consequences import THREATS, Route, Threat
    from wtlib.tying.findings import CODES, Finding
    from wtlib.tying.fingerprints import Fingerprint, fingerprint
    from wtlib.tying.inspection import Inspection, inspect
    from wtlib.tying.live import NoEndsError, Tie, counted, ends, tie_between
    from wtlib.tying.mechanisms import MECHANISMS
    from wtlib.tying.operations import PYTORCH, TRANSFORMERS, RefusedError, Survival, survival
    from wtlib.tying.round_trip import CONTENTS, Loaded, loading
    from wtlib.tying.tools import Compared, comparison

# Files are inspected without torch, so each name loads its module when it is first asked for.
# No module may have the name of a thing it defines: once loaded, it would stand in its place.
_HOMES = {
    "cases": ("CASES", "Case"),
    "checkpoint": ("HeaderError", "InspectError"),
    "consequences": ("THREATS", "Route", "Threat"),
    "findings": ("CODES", "Finding"),
    "fingerprints": ("Fingerprint", "fingerprint"),
    "inspection": ("Inspection", "inspect"),
    "live": ("NoEndsError", "Tie", "counted", "ends", "tie_between"),
    "mechanisms": ("MECHANISMS",),
    "operations": ("PYTORCH", "TRANSFORMERS", "RefusedError", "Survival", "survival"),
    "round_trip": ("CONTENTS", "Loaded", "loading"),
    "tools": ("Compared", "comparison"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "CASES",
    "CODES",
    "CONTENTS",
    "MECHANISMS",
    "PYTORCH",
    "THREATS",
    "TRANSFORMERS",
    "Case",
    "Compared",
    "Finding",
    "Fingerprint",
    "HeaderError",
    "InspectError",
    "Inspection",
    "Loaded",
    "NoEndsError",
    "RefusedError",
    "Route",
    "Survival",
    "Threat",
    "Tie",
    "comparison",
    "counted",
    "ends",
    "fingerprint",
    "inspect",
    "loading",
    "survival",
    "tie_between",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
