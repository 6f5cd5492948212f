"""Scale factors on the two ends of a model: applied to one, measured of one, by family."""

from wtlib.scale.applied import scaled
from wtlib.scale.families import FamilyScales, family_scales
from wtlib.scale.measured import Scales, scales

__all__ = ["FamilyScales", "Scales", "family_scales", "scaled", "scales"]
