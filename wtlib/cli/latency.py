"""`python -m wtlib latency`: record how long shared and unshared stacks take."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

NAME = "latency"
HELP = "record how long stacks take that share one block, against stacks that do not"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--records", metavar="FOLDER", type=Path, help="where records go (the book's own)"
    )


def run(args: argparse.Namespace) -> int:
    """Measure every setting of the book again, a line each; what is read back is the last one."""
    from wtlib import latency
    from wtlib.recording import circumstances
    from wtlib.sweeps import RECORDS

    for found in latency.record(latency.settings(), circumstances, args.records or RECORDS):
        low, high = found.quartiles
        print(
            f"d_model {found.setting.d_model}, batch {found.setting.batch_size}: shared takes "
            f"{found.ratio:.2f} of the time ({low:.2f} to {high:.2f})",
            file=sys.stderr,
            flush=True,
        )
    return 0
