"""`python -m wtlib inspect`: what is tied to what in a checkpoint, and whether that is as meant."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wtlib.tying import Inspection

NAME = "inspect"
HELP = "tell what is tied to what in a model's config and files"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "target",
        metavar="TARGET",
        help="a model's folder, a .safetensors, .gguf or config.json file, a hub id in the local "
        "cache, or smollm2-135m",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.epilog = "Exit status: 0 clean, 1 findings of severity error, 2 could not inspect."


def run(args: argparse.Namespace) -> int:
    """Print the inspection as text or as JSON; the status says whether there are errors."""
    from wtlib.tying.inspection import inspect

    found = inspect(args.target)
    if args.json:
        print(json.dumps(found.document(), indent=2))
    else:
        print("\n".join(map(_printable, _lines(found))))
    return found.exit_status


def _printable(line: str) -> str:
    """A line without control characters: names come from files, which may come from anyone."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in line)


def _lines(found: Inspection) -> Iterator[str]:
    from wtlib.tying.mechanisms import MECHANISMS

    words = {True: "tied", False: "untied", None: "not known whether tied"}
    yield f"{found.target} ({found.kind}): {words[found.tied]}"
    yield from (f"  {code}  {MECHANISMS[code]}" for code in found.mechanisms)
    yield ""
    if found.config is not None:
        source = found.config.key or found.config.source or "says nothing"
        flag = {True: "tied", False: "untied", None: "no flag"}[found.config.flag]
        yield f"config       {flag} ({source})"
    yield from _file_lines(found)
    for label, number in (
        ("unique", found.parameters.unique),
        ("if tied", found.parameters.if_tied),
        ("if untied", found.parameters.if_untied),
    ):
        yield f"{label:12} {number:,} parameters" if number is not None else f"{label:12} not known"
    if found.bytes is not None:
        yield f"bytes        {found.bytes.stored:,} stored, {found.bytes.needed:,} needed"
    yield from (f"{route.route:12} gradient into {route.matrix}: {route.rows}"
                for route in found.routes)  # fmt: skip
    yield ""
    if not found.findings:
        yield "No findings."
    for finding in found.findings:
        yield f"{finding.severity}: {finding.message} [{finding.code}]"
        yield f"  {finding.do}"
    if found.breaks:
        yield ""
        yield "What will break this tie:"
    for threat in found.breaks:
        yield f"  {threat.operation} {threat.effect}"
        yield f"    instead: {threat.instead}"


def _file_lines(found: Inspection) -> Iterator[str]:
    file = found.file
    if file is None:
        return
    yield f"file         {file.format}, {len(file.files)} file(s), {file.tensors:,} tensors"
    for label, matrix in (("table", file.table), ("head", file.head)):
        if matrix is not None:
            yield f"{label:12} {matrix.name}, {matrix.dtype} {list(matrix.shape)}"
        else:
            yield f"{label:12} absent"
    if file.table is not None and file.head is not None:
        equal = {True: "equal", False: "different", None: "not comparable"}[file.equal]
        yield f"values       {equal}"
    if len(found.names) > 1:
        yield f"names        {', '.join(found.names)}"
