"""How long a stack takes whose layers share one block, against one of equal shape that does not.

Both run the same operations on tensors of the same shapes. What differs is how much memory the
weights take, and so how often they have to be fetched again.

Seconds are the processor's, on one thread, and not the clock's: waiting for a processor that
another program uses is no part of them, and would fall on the longer of two passes more often. What
another program does to the cache is.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from wtlib.errors import WtlibError
from wtlib.sweeps.grids import find
from wtlib.sweeps.records import RECORDS
from wtlib.sweeps.source import essence
from wtlib.training import GptConfig, build

FILE = "latency.jsonl"
WIDTHS = (64, 128, 256, 384, 512, 768, 1024)
BATCH_SIZES = (1, 32)
N_LAYERS = 12
PASSES = 3
"""Timed passes of one stack in a row, after one that is not timed; their middle one counts."""
_SOURCES = ("latency.py", "training/gpt.py", "training/parts.py", "sharing.py")


@dataclass(frozen=True)
class Setting:
    """What is timed: `batch_size` streams, one token each, through `n_layers` layers.

    One token a stream is what a model computes when it writes, without its attention to what
    stands before.
    """

    d_model: int
    batch_size: int
    n_layers: int = N_LAYERS
    sharing: str = "all"
    pairs: int = 40

    def __post_init__(self) -> None:
        """Refuse a setting that times nothing."""
        for name in ("batch_size", "pairs"):
            if getattr(self, name) < 1:
                raise WtlibError(f"{name}={getattr(self, name)} must be at least 1")

    def config(self, sharing: str) -> GptConfig:
        """Return the model timed: next to no vocabulary, so that the stack is all."""
        return GptConfig(
            vocab_size=2,
            d_model=self.d_model,
            n_layers=self.n_layers,
            n_heads=1,  # with one token there is nothing to attend to but itself
            context=1,
            sharing=sharing,
        )

    def weight_bytes(self, sharing: str) -> int:
        """Return the bytes of the model's weights in fp32."""
        return 4 * self.config(sharing).n_parameters


@dataclass(frozen=True)
class Latency:
    """Processor seconds of a forward pass, unshared and shared, in pairs measured in turn.

    `flops` are those that PyTorch counts in one pass, unshared and shared.
    """

    setting: Setting
    unshared: tuple[float, ...]
    shared: tuple[float, ...]
    flops: tuple[int, int]
    load: float | None = None
    """The machine's load average where it is known; above the number of cores, others waited."""

    @property
    def ratios(self) -> tuple[float, ...]:
        """Shared over unshared, pair by pair: what slowed both of a pair cancels."""
        return tuple(s / u for s, u in zip(self.shared, self.unshared, strict=True))

    @property
    def ratio(self) -> float:
        """The median ratio."""
        return statistics.median(self.ratios)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The first and the third quartile of the ratios; the median twice if there is one."""
        if len(self.ratios) < 2:
            return self.ratio, self.ratio
        low, _, high = statistics.quantiles(self.ratios, n=4, method="inclusive")
        return low, high


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


def settings() -> tuple[Setting, ...]:
    """Return what the book records: one block at every width, then the sweep's stacks.

    Wide stacks, which take long, get fewer pairs.
    """
    widths = [
        Setting(d_model=d, batch_size=b, pairs=60 if d <= 256 else 24 if d <= 512 else 12)
        for b in BATCH_SIZES
        for d in WIDTHS
    ]
    models = {run.config.model for run in find("cross-layer").runs}
    stacks = [
        Setting(d_model=m.d_model, batch_size=b, n_layers=m.n_layers, sharing=m.sharing)
        for b in BATCH_SIZES
        for m in sorted((m for m in models if isinstance(m, GptConfig)), key=repr)
    ]
    return (*widths, *stacks)


def record(
    todo: Sequence[Setting], about: Callable[[], dict[str, Any]], folder: Path = RECORDS
) -> Iterator[Latency]:
    """Measure settings and append one line of JSON for each; yield each when it is written.

    `about` is asked, after each, what its record says of machine and versions.
    """
    code = code_hash()
    for setting in todo:
        start = time.perf_counter()
        found = measure(setting)
        line = {
            "config": asdict(setting),
            "metrics": {"unshared": found.unshared, "shared": found.shared, "flops": found.flops},
            "seconds": round(time.perf_counter() - start, 3),
            **about(),
            "code": code,
        }
        with (folder / FILE).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, allow_nan=False) + "\n")
        yield found


@dataclass(frozen=True)
class Recorded:
    """The recorded latencies, the last of each setting, and where they were measured."""

    latencies: tuple[Latency, ...]
    machine: dict[str, Any]
    stale: int
    """How many were made by other code than today's."""

    def of(self, batch_size: int) -> tuple[Latency, ...]:
        """Return those of one block for twelve layers at one batch size, by width."""
        found = [
            x
            for x in self.latencies
            if x.setting.batch_size == batch_size and x.setting.d_model in WIDTHS
        ]
        return tuple(sorted(found, key=lambda x: x.setting.d_model))

    def stack(self, config: GptConfig, batch_size: int) -> Latency:
        """Return that of one of the sweep's stacks.

        Raises:
            WtlibError: if it is not recorded.
        """
        wanted = (config.d_model, config.n_layers, config.sharing, batch_size)
        for x in self.latencies:
            of = x.setting
            if (of.d_model, of.n_layers, of.sharing, of.batch_size) == wanted:
                return x
        raise WtlibError(
            f"no latency of d_model={config.d_model}, n_layers={config.n_layers}, "
            f"sharing={config.sharing!r}, batch_size={batch_size} is recorded; "
            "run python -m wtlib latency"
        )


def load(folder: Path = RECORDS) -> Recorded:
    """Return what is recorded.

    Raises:
        WtlibError: if nothing is.
    """
    path = folder / FILE
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = [json.loads(line) for line in text.splitlines()]
    if not lines:
        raise WtlibError(f"{path} holds no measurement; run python -m wtlib latency")
    latest = {json.dumps({**line["config"], "pairs": None}): line for line in lines}
    return Recorded(
        latencies=tuple(_latency(line) for line in latest.values()),
        machine=lines[-1]["machine"],
        stale=sum(line["code"] != code_hash() for line in latest.values()),
    )


def _latency(line: dict[str, Any]) -> Latency:
    metrics = line["metrics"]
    return Latency(
        setting=Setting(**line["config"]),
        unshared=tuple(metrics["unshared"]),
        shared=tuple(metrics["shared"]),
        flops=(metrics["flops"][0], metrics["flops"][1]),
        load=line["machine"]["load"],
    )


def code_hash() -> str:
    """Return a hash of the code that is timed and of the code that times it."""
    digest = hashlib.sha256()
    for name in _SOURCES:
        source = (resources.files("wtlib") / name).read_text(encoding="utf-8")
        digest.update(f"{name}:{essence(source)}\n".encode())
    return digest.hexdigest()[:16]
