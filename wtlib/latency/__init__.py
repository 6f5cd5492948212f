"""How long a stack takes whose layers share one block, against one of equal shape that does not."""

from wtlib.latency.recorded import BATCH_SIZES, FILE, WIDTHS, Recorded, load, record, settings
from wtlib.latency.results import Latency
from wtlib.latency.setting import Setting
from wtlib.latency.timing import count_flops, measure

__all__ = [
    "BATCH_SIZES",
    "FILE",
    "WIDTHS",
    "Latency",
    "Recorded",
    "Setting",
    "count_flops",
    "load",
    "measure",
    "record",
    "settings",
]
