"""Records on disk: one line of JSON per finished run, in a file per sweep."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from wtlib.errors import WtlibError
from wtlib.sweeps.settings import Run, RunConfig
from wtlib.sweeps.source import code_hash
from wtlib.training import Epoch

RECORDS = Path(__file__).parents[2] / "notebooks" / "records"
"""Where the book keeps the records it shows."""


@dataclass(frozen=True)
class Record:
    """One finished run.

    `metrics` are those of `wtlib.training.Fit.metrics`: losses in nats per token, perplexities,
    parameters, epochs, steps; losses of a diverged run are None. `seconds` are the processor's, on
    one thread, not the clock's: they do not depend on what else ran. `code` is a hash of what
    determined the numbers, see `wtlib.sweeps.source`.
    """

    sweep: str
    config: RunConfig
    seed: int
    metrics: Mapping[str, Any]
    curve: tuple[Epoch, ...]
    seconds: float
    versions: Mapping[str, str]
    machine: Mapping[str, Any]
    code: str

    @property
    def run(self) -> Run:
        """What was run."""
        return Run(self.config, self.seed)

    @property
    def stale(self) -> bool:
        """Whether other code than today's made this record."""
        return self.code != code_hash(self.config.kind)

    @property
    def diverged(self) -> bool:
        """Whether the run ended because a number was no longer finite."""
        return self.metrics["diverged"] is not None

    def number(self, metric: str) -> float | None:
        """Return one of the metrics; None where the run has none, because it diverged.

        Raises:
            WtlibError: if there is no such metric.
        """
        if metric not in self.metrics:
            raise WtlibError(
                f"{metric!r} is no metric of sweep {self.sweep}; "
                f"there are {', '.join(sorted(self.metrics))}"
            )
        value = self.metrics[metric]
        return None if value is None else float(value)

    def to_line(self) -> bytes:
        """Return the record as one line of JSON, without NaN or infinity."""
        content = {
            **{name: getattr(self, name) for name in self.__dataclass_fields__},
            "config": self.config.to_json(),
            "curve": [asdict(epoch) for epoch in self.curve],
        }
        return json.dumps(content, allow_nan=False).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Record:
        """Return the record that `to_line` wrote.

        Raises:
            ValueError: if it is none.
        """
        content = json.loads(line)
        try:
            config = RunConfig.from_json(content.pop("config"))
            curve = tuple(Epoch(**epoch) for epoch in content.pop("curve"))
            return cls(config=config, curve=curve, **content)
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"these are no fields of a record: {error}") from error


class RecordFile:
    """A sweep's file of records: append-only, written by one sweep at a time."""

    def __init__(self, path: Path) -> None:
        """Name the file; it need not exist."""
        self.path = path

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other sweeps out of the file, and remove a last line that was cut off.

        Raises:
            WtlibError: if another sweep writes to it.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.path.with_suffix(".lock"))
        try:
            held = lock.acquire(blocking=False)
        except Timeout as error:
            raise WtlibError(
                f"{self.path} is being written by another sweep; wait until it ends, or stop it"
            ) from error
        with held:
            self._repair()
            yield

    def read(self) -> list[Record]:
        """Return all records, in the order they were finished; a line not yet whole is none.

        Raises:
            WtlibError: if a whole line is no record.
        """
        records = []
        content = self.path.read_bytes() if self.path.exists() else b""
        for number, line in enumerate(content.split(b"\n")[:-1], 1):
            try:
                records.append(Record.from_line(line))
            except ValueError as error:
                raise WtlibError(
                    f"{self.path}, line {number} is no record ({error}); remove the line, "
                    "and the next sweep runs it again"
                ) from error
        return records

    def append(self, record: Record) -> None:
        """Write one line, whole or not at all, and wait until it is on the disk.

        Raises:
            WtlibError: if the disk is full.
        """
        line = record.to_line()
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            size = os.fstat(handle).st_size
            if os.write(handle, line) < len(line):
                os.ftruncate(handle, size)
                raise WtlibError(f"{self.path}: the disk is full, a record was not written")
            os.fsync(handle)
        finally:
            os.close(handle)

    def _repair(self) -> None:
        if self.path.exists():
            content = self.path.read_bytes()
            whole = content.rfind(b"\n") + 1
            if whole < len(content):
                os.truncate(self.path, whole)
