"""Scale factors on the two ends of a model: applied, measured, by family, and in training."""

from wtlib.scale.applied import scaled
from wtlib.scale.families import FamilyScales, family_scales
from wtlib.scale.measured import Scales, scales
from wtlib.scale.trained import Setup, fit_scaled

__all__ = ["FamilyScales", "Scales", "Setup", "family_scales", "fit_scaled", "scaled", "scales"]
