"""`python -m wtlib replace-blocks`: record what every block costs at every other's place."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wtlib.similarity import Place

NAME = "replace-blocks"
HELP = "record the perplexity with each block of a specimen at each other block's place"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--specimen", metavar="NAME", help="whose blocks (the edition's)")
    parser.add_argument(
        "--records", metavar="FOLDER", type=Path, help="where records go (the book's own)"
    )


def run(args: argparse.Namespace) -> int:
    """Measure what is not recorded yet, a line per place."""
    import torch

    from wtlib import similarity, specimens
    from wtlib.recording import circumstances
    from wtlib.sweeps import RECORDS

    torch.set_num_threads(1)
    specimen = specimens.load(args.specimen)
    similarity.record(specimen, circumstances(), args.records or RECORDS, _report)
    return 0


def _report(place: Place) -> None:
    substitute = place.substitute
    print(
        f"layer {place.place}: perplexity {math.exp(place.intact):.1f}, without it "
        f"{math.exp(place.without):.1f}, with block {substitute} "
        f"{math.exp(place.losses[substitute]):.1f}",
        file=sys.stderr,
        flush=True,
    )
