"""Decoders with a plain MLP and LayerNorms: GPT-2 and those that vary it."""

from __future__ import annotations

from typing import Any

from wtlib.counting.config import Config
from wtlib.counting.families.decoders import Decoder

_ALL_BIASES: dict[str, Any] = {"qkv_bias": True, "out_bias": True, "mlp_bias": True}
_GPT2_KEYS: dict[str, Any] = {
    "d_model": "n_embd",
    "layers": "n_layer",
    "heads": "n_head",
    "ffn": "n_inner",
    "aliases": {
        "hidden_size": "n_embd",
        "num_hidden_layers": "n_layer",
        "num_attention_heads": "n_head",
        "max_position_embeddings": "n_positions",
    },
}
_GPT2_DEFAULTS = {
    "vocab_size": 50257,
    "n_positions": 1024,
    "n_embd": 768,
    "n_layer": 12,
    "n_head": 12,
    "n_inner": None,
    "add_cross_attention": False,
    "tie_word_embeddings": True,
}
_DECODER_ONLY = {"add_cross_attention": "only the decoder by itself is"}


def _falcon_kv_heads(c: Config) -> int:
    heads = c.size("num_attention_heads")
    if c.flag("new_decoder_architecture"):
        if c.raw("num_kv_heads") is None:
            return heads
        c.divide("num_attention_heads", "num_kv_heads")
        return c.size("num_kv_heads")
    return 1 if c.flag("multi_query") else heads


def _falcon_norms(c: Config) -> int:
    if not c.flag("parallel_attn"):
        return 2
    default = 2 if c.flag("new_decoder_architecture") else 1
    return 2 if c.size_or("num_ln_in_parallel_attn", default) == 2 else 1


# GPT-2: V·d + P·d + L·(12·d² + 13·d) + 2·d where the MLP is 4·d wide.
_GPT2 = Decoder(
    _GPT2_DEFAULTS, **_GPT2_KEYS, **_ALL_BIASES, positions="n_positions", refused=_DECODER_ONLY
)

# Rotary positions, one norm for attention and MLP side by side, a bias on the head.
_GPTJ = Decoder(
    {
        "vocab_size": 50400,
        "n_embd": 4096,
        "n_layer": 28,
        "n_head": 16,
        "n_inner": None,
        "tie_word_embeddings": False,
    },
    **_GPT2_KEYS,
    mlp_bias=True,
    block_norms=1,
    head_bias=True,
)

