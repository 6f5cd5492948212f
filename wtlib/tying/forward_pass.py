"""What only running a model shows: whether the table itself makes the logits, and what loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from wtlib.tying.checkpoint import InspectError
from wtlib.tying.facts import Pass
from wtlib.tying.memory import overlap

_PRODUCTS = {"linear", "matmul", "mm", "bmm", "addmm", "einsum", "tensordot", "__matmul__",
             "__rmatmul__"}  # fmt: skip


def forward_pass(model: nn.Module, table: Tensor | None, input_ids: Int[Tensor, "B T"]) -> Pass:
    """Run the model once on some ids, without gradients and without dropout, and watch.

    Raises:
        InspectError: a lookup would rewrite the table (``max_norm``), or the model does not run.
    """
    if any(isinstance(m, nn.Embedding) and m.max_norm is not None for m in model.modules()):
        raise InspectError(
            "the model has an embedding with max_norm, whose lookup rewrites rows of the table, "
            "and an inspection changes nothing: call inspect without input_ids"
        )
    watch = _Products(table)
    with _in_evaluation(model), _counting(model) as calls, torch.no_grad(), watch:
        try:
            model(input_ids)
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            raise InspectError(f"the model does not run on input_ids: {error}") from error
    return Pass(watch.seen, _outermost({name: n for name, n in calls.items() if n > 1}))


class _Products(TorchFunctionMode):
    """While active, notes whether a product takes the watched matrix or a view of it."""

    def __init__(self, table: Tensor | None) -> None:
        super().__init__()
        self.seen = False
        self._table = table

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if self._table is not None and getattr(func, "__name__", "") in _PRODUCTS:
            operands = [item for item in _flat((*args, *kwargs.values())) if item.dim() == 2]
            self.seen = self.seen or any(overlap(self._table, item) for item in operands)
        return func(*args, **kwargs)


def _flat(items: Iterable[Any]) -> Iterator[Tensor]:
    for item in items:
        if isinstance(item, Tensor):
            yield item
        elif isinstance(item, list | tuple):
            yield from _flat(item)


@contextmanager
def _in_evaluation(model: nn.Module) -> Iterator[None]:
    """Every module in evaluation mode, and each back in its own afterwards."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


@contextmanager
def _counting(model: nn.Module) -> Iterator[Counter[str]]:
    """How often each module with parameters is called; lookups are left out: they may be many."""
    calls: Counter[str] = Counter()

    def hook(name: str) -> Callable[..., None]:
        def count(_module: nn.Module, _args: Any) -> None:
            calls[name] += 1

        return count

    handles = [
        module.register_forward_pre_hook(hook(name))
        for name, module in model.named_modules()
        if not isinstance(module, nn.Embedding) and any(True for _ in module.parameters())
    ]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


def _outermost(calls: dict[str, int]) -> dict[str, int]:
    return {name: n for name, n in calls.items() if calls.get(name.rpartition(".")[0]) is None}
