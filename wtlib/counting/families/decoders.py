"""One description for decoders of equal blocks; the families are rows that fill it in.

A choice in a row is a value, the name of the config key that holds it, or a function of the config.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from wtlib.counting.config import Config
from wtlib.counting.families.family import Family
from wtlib.counting.parts import (
    Architecture,
    Block,
    Matrix,
    Part,
    Stack,
    Vector,
    gated_mlp,
    norm,
    plain_mlp,
    self_attention,
)

Choice = bool | str | Callable[[Config], bool]
Size = int | str | Callable[[Config], int]


@dataclass(frozen=True)
class Decoder:
    """What tells one family of decoders from another.

    The first group names the config's keys; ``kv_heads``, ``head_dim`` and ``ffn`` without a value
    mean all heads, d / heads and 4·d. ``defaults`` are those of transformers' config class.

    ``norm`` is ``rms`` (a scale; also a LayerNorm without bias), ``layer`` (scale and shift) or
    ``none`` (no parameters). ``qk_norm`` normalises queries and keys, with one scale for a
    ``head``'s width that all heads share, or one for the whole projected ``row``.
    ``extra_positions`` are rows of the position table beyond its key.
    """

    defaults: Mapping[str, Any]
    d_model: str = "hidden_size"
    layers: str = "num_hidden_layers"
    heads: str = "num_attention_heads"
    ffn: str | None = "intermediate_size"
    kv_heads: Size | None = None
    head_dim: str | None = None

    mlp: Literal["plain", "gated"] = "plain"
    experts: Callable[[Config], tuple[Part, ...]] | None = None
    qkv_bias: Choice = False
    out_bias: Choice = False
    mlp_bias: Choice = False
    sinks: bool = False

    norm: Literal["rms", "layer", "none"] = "layer"
    block_norms: Size = 2
    qk_norm: Literal["head", "row"] | None = None
    has_qk_norm: Choice = True
    final_norm: Choice = True
    embedding_norm: bool = False

    embedding_dim: Size | None = None
    positions: str | None = None
    extra_positions: int = 0
    head_bias: bool = False
    tied: Choice = "tie_word_embeddings"
    repeats: Size = 1

    refused: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)

    def family(self, model_type: str) -> Family:
        """The family that this row describes."""
        return Family(model_type, self.defaults, partial(_describe, self), self.aliases)


def _choice(choice: Choice, c: Config) -> bool:
    if isinstance(choice, bool):
        return choice
    return c.flag(choice) if isinstance(choice, str) else choice(c)


def _size(size: Size, c: Config) -> int:
    if isinstance(size, int):
        return size
    return c.size(size) if isinstance(size, str) else size(c)


def _heads(row: Decoder, c: Config) -> tuple[int, int, int]:
    """Query heads, key-value heads and the width of a head."""
    kv_heads_key = row.kv_heads if isinstance(row.kv_heads, str) else None
    heads, kv_heads, head_dim = c.grouped_heads(row.heads, kv_heads_key, row.head_dim, row.d_model)
    if row.kv_heads is not None and kv_heads_key is None:
        kv_heads = _size(row.kv_heads, c)
    return heads, kv_heads, head_dim


def _describe(row: Decoder, c: Config) -> Architecture:
    for key, why in row.refused.items():
        c.refuse(key, True, why)
    d_model = c.size(row.d_model)
    embedding_dim = d_model if row.embedding_dim is None else _size(row.embedding_dim, c)
    layers = c.size(row.layers)
    other: dict[str, tuple[Part, ...]] = {}
    if row.embedding_norm:
        other["embedding norm"] = (norm(d_model, bias=row.norm == "layer"),)
    if embedding_dim != d_model:
        projections = (Matrix(embedding_dim, d_model), Matrix(d_model, embedding_dim))
        other["embedding projections"] = projections
    has_final_norm = row.norm != "none" and _choice(row.final_norm, c)
    block = _block(row, c, d_model)
    return Architecture(
        family=c.family,
        vocab_size=c.size("vocab_size"),
        embedding_dim=embedding_dim,
        d_model=d_model,
        tied=_choice(row.tied, c),
        stacks=(Stack("decoder", block, layers * _size(row.repeats, c), layers),),
        positions=(c.size(row.positions) + row.extra_positions) * d_model if row.positions else 0,
        final_norm=norm(d_model, bias=row.norm == "layer").parameters if has_final_norm else 0,
        head_bias=row.head_bias,
        other=other,
    )


def _block(row: Decoder, c: Config, d_model: int) -> Block:
    heads, kv_heads, head_dim = _heads(row, c)
    attention = self_attention(
        d_model,
        heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        qkv_bias=_choice(row.qkv_bias, c),
        out_bias=_choice(row.out_bias, c),
    )
    if row.sinks:
        attention += (Vector(heads),)
    norms: list[Vector] = []
    block_norms = _size(row.block_norms, c)
    if row.norm != "none" and block_norms:
        norms.append(norm(d_model, bias=row.norm == "layer", copies=block_norms))
    if row.qk_norm and _choice(row.has_qk_norm, c):
        bias = row.norm == "layer"
        if row.qk_norm == "head":
            norms.append(norm(head_dim, bias=bias, copies=2))
        else:
            norms.append(norm((heads + kv_heads) * head_dim))
    return Block(attention, _mlp(row, c, d_model), tuple(norms))


def _mlp(row: Decoder, c: Config, d_model: int) -> tuple[Part, ...]:
    if row.experts is not None:
        return row.experts(c)
    ffn = 4 * d_model if row.ffn is None else c.size_or(row.ffn, 4 * d_model)
    mlp = gated_mlp if row.mlp == "gated" else plain_mlp
    return mlp(d_model, ffn, bias=_choice(row.mlp_bias, c))
