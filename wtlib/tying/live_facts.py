"""What a live model does: which names share memory, how its two ends are related, how it counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from wtlib.tying import names
from wtlib.tying.facts import End, Group, LiveFacts, Lookup, Role
from wtlib.tying.live import NoEndsError, counted, head_of, table_of, tie_between
from wtlib.tying.memory import address, distinct, named_tensors, overlap, shared

_SAMPLE = 65_536  # numbers that say whether a table looks freshly initialised
_TRAINED_COPY = ".modules_to_save."  # the component PEFT gives to what it trains in full


def live_facts(model: nn.Module) -> LiveFacts:
    """Read a model's names, memory and values; nothing is run and nothing changed."""
    tensors = named_tensors(model)
    table, head = find_ends(model, tensors)
    here, there = (tensors.get(name) if name else None for name in (table, head))
    unique, nbytes = distinct(model.parameters())
    same_storage = overlap(here, there) if here is not None and there is not None else None
    return LiveFacts(
        table=_end(table, here),
        head=_end(head, there),
        same_object=None if here is None or there is None else here is there,
        same_storage=same_storage,
        same_shape=None if here is None or there is None else here.shape == there.shape,
        same_stride=None if here is None or there is None else here.stride() == there.stride(),
        equal_values=_equal(here, there),
        groups=tuple(
            Group(found.names, found.sharing, _role(found.names, here, found.tensor),
                  tuple(found.tensor.shape))
            for found in shared(tensors)
        ),
        shared_modules=_shared_modules(model),
        biases={name: tensors[name].numel() for name in names.biases(tensors)},
        lookup=_lookup(model, here),
        adapted=tuple(name for name in tensors if _TRAINED_COPY in name),
        on_meta=tuple(name for name, tensor in model.named_parameters() if tensor.is_meta),
        parameters=counted(model),
        unique=unique,
        bytes=nbytes,
    )  # fmt: skip


def find_ends(model: nn.Module, tensors: Mapping[str, Tensor]) -> tuple[str | None, str | None]:
    """The names of the input table and of the head's matrix; ``None`` for one that is not found.

    What the model itself says by ``get_input_embeddings`` and ``get_output_embeddings`` counts
    first, then names that models commonly use, then shape: the head is the last matrix outside the
    lookups whose shape is the table's, or its transpose.
    """
    table = _by_getter(model, tensors, table_of) or _table_by_kind(model, tensors)
    head = _by_getter(model, tensors, head_of)
    if head is None and table is not None and not _denies_a_head(model):
        head = _head_by_shape(model, tensors, table)
    return table, head


def _by_getter(
    model: nn.Module, tensors: Mapping[str, Tensor], get: Callable[[nn.Module], Tensor]
) -> str | None:
    try:
        weight = get(model)
    except (NoEndsError, NotImplementedError, AttributeError):
        return None
    found = [name for name, tensor in tensors.items() if tensor is weight]
    # Of several names of one tensor, the one that has this role by its spelling or its module.
    is_table = get is table_of
    spelt = names.tables(found) if is_table else names.heads(found)
    by_module = [name for name in found if _is_lookup(model, name) is is_table]
    return next(iter((*spelt, *by_module, *found)), None)


def _table_by_kind(model: nn.Module, tensors: Mapping[str, Tensor]) -> str | None:
    lookups = {name: tensor for name, tensor in tensors.items() if _is_lookup(model, name)}
    matrices = [name for name, tensor in tensors.items() if tensor.dim() == 2]
    known = names.tables(lookups) or names.tables(matrices)
    if known:
        return known[0]
    return max(lookups, key=lambda name: lookups[name].shape[0], default=None)


def _head_by_shape(model: nn.Module, tensors: Mapping[str, Tensor], table: str) -> str | None:
    shape = tensors[table].shape
    alike = [
        name
        for name, tensor in tensors.items()
        if tensor.shape in (shape, shape[::-1])
        and not _is_lookup(model, name)
        and tensor.dim() == 2
    ]
    known = names.heads(
        name for name, tensor in tensors.items() if tensor.dim() == 2 and name != table
    )
    tied = [name for name in alike if overlap(tensors[table], tensors[name])]
    outside = [name for name in alike if not _in_a_block(name)]
    return next(iter((*known, *tied, *reversed(outside))), None)


def _in_a_block(name: str) -> bool:
    """A number followed by more than one component is a block's, not an nn.Sequential's."""
    parts = name.split(".")
    return any(part.isdigit() for part in parts[:-2])


def _denies_a_head(model: nn.Module) -> bool:
    """Whether a transformers model says that it has no head (its backbones do)."""
    get = getattr(model, "get_output_embeddings", None)
    return (
        hasattr(model, "config")
        and callable(get)
        and get() is None
        and not any(names.heads(name for name, _ in model.named_parameters(remove_duplicate=False)))
    )


def _is_lookup(model: nn.Module, name: str) -> bool:
    owner, _, leaf = name.rpartition(".")
    try:
        return leaf == "weight" and isinstance(model.get_submodule(owner), nn.Embedding)
    except AttributeError:
        return False


def _end(name: str | None, tensor: Tensor | None) -> End | None:
    if name is None or tensor is None:
        return None
    return End(
        name,
        tuple(tensor.shape),
        str(tensor.dtype).removeprefix("torch."),
        str(tensor.device),
        tensor.requires_grad,
        _default_init(tensor),
    )


def _equal(a: Tensor | None, b: Tensor | None) -> bool | None:
    if a is None or b is None:
        return None
    if a.shape != b.shape and a.dim() == b.dim() == 2 and a.shape == b.shape[::-1]:
        b = b.t()
    if a is b:
        return True
    if not (address(a) and address(b)):
        return None
    with torch.no_grad():
        return tie_between(a.detach(), b.detach()).equal_values


def _role(found: tuple[str, ...], table: Tensor | None, tensor: Tensor) -> Role:
    if names.tables(found) or names.heads(found):
        return "vocabulary"
    if table is not None and tensor.dim() == 2 and overlap(table, tensor):
        return "vocabulary"
    return "bias" if names.biases(found) else "other"


def _shared_modules(model: nn.Module) -> tuple[tuple[str, ...], ...]:
    """Modules with parameters that stand under several names; of nested ones the outermost."""
    found: dict[int, list[str]] = {}
    for name, module in model.named_modules(remove_duplicate=False):
        if any(True for _ in module.parameters()):
            found.setdefault(id(module), []).append(name)
    groups = [group for group in found.values() if len(group) > 1]
    inside = {name for group in groups for name in group}
    return tuple(
        tuple(group)
        for group in groups
        if not all(name.rpartition(".")[0] in inside for name in group)
    )


def _lookup(model: nn.Module, table: Tensor | None) -> Lookup | None:
    for module in model.modules():
        if isinstance(module, nn.Embedding) and module.weight is table:
            return Lookup(module.padding_idx, module.max_norm, module.sparse)
    return None


def _default_init(weight: Tensor) -> bool | None:
    """Whether a sample of the numbers has the mean and spread of N(0, 1), within a few per cent."""
    if not address(weight) or not weight.is_floating_point():
        return None
    rows = max(1, _SAMPLE * weight.shape[0] // weight.numel())
    sample = weight.detach()[:rows].float()
    allowed = 5 / sample.numel() ** 0.5
    return bool(abs(sample.mean()) < allowed and abs(sample.std() - 1) < allowed)
