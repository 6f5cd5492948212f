"""`python -m wtlib specimen`: which specimen a name stands for, and why."""

from __future__ import annotations

import argparse
import dataclasses
import json

NAME = "specimen"
HELP = "which pretrained model a name stands for, and why"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "specimen",
        nargs="?",
        metavar="NAME",
        help="auto, gpt2, smollm2-135m, a folder or a hub id; "
        "without it the edition in WTLIB_SPECIMEN, else auto",
    )
    parser.add_argument(
        "--prepare",
        action="store_true",
        help="also download, verify and convert what loading it needs",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--name-only", action="store_true", help="print the name and nothing else")
    form.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print the specimen: its name, one line that says why, or everything known about it."""
    from wtlib import specimens

    if args.prepare:
        resolution = specimens.prepare(args.specimen, progress=True)
    else:
        resolution = specimens.resolve(args.specimen)
    if args.json:
        print(
            json.dumps(
                {
                    "name": resolution.name,
                    "reason": resolution.reason,
                    "identity": dataclasses.asdict(resolution.identity),
                    "paths": [str(path) for path in resolution.paths],
                },
                indent=2,
            )
        )
    else:
        print(resolution.name if args.name_only else resolution)
    return 0
