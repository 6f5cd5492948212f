"""What a checkpoint's files hold: which ends of the model, and whether the two are equal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from wtlib.tying import names
from wtlib.tying.checkpoint import (
    Checkpoint,
    Comparison,
    Entry,
    InspectError,
    bounded_json,
    compare,
    copies,
    identical_last_rows,
)
from wtlib.tying.facts import FileFacts, StoredMatrix

# llama.cpp's names of the multipliers that a family's graph needs.
_SCALES: Mapping[str, tuple[str, ...]] = {
    "granite": ("embedding_scale", "logit_scale"),
    "granitemoe": ("embedding_scale", "logit_scale"),
    "command-r": ("logit_scale",),
    "cohere2": ("logit_scale",),
}
# Whole numbers that stand for packed or scaled weights: how many weights, the header does not say.
_PACKED = {"U8", "I8", "I16", "U16", "I32", "U32", "I64", "U64", "F4"}


def file_facts(checkpoint: Checkpoint) -> FileFacts | None:
    """Read the names, compare the vocabulary's matrices, and look for other equal copies.

    Two matrices are read once each, in chunks, and only when both ends are stored. ``None`` for a
    checkpoint that is a config alone.
    """
    if not checkpoint.paths or checkpoint.format is None:
        return None
    entries = checkpoint.entries
    matrices = [name for name, entry in entries.items() if len(entry.shape) == 2]
    tables, heads = names.tables(matrices), names.heads(matrices)
    table = entries[tables[0]] if tables else None
    if table is not None and not heads:
        heads = _heads_by_shape(table, tables, matrices, entries)
    head = entries[heads[0]] if heads else None
    verdict = compare(table, head) if table and head else Comparison(None)
    equal = _equal_names(table, (*tables, *heads), entries, head, verdict)
    biases = {name: entries[name].numel for name in names.biases(entries)}
    others = [entry for name, entry in entries.items() if name not in {*tables, *heads}]
    groups = copies(others)
    return FileFacts(
        format=checkpoint.format,
        files=tuple(path.name for path in checkpoint.paths),
        tensors=len(entries),
        tables=tables,
        heads=heads,
        packed=names.packed(entries),
        projections=names.projections(matrices),
        table=_stored(table),
        head=_stored(head),
        equal=verdict.equal,
        first_different_row=verdict.first_row,
        equal_names=equal,
        aliases=_aliases(checkpoint),
        biases=biases,
        equal_biases=_equal_biases(biases, entries),
        copies=groups,
        identical_last_rows=identical_last_rows(table) if table else 0,
        tokens=_tokens(checkpoint),
        missing_scales=_missing_scales(checkpoint),
        replicas=names.replicas(matrices),
        repeated=checkpoint.repeated,
        absent=checkpoint.absent,
        numbers=_numbers(entries),
        bytes_stored=sum(entry.nbytes for entry in entries.values()),
        bytes_repeated=sum(
            entries[name].nbytes for group in (equal, *groups) for name in sorted(group)[1:]
        ),
        adapter=checkpoint.adapter,
        adapted=names.adapted(entries) if checkpoint.adapter else (),
    )


def _heads_by_shape(
    table: Entry, tables: tuple[str, ...], matrices: list[str], entries: Mapping[str, Entry]
) -> tuple[str, ...]:
    """Matrices outside the blocks that have the table's shape and no lookup's name."""
    return tuple(
        name
        for name in matrices
        if name not in tables
        and names.outside_blocks(name)
        and entries[name].shape == table.shape
        and not any(part in name for part in ("emb", "pos", "wpe"))
    )


def _equal_names(
    table: Entry | None,
    vocabulary: tuple[str, ...],
    entries: Mapping[str, Entry],
    head: Entry | None,
    verdict: Comparison,
) -> tuple[str, ...]:
    """The names that hold the table's values, the table's own first; none when it is alone."""
    if table is None:
        return ()
    found = [
        name
        for name in vocabulary
        if name != table.name
        and (verdict if head and name == head.name else compare(table, entries[name])).equal
    ]
    return (table.name, *found) if found else ()


def _equal_biases(biases: Mapping[str, int], entries: Mapping[str, Entry]) -> tuple[str, ...]:
    first = next(iter(biases), None)
    equal = [
        name
        for name in biases
        if first is not None
        and (name == first or compare(entries[first], entries[name]).equal)
        and len(entries[name].shape) == 1
    ]
    return tuple(equal) if len(equal) > 1 else ()


def _stored(entry: Entry | None) -> StoredMatrix | None:
    return StoredMatrix(entry.name, entry.dtype, entry.shape, entry.nbytes) if entry else None


def _aliases(checkpoint: Checkpoint) -> dict[str, str]:
    """Names that ``safetensors.torch.save_model`` left out and noted."""
    return {
        name: str(kept)
        for name, kept in checkpoint.metadata.items()
        if kept in checkpoint.entries and name not in checkpoint.entries
    }


def _numbers(entries: Mapping[str, Entry]) -> int | None:
    """Numbers in all parameters; ``None`` where weights are packed, so that it is not known."""
    parameters = [
        entry for entry in entries.values() if not names.is_buffer(entry.name, len(entry.shape))
    ]
    if any(entry.dtype in _PACKED for entry in parameters):
        return None
    return sum(entry.numel for entry in parameters if entry.dtype != "BOOL")


def _missing_scales(checkpoint: Checkpoint) -> tuple[str, ...]:
    architecture = str(checkpoint.metadata.get("general.architecture", ""))
    needed = (f"{architecture}.{scale}" for scale in _SCALES.get(architecture, ()))
    return tuple(key for key in needed if key not in checkpoint.metadata)


def _tokens(checkpoint: Checkpoint) -> int | None:
    if checkpoint.format == "gguf":
        return checkpoint.lengths.get("tokenizer.ggml.tokens")
    for name, read in (("tokenizer.json", _from_tokenizer), ("vocab.json", _from_vocabulary)):
        path = checkpoint.folder / name
        if path.is_file():
            return _largest_id(path, read)
    return None


def _largest_id(path: Path, read: Any) -> int | None:
    try:
        found = [value for value in read(bounded_json(path)) if type(value) is int]
    except (InspectError, AttributeError, KeyError, TypeError):
        return None  # a tokenizer of another form: how many tokens it has is not known
    return max(found) + 1 if found else None


def _from_tokenizer(content: Any) -> Iterable[Any]:
    vocabulary = content["model"]["vocab"]
    if isinstance(vocabulary, list):  # unigram: pairs of piece and score, in order of id
        yield len(vocabulary) - 1
    else:
        yield from vocabulary.values()
    yield from (token["id"] for token in content.get("added_tokens") or ())


def _from_vocabulary(content: Any) -> Iterable[Any]:
    return content.values()
