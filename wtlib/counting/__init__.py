"""How many parameters, bytes and FLOPs, from a config alone.

>>> count = count_parameters({"model_type": "gpt2"})
>>> count.total, count.if_untied, round(count.flops.head_share, 3)
(124439808, 163037184, 0.312)
"""

from wtlib.counting.count import count_parameters, encoder_parameters
from wtlib.counting.families import FAMILIES
from wtlib.counting.files import read_config
from wtlib.counting.handbook import HandbookEstimate, handbook_estimate, saving_fraction
from wtlib.counting.results import (
    BlockCount,
    Flops,
    Memory,
    ParameterCount,
    Shares,
    StackCount,
)

__all__ = [
    "FAMILIES",
    "BlockCount",
    "Flops",
    "HandbookEstimate",
    "Memory",
    "ParameterCount",
    "Shares",
    "StackCount",
    "count_parameters",
    "encoder_parameters",
    "handbook_estimate",
    "read_config",
    "saving_fraction",
]
