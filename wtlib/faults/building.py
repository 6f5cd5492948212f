"""Small models and checkpoints that the faults and the kinds of tie are shown on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from wtlib.specimens.quiet import quiet

V, D, LAYERS = 48, 16, 3
TABLE, HEAD = "model.embed_tokens.weight", "lm_head.weight"
_IDS: dict[str, Any] = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}


def llama(*, tied: bool = True) -> Any:
    """A Llama of three layers and width 16."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=V,
        hidden_size=D,
        intermediate_size=2 * D,
        num_hidden_layers=LAYERS,
        num_attention_heads=2,
        num_key_value_heads=2,
        tie_word_embeddings=tied,
        **_IDS,
    )
    return _quietly(lambda: LlamaForCausalLM(config))


def gpt2(*, tied: bool = True) -> Any:
    """A GPT-2 of one layer and width 16."""
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes: dict[str, Any] = {
        "vocab_size": V,
        "n_embd": D,
        "n_layer": 1,
        "n_head": 2,
        "n_positions": 16,
    }
    config = GPT2Config(**sizes, tie_word_embeddings=tied, **_IDS)
    return _quietly(lambda: GPT2LMHeadModel(config))


def bert() -> Any:
    """A BERT of one layer with its head for masked words, which has a bias."""
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        vocab_size=V,
        hidden_size=D,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=2 * D,
        max_position_embeddings=16,
    )
    return _quietly(lambda: BertForMaskedLM(config))


def opt_with_narrow_table() -> Any:
    """An OPT whose table is half as wide as its body, as that of OPT-350M is."""
    from transformers import OPTConfig, OPTForCausalLM

    config = OPTConfig(
        vocab_size=V,
        hidden_size=D,
        word_embed_proj_dim=D // 2,
        ffn_dim=2 * D,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=16,
        do_layer_norm_before=False,
        **_IDS,
    )
    return _quietly(lambda: OPTForCausalLM(config))


def _quietly(build: Any) -> Any:
    with quiet(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return build().eval()


def state(model: Any) -> dict[str, Tensor]:
    """A model's tensors by name, each with memory of its own."""
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def folder(
    path: Path,
    config: Mapping[str, Any] | None,
    tensors: Mapping[str, Tensor] | None = None,
    **files: Any,
) -> Path:
    """Write a checkpoint: config.json, model.safetensors, and further JSON files by their stems."""
    path.mkdir(parents=True, exist_ok=True)
    contents = files if config is None else {"config": dict(config), **files}
    for stem, content in contents.items():
        (path / f"{stem}.json").write_text(json.dumps(content))
    if tensors is not None:
        save_file(dict(tensors), path / "model.safetensors", metadata={"format": "pt"})
    return path
