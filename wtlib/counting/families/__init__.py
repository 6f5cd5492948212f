"""The families that can be counted, by ``model_type``."""

from wtlib.counting.families import (
    encoder_decoders,
    encoders,
    gated,
    gpt,
    mixtures,
    recurrent,
)
from wtlib.counting.families.family import Family

_MODULES = (gpt, gated, mixtures, recurrent, encoders, encoder_decoders)

FAMILIES: dict[str, Family] = {
    family.model_type: family for module in _MODULES for family in module.FAMILIES
}

__all__ = ["FAMILIES", "Family"]
