"""Closed forms against the model that transformers builds, equal to the unit."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import CONFIG_MAPPING, AlbertConfig, AlbertModel, Gemma3Config, T5Config

from tests.wtlib import meta_device
from wtlib.counting import FAMILIES, count_parameters, encoder_parameters

NOT_IN_TRANSFORMERS = {"mobilellm", "grok-1"}
# T5's and mT5's config classes force the tie; the test of the census covers their untied counts.
FORCED_TIES = {"t5", "mt5"}


def untied_extra(model_type: str, vocab_size: int, d_model: int) -> int:
    """What transformers adds when it unties, beyond the head's own matrix.

    BERT and its kin then hold the logits' bias twice (one copy is never read); BART gives encoder
    and decoder a table each beside the shared one.
    """
    if model_type == "bart":
        return 2 * vocab_size * d_model
    return vocab_size if model_type in {"bert", "roberta", "albert", "deberta-v2"} else 0


GPT2 = {"vocab_size": 97, "n_positions": 31, "n_embd": 24, "n_layer": 3, "n_head": 4}
PLAIN = {
    "vocab_size": 97,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
}
GROUPED = {**PLAIN, "num_key_value_heads": 2}
WIDE = {**GROUPED, "head_dim": 10}
ENCODER = {**PLAIN, "max_position_embeddings": 31}
T5 = {
    "vocab_size": 97,
    "d_model": 24,
    "d_kv": 10,
    "d_ff": 40,
    "num_layers": 2,
    "num_decoder_layers": 3,
    "num_heads": 4,
    "relative_attention_num_buckets": 8,
}
BART = {
    "vocab_size": 97,
    "d_model": 24,
    "max_position_embeddings": 31,
    "encoder_layers": 2,
    "encoder_ffn_dim": 40,
    "encoder_attention_heads": 4,
    "decoder_layers": 3,
    "decoder_ffn_dim": 56,
    "decoder_attention_heads": 2,
}
OPT = {
    "vocab_size": 97,
    "hidden_size": 24,
    "ffn_dim": 40,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 31,
    "word_embed_proj_dim": 24,
}
FALCON = {
    "vocab_size": 97,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_kv_heads": 2,
    "ffn_hidden_size": 40,
}
DEBERTA = {**ENCODER, "type_vocab_size": 2}
DEEPSEEK = {
    **PLAIN,
    "num_key_value_heads": 4,
    "first_k_dense_replace": 1,
    "moe_intermediate_size": 16,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "n_group": 2,
    "topk_group": 1,
    "q_lora_rank": 12,
    "kv_lora_rank": 10,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 6,
    "v_head_dim": 4,
}
MOE = {**GROUPED, "moe_intermediate_size": 16, "num_experts": 8, "num_experts_per_tok": 2}

TINY: list[tuple[str, dict[str, Any]]] = [
    ("gpt2", GPT2),
    ("gpt2", {**GPT2, "n_inner": 50}),
    ("gpt2", {"vocab_size": 97, "hidden_size": 24, "num_hidden_layers": 3, "n_head": 4}),
    ("openai-gpt", GPT2),
    ("gpt_bigcode", GPT2),
    ("gpt_bigcode", {**GPT2, "multi_query": False, "n_inner": 50}),
    ("gpt_neo", {"vocab_size": 97, "hidden_size": 24, "num_layers": 2, "num_heads": 4}),
    ("gptj", {**GPT2, "rotary_dim": 4}),
    ("codegen", {**GPT2, "rotary_dim": 4}),
    ("gpt_neox", PLAIN),
    ("gpt_neox", {**PLAIN, "attention_bias": False, "use_parallel_residual": False}),
    ("opt", OPT),
    ("opt", {**OPT, "word_embed_proj_dim": 10, "do_layer_norm_before": False}),
    ("opt", {**OPT, "enable_bias": False, "layer_norm_elementwise_affine": False}),
    ("opt", {**OPT, "_remove_final_layer_norm": True}),
    ("bloom", {"vocab_size": 97, "hidden_size": 24, "n_layer": 3, "n_head": 4}),
    ("falcon", FALCON),
    ("falcon", {**FALCON, "multi_query": False, "bias": True}),
    ("falcon", {**FALCON, "parallel_attn": False, "alibi": True}),
    ("falcon", {**FALCON, "new_decoder_architecture": True}),
    ("falcon", {**FALCON, "new_decoder_architecture": True, "num_ln_in_parallel_attn": 1}),
    ("mpt", {"vocab_size": 97, "d_model": 24, "n_layers": 3, "n_heads": 4, "expansion_ratio": 2}),
    ("phi", GROUPED),
    ("phi", {**GROUPED, "qk_layernorm": True}),
    ("starcoder2", GROUPED),
    ("starcoder2", {**GROUPED, "use_bias": False}),
    ("xglm", {"vocab_size": 97, "d_model": 24, "num_layers": 3, "attention_heads": 4}),
    ("llama", GROUPED),
    ("llama", {**WIDE, "attention_bias": True, "mlp_bias": True}),
    ("mistral", GROUPED),
    ("mistral", WIDE),
    ("qwen2", GROUPED),
    ("qwen3", WIDE),
    ("qwen3", {**WIDE, "attention_bias": True}),
    ("smollm3", {**GROUPED, "pad_token_id": 0, "attention_bias": True, "mlp_bias": True}),
    ("gemma", WIDE),
    ("gemma2", WIDE),
    ("gemma2", {**WIDE, "attention_bias": True}),
    ("gemma3_text", WIDE),
    ("olmo", GROUPED),
    ("olmo2", GROUPED),
    ("olmo3", GROUPED),
    ("phi3", {**GROUPED, "pad_token_id": 0}),
    ("stablelm", GROUPED),
    ("stablelm", {**GROUPED, "use_qkv_bias": True, "use_parallel_residual": True}),
    ("stablelm", {**GROUPED, "qk_layernorm": True}),
    ("cohere", GROUPED),
    ("cohere", {**GROUPED, "use_qk_norm": True}),
    ("cohere2", GROUPED),
    ("granite", {**GROUPED, "mlp_bias": True}),
    ("mixtral", {**GROUPED, "num_local_experts": 4}),
    ("gpt_oss", {**WIDE, "num_local_experts": 4}),
    ("qwen3_moe", MOE),
    ("qwen3_moe", {**MOE, "num_hidden_layers": 7, "decoder_sparse_step": 2}),
    ("qwen3_moe", {**MOE, "num_hidden_layers": 7, "mlp_only_layers": [0, 3, 9]}),
    ("qwen3_moe", {**MOE, "num_hidden_layers": 2, "decoder_sparse_step": 5}),
    ("deepseek_v2", DEEPSEEK),
    ("deepseek_v2", {**DEEPSEEK, "q_lora_rank": None, "n_shared_experts": 1}),
    ("deepseek_v3", {**DEEPSEEK, "attention_bias": True}),
    ("deepseek_v3", {**DEEPSEEK, "first_k_dense_replace": 9}),
    ("mamba", {"vocab_size": 97, "hidden_size": 24, "num_hidden_layers": 3, "state_size": 4}),
    ("mamba", {"vocab_size": 97, "hidden_size": 24, "use_bias": True, "use_conv_bias": False}),
    ("rwkv", {"vocab_size": 97, "hidden_size": 24, "num_hidden_layers": 3}),
    ("rwkv", {**PLAIN, "attention_hidden_size": 36}),
    ("bert", ENCODER),
    ("roberta", {**ENCODER, "type_vocab_size": 1}),
    ("albert", {**ENCODER, "embedding_size": 10}),
    ("albert", {**ENCODER, "embedding_size": 10, "num_hidden_groups": 3, "inner_group_num": 2}),
    ("deberta-v2", DEBERTA),
    ("deberta-v2", {**DEBERTA, "relative_attention": True, "pos_att_type": "p2c|c2p"}),
    ("deberta-v2", {**DEBERTA, "relative_attention": True, "max_relative_positions": 9}),
    ("deberta-v2", {**DEBERTA, "conv_kernel_size": 3, "norm_rel_ebd": "layer_norm"}),
    ("deberta-v2", {**DEBERTA, "embedding_size": 10, "position_biased_input": False}),
    ("modernbert", PLAIN | {"pad_token_id": 0}),
    ("modernbert", PLAIN | {"pad_token_id": 0, "norm_bias": True, "attention_bias": True}),
    ("modernbert", PLAIN | {"pad_token_id": 0, "mlp_bias": True, "num_hidden_layers": 1}),
    ("modernbert", PLAIN | {"pad_token_id": 0, "classifier_bias": True, "decoder_bias": False}),
    ("t5", T5),
    ("t5", {**T5, "feed_forward_proj": "gated-gelu"}),
    ("mt5", T5),
    ("bart", BART),
]


def test_every_family_has_a_tiny_config() -> None:
    assert {model_type for model_type, _ in TINY} == set(FAMILIES) - NOT_IN_TRANSFORMERS


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize(("model_type", "sizes"), TINY)
def test_tiny_config_equals_the_built_model(
    model_type: str, sizes: dict[str, Any], tied: bool
) -> None:
    if not tied and model_type in FORCED_TIES:
        tied = True  # nothing else can be built
    config = {"model_type": model_type, **sizes, "tie_word_embeddings": tied}
    counted = count_parameters(config)
    built = meta_device.count(config)
    if not tied:
        built -= untied_extra(model_type, counted.vocab_size, counted.d_model)
    assert counted.total == built
    assert counted.tied == tied


@pytest.mark.parametrize("model_type", sorted(set(FAMILIES) - NOT_IN_TRANSFORMERS))
def test_absent_keys_take_the_config_class_defaults(model_type: str) -> None:
    # DeepSeek-V2's class has no default for the number of active experts, which costs FLOPs only.
    needed: dict[str, Any] = {"num_experts_per_tok": 6} if model_type == "deepseek_v2" else {}
    from_class = count_parameters(CONFIG_MAPPING[model_type](**needed))
    assert count_parameters({"model_type": model_type, **needed}) == from_class


def test_nested_text_config_counts_the_decoder() -> None:
    text = {**WIDE, "vocab_size": 300}
    config = Gemma3Config(text_config=text)
    expected = meta_device.count({"model_type": "gemma3_text", **text})
    assert count_parameters(config).total == expected
    assert count_parameters({"model_type": "gemma3", "text_config": text}).total == expected


def test_outer_flag_overrides_the_nested_one() -> None:
    config = {
        "model_type": "gemma3",
        "tie_word_embeddings": False,
        "text_config": {**WIDE, "tie_word_embeddings": True},
    }
    assert not count_parameters(config).tied


def test_t5_object_keeps_the_flag_its_class_overwrites() -> None:
    config = T5Config.from_dict({"tie_word_embeddings": False})
    assert config.tie_word_embeddings is True
    assert not count_parameters(config).tied


@pytest.mark.parametrize(
    ("embedding_size", "groups", "published"),
    [(768, 12, 109_671_936), (768, 1, 31_705_344), (128, 12, 89_650_176), (128, 1, 11_683_584)],
)
def test_albert_encoder_equals_the_built_encoder(
    embedding_size: int, groups: int, published: int
) -> None:
    sizes: dict[str, Any] = {
        "hidden_size": 768,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
        "embedding_size": embedding_size,
        "num_hidden_groups": groups,
    }
    with torch.device("meta"):
        built = meta_device.unique_parameters(AlbertModel(AlbertConfig(**sizes)))
    assert encoder_parameters({"model_type": "albert", **sizes}) == built == published


sizes = st.integers(1, 9)
few_examples = settings(max_examples=25, deadline=None)


@few_examples
@given(sizes, sizes, sizes, sizes, st.integers(1, 70), st.integers(1, 40), st.booleans())
def test_any_gpt2(
    heads: int, width: int, layers: int, positions: int, vocab: int, inner: int, tied: bool
) -> None:
    config = {
        "model_type": "gpt2",
        "vocab_size": vocab,
        "n_positions": positions,
        "n_embd": heads * width,
        "n_layer": layers,
        "n_head": heads,
        "n_inner": inner,
        "tie_word_embeddings": tied,
    }
    assert count_parameters(config).total == meta_device.count(config)


@few_examples
@given(
    st.sampled_from(["llama", "qwen3", "gemma", "gemma2", "gemma3_text"]),
    sizes,
    sizes,
    sizes,
    sizes,
    st.integers(1, 40),
    st.integers(1, 70),
    st.booleans(),
    st.booleans(),
)
def test_any_gated_decoder(
    model_type: str,
    kv_heads: int,
    group: int,
    half_head_dim: int,
    layers: int,
    d_model: int,
    vocab: int,
    bias: bool,
    tied: bool,
) -> None:
    heads = kv_heads * group
    config = {
        "model_type": model_type,
        "vocab_size": vocab,
        "hidden_size": heads * d_model,  # transformers wants a multiple, whatever head_dim says
        "intermediate_size": d_model + 3,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": 2 * half_head_dim,
        "attention_bias": bias,
        "tie_word_embeddings": tied,
        "pad_token_id": 0,
    }
    assert count_parameters(config).total == meta_device.count(config)


@few_examples
@given(
    sizes,
    sizes,
    sizes,
    sizes,
    st.integers(1, 40),
    st.integers(1, 70),
    st.integers(1, 32),
    st.sampled_from(["relu", "gated-gelu", "gated-silu"]),
)
def test_any_t5(
    heads: int,
    d_kv: int,
    layers: int,
    decoder_layers: int,
    d_model: int,
    vocab: int,
    buckets: int,
    mlp: str,
) -> None:
    config = {
        "model_type": "t5",
        "vocab_size": vocab,
        "d_model": d_model,
        "d_kv": d_kv,
        "d_ff": d_model + 3,
        "num_layers": layers,
        "num_decoder_layers": decoder_layers,
        "num_heads": heads,
        "relative_attention_num_buckets": buckets,
        "feed_forward_proj": mlp,
    }
    assert count_parameters(config).total == meta_device.count(config)