TABLE = {
    "gpt2": _GPT2,
    # Post-norm: the last block ends in its own norm, and none follows.
    "openai-gpt": Decoder(
        {
            "vocab_size": 40478,
            "n_positions": 512,
            "n_embd": 768,
            "n_layer": 12,
            "n_head": 12,
            "tie_word_embeddings": True,
        },
        **{**_GPT2_KEYS, "ffn": None},
        **_ALL_BIASES,
        positions="n_positions",
        final_norm=False,
    ),
    # GPT-2 with one key-value head for all query heads.
    "gpt_bigcode": Decoder(
        {**_GPT2_DEFAULTS, "multi_query": True},
        **_GPT2_KEYS,
        **_ALL_BIASES,
        kv_heads=lambda c: 1 if c.flag("multi_query") else c.size("n_head"),
        positions="n_positions",
        refused=_DECODER_ONLY,
    ),
    "gpt_neo": Decoder(
        {
            "vocab_size": 50257,
            "max_position_embeddings": 2048,
            "hidden_size": 2048,
            "num_layers": 24,
            "num_heads": 16,
            "intermediate_size": None,
            "tie_word_embeddings": True,
        },
        layers="num_layers",
        heads="num_heads",
        out_bias=True,
        mlp_bias=True,
        positions="max_position_embeddings",
        aliases={"num_attention_heads": "num_heads", "num_hidden_layers": "num_layers"},
    ),
    "gptj": _GPTJ,
    "codegen": _GPTJ,
    # Attention and MLP may run side by side; every block keeps two norms either way.
    "gpt_neox": Decoder(
        {
            "vocab_size": 50432,
            "hidden_size": 6144,
            "num_hidden_layers": 44,
            "num_attention_heads": 64,
            "intermediate_size": 24576,
            "attention_bias": True,
            "tie_word_embeddings": False,
        },
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        mlp_bias=True,
    ),
    # Positions have two extra rows. OPT-350M keeps a narrower embedding between two projections
    # and is post-norm.
    "opt": Decoder(
        {
            "vocab_size": 50272,
            "hidden_size": 768,
            "num_hidden_layers": 12,
            "num_attention_heads": 12,
            "ffn_dim": 3072,
            "max_position_embeddings": 2048,
            "word_embed_proj_dim": None,
            "do_layer_norm_before": True,
            "_remove_final_layer_norm": False,
            "layer_norm_elementwise_affine": True,
            "enable_bias": True,
            "tie_word_embeddings": True,
        },
        ffn="ffn_dim",
        qkv_bias="enable_bias",
        out_bias="enable_bias",
        mlp_bias="enable_bias",
        block_norms=lambda c: 2 if c.flag("layer_norm_elementwise_affine") else 0,
        final_norm=lambda c: (
            c.flag("layer_norm_elementwise_affine")
            and c.flag("do_layer_norm_before")
            and not c.flag("_remove_final_layer_norm")
        ),
        embedding_dim=lambda c: c.size_or("word_embed_proj_dim", c.size("hidden_size")),
        positions="max_position_embeddings",
        extra_positions=2,
    ),
    # Positions are ALiBi's, without parameters; a norm follows the embedding.
    "bloom": Decoder(
        {
            "vocab_size": 250880,
            "hidden_size": 64,
            "n_layer": 2,
            "n_head": 8,
            "tie_word_embeddings": True,
        },
        layers="n_layer",
        heads="n_head",
        ffn=None,
        **_ALL_BIASES,
        embedding_norm=True,
        aliases={
            "n_embed": "hidden_size",
            "num_hidden_layers": "n_layer",
            "num_attention_heads": "n_head",
        },
    ),
    # The new decoder groups key-value heads, the old one keeps one or all of them. Attention and
    # MLP side by side share one norm, except that the new decoder has one for each.
    "falcon": Decoder(
        {
            "vocab_size": 65024,
            "hidden_size": 4544,
            "num_hidden_layers": 32,
            "num_attention_heads": 71,
            "num_kv_heads": None,
            "num_ln_in_parallel_attn": None,
            "new_decoder_architecture": False,
            "multi_query": True,
            "parallel_attn": True,
            "bias": False,
            "ffn_hidden_size": None,
            "tie_word_embeddings": True,
        },
        ffn="ffn_hidden_size",
        kv_heads=_falcon_kv_heads,
        qkv_bias="bias",
        out_bias="bias",
        mlp_bias="bias",
        block_norms=_falcon_norms,
        aliases={"n_embed": "hidden_size"},
    ),
    # No bias anywhere, the norms included; transformers builds the MLP at 4·d in any case.
    "mpt": Decoder(
        {
            "vocab_size": 50368,
            "d_model": 2048,
            "n_layers": 24,
            "n_heads": 16,
            "tie_word_embeddings": True,
        },
        d_model="d_model",
        layers="n_layers",
        heads="n_heads",
        ffn=None,
        norm="rms",
        aliases={
            "hidden_size": "d_model",
            "num_hidden_layers": "n_layers",
            "num_attention_heads": "n_heads",
        },
    ),
    # Phi-1 to Phi-2: one norm for attention and MLP side by side, a bias on the head.
    "phi": Decoder(
        {
            "vocab_size": 51200,
            "hidden_size": 2048,
            "intermediate_size": 8192,
            "num_hidden_layers": 24,
            "num_attention_heads": 32,
            "num_key_value_heads": None,
            "head_dim": None,
            "qk_layernorm": False,
            "tie_word_embeddings": False,
        },
        kv_heads="num_key_value_heads",
        head_dim="head_dim",
        **_ALL_BIASES,
        block_norms=1,
        qk_norm="head",
        has_qk_norm="qk_layernorm",
        head_bias=True,
    ),
    "starcoder2": Decoder(
        {
            "vocab_size": 49152,
            "hidden_size": 3072,
            "intermediate_size": 12288,
            "num_hidden_layers": 30,
            "num_attention_heads": 24,
            "num_key_value_heads": 2,
            "head_dim": None,
            "use_bias": True,
            "tie_word_embeddings": True,
        },
        kv_heads="num_key_value_heads",
        head_dim="head_dim",
        qkv_bias="use_bias",
        out_bias="use_bias",
        mlp_bias="use_bias",
    ),
    # Positions are computed sinusoids, without parameters.
    "xglm": Decoder(
        {
            "vocab_size": 256008,
            "d_model": 1024,
            "num_layers": 24,
            "attention_heads": 16,
            "ffn_dim": 4096,
            "add_cross_attention": False,
            "tie_word_embeddings": True,
        },
        d_model="d_model",
        layers="num_layers",
        heads="attention_heads",
        ffn="ffn_dim",
        **_ALL_BIASES,
        refused=_DECODER_ONLY,
        aliases={
            "hidden_size": "d_model",
            "num_hidden_layers": "num_layers",
            "num_attention_heads": "attention_heads",
        },
    ),
}

FAMILIES = [row.family(model_type) for model_type, row in TABLE.items()]
