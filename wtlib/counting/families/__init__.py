"""The families that can be counted, by ``model_type``."""

from wtlib.counting.families import gated, gpt
from wtlib.counting.families.family import Family

FAMILIES: dict[str, Family] = {
    family.model_type: family for module in (gpt, gated) for family in module.FAMILIES
}

__all__ = ["FAMILIES", "Family"]
