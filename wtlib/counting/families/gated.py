"""Decoders with a gated MLP and rotary positions: Llama and those shaped like it."""

from __future__ import annotations

from functools import partial
from typing import Any

from wtlib.counting.config import Config
from wtlib.counting.families.decoders import Decoder
from wtlib.counting.parts import Part, experts


def _defaults(
    vocab_size: int,
    d_model: int,
    ffn: int,
    layers: int,
    heads: int,
    kv_heads: int | None,
    head_dim: int | None = None,
    *,
    tied: bool = False,
    **flags: Any,
) -> dict[str, Any]:
    return {
        "vocab_size": vocab_size,
        "hidden_size": d_model,
        "intermediate_size": ffn,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
        "tie_word_embeddings": tied,
        **flags,
    }


def _experts(c: Config, *, bias: bool = False) -> tuple[Part, ...]:
    return experts(
        c.size("hidden_size"),
        c.size("intermediate_size"),
        number=c.size("num_local_experts"),
        active=c.size("num_experts_per_tok"),
        bias=bias,
    )


_LLAMA_LIKE: dict[str, Any] = {
    "mlp": "gated",
    "norm": "rms",
    "kv_heads": "num_key_value_heads",
    "head_dim": "head_dim",
}
# The bias of the four attention projections hangs on one flag, which nearly all leave off.
_FLAGGED: dict[str, Any] = {
    **_LLAMA_LIKE,
    "qkv_bias": "attention_bias",
    "out_bias": "attention_bias",
}
_NO_BIAS = {"attention_bias": False}
_NO_BIASES = {"attention_bias": False, "mlp_bias": False}
_LLAMA_DEFAULTS = _defaults(32000, 4096, 11008, 32, 32, None, **_NO_BIASES)
_OLMO_DEFAULTS = _defaults(50304, 4096, 11008, 32, 32, None, **_NO_BIAS)

TABLE = {
    "llama": Decoder(_LLAMA_DEFAULTS, **_FLAGGED, mlp_bias="mlp_bias"),
    # Llama with keys of its own: the tie hangs on share_embedding whatever the usual flag says,
    # and layer_sharing runs every block twice in a row.
    "mobilellm": Decoder(
        {**_LLAMA_DEFAULTS, "share_embedding": False, "layer_sharing": False},
        **_FLAGGED,
        mlp_bias="mlp_bias",
        tied=lambda c: c.flag("share_embedding") or c.flag("tie_word_embeddings"),
        repeats=lambda c: 2 if c.flag("layer_sharing") else 1,
    ),
    "mistral": Decoder(_defaults(32000, 4096, 14336, 32, 32, 8), **_LLAMA_LIKE),
    "qwen2": Decoder(_defaults(151936, 4096, 22016, 32, 32, 32), **_LLAMA_LIKE, qkv_bias=True),
    "qwen3": Decoder(
        _defaults(151936, 4096, 22016, 32, 32, 32, 128, **_NO_BIAS), **_FLAGGED, qk_norm="head"
    ),
    "smollm3": Decoder(
        _defaults(128256, 2048, 11008, 36, 16, 4, tied=True, **_NO_BIASES),
        **_FLAGGED,
        mlp_bias="mlp_bias",
    ),
    "gemma": Decoder(
        _defaults(256000, 3072, 24576, 28, 16, 16, 256, tied=True, **_NO_BIAS), **_FLAGGED
    ),
    # A norm before and one after each of attention and MLP.
    "gemma2": Decoder(
        _defaults(256000, 2304, 9216, 26, 8, 4, 256, tied=True, **_NO_BIAS),
        **_FLAGGED,
        block_norms=4,
    ),
    "gemma3_text": Decoder(
        _defaults(262208, 2304, 9216, 26, 8, 4, 256, tied=True, **_NO_BIAS),
        **_FLAGGED,
        block_norms=4,
        qk_norm="head",
    ),
    # LayerNorms without parameters.
    "olmo": Decoder(_OLMO_DEFAULTS, **{**_FLAGGED, "norm": "none"}),
    "olmo2": Decoder(_OLMO_DEFAULTS, **_FLAGGED, qk_norm="row"),
    "olmo3": Decoder(_OLMO_DEFAULTS, **_FLAGGED, qk_norm="row"),
    "phi3": Decoder(_defaults(32064, 3072, 8192, 32, 32, None), **_LLAMA_LIKE),
    "stablelm": Decoder(
        _defaults(
            50304,
            2560,
            6912,
            32,
            32,
            32,
            use_qkv_bias=False,
            qk_layernorm=False,
            use_parallel_residual=False,
        ),
        **{**_LLAMA_LIKE, "norm": "layer"},
        qkv_bias="use_qkv_bias",
        qk_norm="row",
        has_qk_norm="qk_layernorm",
        block_norms=lambda c: 1 if c.flag("use_parallel_residual") else 2,
    ),
    # Attention and MLP side by side on one LayerNorm without bias.
    "cohere": Decoder(
        _defaults(256000, 8192, 22528, 40, 64, None, tied=True, **_NO_BIAS, use_qk_norm=False),
        **_FLAGGED,
        block_norms=1,
        qk_norm="row",
        has_qk_norm="use_qk_norm",
    ),
    "cohere2": Decoder(
        _defaults(256000, 8192, 22528, 40, 64, None, tied=True, **_NO_BIAS),
        **_FLAGGED,
        block_norms=1,
    ),
    "granite": Decoder(
        _defaults(32000, 4096, 11008, 32, 32, None, **_NO_BIASES), **_FLAGGED, mlp_bias="mlp_bias"
    ),
    # Experts: a router and many gated MLPs, few of which see each token.
    "mixtral": Decoder(
        _defaults(32000, 4096, 14336, 32, 32, 8, num_local_experts=8, num_experts_per_tok=2),
        **_LLAMA_LIKE,
        experts=_experts,
        aliases={"num_experts": "num_local_experts"},
    ),
    "gpt_oss": Decoder(
        _defaults(
            201088,
            2880,
            2880,
            36,
            64,
            8,
            64,
            attention_bias=True,
            num_local_experts=128,
            num_experts_per_tok=4,
        ),
        **_FLAGGED,
        sinks=True,
        experts=partial(_experts, bias=True),
        aliases={"num_experts": "num_local_experts"},
    ),
    # Not in transformers: the sizes of xAI's release, which has no config.json.
    "grok-1": Decoder(
        _defaults(
            131072,
            6144,
            32768,
            64,
            48,
            8,
            128,
            tied=True,
            num_local_experts=8,
            num_experts_per_tok=2,
        ),
        **_LLAMA_LIKE,
        block_norms=4,
        experts=_experts,
    ),
}

FAMILIES = [row.family(model_type) for model_type, row in TABLE.items()]
