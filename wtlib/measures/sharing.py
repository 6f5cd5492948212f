"""Measures for the chapter on cross-layer sharing: ALBERT's counts, and the book's own records.

ALBERT here is its base size: twelve layers of width 768. What reads records imports torch.
"""

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from wtlib.counting import ParameterCount, count_parameters, encoder_parameters
from wtlib.sharing import plan

if TYPE_CHECKING:
    from wtlib.gaps import Gap, Trend

_LAYERS, _WIDTH = 12, 768


def _albert(embedding_size: int, groups: int) -> dict[str, Any]:
    return {
        "model_type": "albert",
        "vocab_size": 30_000,
        "embedding_size": embedding_size,
        "hidden_size": _WIDTH,
        "intermediate_size": 4 * _WIDTH,
        "num_hidden_layers": _LAYERS,
        "num_hidden_groups": groups,
        "num_attention_heads": 12,
        "max_position_embeddings": 512,
        "type_vocab_size": 2,
    }


def _counted(embedding_size: int, groups: int) -> ParameterCount:
    return count_parameters(_albert(embedding_size, groups))


def albert_parameters(
    embedding_size: int, sharing: str, square_map: bool = True, pooler: bool = True
) -> int:
    """Return the encoder's parameters under a sharing scheme.

    Args:
        embedding_size: width of the embeddings, which a map takes to the width of the layers.
        sharing: a scheme of `wtlib.sharing`.
        square_map: whether that map is there also where the widths are equal, as in the released
            code of transformers; BERT has none.
        pooler: whether the pooler counts.
    """
    count = _counted(embedding_size, 1)
    block, norm = count.block, count.block.norms // 2
    stack = plan(sharing, _LAYERS).parameters(block.attention + norm, block.mlp + norm)
    total = encoder_parameters(_albert(embedding_size, 1)) - count.blocks + stack
    if embedding_size == _WIDTH and not square_map:
        total -= count.other["embedding projection"]
    return total if pooler else total - _WIDTH * (_WIDTH + 1)


def albert_parameters_in_millions(
    embedding_size: int, sharing: str, square_map: bool = True, pooler: bool = True
) -> float:
    """Return the same in millions."""
    return albert_parameters(embedding_size, sharing, square_map, pooler) / 1e6


def albert_falls(embedding_size: int) -> float:
    """Return how many times fewer parameters the encoder has when all layers share one block."""
    return albert_parameters(embedding_size, "none") / albert_parameters(embedding_size, "all")


def albert_blocks_fall() -> float:
    """Return the same for the blocks by themselves."""
    return _counted(_WIDTH, _LAYERS).blocks / _counted(_WIDTH, 1).blocks


def albert_stored_blocks() -> int:
    """Return how many blocks the shared encoder stores."""
    count = _counted(_WIDTH, 1)
    return count.blocks // count.block.total


def albert_flops_saved() -> float:
    """Return by how many percent sharing lowers the FLOPs of a token's forward pass."""
    shared, unshared = (_counted(_WIDTH, groups).flops.blocks for groups in (1, _LAYERS))
    return 100 * (1 - shared / unshared)


def latency_ratio(d_model: int, batch_size: int) -> float:
    """Return the recorded time of a shared stack over that of an unshared one; see `latency`."""
    from wtlib import latency

    return next(x.ratio for x in latency.load().of(batch_size) if x.setting.d_model == d_model)


def gap_grows(sharing: str) -> bool:
    """Return whether, for each recorded seed, a scheme costs more loss the deeper the stack is.

    By the slope of the gap against the number of doublings of the depth; see `wtlib.gaps`.
    """
    return next(t for t in _trends() if t.sharing == sharing).word == "grows"


def gap_at(sharing: str, n_layers: int) -> float:
    """Return the mean recorded gap of a scheme at a depth, in nats per token."""
    return _gap(sharing, n_layers).mean


def between(sharing: str, costlier: str) -> bool:
    """Return whether a scheme loses something at every recorded depth at which schemes differ,
    and less than another one, on the average over seeds."""
    return all(0 < gap_at(sharing, n) < gap_at(costlier, n) for n in _depths())


def cheaper(sharing: str, costlier: str) -> bool:
    """Return whether a scheme loses less than another at every such depth, on the average."""
    return all(gap_at(sharing, n) < gap_at(costlier, n) for n in _depths())


def _depths() -> set[int]:
    from wtlib.gaps import SHALLOWEST

    return {gap.n_layers for gap in _gaps() if gap.n_layers >= SHALLOWEST}


@functools.cache
def _gaps() -> "tuple[Gap, ...]":
    from wtlib import gaps, sweeps

    return gaps.gaps(sweeps.load("cross-layer"))


def _trends() -> "tuple[Trend, ...]":
    from wtlib import gaps

    return gaps.trends(_gaps())


def _gap(sharing: str, n_layers: int) -> "Gap":
    return next(g for g in _gaps() if (g.sharing, g.n_layers) == (sharing, n_layers))


MEASURES: Mapping[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        albert_blocks_fall,
        albert_falls,
        albert_flops_saved,
        albert_parameters,
        albert_parameters_in_millions,
        albert_stored_blocks,
        between,
        cheaper,
        gap_at,
        gap_grows,
        latency_ratio,
    )
}
