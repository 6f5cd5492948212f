"""Which tensors of a checkpoint are the table, the head and the head's bias: by their names.

Names are the only evidence a header gives. A name counts when it ends in whole components of a
known one, so that wrappers in front (``module.``, ``base_model.model.``) do not matter, and when
nothing in it is a number, so that no block's own matrix is taken for the head.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# In order of preference: of several tables, a model's shared one is what the head would be tied to.
TABLES = (
    "shared.weight", "embed_tokens.weight", "wte.weight", "word_embeddings.weight",
    "token_embd.weight", "tok_embeddings.weight", "embed_in.weight", "tokens_embed.weight",
    "word_embedding.weight", "token_embedding.weight", "tok_embedding.weight",
    "in_out_embed.weight", "embeddings.weight", "embedding.weight", "emb.weight",
    "token_embedder.embedding", "embed.W_E", "input_embedding.weight", "transformer.w.weight",
)  # fmt: skip
HEADS = (
    "lm_head.weight", "embed_out.weight", "output_layer.weight", "lm_head.decoder.weight",
    "predictions.decoder.weight", "generator_lm_head.weight", "output_projection.weight",
    "lm_head.linear.weight", "lm_loss.weight", "unembedding.weight", "unembed.W_U",
    "word_embeddings_for_head.weight", "logits_dense.kernel", "head.decoder.weight",
    "transformer.ff_out.weight",
)  # fmt: skip
# Too common as endings of other names: these count only as the whole name.
_WHOLE_HEADS = ("output.weight", "head.weight", "decoder.weight", "proj_out.weight",
                "model.output.weight")  # fmt: skip
_BIASES = (
    "lm_head.bias", "predictions.bias", "predictions.decoder.bias", "lm_head.decoder.bias",
    "embed_out.bias", "output_layer.bias", "generator_lm_head.bias", "final_logits_bias",
)  # fmt: skip
_WHOLE_BIASES = ("output.bias", "head.bias", "decoder.bias")
_PROJECTIONS = (
    "project_in.weight", "project_out.weight", "embedding_hidden_mapping_in.weight",
    "embeddings_project.weight",
)  # fmt: skip
# Kept in files by older versions, and no parameters.
_BUFFERS = ("attn.bias", "attn.masked_bias", "inv_freq", "position_ids", "attention.bias",
            "attention.masked_bias", "final_logits_bias", "e_score_correction_bias", "act_fn.beta",
            "act_fn.eps")  # fmt: skip
# What quantisers store in place of a weight, or beside it.
_PACKED = ("qweight", "weight_packed", "weight_scale", "scales", "SCB")
# Copies of the table that pipeline ranks keep equal by communication.
_REPLICAS = ("word_embeddings_for_head.weight",)
_LOW_RANK = re.compile(r"\.lora_.*$")
_WRAPPERS = {"module", "_orig_mod", "_fsdp_wrapped_module", "base_layer", "original_module",
             "_checkpoint_wrapped_module"}  # fmt: skip


def tables(names: Iterable[str]) -> tuple[str, ...]:
    """The input tables among some names, the preferred first."""
    return _ranked(names, TABLES)


def heads(names: Iterable[str]) -> tuple[str, ...]:
    """The output heads among some names, the preferred first."""
    return _ranked(names, HEADS, _WHOLE_HEADS)


def outside_blocks(name: str) -> bool:
    """Whether a name has no number in it, as those of a model's ends."""
    return not any(part.isdigit() for part in name.split("."))


def biases(names: Iterable[str]) -> tuple[str, ...]:
    """The biases that are added to the logits."""
    return _ranked(names, _BIASES, _WHOLE_BIASES)


def projections(names: Iterable[str]) -> tuple[str, ...]:
    """The maps between a narrow table and the model's width."""
    return _ranked(names, _PROJECTIONS)


def replicas(names: Iterable[str]) -> tuple[str, ...]:
    """Heads that are a pipeline rank's own copy of the table."""
    return _ranked(names, _REPLICAS)


def packed(names: Iterable[str]) -> tuple[str, ...]:
    """Tables and heads of which a file holds packed numbers or scales."""
    stems = dict.fromkeys(
        f"{stem}.weight" for stem, _, leaf in (name.rpartition(".") for name in names)
        if leaf in _PACKED
    )  # fmt: skip
    return (*tables(stems), *heads(stems))


def adapted(names: Iterable[str]) -> tuple[str, ...]:
    """Tables and heads to which the tensors of an adapter belong, whole or of low rank."""
    stems = dict.fromkeys(_LOW_RANK.sub(".weight", name) for name in names)
    return (*tables(stems), *heads(stems))


def is_buffer(name: str, dimensions: int) -> bool:
    """Whether a stored tensor is no parameter: a mask, a table of positions or frequencies."""
    plain = bare(name)
    return any(_ends(plain, ending) for ending in _BUFFERS) and (
        dimensions != 1 or not plain.endswith(".bias")  # else the bias of a projection
    )


def bare(name: str) -> str:
    """A name without the components that wrappers put in."""
    return ".".join(part for part in name.split(".") if part not in _WRAPPERS)


def _ranked(
    names: Iterable[str], endings: tuple[str, ...], whole: tuple[str, ...] = ()
) -> tuple[str, ...]:
    found = []
    for name in names:
        plain = bare(name)
        if not outside_blocks(plain):
            continue
        rank = next((i for i, ending in enumerate(endings) if _ends(plain, ending)), None)
        if rank is None and plain in whole:
            rank = len(endings) + whole.index(plain)
        if rank is not None:
            found.append((rank, name))
    return tuple(name for _, name in sorted(found))


def _ends(name: str, ending: str) -> bool:
    return name == ending or name.endswith(f".{ending}")
