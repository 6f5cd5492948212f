"""Time and memory of `measure_routes` against the straightforward method: `make bench`.

The straightforward method is what you would write first: a backward pass on the tied model, and
one on an untied deep copy, whose two gradients are the two routes. Both methods run on a model of
GPT-2's size at random initialisation (time and memory do not depend on the weights' values),
in fp32.

Times are medians of alternating runs in one process. Extra memory is the peak of the process's
resident set over what stands before the call, sampled every millisecond, each method in a process
of its own.
"""

from __future__ import annotations

import copy
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import psutil
import torch
from torch import Tensor, nn

from wtlib import display, specimens
from wtlib.routes import measure_routes

LENGTHS = (9, 256)
REPEATS = 7
MEGABYTE = 2**20


def straightforward(model: Any, ids: Tensor) -> tuple[float, int, float, int]:
    """Norm and rows touched of both routes from an untied copy, beside the tied gradient."""
    model(ids, labels=ids).loss.backward()
    untied = copy.deepcopy(model)
    untied.zero_grad(set_to_none=True)
    head = nn.Parameter(untied.lm_head.weight.detach().clone())
    untied.lm_head.weight = head
    untied(ids, labels=ids).loss.backward()
    model.zero_grad(set_to_none=True)
    short, long = head.grad, untied.get_input_embeddings().weight.grad
    assert short is not None
    return (*_norm_and_rows(short), *_norm_and_rows(long))


def _norm_and_rows(gradient: Tensor) -> tuple[float, int]:
    return gradient.norm(dim=1).norm().item(), int(gradient.ne(0).any(dim=1).sum())


def by_routes(model: Any, ids: Tensor) -> tuple[float, int, float, int]:
    """The same numbers from `measure_routes`."""
    routes = measure_routes(model, ids)
    return (
        routes.short.norm,
        routes.short.rows_touched,
        routes.long.norm,
        routes.long.rows_touched,
    )


METHODS: dict[str, Callable[[Any, Tensor], tuple[float, int, float, int]]] = {
    "straightforward": straightforward,
    "measure_routes": by_routes,
}


def a_text(model: Any, length: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, model.config.vocab_size, (1, length), generator=generator)


def median_seconds(model: Any, length: int) -> dict[str, float]:
    ids = a_text(model, length)
    seconds: dict[str, list[float]] = {name: [] for name in METHODS}
    for _ in range(REPEATS + 1):
        for name, method in METHODS.items():
            start = time.perf_counter()
            method(model, ids)
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(runs[1:]) for name, runs in seconds.items()}


def extra_memory(name: str, length: int) -> int:
    """Peak resident bytes above the start of one call, in this process."""
    model = specimens.random_init("gpt2")
    ids = a_text(model, length)
    with torch.no_grad():  # what a first forward pass sets up is not the method's
        model(ids[:, :2])
    process = psutil.Process()
    before = peak = process.memory_info().rss
    done = threading.Event()

    def sample() -> None:
        nonlocal peak
        while not done.is_set():
            peak = max(peak, process.memory_info().rss)
            time.sleep(0.001)

    sampler = threading.Thread(target=sample)
    sampler.start()
    METHODS[name](model, ids)
    done.set()
    sampler.join()
    return peak - before


def extra_memory_apart(name: str, length: int) -> int:
    command = [sys.executable, "-m", "tests.bench_routes", "--memory", name, str(length)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(json.loads(done.stdout))


def main() -> None:
    if sys.argv[1:2] == ["--memory"]:
        print(extra_memory(sys.argv[2], int(sys.argv[3])))
        return
    model = specimens.random_init("gpt2")
    rows = []
    for length in LENGTHS:
        ids = a_text(model, length)
        slow, fast = (method(model, ids) for method in METHODS.values())
        if not torch.allclose(torch.tensor(slow), torch.tensor(fast), rtol=1e-4):
            sys.exit(f"the methods disagree on {length} tokens: {slow} and {fast}")
        seconds = median_seconds(model, length)
        memory = {name: extra_memory_apart(name, length) for name in METHODS}
        for what, values, unit in (
            ("seconds", seconds, 1.0),
            ("extra peak memory, MB", memory, float(MEGABYTE)),
        ):
            slow_value, fast_value = (values[name] / unit for name in METHODS)
            rows.append(
                (
                    length,
                    what,
                    f"{slow_value:,.2f}",
                    f"{fast_value:,.2f}",
                    f"{slow_value / fast_value:.1f}" if fast_value else "-",
                )
            )
    print(
        display.table(
            rows,
            ("tokens", "what", *METHODS, "times less"),
            caption=f"GPT-2's size, fp32, {torch.get_num_threads()} threads",
        )
    )


if __name__ == "__main__":
    main()
