"""``python -m wtlib …``: the library's functions from a shell.

Each command is a module of this package with ``NAME``, ``HELP``, ``configure(parser)`` and
``run(args) -> int``. Commands import what they need when they run, so that ``--help`` is quick.
"""

import argparse
import contextlib
import importlib
import io
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
    stdout = sys.stdout  # None when whoever called has closed it
    if isinstance(stdout, io.TextIOWrapper):
        # A terminal or a file that cannot hold a sign gets its code point instead of a traceback.
        stdout.reconfigure(errors="backslashreplace")
    args = build_parser().parse_args(argv)
    try:
        status = int(args.run(args))
        if stdout is not None:
            stdout.flush()
    except WtlibError as error:
        print(f"wtlib: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # whoever reads has enough (`| head`)
        _drop_what_is_unwritten()
        return 0
    except OSError as error:  # a full disk, a folder that may not be read
        _drop_what_is_unwritten()
        print(f"wtlib: {error}", file=sys.stderr)
        return 2
    return status


def _drop_what_is_unwritten() -> None:
    """Let Python flush into nothing when it exits; it would complain once more."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
