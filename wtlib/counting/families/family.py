"""A family of models: its model type, its defaults, and how its config describes a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from wtlib.counting.config import Config
from wtlib.counting.parts import Architecture


@dataclass(frozen=True)
class Family:
    """One ``model_type``.

    ``defaults`` holds every key that the closed form reads, with the default of transformers'
    config class; ``aliases`` maps other spellings to those keys.
    """

    model_type: str
    defaults: Mapping[str, Any]
    description: Callable[[Config], Architecture]
    aliases: Mapping[str, str] = field(default_factory=dict)

    def describe(self, values: Mapping[str, Any]) -> Architecture:
        """Turn a config's values into an architecture."""
        return self.description(
            Config(values, family=self.model_type, defaults=self.defaults, aliases=self.aliases)
        )
