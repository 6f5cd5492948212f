"""Decoders with a gated MLP and rotary positions: Llama and those shaped like it.

They differ in a few choices, so the families are rows of a table. A choice written as a string is
the config's flag that makes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from wtlib.counting.config import Config
from wtlib.counting.families.family import Family, decoder
from wtlib.counting.parts import Architecture, Block, Vector, gated_mlp, norm, self_attention


@dataclass(frozen=True)
class Gated:
    """What tells one family from another, and the defaults of its config class.

    ``qk_norm`` normalises queries and keys: one scale per ``head`` dimension, shared by the heads,
    or one over the whole projected ``row``. ``norm`` is an RMSNorm or a LayerNorm without bias
    (``scale``: the same count), a LayerNorm with both, or one without parameters. ``block_norms``
    is their number in a block; ``parallel`` names the flag that drops one, because attention and
    MLP then read the same normalised input.
    """

    sizes: Mapping[str, Any]
    qkv_bias: bool | str = False
    out_bias: bool | str = False
    mlp_bias: bool | str = False
    qk_norm: Literal["head", "row"] | None = None
    qk_norm_flag: str | None = None
    norm: Literal["scale", "scale and shift", "none"] = "scale"
    block_norms: int = 2
    parallel: str | None = None
    tied: bool = False
    flags: Mapping[str, bool] = field(default_factory=dict)


def _sizes(
    vocab_size: int,
    d_model: int,
    ffn: int,
    layers: int,
    heads: int,
    kv_heads: int | None,
    head_dim: int | None = None,
) -> dict[str, int | None]:
    return {
        "vocab_size": vocab_size,
        "hidden_size": d_model,
        "intermediate_size": ffn,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
    }


_BOTH: dict[str, Any] = {"qkv_bias": "attention_bias", "out_bias": "attention_bias"}
_NO_ATTENTION_BIAS = {"attention_bias": False}

TABLE: dict[str, Gated] = {
    "llama": Gated(
        _sizes(32000, 4096, 11008, 32, 32, None),
        **_BOTH,
        mlp_bias="mlp_bias",
        flags={"attention_bias": False, "mlp_bias": False},
    ),
    "mistral": Gated(_sizes(32000, 4096, 14336, 32, 32, 8)),
    "qwen2": Gated(_sizes(151936, 4096, 22016, 32, 32, 32), qkv_bias=True),
    "qwen3": Gated(
        _sizes(151936, 4096, 22016, 32, 32, 32, 128),
        **_BOTH,
        qk_norm="head",
        flags=_NO_ATTENTION_BIAS,
    ),
    "smollm3": Gated(
        _sizes(128256, 2048, 11008, 36, 16, 4),
        **_BOTH,
        mlp_bias="mlp_bias",
        tied=True,
        flags={"attention_bias": False, "mlp_bias": False},
    ),
    "gemma": Gated(
        _sizes(256000, 3072, 24576, 28, 16, 16, 256), **_BOTH, tied=True, flags=_NO_ATTENTION_BIAS
    ),
    "gemma2": Gated(
        _sizes(256000, 2304, 9216, 26, 8, 4, 256),
        **_BOTH,
        block_norms=4,
        tied=True,
        flags=_NO_ATTENTION_BIAS,
    ),
    "gemma3_text": Gated(
        _sizes(262208, 2304, 9216, 26, 8, 4, 256),
        **_BOTH,
        qk_norm="head",
        block_norms=4,
        tied=True,
        flags=_NO_ATTENTION_BIAS,
    ),
    "olmo": Gated(
        _sizes(50304, 4096, 11008, 32, 32, None), **_BOTH, norm="none", flags=_NO_ATTENTION_BIAS
    ),
    "olmo2": Gated(
        _sizes(50304, 4096, 11008, 32, 32, None), **_BOTH, qk_norm="row", flags=_NO_ATTENTION_BIAS
    ),
    "olmo3": Gated(
        _sizes(50304, 4096, 11008, 32, 32, None), **_BOTH, qk_norm="row", flags=_NO_ATTENTION_BIAS
    ),
    "phi3": Gated(_sizes(32064, 3072, 8192, 32, 32, None)),
    "stablelm": Gated(
        _sizes(50304, 2560, 6912, 32, 32, 32),
        qkv_bias="use_qkv_bias",
        qk_norm="row",
        qk_norm_flag="qk_layernorm",
        norm="scale and shift",
        parallel="use_parallel_residual",
        flags={"use_qkv_bias": False, "qk_layernorm": False, "use_parallel_residual": False},
    ),
    "cohere": Gated(
        _sizes(256000, 8192, 22528, 40, 64, None),
        **_BOTH,
        qk_norm="row",
        qk_norm_flag="use_qk_norm",
        block_norms=1,
        tied=True,
        flags={"attention_bias": False, "use_qk_norm": False},
    ),
    "cohere2": Gated(
        _sizes(256000, 8192, 22528, 40, 64, None),
        **_BOTH,
        block_norms=1,
        tied=True,
        flags=_NO_ATTENTION_BIAS,
    ),
    "granite": Gated(
        _sizes(32000, 4096, 11008, 32, 32, None),
        **_BOTH,
        mlp_bias="mlp_bias",
        flags={"attention_bias": False, "mlp_bias": False},
    ),
}


def heads(c: Config) -> tuple[int, int, int]:
    """Query heads, key-value heads and head width; null means all heads, and d / heads.

    Raises:
        WtlibError: the heads do not divide as grouped-query attention needs.
    """
    query_heads = c.size("num_attention_heads")
    if c.raw("num_key_value_heads") is None:
        kv_heads = query_heads
    else:
        c.divide("num_attention_heads", "num_key_value_heads")
        kv_heads = c.size("num_key_value_heads")
    if c.raw("head_dim") is None:
        return query_heads, kv_heads, c.divide("hidden_size", "num_attention_heads")
    return query_heads, kv_heads, c.size("head_dim")


def describe(row: Gated, c: Config) -> Architecture:
    """A decoder as its row of the table says."""

    def chosen(choice: bool | str) -> bool:
        return c.flag(choice) if isinstance(choice, str) else choice

    d_model = c.size("hidden_size")
    query_heads, kv_heads, head_dim = heads(c)
    norms = []
    if row.norm != "none":
        copies = 1 if row.parallel and c.flag(row.parallel) else row.block_norms
        norms.append(norm(d_model, bias=row.norm == "scale and shift", copies=copies))
    if row.qk_norm and (row.qk_norm_flag is None or c.flag(row.qk_norm_flag)):
        norms.append(_qk_norm(row.qk_norm, query_heads, kv_heads, head_dim))
    block = Block(
        attention=self_attention(
            d_model,
            query_heads,
            kv_heads=kv_heads,
            head_dim=head_dim,
            qkv_bias=chosen(row.qkv_bias),
            out_bias=chosen(row.out_bias),
        ),
        mlp=gated_mlp(d_model, c.size("intermediate_size"), bias=chosen(row.mlp_bias)),
        norms=tuple(norms),
    )
    final_norm = {"scale": d_model, "scale and shift": 2 * d_model, "none": 0}[row.norm]
    return decoder(
        c, d_model=d_model, layers=c.size("num_hidden_layers"), block=block, final_norm=final_norm
    )


def _qk_norm(kind: str, query_heads: int, kv_heads: int, head_dim: int) -> Vector:
    return norm(head_dim, copies=2) if kind == "head" else norm((query_heads + kv_heads) * head_dim)


FAMILIES = [
    Family(
        model_type,
        {**row.sizes, **row.flags, "tie_word_embeddings": row.tied},
        partial(describe, row),
    )
    for model_type, row in TABLE.items()
]
