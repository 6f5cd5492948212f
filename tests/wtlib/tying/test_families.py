"""Models of many families as transformers builds and saves them: file and live model agree."""

from pathlib import Path
from typing import Any

import pytest
from transformers import (
    CONFIG_MAPPING,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
)

from wtlib.specimens.quiet import quiet
from wtlib.tying import inspect

FAMILIES: dict[str, Any] = {
    **dict.fromkeys(
        ["gpt2", "openai-gpt", "gptj", "gpt_neox", "opt", "bloom", "falcon", "mpt", "phi", "xglm",
         "llama", "mistral", "qwen2", "qwen3", "smollm3", "gemma2", "gemma3_text", "olmo2", "phi3",
         "cohere2", "granite", "mixtral", "gpt_oss", "deepseek_v2", "rwkv", "xlnet", "ctrl"],
        AutoModelForCausalLM,
    ),
    **dict.fromkeys(
        ["bert", "roberta", "albert", "deberta-v2", "electra", "modernbert", "distilbert"],
        AutoModelForMaskedLM,
    ),
    **dict.fromkeys(["t5", "mt5", "bart", "pegasus", "m2m_100"], AutoModelForSeq2SeqLM),
}  # fmt: skip
SIZES = {
    **dict.fromkeys(["vocab_size"], 64),
    **dict.fromkeys(["hidden_size", "n_embd", "d_model", "dim"], 16),
    **dict.fromkeys(["num_hidden_layers", "n_layer", "n_layers", "num_layers"], 2),
    **dict.fromkeys(["encoder_layers", "decoder_layers"], 1),
    **dict.fromkeys(
        ["num_attention_heads", "n_head", "n_heads", "num_heads", "num_key_value_heads",
         "encoder_attention_heads", "decoder_attention_heads", "num_local_experts",
         "n_routed_experts"], 2,
    ),
    **dict.fromkeys(
        ["intermediate_size", "ffn_dim", "d_ff", "encoder_ffn_dim", "decoder_ffn_dim",
         "max_position_embeddings", "n_positions", "hidden_dim", "moe_intermediate_size"], 32,
    ),
    **dict.fromkeys(["d_kv", "head_dim", "embedding_size"], 8),
    "num_experts_per_tok": 1, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip


@pytest.mark.parametrize("model_type", FAMILIES)
def test_file_and_live_model_agree(model_type: str, tmp_path: Path) -> None:
    make: Any = CONFIG_MAPPING[model_type]
    known = {*make().to_dict(), *make.attribute_map}
    config = make(**{key: size for key, size in SIZES.items() if key in known})
    with quiet():
        model = FAMILIES[model_type].from_config(config)
        model.save_pretrained(tmp_path)
    live, stored = inspect(model), inspect(tmp_path)
    assert live.tied is stored.tied is bool(config.tie_word_embeddings)
    assert live.parameters == stored.parameters
    assert live.parameters.unique == sum(parameter.numel() for parameter in model.parameters())
    assert (live.exit_status, stored.exit_status) == (0, 0)
