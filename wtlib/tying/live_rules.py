"""What is wrong with a live model, its config and its optimizer."""

from __future__ import annotations

from collections.abc import Iterator

from wtlib.tying.config_facts import T5_FAMILY
from wtlib.tying.facts import ConfigFacts, End, FileFacts, LiveFacts, OptimizerFacts
from wtlib.tying.findings import Finding, finding
from wtlib.tying.stored_rules import listed


def live_rules(
    config: ConfigFacts | None, file: FileFacts | None, live: LiveFacts
) -> Iterator[Finding]:
    """What a live model shows, alone, against its config and against its checkpoint."""
    yield from _sharing(live)
    yield from _against_flag(config, live)
    if file is not None:
        yield from _against_file(file, live)
    yield from _matrix(config, live)
    yield from _lookup(live)
    yield from _initialisation(config, live)
    if live.optimizer is not None:
        yield from _optimizer(live.optimizer)


def _sharing(live: LiveFacts) -> Iterator[Finding]:
    for group in live.groups:
        if group.sharing == "two Parameters, one storage":
            yield finding(
                "two-parameters-one-storage",
                f"{listed(group.names)} are separate Parameters over one storage.",
            )
        if group.sharing == "overlapping views":
            yield finding("overlapping-views", f"{listed(group.names)} share some elements.")
        if group.role == "vocabulary" and live.head and live.head.name not in group.names:
            yield finding(
                "partial-tie",
                f"{listed(group.names)} are shared, and {live.head.name} is a matrix of its own.",
            )
    loose = set(live.biases) - {name for group in live.groups for name in group.names}
    if live.same_storage and len(live.biases) > 1 and loose:
        yield finding("partial-tie", f"The matrix is shared and the biases {listed(live.biases)} "
                      "are not.")  # fmt: skip
    for names in live.shared_modules:
        yield finding("shared-block", f"{listed(names)} are one module.")
    if live.forward is not None:
        for name, calls in live.forward.calls.items():
            yield finding("shared-block", f"{name} runs {calls} times in one forward pass.")


def _against_flag(config: ConfigFacts | None, live: LiveFacts) -> Iterator[Finding]:
    table, head = live.table, live.head
    if table is None or head is None:
        return
    flag = config.flag if config is not None else None
    if live.adapted and (flag or live.same_storage):
        yield finding("adapter-unties", f"{listed(live.adapted)} is trained in place of one end.")
        return
    if flag and table.device != head.device:
        yield finding(
            "devices-differ",
            f"{table.name} is on {table.device} and {head.name} on {head.device}.",
        )
    if live.same_storage is None:
        return
    if live.same_storage:
        if flag is False:
            yield finding(
                "tied-against-flag",
                f"{table.name} and {head.name} share memory and the config says untied.",
            )
        return
    if not flag:
        return
    if config is not None and config.forced and not live.equal_values:
        yield finding(
            "flag-overruled",
            f"transformers' class for {config.model_type} says tied whatever the file said, and "
            f"{head.name} has values of its own.",
        )
        return
    code = "tie-broken" if live.equal_values else "tie-missing"
    values = "equal" if live.equal_values else "different"
    yield finding(
        code,
        f"The config says tied, and {table.name} and {head.name} are two tensors of {values} "
        "values.",
    )


def _against_file(file: FileFacts, live: LiveFacts) -> Iterator[Finding]:
    if live.same_storage is None or file.table is None:
        return
    apart = file.head is not None and file.equal is False
    if live.same_storage and apart:
        yield finding(
            "live-and-file-disagree",
            "The live model is tied, and its file holds a table and a head that differ: one of "
            "them was discarded.",
        )
    if not live.same_storage and file.head is None and live.equal_values is False:
        yield finding(
            "live-and-file-disagree",
            "The live model has a head of its own, and its file holds none: the head was never "
            "loaded, or has parted from the table since.",
        )


def _matrix(config: ConfigFacts | None, live: LiveFacts) -> Iterator[Finding]:
    table, head = live.table, live.head
    if live.on_meta:
        yield finding("not-materialised", f"{listed(live.on_meta)} have no memory.")
    if table is None:
        return
    rows = (head or table).shape[0]
    if head is not None and not live.same_storage:
        transposed = head.shape == table.shape[::-1]
        if head.shape[0] != table.shape[0] and not transposed:
            yield finding(
                "rows-differ",
                f"{table.name} has {table.shape[0]:,} rows and {head.name} has {head.shape[0]:,}.",
            )
        if config is not None and config.flag and table.dtype != head.dtype:
            yield finding(
                "forms-differ", f"{table.name} is {table.dtype} and {head.name} is {head.dtype}."
            )
    if config is not None and config.vocab_size not in (None, table.shape[0]):
        yield finding(
            "vocab-size-differs",
            f"vocab_size is {config.vocab_size:,} and {table.name} has {table.shape[0]:,} rows.",
        )
    for name, length in live.biases.items():
        if length != rows and not _is_transposed(live):
            yield finding(
                "bias-length", f"{name} has {length:,} numbers for a vocabulary of {rows:,}."
            )
    if live.same_object is False and live.same_storage and head is not None:
        yield from _frozen(table, head)


def _is_transposed(live: LiveFacts) -> bool:
    return bool(live.table and live.head and live.head.shape == live.table.shape[::-1])


def _frozen(table: End, head: End) -> Iterator[Finding]:
    if table.trainable != head.trainable:
        frozen, moving = (head, table) if table.trainable else (table, head)
        yield finding(
            "frozen-on-one-side",
            f"{frozen.name} is frozen and {moving.name}, the same memory, is trained.",
        )


def _lookup(live: LiveFacts) -> Iterator[Finding]:
    tied = live.same_storage or (live.forward is not None and live.forward.scores_with_table)
    lookup, table = live.lookup, live.table
    if not tied or lookup is None or table is None:
        return
    if lookup.sparse:
        yield finding("sparse-lookup", f"The lookup of {table.name} has sparse=True.")
    if lookup.max_norm is not None:
        yield finding("max-norm", f"The lookup of {table.name} has max_norm={lookup.max_norm}.")
    if lookup.padding_idx is not None:
        yield finding(
            "padding-row-moves",
            f"Row {lookup.padding_idx} of {table.name} gets no gradient from the lookup and some "
            "from the head.",
        )


def _initialisation(config: ConfigFacts | None, live: LiveFacts) -> Iterator[Finding]:
    scaled = config is not None and config.model_type in T5_FAMILY and live.same_storage
    if live.head is not None and live.head.default_init and not scaled:
        yield finding("default-init", f"{live.head.name} has the mean and spread of N(0, 1).")


def _optimizer(optimizer: OptimizerFacts) -> Iterator[Finding]:
    if optimizer.stepped_twice:
        yield finding(
            "optimizer-steps-twice",
            f"{listed(optimizer.stepped_twice)} lie on one memory, and each is stepped.",
        )
    if optimizer.repeated:
        yield finding(
            "optimizer-steps-twice", f"{listed(optimizer.repeated)} is listed twice in a group."
        )
    if optimizer.in_two_groups:
        yield finding(
            "optimizer-two-groups", f"{listed(optimizer.in_two_groups)}: one memory, two groups."
        )
    if optimizer.left_out:
        lost = f", and holds {optimizer.strangers} tensors the model no longer has"
        yield finding(
            "optimizer-leaves-out",
            f"The optimizer does not hold {listed(optimizer.left_out)}"
            f"{lost if optimizer.strangers else ''}.",
        )
