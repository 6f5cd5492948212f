"""Watch a forward pass for every use of the vocabulary matrix.

A hook on the tied parameter sees only the sum of the routes, and a hook on a module misses uses
that do not go through it. A torch-function mode sees each call that takes the matrix as an
argument: a lookup, a projection to logits, or something we refuse to guess about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge
from torch.nn import functional as F  # noqa: N812
from torch.overrides import TorchFunctionMode

from wtlib.routes.errors import RouteNotFoundError

# What these return carries no gradient back to the matrix.
_CUT = (Tensor.detach, *(getattr(Tensor, name).__get__ for name in ("data", "grad")))


@dataclass(frozen=True, eq=False)
class Lookup:
    """One `F.embedding(ids, W)`: the ids, and where the gradient of the raw rows arrives."""

    ids: Int[Tensor, "*batch T"]
    output: GradientEdge
    padding_idx: int | None
    scale_grad_by_freq: bool


@dataclass(frozen=True, eq=False)
class Projection:
    """One `F.linear(h, W, bias)`: the hidden states, and the edges before and after."""

    hidden: Float[Tensor, "... d"]
    bias: Tensor | None
    input: GradientEdge
    output: GradientEdge


class Uses(TorchFunctionMode):
    """While active, records the lookups in `table` and the projections by `head`."""

    def __init__(self, table: Tensor, head: Tensor) -> None:
        """Watch for `table` and `head`, by identity; the same tensor when they are tied."""
        super().__init__()
        self.table = table
        self.head = head
        self.lookups: list[Lookup] = []
        self.projections: list[Projection] = []

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if not any(arg is self.table or arg is self.head for arg in _flat(args, kwargs)):
            return func(*args, **kwargs)
        if func is F.embedding:
            return self._lookup(*args, **kwargs)
        if func is F.linear:
            return self._project(*args, **kwargs)
        result = func(*args, **kwargs)
        if func not in _CUT and any(
            isinstance(item, Tensor) and item is not self.table and item is not self.head
            for item in _flat((result,), {})
        ):
            name = getattr(func, "__name__", str(func))
            raise RouteNotFoundError(
                f"the model uses its vocabulary matrix in `{name}`, which is neither "
                "F.embedding nor F.linear, so its routes cannot be told apart; call the "
                "embedding and the head as modules"
            )
        return result

    def _lookup(
        self,
        input: Tensor,
        weight: Tensor,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Tensor:
        if weight is not self.table:
            raise RouteNotFoundError(
                "the model looks rows up in its output matrix, which is not its input table; "
                "there are more than two routes here"
            )
        if max_norm is not None:
            raise RouteNotFoundError(
                f"the embedding has max_norm={max_norm}: the lookup itself would change the "
                "weights; set max_norm=None to measure"
            )
        rows = F.embedding(input, weight, padding_idx, None, norm_type, scale_grad_by_freq, sparse)
        if rows.requires_grad:
            edge = get_gradient_edge(rows)
        else:  # a frozen table: start the graph here; the clone may be changed in place
            leaf = rows.requires_grad_()
            edge = get_gradient_edge(leaf)
            rows = leaf.clone()
        if padding_idx is not None:
            padding_idx %= weight.shape[0]
        self.lookups.append(Lookup(input.detach(), edge, padding_idx, scale_grad_by_freq))
        return rows

    def _project(self, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        if weight is not self.head:
            raise RouteNotFoundError(
                "F.linear is called with the vocabulary matrix in an unexpected place (as the "
                "input, or with the untied input table as a weight); its gradient has a route "
                "that this measurement does not know"
            )
        logits = F.linear(input, weight, bias)
        if not input.requires_grad:
            raise RouteNotFoundError(
                "the hidden states that reach the head carry no gradient: the model cuts the "
                "graph (detach or no_grad) between its input table and its head"
            )
        self.projections.append(
            Projection(input.detach(), bias, get_gradient_edge(input), get_gradient_edge(logits))
        )
        return logits


def _flat(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
    for arg in (*args, *kwargs.values()):
        if isinstance(arg, tuple | list):
            yield from arg
        else:
            yield arg


def vocabulary_matrices(model: nn.Module) -> tuple[Tensor, Tensor]:
    """Input table and head matrix of a model: one and the same tensor when they are tied.

    Raises:
        RouteNotFoundError: the model has no such matrices, or not as plain floating-point
            tensors in memory.
    """
    name = type(model).__name__
    config = getattr(model, "config", None)
    if getattr(config, "is_encoder_decoder", False):
        raise RouteNotFoundError(
            f"{name} is an encoder-decoder: its table is read by two stacks, which makes more "
            "than two routes; pass a causal language model"
        )
    try:
        embedding = model.get_input_embeddings()  # type: ignore[operator]
    except (AttributeError, NotImplementedError):
        embedding = None
    if embedding is None:
        raise RouteNotFoundError(
            f"{name} names no input embeddings (get_input_embeddings()); pass a causal language "
            "model of transformers, or give your model that method"
        )
    table = _plain_weight(embedding, f"the input embedding of {name}")
    output = getattr(model, "get_output_embeddings", lambda: None)()
    if output is None:
        return table, table
    return table, _plain_weight(output, f"the head of {name}")


def _plain_weight(module: nn.Module, what: str) -> Tensor:
    weight = getattr(module, "weight", None)
    if not isinstance(weight, Tensor):
        raise RouteNotFoundError(f"{what} ({type(module).__name__}) has no `weight` tensor")
    if type(weight) not in (Tensor, nn.Parameter) or not weight.is_floating_point():
        raise RouteNotFoundError(
            f"{what} is quantised or wrapped ({type(weight).__name__}, {weight.dtype}); load the "
            "model in a floating-point dtype"
        )
    if weight.is_meta:
        raise RouteNotFoundError(
            f"{what} is on the meta device (offloaded or not loaded): there are no values to "
            "measure; load the model into memory"
        )
    return weight


def context_length(model: nn.Module) -> int | None:
    """The longest sequence the model is made for, if its config says so."""
    return getattr(_text_config(model), "max_position_embeddings", None)


def _text_config(model: nn.Module) -> Any:
    config: Any = getattr(model, "config", None)
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def block_list(model: nn.Module) -> tuple[nn.Module, ...]:
    """The model's blocks in order: its first list of as many modules as the config has layers.

    Empty when there is no such list.
    """
    layers = getattr(_text_config(model), "num_hidden_layers", None)
    for module in model.modules():
        if isinstance(module, nn.ModuleList) and layers and len(module) == layers:
            return tuple(module)
    return ()


def watch_blocks(blocks: Iterable[nn.Module]) -> tuple[list[GradientEdge], list[Any]]:
    """Hooks that collect, per block application, where its hidden states' gradient arrives.

    Returns the list that the hooks fill and their handles, which the caller removes.
    """
    edges: list[GradientEdge] = []

    def keep(_module: nn.Module, _args: Any, output: Any) -> None:
        hidden = output[0] if isinstance(output, tuple | list) else output
        if isinstance(hidden, Tensor) and hidden.requires_grad:
            edges.append(get_gradient_edge(hidden))

    # A block that stands in several places of the list gets one hook, which fires at each.
    return edges, [block.register_forward_hook(keep) for block in dict.fromkeys(blocks)]
