"""Encoders with a masked-language-model head: BERT, RoBERTa, ALBERT, DeBERTa, ModernBERT.

Between the last block and the vocabulary matrix stands a transform of the head's own, and the
logits have a bias. The pooler and the sentence-pair head are not counted.
"""

from __future__ import annotations

from collections.abc import Mapping

from wtlib.counting.config import Config
from wtlib.counting.families.family import Family
from wtlib.counting.parts import (
    Architecture,
    Block,
    Matrix,
    Part,
    Stack,
    Vector,
    gated_mlp,
    norm,
    plain_mlp,
    self_attention,
)

HEAD_TRANSFORM = "head transform"


def _block(c: Config, *extra: Part) -> Block:
    """BERT's block: biases and two LayerNorms throughout."""
    c.divide("hidden_size", "num_attention_heads")
    d_model = c.size("hidden_size")
    attention = self_attention(d_model, c.size("num_attention_heads"), qkv_bias=True, out_bias=True)
    return Block(
        attention=attention + extra,
        mlp=plain_mlp(d_model, c.size("intermediate_size")),
        norms=(norm(d_model, bias=True, copies=2),),
    )


def _encoder(
    c: Config,
    stack: Stack,
    *,
    embedding_dim: int,
    positions: int,
    other: Mapping[str, tuple[Part, ...]],
) -> Architecture:
    d_model = c.size("hidden_size")
    return Architecture(
        family=c.family,
        vocab_size=c.size("vocab_size"),
        embedding_dim=embedding_dim,
        d_model=d_model,
        tied=c.flag("tie_word_embeddings"),
        stacks=(stack,),
        positions=positions,
        head_bias=True,
        other={
            "token types": (Vector(c.number("type_vocab_size") * embedding_dim),),
            HEAD_TRANSFORM: (
                Matrix(d_model, embedding_dim, bias=True),
                norm(embedding_dim, bias=True),
            ),
            **other,
        },
    )


def _bert(c: Config) -> Architecture:
    """BERT and RoBERTa."""
    c.refuse("add_cross_attention", True, "only the encoder by itself is")
    d_model, layers = c.size("hidden_size"), c.size("num_hidden_layers")
    return _encoder(
        c,
        Stack("encoder", _block(c), layers, layers),
        embedding_dim=d_model,
        positions=c.size("max_position_embeddings") * d_model,
        other={"embedding norm": (norm(d_model, bias=True),)},
    )


def _albert(c: Config) -> Architecture:
    """ALBERT: a narrow embedding projected up, and one block (or a few) for every layer.

    Shared blocks hold their parameters once and spend their FLOPs at every layer.
    """
    d_model, embedding_dim = c.size("hidden_size"), c.size("embedding_size")
    inner = c.size("inner_group_num")
    stack = Stack(
        "encoder",
        _block(c),
        layers=c.size("num_hidden_layers") * inner,
        stored=c.size("num_hidden_groups") * inner,
    )
    return _encoder(
        c,
        stack,
        embedding_dim=embedding_dim,
        positions=c.size("max_position_embeddings") * embedding_dim,
        other={
            "embedding norm": (norm(embedding_dim, bias=True),),
            "embedding projection": (Matrix(embedding_dim, d_model, bias=True),),
        },
    )


def _deberta(c: Config) -> Architecture:
    """DeBERTa v2 and v3: a table of relative positions that all layers read."""
    c.refuse("legacy", False, "its head has no output matrix to tie")
    d_model, layers = c.size("hidden_size"), c.size("num_hidden_layers")
    embedding_dim = c.size_or("embedding_size", d_model)
    positions = 0
    if c.flag("position_biased_input"):
        positions += c.size("max_position_embeddings") * embedding_dim
    position_maps: list[Part] = []
    other: dict[str, tuple[Part, ...]] = {"embedding norm": (norm(d_model, bias=True),)}
    if c.flag("relative_attention"):
        span = _first_positive(c, "position_buckets", "max_relative_positions")
        positions += 2 * span * d_model
        if not c.flag("share_att_key"):
            kinds = c.items("pos_att_type")
            position_maps += [Matrix(d_model, d_model, bias=True)] * sum(
                kind in kinds for kind in ("c2p", "p2c")
            )
    if "layer_norm" in c.word("norm_rel_ebd"):
        other["relative position norm"] = (norm(d_model, bias=True),)
    if embedding_dim != d_model:
        other["embedding projection"] = (Matrix(embedding_dim, d_model),)
    if kernel := c.number("conv_kernel_size"):
        width = d_model * kernel // c.size("conv_groups")
        other["convolution"] = (Matrix(width, d_model, bias=True), norm(d_model, bias=True))
    return _encoder(
        c,
        Stack("encoder", _block(c, *position_maps), layers, layers),
        embedding_dim=embedding_dim,
        positions=positions,
        other=other,
    )


