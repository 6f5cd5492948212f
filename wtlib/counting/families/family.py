"""A family of models: its model type, its defaults, and how its config describes a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from wtlib.counting.config import Config
from wtlib.counting.parts import Architecture, Block, Part, Stack, stack


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


def decoder(
    c: Config,
    *,
    d_model: int,
    layers: int,
    block: Block,
    final_norm: int,
    stored: int | None = None,
    embedding_dim: int | None = None,
    positions: int = 0,
    head_bias: bool = False,
    other: Mapping[str, tuple[Part, ...]] | None = None,
) -> Architecture:
    """A single stack of equal blocks between a table and a head."""
    stacks: tuple[Stack, ...] = (stack(block, layers, stored=stored),)
    return Architecture(
        family=c.family,
        vocab_size=c.size("vocab_size"),
        embedding_dim=d_model if embedding_dim is None else embedding_dim,
        d_model=d_model,
        tied=c.flag("tie_word_embeddings"),
        stacks=stacks,
        positions=positions,
        final_norm=final_norm,
        head_bias=head_bias,
        other=other or {},
    )
