"""What follows from how a matrix is tied: which rows get gradient, and what would break the tie."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from wtlib.tying.mechanisms import Mechanism


@dataclass(frozen=True)
class Route:
    """One way gradient reaches a matrix, and which of its rows it reaches."""

    matrix: str
    route: Literal["input", "output"]
    rows: str


@dataclass(frozen=True)
class Threat:
    """An operation that breaks a tie, what it leaves behind, and what to do instead."""

    operation: str
    effect: str
    instead: str
    mechanisms: tuple[Mechanism, ...]


_INPUT_ROWS = "rows of the ids that are read at positions which influence the loss"
_OUTPUT_ROWS = "every row, at every position that is scored"

_NAMES: tuple[Mechanism, ...] = ("M1", "M2")
_STORED: tuple[Mechanism, ...] = ("M1", "M2", "M4")
_ANY: tuple[Mechanism, ...] = ("M1", "M2", "M3", "M4")

THREATS: tuple[Threat, ...] = (
    Threat(
        "load_state_dict(state, assign=True)",
        "puts a tensor of its own under each name",
        "load without assign, or tie again afterwards",
        _NAMES,
    ),
    Threat(
        "building on the meta device, then to_empty()",
        "gives each name memory of its own",
        "tie after materialising",
        _NAMES,
    ),
    Threat(
        "accelerate's init_empty_weights around the assignment",
        "replaces the assigned Parameter by a new one",
        "tie after the context, or use torch.device('meta') and tie after materialising",
        _NAMES,
    ),
    Threat(
        "sharding (FSDP, tensor or pipeline parallel) before tying",
        "puts the two names into different groups or on different ranks",
        "wrap table and head in one group and tie after wrapping; on pipelines all-reduce both "
        "gradients",
        _ANY,
    ),
    Threat(
        "an adapter that trains or saves one side (modules_to_save)",
        "leaves a second matrix under a flag that says tied",
        "ensure_weight_tying=True, or set the flag to false on merging",
        _ANY,
    ),
    Threat(
        "quantising one side",
        "makes a packed copy for that use",
        "quantise both uses as one matrix, or neither",
        _ANY,
    ),
    Threat(
        "an export that folds the transpose into a constant",
        "writes the matrix twice, once as d by V",
        "export with shared initialisers and compare the file's size with the unique parameters",
        _ANY,
    ),
    Threat(
        "replacing the table, or resizing the inner model",
        "leaves the head's matrix or its bias behind",
        "resize the model that has the head; after set_input_embeddings call tie_weights()",
        _NAMES,
    ),
    Threat(
        "an optimizer with groups by name",
        "does not see the second name, or lists the matrix twice",
        "group by Parameter",
        _NAMES,
    ),
    Threat(
        "folding a norm's gain into the head",
        "changes the head alone",
        "untie first: clone the head and set the flag to false",
        _ANY,
    ),
    Threat(
        "loading with the flag set to false",
        "makes a head at random where the file holds one matrix",
        "write the flag that the file needs",
        _STORED,
    ),
    Threat(
        "unrolling a loop or a shared block (ONNX)",
        "stores a copy for each use",
        "keep the loop, or deduplicate the file",
        ("M5",),
    ),
    Threat(
        "stepping the replicas by different optimizers",
        "lets the copies drift apart",
        "use one optimizer for all replicas, and compare them every so many steps",
        ("M7",),
    ),
    Threat(
        "reading tie_word_embeddings alone",
        "misses the family's own key",
        "set both keys alike",
        ("M6",),
    ),
)


def threats(found: Collection[Mechanism]) -> tuple[Threat, ...]:
    """Those operations that would break a tie of one of these mechanisms."""
    return tuple(threat for threat in THREATS if set(threat.mechanisms) & set(found))


def routes(
    table: str | None, head: str | None, *, tied: bool | None, padding_idx: int | None = None
) -> tuple[Route, ...]:
    """Which gradient reaches which matrix: one gets the sum of both, or each gets its own.

    Args:
        table: the input table's name; ``head``: the head's, ``None`` when the file holds one name.
        head: see ``table``.
        tied: whether the two are one matrix; ``None`` where that is not known.
        padding_idx: a row that the lookup sends no gradient to.
    """
    if table is None:
        return ()
    rows = _INPUT_ROWS + (f", row {padding_idx} never" if padding_idx is not None else "")
    found = [Route(table, "input", rows)]
    if tied:
        found.append(Route(table, "output", _OUTPUT_ROWS))
    elif tied is False and head is not None:
        found.append(Route(head, "output", _OUTPUT_ROWS))
    return tuple(found)
