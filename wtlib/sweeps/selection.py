"""A sweep's records as a chapter reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from wtlib.errors import WtlibError
from wtlib.sweeps.grids import Sweep, find
from wtlib.sweeps.records import RECORDS, Record, RecordFile
from wtlib.sweeps.settings import Run


@dataclass(frozen=True)
class Records:
    """The records of a sweep, one a run, in the order of the grid."""

    sweep: Sweep
    records: tuple[Record, ...]

    @classmethod
    def of(cls, sweep: Sweep, lines: Sequence[Record]) -> Records:
        """Choose each run's record: the last one, by today's code if there is any."""
        chosen: dict[Run, Record] = {}
        for record in sorted(lines, key=lambda record: not record.stale):
            chosen[record.run] = record
        return cls(sweep, tuple(chosen[run] for run in sweep.runs if run in chosen))

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    @property
    def missing(self) -> tuple[Run, ...]:
        """Runs of the grid that have no record."""
        recorded = {record.run for record in self.records}
        return tuple(run for run in self.sweep.runs if run not in recorded)

    @property
    def stale(self) -> tuple[Record, ...]:
        """Records made by other code than today's."""
        return tuple(record for record in self.records if record.stale)

    @property
    def diverged(self) -> tuple[Record, ...]:
        """Records of runs that diverged."""
        return tuple(record for record in self.records if record.diverged)

    @property
    def note(self) -> str:
        """What a page must say about these records, in a sentence or three."""
        total = len(self.sweep.runs)
        parts = [f"{len(self)} of {total} runs of {self.sweep.name} are recorded."]
        if self.stale:
            parts.append(
                f"{len(self.stale)} of them were made by other code than today's: "
                f"make sweep SWEEP={self.sweep.name} runs them again."
            )
        if self.diverged:
            parts.append(f"{len(self.diverged)} diverged.")
        return " ".join(parts)

    def where(self, **settings: object) -> Records:
        """Return the records that have these settings.

        Raises:
            WtlibError: if runs of this sweep have no such setting.
        """

        def matches(run: Run) -> bool:
            values = {"seed": run.seed, **run.config.settings}
            unknown = set(settings) - set(values)
            if unknown:
                raise WtlibError(
                    f"{min(unknown)!r} is no setting of sweep {self.sweep.name}; "
                    f"there are {', '.join(sorted(values))}"
                )
            return all(values[name] == value for name, value in settings.items())

        runs = tuple(run for run in self.sweep.runs if matches(run))
        kept = tuple(record for record in self.records if matches(record.run))
        return Records(replace(self.sweep, runs=runs), kept)


def load(name: str, folder: Path = RECORDS) -> Records:
    """Return the records of one of the book's sweeps.

    Raises:
        WtlibError: if there is no such sweep, or nothing of it is recorded.
    """
    sweep = find(name)
    path = folder / f"{name}.jsonl"
    records = Records.of(sweep, RecordFile(path).read())
    if not records.records:
        raise WtlibError(f"{path} holds no run of sweep {name}; run make sweep SWEEP={name}")
    return records
