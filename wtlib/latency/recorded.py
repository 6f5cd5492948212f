"""The latencies that the book records, and how they are recorded and read."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from wtlib.errors import WtlibError
from wtlib.latency.results import Latency
from wtlib.latency.setting import Setting
from wtlib.latency.timing import measure
from wtlib.sweeps.grids import find
from wtlib.sweeps.records import RECORDS
from wtlib.sweeps.source import essence
from wtlib.training import GptConfig

FILE = "latency.jsonl"
WIDTHS = (64, 128, 256, 384, 512, 768, 1024)
BATCH_SIZES = (1, 32)
_SOURCES = (
    "latency/setting.py",
    "latency/timing.py",
    "sharing.py",
    "training/gpt.py",
    "training/parts.py",
)


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
