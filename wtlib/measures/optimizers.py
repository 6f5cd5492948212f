"""Measures of what an optimizer makes of a gradient, on a toy."""

from collections.abc import Callable, Mapping
from typing import Any, Literal


def later_movement(
    optimizer: Literal["sgd", "adamw"],
    learning_rate: float,
    weight_decay: float,
    further_steps: int,
) -> float:
    """Return how far a row read once goes on moving, in lengths of its first step.

    The row gets a gradient in the first step and zeros after, as an untied table's rare row does.

    Args:
        optimizer: plain SGD, or AdamW with its default betas.
        learning_rate: of both.
        weight_decay: of both.
        further_steps: steps with a zero gradient.

    Returns:
        The distance between the row after the first step and the row at the end, over the length
        of the first step.
    """
    import torch

    generator = torch.Generator().manual_seed(0)
    row = torch.nn.Parameter(torch.randn(8, generator=generator))
    kind = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}[optimizer]
    stepper = kind([row], lr=learning_rate, weight_decay=weight_decay)
    start = row.detach().clone()
    row.grad = torch.randn(8, generator=generator)
    stepper.step()
    once = row.detach().clone()
    row.grad = torch.zeros(8)
    for _ in range(further_steps):
        stepper.step()
    return float((row.detach() - once).norm() / (once - start).norm())


MEASURES: Mapping[str, Callable[..., Any]] = {later_movement.__name__: later_movement}
