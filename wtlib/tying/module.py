"""All facts about a live model in one reading: memory, one forward pass, its optimizer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from wtlib.tying.facts import LiveFacts
from wtlib.tying.forward_pass import forward_pass
from wtlib.tying.live_facts import live_facts
from wtlib.tying.memory import named_tensors
from wtlib.tying.optimizer_facts import optimizer_facts


def read_module(
    model: nn.Module, optimizer: torch.optim.Optimizer | None, input_ids: Tensor | None
) -> tuple[Mapping[str, Any] | None, LiveFacts]:
    """The content of the model's config, if it has one, and what the model does.

    Raises:
        InspectError: it does not run on ``input_ids``.
    """
    live = live_facts(model)
    table = live.table.name if live.table is not None else None
    head = live.head.name if live.head is not None else None
    if input_ids is not None:
        matrix = named_tensors(model)[table] if table is not None else None
        live = replace(live, forward=forward_pass(model, matrix, input_ids))
    if optimizer is not None:
        live = replace(live, optimizer=optimizer_facts(model, optimizer, (table, head)))
    to_dict = getattr(getattr(model, "config", None), "to_dict", None)
    return (to_dict() if callable(to_dict) else None), live
