"""Which tensors of a live model share memory: by identity, by element, by view."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor, nn

from wtlib.tying.facts import Sharing

_MOST_WORK = 10**6  # of numpy's exact search for an element in common


@dataclass(frozen=True, eq=False)
class Shared:
    """Names that lead to shared memory: a tensor of the group, all names, and how they share."""

    tensor: Tensor
    names: tuple[str, ...]
    sharing: Sharing


def named_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers under every name they have."""
    return {
        **dict(model.named_parameters(remove_duplicate=False)),
        **dict(model.named_buffers(remove_duplicate=False)),
    }


def address(tensor: Tensor) -> int:
    """Where a tensor's elements start; 0 when it has no memory of its own to point at."""
    try:
        return tensor.data_ptr() if tensor.numel() else 0
    except (RuntimeError, NotImplementedError):  # fake and wrapped tensors refuse
        return 0


def overlap(a: Tensor, b: Tensor) -> bool | None:
    """Whether two tensors have an element of memory in common; ``None`` without addresses.

    Exact for strided views too: two columns of one buffer lie interleaved and share nothing.
    """
    if a is b:
        return True
    if not (address(a) and address(b)):
        return None
    if a.device != b.device:
        return False
    try:
        return np.shares_memory(_outline(a), _outline(b), max_work=_MOST_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def same_elements(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors with addresses cover exactly the same elements, in whatever order."""
    return (a.device, address(a), a.dtype) == (b.device, address(b), b.dtype) and (
        _extent(a) == _extent(b)
    )


def shared(tensors: Mapping[str, Tensor]) -> tuple[Shared, ...]:
    """Groups of more than one name. Views of one flat buffer that do not overlap make none."""
    by_object: dict[int, list[str]] = defaultdict(list)
    for name, tensor in tensors.items():
        by_object[id(tensor)].append(name)
    groups: list[list[list[str]]] = []
    for cluster in _clusters([tensors[found[0]] for found in by_object.values()]):
        groups.append([by_object[id(tensor)] for tensor in cluster])
    return tuple(
        Shared(
            tensors[group[0][0]],
            tuple(name for found in group for name in found),
            _sharing([tensors[found[0]] for found in group]),
        )
        for group in groups
        if sum(len(found) for found in group) > 1
    )


def distinct(tensors: Iterable[Tensor]) -> tuple[int, int]:
    """Numbers in distinct memory, and their bytes; overlapping views count as the largest."""
    clusters = _clusters(list({id(tensor): tensor for tensor in tensors}.values()))
    largest = [max(cluster, key=Tensor.numel) for cluster in clusters]
    return sum(t.numel() for t in largest), sum(t.numel() * t.element_size() for t in largest)


def _sharing(objects: list[Tensor]) -> Sharing:
    if len(objects) == 1:
        return "one Parameter"
    if all(same_elements(objects[0], other) for other in objects[1:]):
        return "two Parameters, one storage"
    return "overlapping views"


def _clusters(objects: list[Tensor]) -> list[list[Tensor]]:
    """Join distinct tensors that overlap; sorted by address, few pairs need a closer look."""
    place = {id(tensor): number for number, tensor in enumerate(objects)}
    done = [[tensor] for tensor in objects if not address(tensor)]
    live: list[list[Tensor]] = []  # clusters that reach past the address at hand
    for tensor in sorted((t for t in objects if address(t)), key=address):
        reaching = [c for c in live if any(address(t) + _span(t) > address(tensor) for t in c)]
        done += [c for c in live if not any(c is other for other in reaching)]
        joined = [c for c in reaching if any(overlap(tensor, other) for other in c)]
        live = [c for c in reaching if not any(c is other for other in joined)]
        live.append([tensor, *(other for cluster in joined for other in cluster)])
    clusters = [sorted(cluster, key=lambda t: place[id(t)]) for cluster in (*done, *live)]
    return sorted(clusters, key=lambda cluster: place[id(cluster[0])])


def _span(tensor: Tensor) -> int:
    """Bytes from a tensor's first element to past its last."""
    reach = sum((size - 1) * stride for size, stride in _sides(tensor))
    return (reach + 1) * tensor.element_size()


def _sides(tensor: Tensor) -> list[tuple[int, int]]:
    return list(zip(tensor.shape, tensor.stride(), strict=True))


def _extent(tensor: Tensor) -> Any:
    """What elements are covered, without their order: dense tensors by length alone."""
    if _span(tensor) == tensor.numel() * tensor.element_size():
        return tensor.numel()
    return sorted(side for side in _sides(tensor) if side[0] > 1)


class _Outline:
    """A tensor's address, shape and strides, which is all that numpy needs; nothing is read."""

    def __init__(self, tensor: Tensor) -> None:
        size = tensor.element_size()
        self.__array_interface__ = {
            "version": 3,
            "data": (address(tensor), True),
            "shape": tuple(tensor.shape),
            "strides": tuple(stride * size for stride in tensor.stride()),
            "typestr": f"|V{size}",
        }


def _outline(tensor: Tensor) -> Any:
    return np.asarray(_Outline(tensor))
