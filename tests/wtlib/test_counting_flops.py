"""FLOPs against torch's own counter, which watches a forward pass."""

from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from tests.wtlib import meta_device
from wtlib.counting import count_parameters

T = 16
IDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
PLAIN = {
    "vocab_size": 97,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
}
GROUPED = {**PLAIN, "num_key_value_heads": 2, "head_dim": 10}
MODELS: list[dict[str, Any]] = [
    {"model_type": "gpt2", "vocab_size": 97, "n_positions": 32, "n_embd": 24, "n_head": 4},
    {"model_type": "llama", **GROUPED},
    {"model_type": "gemma3_text", **GROUPED},
    {
        "model_type": "opt",
        "vocab_size": 97,
        "hidden_size": 24,
        "ffn_dim": 40,
        "num_attention_heads": 4,
        "word_embed_proj_dim": 12,
    },
    {"model_type": "t5", "vocab_size": 97, "d_model": 24, "d_kv": 10, "d_ff": 40, "num_heads": 4},
    {
        "model_type": "deepseek_v3",
        **PLAIN,
        "num_key_value_heads": 4,
        "first_k_dense_replace": 3,
        "q_lora_rank": 12,
        "kv_lora_rank": 10,
        "qk_rope_head_dim": 8,
        "qk_nope_head_dim": 6,
        "v_head_dim": 4,
    },
    {"model_type": "albert", **PLAIN, "embedding_size": 12},
]


@pytest.mark.parametrize("values", MODELS, ids=lambda values: values["model_type"])
def test_flops_equal_the_counter(values: dict[str, Any]) -> None:
    config = meta_device.transformers_config({**values, **IDS})
    config._attn_implementation = "eager"
    input_ids = torch.arange(T)[None] + 3
    inputs = {"input_ids": input_ids}
    if config.model_type in meta_device.ENCODER_DECODERS:
        inputs["decoder_input_ids"] = input_ids
    model = meta_device.auto_class(config.model_type).from_config(config).eval()
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(**inputs)
    assert T * count_parameters(config).flops_at(T).total == counter.get_total_flops()


def test_only_active_experts_cost_flops() -> None:
    experts = {"model_type": "mixtral", **PLAIN, "num_key_value_heads": 4, "num_local_experts": 8}
    two = count_parameters({**experts, "num_experts_per_tok": 2})
    one = count_parameters({**experts, "num_experts_per_tok": 1})
    assert two.total == one.total
    assert two.flops.blocks - one.flops.blocks == 3 * 2 * 3 * 24 * 40  # layers, FLOPs, matrices


def test_scores_grow_with_the_context() -> None:
    count = count_parameters({"model_type": "gpt2"})
    assert count.flops_at(0).scores == 0
    assert count.flops_at(1024).scores == 12 * 1024 * 4 * 768