def _first_positive(c: Config, *keys: str) -> int:
    """The first key that is set (DeBERTa writes -1 for unset), else the number of positions."""
    for key in keys:
        value = c.raw(key)
        if isinstance(value, int) and value > 0:
            return value
    return c.size("max_position_embeddings")


def _modernbert(c: Config) -> Architecture:
    """ModernBERT: rotary and gated; the first layer has no norm before its attention."""
    c.divide("hidden_size", "num_attention_heads")
    d_model, layers = c.size("hidden_size"), c.size("num_hidden_layers")
    norm_bias, attention_bias = c.flag("norm_bias"), c.flag("attention_bias")
    attention = self_attention(
        d_model, c.size("num_attention_heads"), qkv_bias=attention_bias, out_bias=attention_bias
    )
    mlp = gated_mlp(d_model, c.size("intermediate_size"), bias=c.flag("mlp_bias"))
    first = Block(attention, mlp, (norm(d_model, bias=norm_bias),))
    later = Block(attention, mlp, (norm(d_model, bias=norm_bias, copies=2),))
    stacks = [Stack("first layer", first, 1, 1)]
    if layers > 1:
        stacks.append(Stack("encoder", later, layers - 1, layers - 1))
    return Architecture(
        family=c.family,
        vocab_size=c.size("vocab_size"),
        embedding_dim=d_model,
        d_model=d_model,
        tied=c.flag("tie_word_embeddings"),
        stacks=tuple(stacks),
        final_norm=norm(d_model, bias=norm_bias).parameters,
        head_bias=c.flag("decoder_bias"),
        other={
            "embedding norm": (norm(d_model, bias=norm_bias),),
            HEAD_TRANSFORM: (
                Matrix(d_model, d_model, bias=c.flag("classifier_bias")),
                norm(d_model, bias=norm_bias),
            ),
        },
    )


_BERT_DEFAULTS = {
    "vocab_size": 30522,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "add_cross_attention": False,
    "tie_word_embeddings": True,
}

FAMILIES = [
    Family("bert", _BERT_DEFAULTS, _bert),
    Family("roberta", {**_BERT_DEFAULTS, "vocab_size": 50265}, _bert),
    Family(
        "albert",
        {
            "vocab_size": 30000,
            "embedding_size": 128,
            "hidden_size": 4096,
            "num_hidden_layers": 12,
            "num_hidden_groups": 1,
            "inner_group_num": 1,
            "num_attention_heads": 64,
            "intermediate_size": 16384,
            "max_position_embeddings": 512,
            "type_vocab_size": 2,
            "tie_word_embeddings": True,
        },
        _albert,
    ),
    Family(
        "deberta-v2",
        {
            "vocab_size": 128100,
            "hidden_size": 1536,
            "num_hidden_layers": 24,
            "num_attention_heads": 24,
            "intermediate_size": 6144,
            "max_position_embeddings": 512,
            "type_vocab_size": 0,
            "embedding_size": None,
            "position_biased_input": True,
            "relative_attention": False,
            "max_relative_positions": -1,
            "position_buckets": -1,
            "share_att_key": False,
            "pos_att_type": None,
            "norm_rel_ebd": "none",
            "conv_kernel_size": 0,
            "conv_groups": 1,
            "legacy": True,
            "tie_word_embeddings": True,
        },
        _deberta,
    ),
    Family(
        "modernbert",
        {
            "vocab_size": 50368,
            "hidden_size": 768,
            "intermediate_size": 1152,
            "num_hidden_layers": 22,
            "num_attention_heads": 12,
            "norm_bias": False,
            "attention_bias": False,
            "mlp_bias": False,
            "classifier_bias": False,
            "decoder_bias": True,
            "tie_word_embeddings": True,
        },
        _modernbert,
    ),
]
