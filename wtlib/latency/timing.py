"""How long a stack takes whose layers share one block, against one of equal shape that does not.

Both run the same operations on tensors of the same shapes. What differs is how much memory the
weights take, and so how often they have to be fetched again.

Seconds are the processor's, on one thread, and not the clock's: waiting for a processor that
another program uses is no part of them, and would fall on the longer of two passes more often. What
another program does to the cache is.
"""

from __future__ import annotations

import statistics
import time

import torch
from torch.utils.flop_counter import FlopCounterMode

from wtlib.latency.results import Latency
from wtlib.latency.setting import Setting
from wtlib.training import build

PASSES = 3
"""Timed passes of one stack in a row, after one that is not timed; their middle one counts."""


def measure(setting: Setting) -> Latency:
    """Time both stacks in turn, on one thread; the order alternates from pair to pair.

    Raises:
        WtlibError: if the sharing scheme does not fit the depth.
    """
    models = [build(setting.config(sharing), seed=0) for sharing in ("none", setting.sharing)]
    input_ids = torch.zeros((setting.batch_size, 1), dtype=torch.int64)
    flops = [count_flops(model, input_ids) for model in models]
    seconds: tuple[list[float], list[float]] = ([], [])
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for pair in range(setting.pairs):
            for which in (0, 1) if pair % 2 else (1, 0):
                seconds[which].append(_seconds(models[which], input_ids))
    finally:
        torch.set_num_threads(threads)
    return Latency(setting, tuple(seconds[0]), tuple(seconds[1]), (flops[0], flops[1]))


@torch.no_grad()
def count_flops(model: torch.nn.Module, input_ids: torch.Tensor) -> int:
    """Return the FLOPs of a forward pass, as `torch.utils.flop_counter` counts them."""
    with FlopCounterMode(display=False) as counter:
        model(input_ids)
    return int(counter.get_total_flops())


@torch.no_grad()
def _seconds(model: torch.nn.Module, input_ids: torch.Tensor) -> float:
    model(input_ids)
    times = []
    for _ in range(PASSES):
        start = time.thread_time()
        model(input_ids)
        times.append(time.thread_time() - start)
    return statistics.median(times)
