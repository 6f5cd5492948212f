"""Encoder-decoders: T5 and mT5, BART.

Their one vocabulary matrix reads the source, reads the target and, tied, scores the output.
Untied they still share the two tables and give the head a matrix of its own.
"""

from __future__ import annotations

from wtlib.counting.config import Config
from wtlib.counting.families.family import Family
from wtlib.counting.parts import (
    Architecture,
    Block,
    Part,
    Stack,
    gated_mlp,
    norm,
    plain_mlp,
    self_attention,
)


def _t5_tied(c: Config) -> bool:
    """Whether the shipped model ties, which transformers v5 hides.

    Its ``T5Config`` overwrites ``tie_word_embeddings`` with true, and keeps what the file said as
    ``scale_decoder_outputs``. (``MT5Config`` overwrites it and keeps nothing: count an mT5 from
    its ``config.json``, not from the object.)
    """
    return c.flag("tie_word_embeddings") and c.flag("scale_decoder_outputs")


def _t5(c: Config) -> Architecture:
    """T5: no biases; a table of relative positions in each stack's first layer."""
    d_model, heads, ffn = c.size("d_model"), c.size("num_heads"), c.size("d_ff")
    attention = self_attention(d_model, heads, head_dim=c.size("d_kv"))
    gated = c.word("feed_forward_proj").startswith("gated-")
    mlp = gated_mlp(d_model, ffn) if gated else plain_mlp(d_model, ffn, bias=False)
    encoder = Block(attention, mlp, (norm(d_model, copies=2),))
    decoder = Block(attention * 2, mlp, (norm(d_model, copies=3),))
    layers = c.size("num_layers")
    decoder_layers = c.size_or("num_decoder_layers", layers)
    return Architecture(
        family=c.family,
        vocab_size=c.size("vocab_size"),
        embedding_dim=d_model,
        d_model=d_model,
        tied=_t5_tied(c),
        stacks=(
            Stack("encoder", encoder, layers, layers),
            Stack("decoder", decoder, decoder_layers, decoder_layers),
        ),
        positions=2 * c.size("relative_attention_num_buckets") * heads,
        final_norm=2 * d_model,
    )


def _bart_stack(c: Config, name: str, cross: int) -> Stack:
    d_model = c.size("d_model")
    c.divide("d_model", f"{name}_attention_heads")
    heads, layers = c.size(f"{name}_attention_heads"), c.size(f"{name}_layers")
    attention = self_attention(d_model, heads, qkv_bias=True, out_bias=True) * (1 + cross)
    mlp = plain_mlp(d_model, c.size(f"{name}_ffn_dim"))
    norms = (norm(d_model, bias=True, copies=2 + cross),)
    return Stack(name, Block(attention, mlp, norms), layers, layers)


def _bart(c: Config) -> Architecture:
    """BART: post-norm, a norm after each embedding, positions with two extra rows in each stack."""
    d_model = c.size("d_model")
    embedding_norms: tuple[Part, ...] = (norm(d_model, bias=True, copies=2),)
    return Architecture(
        family=c.family,
        vocab_size=c.size("vocab_size"),
        embedding_dim=d_model,
        d_model=d_model,
        tied=c.flag("tie_word_embeddings"),
        stacks=(_bart_stack(c, "encoder", 0), _bart_stack(c, "decoder", 1)),
        positions=2 * (c.size("max_position_embeddings") + 2) * d_model,
        other={"embedding norms": embedding_norms},
    )


_T5_ALIASES = {
    "hidden_size": "d_model",
    "num_hidden_layers": "num_layers",
    "num_attention_heads": "num_heads",
    "head_dim": "d_kv",
}
_T5_DEFAULTS = {
    "vocab_size": 32128,
    "d_model": 512,
    "d_kv": 64,
    "d_ff": 2048,
    "num_layers": 6,
    "num_decoder_layers": None,
    "num_heads": 8,
    "relative_attention_num_buckets": 32,
    "feed_forward_proj": "relu",
    "tie_word_embeddings": True,
    "scale_decoder_outputs": True,
}
_MT5_DEFAULTS = {
    **_T5_DEFAULTS,
    "vocab_size": 250112,
    "d_ff": 1024,
    "num_layers": 8,
    "num_heads": 6,
    "feed_forward_proj": "gated-gelu",
}
_BART_DEFAULTS = {
    "vocab_size": 50265,
    "d_model": 1024,
    "max_position_embeddings": 1024,
    **{
        f"{name}_{key}": value
        for name in ("encoder", "decoder")
        for key, value in (("layers", 12), ("ffn_dim", 4096), ("attention_heads", 16))
    },
    "tie_word_embeddings": True,
}

FAMILIES = [
    Family("t5", _T5_DEFAULTS, _t5, _T5_ALIASES),
    Family("mt5", _MT5_DEFAULTS, _t5, _T5_ALIASES),
    Family(
        "bart",
        _BART_DEFAULTS,
        _bart,
        {
            "hidden_size": "d_model",
            "num_hidden_layers": "encoder_layers",
            "num_attention_heads": "encoder_attention_heads",
        },
    ),
]
