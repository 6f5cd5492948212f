"""How an optimizer holds a model's matrices: each memory is to be stepped once."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from wtlib.tying.facts import OptimizerFacts
from wtlib.tying.memory import named_tensors, overlap, shared


def optimizer_facts(
    model: nn.Module, optimizer: torch.optim.Optimizer, ends: tuple[str | None, ...]
) -> OptimizerFacts:
    """Compare what an optimizer steps with what the model has; nothing is stepped.

    ``ends`` are the names of the table and the head, whose absence is worth a word.
    """
    tensors = named_tensors(model)
    name_of = {id(tensor): name for name, tensor in reversed(tensors.items())}
    listed: dict[str, Tensor] = {
        f"{number}.{place}": parameter
        for number, group in enumerate(optimizer.param_groups)
        for place, parameter in enumerate(group["params"])
    }
    repeated: list[str] = []
    apart: list[str] = []
    twice: list[str] = []
    for memory in shared(listed):
        objects = {id(listed[slot]): listed[slot] for slot in memory.names}
        names = [name_of[identity] for identity in objects if identity in name_of]
        groups = {slot.partition(".")[0] for slot in memory.names}
        if len(groups) > 1:
            apart += names
        if len(objects) > 1:
            twice += names
        elif len(groups) == 1:
            repeated += names
    return OptimizerFacts(
        repeated=tuple(repeated),
        in_two_groups=tuple(apart),
        stepped_twice=tuple(twice),
        left_out=tuple(
            name
            for name in dict.fromkeys(end for end in ends if end is not None)
            if tensors[name].requires_grad
            and not any(overlap(tensors[name], parameter) for parameter in listed.values())
        ),
        strangers=sum(id(parameter) not in name_of for parameter in listed.values()),
    )
