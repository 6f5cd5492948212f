"""The inspector: what is tied to what in a target, whether that is as meant, and what breaks it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from wtlib.tying.checkpoint import Checkpoint, InspectError, open_checkpoint
from wtlib.tying.config_facts import config_facts, counted
from wtlib.tying.consequences import Route, Threat, routes, threats
from wtlib.tying.facts import ConfigFacts, FileFacts, LiveFacts
from wtlib.tying.file_facts import file_facts
from wtlib.tying.findings import Finding
from wtlib.tying.mechanisms import Mechanism, loads_tied, mechanisms
from wtlib.tying.stored_rules import config_rules, file_rules

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

SCHEMA_VERSION = 1
_GRAVITY = ("error", "warning", "note")


@dataclass(frozen=True)
class Parameters:
    """Unique parameters as things are, and what they would be tied and untied; None: not known."""

    unique: int | None
    if_tied: int | None
    if_untied: int | None


@dataclass(frozen=True)
class Bytes:
    """Bytes of the tensors as stored (or in memory), and without repeated copies."""

    stored: int
    needed: int


@dataclass(frozen=True)
class Inspection:
    """What is tied to what, in three separate facts, and what follows.

    ``config``, ``file`` and ``live`` are what each says by itself; ``None`` where the target has
    no such thing. ``tied`` is the outcome: the live model's, else what loading would give; ``None``
    where that is not known. ``names`` are all names bound to the vocabulary matrix.
    """

    target: str
    kind: Literal["folder", "file", "hub id", "specimen", "module"]
    tied: bool | None
    mechanisms: tuple[Mechanism, ...]
    names: tuple[str, ...]
    config: ConfigFacts | None
    file: FileFacts | None
    live: LiveFacts | None
    parameters: Parameters
    bytes: Bytes | None
    routes: tuple[Route, ...]
    findings: tuple[Finding, ...]
    breaks: tuple[Threat, ...]

    @property
    def codes(self) -> tuple[str, ...]:
        """The findings' codes, errors first."""
        return tuple(finding.code for finding in self.findings)

    @property
    def exit_status(self) -> int:
        """1 when there is a finding of severity error, else 0."""
        return int(any(finding.severity == "error" for finding in self.findings))

    def document(self) -> dict[str, Any]:
        """The inspection as JSON values, in the form of ``data/inspection.schema.json``."""
        content = asdict(self)
        for key in ("table", "head"):
            if self.file is not None and content["file"][key] is not None:
                content["file"][key]["rows"] = getattr(self.file, key).rows
        return {"version": SCHEMA_VERSION, **_plain(content), "exit_status": self.exit_status}


def inspect(
    target: str | Path | nn.Module,
    *,
    checkpoint: str | Path | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    input_ids: Tensor | None = None,
) -> Inspection:
    """Inspect a checkpoint or a live model; nothing is loaded, unpickled or changed.

    Args:
        target: a folder, a .safetensors, .gguf or config.json file, a hub id in the local Hugging
            Face cache, the embedded specimen's name, or a live model.
        checkpoint: of a live model, what it was loaded from, to be compared with it.
        optimizer: of a live model, what trains it.
        input_ids: of a live model, ids ``(B, T)`` for one forward pass without gradients, which
            shows what names cannot: logits made from the table itself, and blocks that loop.

    Raises:
        InspectError: the target cannot be inspected: it is missing, pickled, malformed, or too
            large to be what it says.
    """
    if isinstance(target, str | Path):
        if not (checkpoint is None and optimizer is None and input_ids is None):
            raise InspectError(
                f"{target} is not a live model: checkpoint, optimizer and input_ids need one; "
                "load the model and pass it"
            )
        return _of_checkpoint(str(target), open_checkpoint(target))
    return _of_module(target, checkpoint, optimizer, input_ids)


def _of_checkpoint(target: str, checkpoint: Checkpoint) -> Inspection:
    config = config_facts(checkpoint.config) if checkpoint.config is not None else None
    file = file_facts(checkpoint)
    # An adapter's file says nothing about the model it changes; the model's config does.
    weights = None if checkpoint.adapter else file
    found = mechanisms(config, weights, None)
    tied = _tied_by_file(config, weights) if weights is not None else loads_tied(config)
    table, head, names = _stored_names(weights, tied=tied)
    return Inspection(
        target=target,
        kind=checkpoint.kind,
        tied=tied,
        mechanisms=found,
        names=names,
        config=config,
        file=file,
        live=None,
        parameters=_parameters(checkpoint.config, weights, tied),
        bytes=_bytes(file),
        routes=routes(table, head, tied=tied),
        findings=_sorted(
            *(config_rules(config) if config else ()),
            *(file_rules(config, file) if file else ()),
        ),
        breaks=threats(found),
    )


