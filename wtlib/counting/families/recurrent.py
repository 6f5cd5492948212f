"""Models without attention: Mamba and RWKV.

What mixes tokens stands under ``attention``, what mixes channels under ``mlp``. The scan itself has
no matrices and is left out of the FLOPs.
"""

from __future__ import annotations

from math import ceil

from wtlib.counting.config import Config
from wtlib.counting.families.family import Family
from wtlib.counting.parts import Architecture, Block, Matrix, Stack, Vector, norm


def _mamba(c: Config) -> Architecture:
    """Mamba: one mixer a layer; its inner width is ``expand`` times the model's."""
    d_model, layers, state = (
        c.size("hidden_size"),
        c.size("num_hidden_layers"),
        c.size("state_size"),
    )
    inner, bias = c.size("expand") * d_model, c.flag("use_bias")
    rank = ceil(d_model / 16) if c.raw("time_step_rank") == "auto" else c.size("time_step_rank")
    convolution = Vector(
        inner * c.size("conv_kernel"), shift=inner if c.flag("use_conv_bias") else 0
    )
    block = Block(
        attention=(
            Matrix(d_model, 2 * inner, bias),
            convolution,
            Matrix(inner, rank + 2 * state),
            Matrix(rank, inner, bias=True),
            Vector(inner * state),
            Vector(inner),
            Matrix(inner, d_model, bias),
        ),
        mlp=(),
        norms=(norm(d_model),),
    )
    return Architecture(
        family=c.family,
        vocab_size=c.size("vocab_size"),
        embedding_dim=d_model,
        d_model=d_model,
        tied=c.flag("tie_word_embeddings"),
        stacks=(Stack("decoder", block, layers, layers),),
        final_norm=d_model,
    )


def _rwkv(c: Config) -> Architecture:
    """RWKV-4: the first layer has one more norm, right after the embedding."""
    d_model, layers = c.size("hidden_size"), c.size("num_hidden_layers")
    width = c.size_or("attention_hidden_size", d_model)
    ffn = c.size_or("intermediate_size", 4 * d_model)
    block = Block(
        attention=(
            Vector(width, copies=2),
            Vector(d_model, copies=3),
            Matrix(d_model, width, copies=3),
            Matrix(width, d_model),
        ),
        mlp=(
            Vector(d_model, copies=2),
            Matrix(d_model, ffn),
            Matrix(d_model, d_model),
            Matrix(ffn, d_model),
        ),
        norms=(norm(d_model, bias=True, copies=2),),
    )
    return Architecture(
        family=c.family,
        vocab_size=c.size("vocab_size"),
        embedding_dim=d_model,
        d_model=d_model,
        tied=c.flag("tie_word_embeddings"),
        stacks=(Stack("decoder", block, layers, layers),),
        final_norm=2 * d_model,
        other={"embedding norm": (norm(d_model, bias=True),)},
    )


FAMILIES = [
    Family(
        "mamba",
        {
            "vocab_size": 50280,
            "hidden_size": 768,
            "num_hidden_layers": 32,
            "state_size": 16,
            "expand": 2,
            "conv_kernel": 4,
            "time_step_rank": "auto",
            "use_bias": False,
            "use_conv_bias": True,
            "tie_word_embeddings": True,
        },
        _mamba,
    ),
    Family(
        "rwkv",
        {
            "vocab_size": 50277,
            "hidden_size": 4096,
            "num_hidden_layers": 32,
            "attention_hidden_size": None,
            "intermediate_size": None,
            "tie_word_embeddings": False,
        },
        _rwkv,
    ),
]
