"""Decoders whose layers are not all alike: dense layers beside layers of experts."""

from __future__ import annotations

from wtlib.counting.config import Config
from wtlib.counting.families.family import Family
from wtlib.counting.parts import (
    Architecture,
    Block,
    Matrix,
    Part,
    Scores,
    Stack,
    Vector,
    experts,
    gated_mlp,
    norm,
    self_attention,
)


def _mixture(
    c: Config,
    *,
    attention: tuple[Part, ...],
    norms: tuple[Vector, ...],
    dense_layers: int,
    dense: tuple[Part, ...],
    sparse: tuple[Part, ...],
) -> Architecture:
    """``dense_layers`` layers with one MLP, the others with experts; the experts' block is last."""
    d_model, layers = c.size("hidden_size"), c.size("num_hidden_layers")
    dense_layers = min(dense_layers, layers)
    counts = {"dense": dense_layers, "experts": layers - dense_layers}
    blocks = {"dense": Block(attention, dense, norms), "experts": Block(attention, sparse, norms)}
    return Architecture(
        family=c.family,
        vocab_size=c.size("vocab_size"),
        embedding_dim=d_model,
        d_model=d_model,
        tied=c.flag("tie_word_embeddings"),
        stacks=tuple(Stack(name, blocks[name], n, n) for name, n in counts.items() if n),
        final_norm=d_model,
    )


def _qwen3_moe(c: Config) -> Architecture:
    """Qwen3-MoE: Qwen3's attention; every ``decoder_sparse_step``-th layer has experts."""
    d_model = c.size("hidden_size")
    heads, kv_heads, head_dim = c.grouped_heads()
    bias = c.flag("attention_bias")
    step, layers = c.size("decoder_sparse_step"), c.size("num_hidden_layers")
    with_experts = range(step - 1, layers, step)
    made_dense = {layer for layer in c.items("mlp_only_layers") if layer in with_experts}
    return _mixture(
        c,
        attention=self_attention(
            d_model, heads, kv_heads=kv_heads, head_dim=head_dim, qkv_bias=bias, out_bias=bias
        ),
        norms=(norm(d_model, copies=2), norm(head_dim, copies=2)),
        dense_layers=layers - len(with_experts) + len(made_dense),
        dense=gated_mlp(d_model, c.size("intermediate_size")),
        sparse=experts(
            d_model,
            c.size("moe_intermediate_size"),
            number=c.size("num_local_experts"),
            active=c.size("num_experts_per_tok"),
        ),
    )


def _deepseek(c: Config) -> Architecture:
    """DeepSeek V2 and V3: keys and values through a narrow latent, some experts for every token.

    The module for predicting several tokens ahead is not counted.
    """
    d_model, heads = c.size("hidden_size"), c.size("num_attention_heads")
    bias = c.flag("attention_bias")
    latent, rotary = c.size("kv_lora_rank"), c.size("qk_rope_head_dim")
    key, value = c.size("qk_nope_head_dim"), c.size("v_head_dim")
    query_width = heads * (key + rotary)
    norms = [norm(d_model, copies=2), norm(latent)]
    if c.raw("q_lora_rank") is None:
        queries = [Matrix(d_model, query_width)]
    else:
        rank = c.size("q_lora_rank")
        queries = [Matrix(d_model, rank, bias), Matrix(rank, query_width)]
        norms.append(norm(rank))
    expert_ffn = c.size("moe_intermediate_size")
    mlp_bias = c.flag("mlp_bias")
    return _mixture(
        c,
        attention=(
            *queries,
            Matrix(d_model, latent + rotary, bias),
            Matrix(latent, heads * (key + value)),
            Matrix(heads * value, d_model, bias),
            Scores(heads * (key + rotary + value)),
        ),
        norms=tuple(norms),
        dense_layers=c.number("first_k_dense_replace"),
        dense=gated_mlp(d_model, c.size("intermediate_size"), bias=mlp_bias),
        sparse=experts(
            d_model,
            expert_ffn,
            number=c.size("n_routed_experts"),
            active=c.size("num_experts_per_tok"),
        )
        + gated_mlp(d_model, expert_ffn * c.size("n_shared_experts"), bias=mlp_bias),
    )


FAMILIES = [
    Family(
        "qwen3_moe",
        {
            "vocab_size": 151936,
            "hidden_size": 2048,
            "intermediate_size": 6144,
            "num_hidden_layers": 24,
            "num_attention_heads": 32,
            "num_key_value_heads": 4,
            "head_dim": None,
            "attention_bias": False,
            "decoder_sparse_step": 1,
            "mlp_only_layers": None,
            "moe_intermediate_size": 768,
            "num_local_experts": 128,
            "num_experts_per_tok": 8,
            "tie_word_embeddings": False,
        },
        _qwen3_moe,
        {"num_experts": "num_local_experts"},
    ),
    Family(
        "deepseek_v2",
        {
            "vocab_size": 102400,
            "hidden_size": 4096,
            "intermediate_size": 11008,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "attention_bias": False,
            "mlp_bias": False,
            "q_lora_rank": 1536,
            "kv_lora_rank": 512,
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64,
            "v_head_dim": 128,
            "first_k_dense_replace": 0,
            "moe_intermediate_size": 1407,
            "n_routed_experts": 64,
            "n_shared_experts": 2,
            "num_experts_per_tok": None,
            "tie_word_embeddings": False,
        },
        _deepseek,
        {"num_experts": "n_routed_experts"},
    ),
    Family(
        "deepseek_v3",
        {
            "vocab_size": 129280,
            "hidden_size": 7168,
            "intermediate_size": 18432,
            "num_hidden_layers": 61,
            "num_attention_heads": 128,
            "attention_bias": False,
            "mlp_bias": False,
            "q_lora_rank": 1536,
            "kv_lora_rank": 512,
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64,
            "v_head_dim": 128,
            "first_k_dense_replace": 3,
            "moe_intermediate_size": 2048,
            "n_routed_experts": 256,
            "n_shared_experts": 1,
            "num_experts_per_tok": 8,
            "tie_word_embeddings": False,
        },
        _deepseek,
        {"num_local_experts": "n_routed_experts"},
    ),
]
