"""Running a sweep: on this machine's processes, or on a Dask cluster."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
import torch
from joblib import Parallel, delayed

from wtlib.corpus import Corpus
from wtlib.errors import WtlibError
from wtlib.sweeps.grids import Sweep
from wtlib.sweeps.records import Record, RecordFile
from wtlib.sweeps.selection import Records
from wtlib.sweeps.settings import CorpusConfig, Run
from wtlib.sweeps.source import code_hash
from wtlib.training import fit

CONNECT_SECONDS = 10


@dataclass(frozen=True)
class Progress:
    """How far a sweep is, after each finished run."""

    record: Record
    done: int
    """Runs finished, those of earlier sweeps included."""
    total: int
    seconds_left: float
    """By the clock, if the runs to come take as long as this sweep's so far."""


def run(
    sweep: Sweep,
    folder: Path,
    *,
    scheduler: str | None = None,
    jobs: int = 1,
    report: Callable[[Progress], None] | None = None,
) -> Records:
    """Run what of a sweep has no record by today's code in `folder`, and return its records.

    Runs are independent: they go to `jobs` processes of this machine, or with `scheduler`, the
    address of a Dask scheduler, to its workers. Each is recorded as it finishes, by this process
    alone, so that a sweep that is killed goes on where it was; a run whose worker dies is run
    again elsewhere. `report` is called after each.

    Raises:
        WtlibError: if `jobs` is below one, another sweep writes these records, no scheduler
            answers, or a worker has other code than this process.
    """
    if jobs < 1:
        raise WtlibError(f"jobs={jobs}: a sweep needs at least one process")
    file = RecordFile(folder / f"{sweep.name}.jsonl")
    with file.held():
        recorded = {record.run for record in file.read() if not record.stale}
        todo = [run for run in sweep.runs if run not in recorded]
        already = len(sweep.runs) - len(todo)
        # Once and now: what runs is the code of now, whatever happens to the files meanwhile.
        codes = {run.config.kind: code_hash(run.config.kind) for run in todo}
        start = time.monotonic()
        finished = _on_cluster(sweep, todo, scheduler) if scheduler else _here(sweep, todo, jobs)
        for count, record in enumerate(finished, 1):
            if record.code != codes[record.config.kind]:
                raise WtlibError(
                    f"a worker has other code (hash {record.code}) than this process "
                    f"({codes[record.config.kind]}); give all the same version of the book"
                )
            file.append(record)
            if report is not None:
                left = (time.monotonic() - start) / count * (len(todo) - count)
                report(Progress(record, already + count, len(sweep.runs), left))
        return Records.of(sweep, file.read())


def execute(sweep_name: str, run: Run) -> Record:
    """Run one cell with one seed, on one thread, and return its record."""
    code = code_hash(run.config.kind)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        corpus = _corpus(run.config.corpus)
        start = time.process_time()
        result = fit(run.config.model, run.config.fit, corpus, run.seed)
        seconds = time.process_time() - start
    finally:
        torch.set_num_threads(threads)
    return Record(
        sweep=sweep_name,
        config=run.config,
        seed=run.seed,
        metrics=result.metrics(),
        curve=result.curve,
        seconds=round(seconds, 3),
        versions={
            "python": platform.python_version(),
            **{package: version(package) for package in ("wtlib", "torch", "numpy")},
        },
        machine=machine(),
        code=code,
    )


def machine() -> dict[str, Any]:
    """Return what of this machine matters to a time or to the last digits of a number."""
    return {
        "processor": _processor(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9),
        "system": f"{platform.system()} {platform.machine()}",
        "threads": 1,
    }


def _processor() -> str:
    if platform.system() == "Linux":
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


@lru_cache(maxsize=4)
def _corpus(config: CorpusConfig) -> Corpus:
    return config.build()


def _here(sweep: Sweep, todo: Sequence[Run], jobs: int) -> Iterator[Record]:
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    yield from parallel(delayed(execute)(sweep.name, run) for run in todo)


def _on_cluster(sweep: Sweep, todo: Sequence[Run], scheduler: str) -> Iterator[Record]:
    # joblib's own Dask backend gives all results at the end, and none of a sweep that is killed.
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise WtlibError(
            "a scheduler needs Dask: pip install -r requirements.txt -c constraints.txt"
        ) from error
    try:
        client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise WtlibError(
            f"no Dask scheduler answers at {scheduler!r} ({error}); start one with "
            "`dask scheduler`, and workers with `dask worker ADDRESS --nthreads 1`"
        ) from error
    with client:
        futures = [client.submit(execute, sweep.name, run, pure=False) for run in todo]
        for future in as_completed(futures):
            yield future.result()