def _of_module(
    model: nn.Module,
    checkpoint: str | Path | None,
    optimizer: torch.optim.Optimizer | None,
    input_ids: Tensor | None,
) -> Inspection:
    from torch import nn

    from wtlib.tying.live_rules import live_rules
    from wtlib.tying.module import read_module

    if not isinstance(model, nn.Module):
        raise InspectError(
            f"the target is a {type(model).__name__}; give a folder, a file, a hub id or an "
            "nn.Module"
        )
    config_values, live = read_module(model, optimizer, input_ids)
    config = config_facts(config_values) if config_values is not None else None
    file = file_facts(open_checkpoint(checkpoint)) if checkpoint is not None else None
    found = mechanisms(config, file, live)
    tied = live.same_storage
    if live.head is None and live.forward is not None and live.forward.scores_with_table:
        tied = True
    return Inspection(
        target=type(model).__name__,
        kind="module",
        tied=tied,
        mechanisms=found,
        names=tuple(n for group in live.groups if group.role == "vocabulary" for n in group.names),
        config=config,
        file=file,
        live=live,
        parameters=_live_parameters(live, tied),
        bytes=Bytes(stored=live.bytes, needed=live.bytes) if file is None else _bytes(file),
        routes=routes(
            live.table.name if live.table else None,
            live.head.name if live.head else None,
            tied=tied,
            padding_idx=live.lookup.padding_idx if live.lookup else None,
        ),
        findings=_sorted(
            *(config_rules(config) if config else ()),
            *(file_rules(config, file) if file else ()),
            *live_rules(config, file, live),
        ),
        breaks=threats(found),
    )


def _tied_by_file(config: ConfigFacts | None, file: FileFacts) -> bool | None:
    """What loading makes of the files: one matrix where one is stored and the flag allows it."""
    flag = loads_tied(config)
    if file.table is not None and file.head is not None:
        return flag if file.equal and flag is not None else file.equal
    if file.table is None and file.head is None:
        return flag
    if config is not None and not config.expects_head:
        return None
    return flag if flag is not None and file.format == "safetensors" else True


def _stored_names(
    file: FileFacts | None, *, tied: bool | None
) -> tuple[str | None, str | None, tuple[str, ...]]:
    if file is None:
        return None, None, ()
    table = file.table.name if file.table is not None else None
    head = file.head.name if file.head is not None else None
    if table is None and tied:
        table = head
    names = dict.fromkeys((*filter(None, [table]), *file.equal_names))
    return table, head, (*names, *(alias for alias, kept in file.aliases.items() if kept in names))


def _parameters(
    config: Mapping[str, Any] | None, file: FileFacts | None, tied: bool | None
) -> Parameters:
    if file is None or file.numbers is None:
        count = counted(config) if config is not None else None
        if count is None:
            return Parameters(None, None, None)
        unique = None if tied is None else count.if_tied if tied else count.if_untied
        return Parameters(unique, count.if_tied, count.if_untied)
    one = file.table or file.head
    if one is None:
        return Parameters(file.numbers, None, None)
    head = file.head.numel if file.head is not None and file.table is not None else 0
    copies = len([name for name in file.equal_names if name not in file.heads[:1]]) - 1
    if_tied = file.numbers - head - max(0, copies) * one.numel
    if_untied = if_tied + (head or one.numel)
    unique = None if tied is None else if_tied if tied else if_untied
    return Parameters(unique, if_tied, if_untied)


def _live_parameters(live: LiveFacts, tied: bool | None) -> Parameters:
    if live.table is None or tied is None:
        return Parameters(live.unique, None, None)
    matrix = live.table.numel
    if tied:
        return Parameters(live.unique, live.unique, live.unique + matrix)
    head = live.head.numel if live.head is not None else 0
    return Parameters(live.unique, live.unique - head, live.unique)


def _bytes(file: FileFacts | None) -> Bytes | None:
    if file is None:
        return None
    return Bytes(stored=file.bytes_stored, needed=file.bytes_stored - file.bytes_repeated)


def _sorted(*findings: Finding) -> tuple[Finding, ...]:
    return tuple(sorted(dict.fromkeys(findings), key=lambda f: _GRAVITY.index(f.severity)))


def _plain(value: Any) -> Any:
    """Tuples as lists and mappings as objects, as ``json`` would write them."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value
