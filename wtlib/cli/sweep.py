"""`python -m wtlib sweep`: run one of the book's grids, or say how far all of them are."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wtlib.sweeps import Progress

NAME = "sweep"
HELP = "run a grid of training runs, or go on with one; without a name, list the grids"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("sweep", metavar="SWEEP", nargs="?", help="its name")
    parser.add_argument("--jobs", type=int, default=2, help="processes on this machine (2)")
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="a Dask cluster's, tcp://…, instead of this machine"
    )
    parser.add_argument(
        "--records", metavar="FOLDER", type=Path, help="where records go (the book's own)"
    )


def run(args: argparse.Namespace) -> int:
    """Run the sweep, a line per finished run; finished runs are not repeated."""
    from wtlib import sweeps

    folder = args.records or sweeps.RECORDS
    if args.sweep is None:
        for name in sweeps.NAMES:
            sweep = sweeps.find(name)
            lines = sweeps.RecordFile(folder / f"{name}.jsonl").read()
            print(sweeps.Records.of(sweep, lines).note)
        return 0
    try:
        records = sweeps.run(
            sweeps.find(args.sweep),
            folder,
            scheduler=args.scheduler,
            jobs=args.jobs,
            report=_report,
        )
    except KeyboardInterrupt:
        print("wtlib: stopped; the same command goes on from here", file=sys.stderr)
        return 130
    print(records.note)
    return 0


def _report(progress: Progress) -> None:
    record = progress.record
    loss = "diverged" if record.diverged else f"valid {record.number('valid_loss'):.3f}"
    minutes = progress.seconds_left / 60
    print(
        f"{progress.done}/{progress.total} {record.sweep} seed {record.seed}: {loss}, "
        f"{record.seconds:.1f} s; {minutes:.0f} min left",
        file=sys.stderr,
        flush=True,
    )
