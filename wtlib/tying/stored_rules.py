"""What is wrong with a config, or with a config and its files together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wtlib.tying import names
from wtlib.tying.facts import ConfigFacts, FileFacts, StoredMatrix
from wtlib.tying.findings import Finding, finding
from wtlib.tying.mechanisms import blocks, loads_tied

_FEWEST_BITS = 6  # of a matrix that makes logits, by llama.cpp's measurements on Gemma


def config_rules(config: ConfigFacts) -> Iterator[Finding]:
    """What a config alone shows."""
    if config.disagreements:
        yield finding("flag-keys-disagree", f"{'; '.join(config.disagreements)}.")
    if config.invalid:
        yield finding("flag-not-boolean", f"{config.invalid}, which is neither true nor false.")
    if config.flag is None and config.expects_head:
        family = config.model_type or "a model without model_type"
        yield finding("flag-unknown", f"No flag, and the default of {family} is not known.")
    if None not in (config.flag, config.loader_flag) and config.flag != config.loader_flag:
        yield finding(
            "flag-overruled",
            f"The file says {_word(config.flag)} and transformers' class for {config.model_type} "
            f"makes it {_word(config.loader_flag)}.",
        )
    if config.missing_scales:
        yield finding(
            "scale-missing",
            f"{config.model_type} needs {' and '.join(config.missing_scales)}, and the config has "
            "none.",
        )
    if config.wrong_scale:
        yield finding(
            "scale-contradicts-flag",
            f"{config.wrong_scale} and the model is {_word(config.flag)}.",
        )


def file_rules(config: ConfigFacts | None, file: FileFacts) -> Iterator[Finding]:
    """What the files show, alone and against the config."""
    if file.adapter:
        yield from _adapter(config, file)
        return
    yield from _presence(config, file)
    yield from _values(config, file)
    yield from _rows(config, file)
    yield from _biases(file)
    yield from _forms(config, file)
    yield from _layout(file)


def _adapter(config: ConfigFacts | None, file: FileFacts) -> Iterator[Finding]:
    """An adapter that changes an end of a tied model, unless it changes both alike."""
    tied = config is not None and loads_tied(config)
    if tied and file.adapted and not file.equal:
        yield finding(
            "adapter-unties", f"The model is tied, and the adapter changes {listed(file.adapted)}."
        )


def _presence(config: ConfigFacts | None, file: FileFacts) -> Iterator[Finding]:
    if not (file.table or file.head or file.packed):
        yield finding("no-vocabulary", f"None of {file.tensors:,} tensors is named like one.")
        return
    if config is None or not config.expects_head:
        return
    flag = loads_tied(config)
    head = file.head is not None or any(names.heads([name]) for name in file.packed)
    table = file.table is not None or any(names.tables([name]) for name in file.packed)
    if table and not head and flag is False and file.format == "safetensors":
        yield finding(
            "head-random", f"{_where(config)} says untied and no tensor of the file is a head."
        )
    if head and not table and file.head is not None:
        if flag is False:
            yield finding(
                "table-random",
                f"{_where(config)} says untied and the file holds {file.head.name} alone.",
            )
        elif flag:
            yield finding(
                "table-under-the-heads-name", f"The one matrix is stored as {file.head.name}."
            )


def _values(config: ConfigFacts | None, file: FileFacts) -> Iterator[Finding]:
    flag = config.flag if config is not None else None
    table, head = file.table, file.head
    if table and head and file.replicas and file.equal is False:
        yield finding("replicas-differ", f"{table.name} and {head.name} are not equal.")
    elif table and head and file.equal is False and flag and table.rows == head.rows:
        row = f", from row {file.first_different_row:,}" if file.first_different_row else ""
        yield finding(
            "tied-flag-unequal-copies",
            f"The config says tied, and {table.name} and {head.name} are both stored and "
            f"differ{row}.",
        )
    elif table and head and file.equal and flag is False:
        yield finding(
            "untied-flag-equal-copies",
            f"The config says untied, and {table.name} and {head.name} are equal.",
        )
    if len(file.equal_names) > 1 and flag is not False and not file.replicas and table:
        extra = table.nbytes * (len(file.equal_names) - 1)
        yield finding(
            "equal-copies",
            f"{listed(file.equal_names)} are equal copies: {extra:,} bytes more than needed.",
        )
    if file.aliases:
        pairs = ", ".join(f"{name} for {kept}" for name, kept in file.aliases.items())
        yield finding("alias-recorded", f"The metadata notes an alias: {pairs}.")
    if table and _is_partial(file):
        own = f", and {head.name} is a matrix of its own" if head and not file.equal else ""
        shared = file.equal_names or (table.name,)
        yield finding("partial-tie", f"The inputs share {listed(shared)}{own}.")


def _is_partial(file: FileFacts) -> bool:
    one_for_two_stacks = bool(file.table and file.table.name.endswith("shared.weight"))
    some_equal = 1 < len(file.equal_names) < len(file.tables) + len(file.heads)
    return some_equal or (file.equal is False and one_for_two_stacks)


def _rows(config: ConfigFacts | None, file: FileFacts) -> Iterator[Finding]:
    table, head = file.table, file.head
    if table is None:
        return
    if head is not None and head.rows != table.rows and head.shape != table.shape[::-1]:
        yield finding(
            "rows-differ",
            f"{table.name} has {table.rows:,} rows and {head.name} has {head.rows:,}.",
        )
    if config is not None and config.vocab_size not in (None, table.rows):
        yield finding(
            "vocab-size-differs",
            f"vocab_size is {config.vocab_size:,} and {table.name} has {table.rows:,} rows.",
        )
    if file.tokens is not None and file.tokens > table.rows:
        yield finding(
            "tokens-without-rows",
            f"The tokenizer's ids reach {file.tokens - 1:,} and {table.name} has {table.rows:,} "
            "rows.",
        )
    if file.tokens is not None and file.tokens < table.rows:
        yield finding(
            "padded-rows",
            f"{table.name} has {table.rows:,} rows for {file.tokens:,} tokens.",
        )
    if file.identical_last_rows > 1:
        yield finding(
            "identical-last-rows",
            f"The last {file.identical_last_rows:,} rows of {table.name} are identical.",
        )


def _biases(file: FileFacts) -> Iterator[Finding]:
    matrix = file.head or file.table
    for name, length in file.biases.items():
        if matrix is not None and length != matrix.rows:
            yield finding(
                "bias-length",
                f"{name} has {length:,} numbers and {matrix.name} has {matrix.rows:,} rows.",
            )
    if len(file.biases) > 1 and not file.equal_biases and len(set(file.biases.values())) == 1:
        yield finding("bias-unequal", f"{listed(file.biases)} are stored and differ.")


def _forms(config: ConfigFacts | None, file: FileFacts) -> Iterator[Finding]:
    table, head = file.table, file.head
    flag = config.flag if config is not None else None
    if flag and table and head and table.dtype != head.dtype:
        yield finding(
            "forms-differ", f"{table.name} is {table.dtype} and {head.name} is {head.dtype}."
        )
    elif flag and file.packed and len({bool(names.heads([name])) for name in file.packed}) == 1:
        yield finding("forms-differ", f"Of a tied model only {listed(file.packed)} is quantised.")
    if table and head is None and flag is not False and 0 < _bits(table) < _FEWEST_BITS:
        yield finding(
            "low-bit-tied-matrix",
            f"{table.name} is {table.dtype}, {_bits(table):.2g} bits a number, and is also the "
            "output.",
        )


def _layout(file: FileFacts) -> Iterator[Finding]:
    unrolled = blocks(file.copies)
    if unrolled:
        yield finding(
            "equal-blocks",
            f"{len(unrolled)} matrices have equal copies in several blocks, the first "
            f"{listed(unrolled[0])}.",
        )
    for group in file.copies:
        if group not in unrolled:
            yield finding("equal-matrices", f"{listed(group)} are equal.")
    if file.repeated:
        yield finding("name-in-two-shards", f"{listed(file.repeated)} is stored in two shards.")
    if file.absent:
        yield finding("index-disagrees", f"The index misplaces {listed(file.absent)}.")
    if file.missing_scales:
        yield finding("scale-missing", f"The metadata lacks {listed(file.missing_scales)}.")


def _bits(matrix: StoredMatrix) -> float:
    return 8 * matrix.nbytes / matrix.numel if matrix.numel else 0.0


def _where(config: ConfigFacts) -> str:
    return f"{config.key} in the config" if config.key else "The class default"


def _word(flag: bool | None) -> str:
    return "tied" if flag else "untied"


def listed(found: Iterable[str]) -> str:
    """Some names in words: all of a few, the first of many."""
    items = list(found)
    if len(items) > 4:
        return f"{', '.join(items[:3])} and {len(items) - 3} more"
    return " and ".join(filter(None, (", ".join(items[:-1]), items[-1])))
