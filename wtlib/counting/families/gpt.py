"""Decoders with a plain MLP and LayerNorms: GPT-2 and those shaped like it."""

from __future__ import annotations

from wtlib.counting.config import Config
from wtlib.counting.families.family import Family, decoder
from wtlib.counting.parts import Architecture, Block, norm, plain_mlp, self_attention

_GPT2_ALIASES = {
    "hidden_size": "n_embd",
    "num_attention_heads": "n_head",
    "num_hidden_layers": "n_layer",
    "max_position_embeddings": "n_positions",
}


def gpt2(c: Config) -> Architecture:
    """GPT-2: V·d + P·d + L·(12·d² + 13·d) + 2·d, with an MLP of 4·d."""
    c.refuse("add_cross_attention", True, "only the decoder by itself is")
    c.divide("n_embd", "n_head")
    d_model = c.size("n_embd")
    block = Block(
        attention=self_attention(d_model, c.size("n_head"), qkv_bias=True, out_bias=True),
        mlp=plain_mlp(d_model, c.size_or("n_inner", 4 * d_model)),
        norms=(norm(d_model, bias=True, copies=2),),
    )
    return decoder(
        c,
        d_model=d_model,
        layers=c.size("n_layer"),
        block=block,
        positions=c.size("n_positions") * d_model,
        final_norm=2 * d_model,
    )


FAMILIES = [
    Family(
        "gpt2",
        {
            "vocab_size": 50257,
            "n_positions": 1024,
            "n_embd": 768,
            "n_layer": 12,
            "n_head": 12,
            "n_inner": None,
            "add_cross_attention": False,
            "tie_word_embeddings": True,
        },
        gpt2,
        _GPT2_ALIASES,
    ),
]
