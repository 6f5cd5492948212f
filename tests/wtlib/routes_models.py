"""Tiny random models of every family the routes are tested on, and plain autograd beside them."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from torch import Tensor, nn

VOCAB_SIZE = 61
_SMALL = {
    "vocab_size": VOCAB_SIZE,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
    "attention_dropout": 0.0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
_GROUPED = _SMALL | {"num_key_value_heads": 2}
_GEMMA = _GROUPED | {"head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 8}
_GPT = {
    "vocab_size": VOCAB_SIZE,
    "n_embd": 32,
    "n_layer": 3,
    "n_head": 4,
    "n_positions": 64,
    "resid_pdrop": 0.0,
    "embd_pdrop": 0.0,
    "attn_pdrop": 0.0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
# family -> (transformers' name of it, settings). Multipliers are far from 1 on purpose.
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("GPT2", _GPT),
    "llama": ("Llama", _GROUPED | {"tie_word_embeddings": False}),
    "smollm2": ("Llama", _GROUPED | {"tie_word_embeddings": True}),
    "qwen3": ("Qwen3", _GROUPED | {"head_dim": 8, "tie_word_embeddings": True}),
    "gemma": ("Gemma", _GROUPED | {"head_dim": 8}),
    "gemma2": ("Gemma2", _GEMMA | {"final_logit_softcapping": 0.3}),
    "gemma3": ("Gemma3", _GEMMA | {"final_logit_softcapping": 0.3}),
    "cohere": ("Cohere", _GROUPED | {"logit_scale": 0.0625}),
    "opt": (
        "OPT",
        _SMALL
        | {"ffn_dim": 48, "word_embed_proj_dim": 16, "do_layer_norm_before": False, "dropout": 0.0},
    ),
    "bloom": (
        "Bloom",
        {
            "vocab_size": VOCAB_SIZE,
            "hidden_size": 32,
            "n_layer": 3,
            "n_head": 4,
            "pad_token_id": 0,
        },
    ),
    "gpt_neox": ("GPTNeoX", _SMALL | {"hidden_dropout": 0.0, "tie_word_embeddings": False}),
    "falcon": ("Falcon", {k: v for k, v in _SMALL.items() if k != "intermediate_size"}),
    "granite": (
        "Granite",
        _GROUPED
        | {
            "embedding_multiplier": 12.0,
            "logits_scaling": 8.0,
            "residual_multiplier": 0.22,
            "tie_word_embeddings": True,
        },
    ),
    "phi": ("Phi", _SMALL | {"embd_pdrop": 0.0, "resid_pdrop": 0.0}),
    "olmo": ("Olmo", _GROUPED | {"tie_word_embeddings": True}),
    "mistral": ("Mistral", _GROUPED | {"sliding_window": 8}),
}


def build(family: str, **settings: Any) -> Any:
    """A model in eval mode whose weights are large enough for every term of it to matter."""
    name, defaults = FAMILIES[family]
    config_class = getattr(transformers, f"{name}TextConfig", None) or getattr(
        transformers, f"{name}Config"
    )
    suffix = "LMHeadModel" if name == "GPT2" else "ForCausalLM"
    torch.manual_seed(0)
    model = getattr(transformers, name + suffix)(config_class(**{**defaults, **settings}))
    model.loss_type = "ForCausalLM"  # else GPT-2's class warns that it falls back to this
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return model.eval()


def text(batch: int = 1, length: int = 12, *, vocab_size: int = VOCAB_SIZE) -> Tensor:
    """Token ids without the padding id, with repetitions."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(1, vocab_size, (batch, length), generator=generator)
    ids[:, length // 2] = ids[:, 0]
    return ids


@dataclass(frozen=True)
class Reference:
    """Gradients of an untied deep copy, by plain backward."""

    loss: float
    short: Tensor
    long: Tensor


def by_autograd(
    model: Any, ids: Tensor, labels: Tensor | None = None, mask: Tensor | None = None
) -> Reference:
    """The two routes as the gradients of two separate parameters of an untied deep copy."""
    untied = copy.deepcopy(model)
    for parameter in untied.parameters():
        parameter.requires_grad_(True)
        parameter.grad = None
    head = untied.get_output_embeddings()
    head.weight = nn.Parameter(head.weight.detach().clone())
    loss = untied(input_ids=ids, labels=ids if labels is None else labels, attention_mask=mask).loss
    loss.backward()
    return Reference(loss.item(), head.weight.grad, untied.get_input_embeddings().weight.grad)


def touched(gradient: Tensor) -> int:
    """Rows with a nonzero entry."""
    return int(gradient.ne(0).any(dim=1).sum())


def row_norms(gradient: Tensor) -> Tensor:
    return torch.linalg.vector_norm(gradient.double(), dim=1)
