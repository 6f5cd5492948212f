"""The ten ways two uses of a vocabulary matrix can be related, and how to tell which it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

from wtlib.tying.facts import ConfigFacts, FileFacts, LiveFacts

Mechanism = Literal["M0", "M1", "M2", "M3", "M4", "M5", "M6", "M7", "M8", "M9"]

MECHANISMS: Mapping[Mechanism, str] = {
    "M0": "untied: two objects, two storages",
    "M1": "one Parameter under two names",
    "M2": "two Parameters over one storage",
    "M3": "one name, used twice",
    "M4": "two equal copies in a file",
    "M5": "a module or block used several times",
    "M6": "a tie that hangs on the family's own key",
    "M7": "replicas kept equal by communication",
    "M8": "a tie through a projection",
    "M9": "a partial tie: fewer names than there are uses",
}


def mechanisms(
    config: ConfigFacts | None, file: FileFacts | None, live: LiveFacts | None
) -> tuple[Mechanism, ...]:
    """All mechanisms that hold, in the order of their codes.

    One of M0 to M4 says how table and head are related where that can be known; the others say
    how the tie is made or what else is shared. A live model is believed before its file.
    """
    found: set[Mechanism | None] = set()
    if live is not None:
        found.add(_live(live))
    elif file is not None:
        found.add(_stored(config, file))
    elif config is not None and config.flag is not None:
        found.add("M1" if config.flag else "M0")
    if file is not None and file.equal:
        found.add("M4")
    tied = bool(found & {"M1", "M2", "M3", "M4"})
    if _shares_blocks(config, file, live):
        found.add("M5")
    if config is not None and config.source == "family's own key" and config.flag:
        found.add("M6")
    if file is not None and file.replicas:
        found = found - {"M0", "M4"} | {"M7"}
    if tied and _projected(config, file, live):
        found.add("M8")
    if _partial(file, live):
        found.add("M9")
    return tuple(code for code in get_args(Mechanism) if code in found)


def _live(live: LiveFacts) -> Mechanism | None:
    if live.table is None:  # an autoencoder, say: its groups are all there is to go by
        kinds = {group.sharing for group in live.groups if len(group.shape) > 1}
        if "two Parameters, one storage" in kinds:
            return "M2"
        return "M1" if "one Parameter" in kinds else None
    if live.head is None:
        return "M3" if live.forward is not None and live.forward.scores_with_table else None
    if live.same_object:
        return "M1"
    if live.same_storage is None:
        return None
    return "M2" if live.same_storage else "M0"


def _stored(config: ConfigFacts | None, file: FileFacts) -> Mechanism | None:
    if file.table is not None and file.head is not None:
        return None if file.equal is None else "M4" if file.equal else "M0"
    if file.format == "gguf":
        return "M3" if file.table is not None else None
    flag = loads_tied(config)
    if flag is None:
        return "M3" if file.table is not None else None
    return "M1" if flag else "M0"


def loads_tied(config: ConfigFacts | None) -> bool | None:
    """Whether a loader ties: what transformers' class makes of the file, else the file's word."""
    if config is None:
        return None
    return config.flag if config.loader_flag is None else config.loader_flag


def _shares_blocks(
    config: ConfigFacts | None, file: FileFacts | None, live: LiveFacts | None
) -> bool:
    if live is not None:
        looped = live.forward is not None and bool(live.forward.calls)
        names = (group.names for group in live.groups if group.role == "other")
        return bool(live.shared_modules) or looped or bool(blocks(names))
    if file is not None and blocks(file.copies):
        return True
    return (
        config is not None
        and config.layers is not None
        and config.stored_layers is not None
        and config.stored_layers < config.layers
    )


def blocks(groups: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Those groups whose names differ only in the numbers of their blocks."""
    return tuple(group for group in groups if len({_without_numbers(name) for name in group}) == 1)


def _without_numbers(name: str) -> str:
    return ".".join("N" if part.isdigit() else part for part in name.split("."))


def _projected(config: ConfigFacts | None, file: FileFacts | None, live: LiveFacts | None) -> bool:
    if file is not None and file.projections:
        return True
    width = config.d_model if config is not None else None
    ends = (live.table if live is not None else None, file.table if file is not None else None)
    shape = next((end.shape for end in ends if end is not None), None)
    return bool(width and shape and shape[-1] != width)


def _partial(file: FileFacts | None, live: LiveFacts | None) -> bool:
    """Whether some names share the matrix, or the bias, and others of the same role do not."""
    if live is not None:
        shared = {name for group in live.groups for name in group.names}
        inputs_only = any(
            group.role == "vocabulary" and (live.head is None or live.head.name not in group.names)
            for group in live.groups
        )
        views = any(
            group.role == "vocabulary" and group.sharing == "overlapping views"
            for group in live.groups
        )
        loose_bias = live.same_object and len(live.biases) > 1 and not shared >= set(live.biases)
        return (inputs_only and live.head is not None) or views or bool(loose_bias)
    if file is None:
        return False
    loose_bias = len(file.biases) > 1 and not file.equal_biases
    shared_table = bool(file.tables) and file.tables[0].endswith("shared.weight")
    return (
        (file.equal is False and (len(file.tables) > 1 or shared_table))
        or 1 < len(file.equal_names) < len(file.tables) + len(file.heads)
        or loose_bias
    )
