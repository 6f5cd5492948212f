"""Measures of configs: exact counts, the handbook's estimate, and the census.

Models are named by their id in the census. Shares are percentages; see ``wtlib.counting.Shares``
for the four meanings of a share.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wtlib import census
from wtlib.counting import ParameterCount, count_parameters, handbook_estimate


def _count(model: str) -> ParameterCount:
    return count_parameters(census.find(model).config())


def _gpt2(vocab_size: int, d_model: int, n_layers: int, tied: bool = True) -> ParameterCount:
    return count_parameters(
        {
            "model_type": "gpt2",
            "vocab_size": vocab_size,
            "n_embd": d_model,
            "n_layer": n_layers,
            # The number of heads does not enter the count; it has to divide the width.
            "n_head": 1,
            "tie_word_embeddings": tied,
        }
    )


def _shape(model: str) -> tuple[int, int, int]:
    count = _count(model)
    return count.vocab_size, count.d_model, count.layers


# ------------------------------------------------------------------------------ one model


def count(model: str, what: str) -> int:
    """Return an entry of the model's count, such as ``total`` or ``vocabulary_matrix``."""
    return int(getattr(_count(model), what))


def body(model: str) -> int:
    """Return the parameters of all blocks and of the final norm."""
    counted = _count(model)
    return counted.blocks + counted.final_norm


def vocabulary(model: str) -> int:
    """Return the rows of the model's vocabulary matrix."""
    return _count(model).vocab_size


def share(model: str, of: str) -> float:
    """Return the vocabulary's share of the model, in one of its four meanings."""
    return 100 * float(getattr(_count(model).shares, of))


def shares(models: Sequence[str], of: str) -> list[float]:
    """Return the shares of several models."""
    return [share(model, of) for model in models]


def matrices(model: str) -> int:
    """Return how many vocabulary matrices the model has."""
    counted = _count(model)
    return (counted.total - counted.body) // counted.vocabulary_matrix


def block_multiple(model: str, part: str = "total") -> float:
    """Return a block's parameters, or those of its attention or mlp, over the width squared."""
    counted = _count(model)
    return float(getattr(counted.block, part)) / counted.d_model**2


def norms_multiple(model: str) -> float:
    """Return the parameters of a block's norms over the width."""
    counted = _count(model)
    return counted.block.norms / counted.d_model


def flops_saved(model: str) -> int:
    """Return the forward FLOPs per token that tying saves: the untied model's less the tied's."""
    config = dict(census.find(model).config())
    untied, tied = (
        count_parameters(config | {"tie_word_embeddings": flag}).flops.total
        for flag in (False, True)
    )
    return untied - tied


def head_share_of_flops(model: str) -> float:
    """Return the head's percentage of the forward FLOPs per token."""
    return 100 * _count(model).flops.head_share


def matrix_growth(model: str, factor: int) -> list[float]:
    """Return the matrix's growth when the vocabulary, then the width, grows by the factor."""
    vocab_size, d_model, n_layers = _shape(model)
    base = _gpt2(vocab_size, d_model, n_layers).vocabulary_matrix
    taller = _gpt2(factor * vocab_size, d_model, n_layers).vocabulary_matrix
    wider = _gpt2(vocab_size, factor * d_model, n_layers).vocabulary_matrix
    return [taller / base, wider / base]


def share_falls_with_depth(model: str, layers: Sequence[int]) -> bool:
    """Return whether the matrix's share falls at each step of the depths, all else equal."""
    vocab_size, d_model, _ = _shape(model)
    series = [_gpt2(vocab_size, d_model, depth).shares.one_of_tied for depth in layers]
    return all(a > b for a, b in itertools.pairwise(series))


def saving_rises_with_vocabulary(model: str, vocab_sizes: Sequence[int]) -> bool:
    """Return whether the relative saving rises at each step and stays below one half."""
    _, d_model, n_layers = _shape(model)
    series = [_gpt2(size, d_model, n_layers).shares.one_of_untied for size in vocab_sizes]
    return all(a < b for a, b in itertools.pairwise(series)) and series[-1] < 0.5


def total(vocab_size: int, d_model: int, n_layers: int, tied: bool) -> int:
    """Return the total of a model of GPT-2 blocks, without positions."""
    counted = _gpt2(vocab_size, d_model, n_layers, tied)
    return counted.total - counted.positions


