"""Measures of how PyTorch lays a matrix out in memory."""

from collections.abc import Callable, Mapping
from typing import Any


def linear_layout() -> list[bool]:
    """Return whether a linear layer stores ``(out, in)``, and whether its transpose is a view."""
    import torch

    weight = torch.nn.Linear(3, 5).weight
    stored_by_output = tuple(weight.shape) == (5, 3)
    return [stored_by_output, weight.T.data_ptr() == weight.data_ptr()]


MEASURES: Mapping[str, Callable[..., Any]] = {"linear_layout": linear_layout}
