"""Put a factor on either end of a model: on what is looked up, or on the logits."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torch import Tensor


@contextlib.contextmanager
def scaled(model: Any, *, inputs: float = 1.0, logits: float = 1.0) -> Iterator[None]:
    """Inside, the model multiplies its looked-up rows and its head's output by these factors.

    The factors come on top of those that the model has. Gradients flow through them.
    """
    ends = ((model.get_input_embeddings(), inputs), (model.get_output_embeddings(), logits))
    hooks = [
        module.register_forward_hook(_multiply(factor)) for module, factor in ends if factor != 1
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _multiply(factor: float) -> Any:
    def hook(module: Any, args: Any, output: Tensor) -> Tensor:
        return output * factor

    return hook
