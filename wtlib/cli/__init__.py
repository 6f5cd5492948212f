"""``python -m wtlib …``: the library's functions from a shell.

Each command is a module of this package with ``NAME``, ``HELP``, ``configure(parser)`` and
``run(args) -> int``. Commands import what they need when they run, so that ``--help`` is quick.
"""

import argparse
import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence

from wtlib.errors import WtlibError


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with one subcommand per module of this package."""
    parser = argparse.ArgumentParser(prog="python -m wtlib", description="Weight tying, measured.")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module_info in pkgutil.iter_modules(__path__):
        command = importlib.import_module(f"{__name__}.{module_info.name}")
        subparser = commands.add_parser(command.NAME, help=command.HELP, description=command.HELP)
        command.configure(subparser)
        subparser.set_defaults(run=command.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        The command's exit status; 2 when the request cannot be answered.
    """
    args = build_parser().parse_args(argv)
    try:
        status = int(args.run(args))
        sys.stdout.flush()
    except WtlibError as error:
        print(f"wtlib: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # Whoever reads has enough (`| head`). Python would complain once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status