# ------------------------------------------------------------------------ the handbook's estimate


def handbook_saving(vocab_size: int, d_model: int, n_layers: int) -> int:
    """Return the saving by the handbook's formula."""
    return handbook_estimate(vocab_size, d_model, n_layers).saving


def handbook_share(vocab_size: int, d_model: int, n_layers: int) -> float:
    """Return the saving as a percentage of the untied total, by the handbook's formula."""
    return 100 * handbook_estimate(vocab_size, d_model, n_layers).saving_fraction


def handbook_shares(configurations: Sequence[Mapping[str, int]]) -> list[float]:
    """Return that percentage for several configurations."""
    return [handbook_share(**configuration) for configuration in configurations]


def handbook_share_of_tied(vocab_size: int, d_model: int, n_layers: int) -> float:
    """Return the saving as a percentage of the tied total, by the handbook's formula."""
    estimate = handbook_estimate(vocab_size, d_model, n_layers)
    return 100 * estimate.saving / estimate.if_tied


def handbook_layers(vocab_size: int, d_model: int, n_layers: int) -> int:
    """Return the parameters of all layers by the handbook's formula."""
    return handbook_estimate(vocab_size, d_model, n_layers).blocks


# ------------------------------------------------------------------------------ several models


def widths(models: Sequence[str]) -> list[int]:
    """Return the models' widths."""
    return [_count(model).d_model for model in models]


def widths_and_depths(models: Sequence[str]) -> list[int]:
    """Return width and depth, model by model."""
    return [number for model in models for number in _shape(model)[1:]]


def growth(small: str, large: str) -> list[float]:
    """Return the growth of the vocabulary matrix and of the total from one model to another."""
    one, other = _count(small), _count(large)
    return [other.vocabulary_matrix / one.vocabulary_matrix, other.total / one.total]


def flag(model: str) -> bool:
    """Return whether the model's released weights are tied."""
    return census.find(model).tie_word_embeddings


def flags(models: Sequence[str]) -> list[bool]:
    """Return whether the released weights are tied, model by model."""
    return [flag(model) for model in models]


# ------------------------------------------------------------------------------ the census


def _causal(below: int | None = None, above: int | None = None) -> list[census.CensusModel]:
    return [
        model
        for model in census.load()
        if model.kind == "causal"
        and (below is None or model.total_params < below)
        and (above is None or model.total_params > above)
    ]


def tied_share(below: int | None = None, above: int | None = None) -> float:
    """Return the percentage of tied ones among the census's causal models in a range of sizes."""
    models = _causal(below, above)
    return 100 * sum(model.tie_word_embeddings for model in models) / len(models)


def share_range(below: int, of: str) -> list[float]:
    """Return the smallest and the largest share among causal models below a size."""
    found = []
    for model in _causal(below=below):
        matrix, tied, untied = model.embedding_params, model.total_if_tied, model.total_if_untied
        found.append(
            {
                "one_of_tied": matrix / tied,
                "one_of_untied": matrix / untied,
                "two_of_untied": 2 * matrix / untied,
            }[of]
        )
    return [100 * min(found), 100 * max(found)]


def narrow_tables() -> int:
    """Return how many causal models have a table narrower than their hidden states."""
    return sum(model.embedding_dim < model.hidden_size for model in _causal())


def with_head_bias() -> int:
    """Return how many causal models have a bias on the head."""
    return sum(bool(model.lm_head_bias) for model in _causal())


def switch(family: str) -> list[float]:
    """Return a family's largest tied and smallest untied total, in billions."""
    members = [model for model in _causal() if model.family == family]
    return [
        max(model.total_params for model in members if model.tie_word_embeddings) / 1e9,
        min(model.total_params for model in members if not model.tie_word_embeddings) / 1e9,
    ]


MEASURES: Mapping[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        block_multiple,
        body,
        count,
        flag,
        flags,
        flops_saved,
        growth,
        handbook_layers,
        handbook_saving,
        handbook_share,
        handbook_share_of_tied,
        handbook_shares,
        head_share_of_flops,
        matrices,
        matrix_growth,
        narrow_tables,
        norms_multiple,
        saving_rises_with_vocabulary,
        share,
        share_falls_with_depth,
        share_range,
        shares,
        switch,
        tied_share,
        total,
        vocabulary,
        widths,
        widths_and_depths,
        with_head_bias,
    )
}
