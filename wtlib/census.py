"""The census: 176 published models, their sizes, and whether they tie.

A selection, not a population. ``tie_word_embeddings`` is what the shipped weights do and
``config_flag`` what the config's key says; ``verified`` is about the flag, ``dims_verified`` about
the sizes. Counts are of unique parameters, made on the meta device or, for one model, by formula.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from wtlib.counting import FAMILIES
from wtlib.errors import WtlibError

_PATH = Path(__file__).parent / "data" / "census.csv"

# What the counts need beyond the census's columns, where it is not the family's default.
_GATED = {"feed_forward_proj": "gated-gelu"}
_FALCON_40B = {"new_decoder_architecture": True}
_QWEN_EXPERTS = {"moe_intermediate_size": 768, "num_local_experts": 128, "num_experts_per_tok": 8}
_MOBILELLM = {
    "model_type": "mobilellm",
    "share_embedding": True,
    "tie_word_embeddings": False,
}
_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "facebook/opt-350m": {"do_layer_norm_before": False},
    "tiiuae/falcon-40b": _FALCON_40B,
    "Qwen/Qwen3-30B-A3B": _QWEN_EXPERTS,
    "stabilityai/stablelm-2-1_6b": {"use_qkv_bias": True},
    "CohereForAI/c4ai-command-r-plus": {"use_qk_norm": True},
    "bigcode/starcoderbase": {"n_positions": 8192},
    "openai/gpt-oss-20b": {"num_local_experts": 32},
    "FacebookAI/roberta-base": {"max_position_embeddings": 514, "type_vocab_size": 1},
    "FacebookAI/roberta-large": {"max_position_embeddings": 514, "type_vocab_size": 1},
    "deepseek-ai/DeepSeek-V2-Lite": {
        "q_lora_rank": None,
        "first_k_dense_replace": 1,
        "moe_intermediate_size": 1408,
        "num_experts_per_tok": 6,
    },
    "microsoft/deberta-v3-base": {
        "position_biased_input": False,
        "relative_attention": True,
        "position_buckets": 256,
        "share_att_key": True,
        "pos_att_type": ["p2c", "c2p"],
        "norm_rel_ebd": "layer_norm",
    },
    "facebook/MobileLLM-125M-layer-share": {**_MOBILELLM, "layer_sharing": True},
    **{f"facebook/MobileLLM-{size}": _MOBILELLM for size in ("125M", "350M", "1B")},
    **{f"google/flan-t5-{size}": _GATED for size in ("small", "base", "large", "xl", "xxl")},
    "xai-org/grok-1": {"model_type": "grok-1"},
}


@dataclass(frozen=True)
class CensusModel:
    """One row, with the csv's columns typed; None where the csv is empty.

    ``layers`` adds up the stacks of ``stack_layers`` (two for an encoder-decoder).
    """

    id: str
    family: str
    year: int
    model_type: str
    kind: str
    vocab_size: int
    hidden_size: int
    embedding_dim: int
    stack_layers: tuple[int, ...]
    heads: int | None
    kv_heads: int | None
    head_dim: int | None
    ffn_size: int | None
    tie_word_embeddings: bool
    config_flag: bool | None
    lm_head_bias: bool
    total_params: int
    total_if_tied: int
    total_if_untied: int
    embedding_params: int
    verified: bool
    flag_evidence: str
    dims_verified: bool
    count_method: str
    source: str
    source_dims: str
    note: str

    @property
    def layers(self) -> int:
        """Layers of all stacks together."""
        return sum(self.stack_layers)

    def config(self) -> dict[str, Any]:
        """The model's config as :func:`wtlib.counting.count_parameters` reads it.

        The flag is that of the shipped weights. Keys are the family's own or the general names
        that transformers also accepts for it.
        """
        settings = dict(_SETTINGS.get(self.id, {}))
        model_type = settings.pop("model_type", self.model_type)
        family = FAMILIES[model_type]
        known = {**family.defaults, **family.aliases}
        sizes = {
            "vocab_size": self.vocab_size,
            "hidden_size": self.hidden_size,
            "embedding_size": self.embedding_dim,
            "word_embed_proj_dim": self.embedding_dim,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "num_kv_heads": self.kv_heads,
            "decoder_attention_heads": self.heads,
            "head_dim": self.head_dim,
            "num_hidden_layers": self.stack_layers[0],
            "num_decoder_layers": self.stack_layers[-1],
            "decoder_layers": self.stack_layers[-1],
            **dict.fromkeys(_FFN_KEYS, self.ffn_size),
        }
        return {
            "model_type": model_type,
            **{key: size for key, size in sizes.items() if key in known and size is not None},
            "tie_word_embeddings": self.tie_word_embeddings,
            **settings,
        }


_FFN_KEYS = (
    "intermediate_size",
    "n_inner",
    "ffn_dim",
    "ffn_hidden_size",
    "d_ff",
    "encoder_ffn_dim",
    "decoder_ffn_dim",
)


@cache
def load() -> tuple[CensusModel, ...]:
    """All models, in the order of the file."""
    with _PATH.open(encoding="utf-8", newline="") as file:
        return tuple(_model(row) for row in csv.DictReader(file))


def find(model_id: str) -> CensusModel:
    """The model with that id; the part after the slash does when it is unique.

    Raises:
        WtlibError: no model, or more than one, has it.
    """
    for model in load():
        if model.id == model_id:
            return model
    found = [model for model in load() if model.id.split("/")[-1] == model_id]
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(model.id for model in found)
        raise WtlibError(
            f"{model_id!r} names {len(found)} models of the census; give one of: {ids}"
        )
    names = {name.lower(): name for model in load() for name in (model.id, model.id.split("/")[-1])}
    near = ", ".join(names[key] for key in get_close_matches(model_id.lower(), names, n=3))
    raise WtlibError(f"{model_id!r} is not in the census" + (f"; near it: {near}" if near else ""))


def _model(row: Mapping[str, str]) -> CensusModel:
    def whole(key: str) -> int | None:
        return int(row[key]) if row[key] else None

    return CensusModel(
        id=row["id"],
        family=row["family"],
        year=int(row["year"]),
        model_type=row["model_type"],
        kind=row["kind"],
        vocab_size=int(row["vocab_size"]),
        hidden_size=int(row["hidden_size"]),
        embedding_dim=int(row["embedding_dim"]),
        stack_layers=tuple(int(layers) for layers in row["layers"].split("+")),
        heads=whole("heads"),
        kv_heads=whole("kv_heads"),
        head_dim=whole("head_dim"),
        ffn_size=whole("ffn_size"),
        tie_word_embeddings=row["tie_word_embeddings"] == "True",
        config_flag=row["config_flag"] == "True" if row["config_flag"] else None,
        lm_head_bias=row["lm_head_bias"] == "True",
        total_params=int(row["total_params"]),
        total_if_tied=int(row["total_if_tied"]),
        total_if_untied=int(row["total_if_untied"]),
        embedding_params=int(row["embedding_params"]),
        verified=row["verified"] == "True",
        flag_evidence=row["flag_evidence"],
        dims_verified=row["dims_verified"] == "True",
        count_method=row["count_method"],
        source=row["source"],
        source_dims=row["source_dims"],
        note=row["note"],
    )
