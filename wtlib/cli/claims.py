"""``python -m wtlib claims``: the ledger from a shell."""

import argparse
import dataclasses
import json
from typing import Any

NAME = "claims"
HELP = "measure what the sources claim, and compare"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("--id", action="append", metavar="ID", help="only this claim; repeatable")
    parser.add_argument(
        "--specimen",
        metavar="NAME",
        help="measure on these trained weights (gpt2, smollm2-135m); without it, on none",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    from wtlib import claims, specimens

    chosen = [claims.find(name) for name in args.id] if args.id else claims.load()
    specimen = specimens.load(args.specimen) if args.specimen is not None else None
    verdicts = [claims.verdict(claim, specimen) for claim in chosen]
    if args.json:
        print(json.dumps({"claims": [_plain(v) for v in verdicts]}, ensure_ascii=False, indent=2))
        return 0
    for page in claims.pages(verdicts):
        print(f"{page!r}\n")
    print(claims.tally(verdicts))
    return 0


def _plain(verdict: Any) -> dict[str, Any]:
    from wtlib.claims import Bounds

    claim, published = verdict.claim, verdict.claim.published
    if isinstance(published, Bounds):
        published = dataclasses.asdict(published)
    return {
        "id": claim.id,
        "source": claim.source.key,
        "chapter": claim.chapter,
        "claim": claim.claim,
        "published": published,
        "unit": claim.unit,
        "tolerance": claim.tolerance,
        "needs": claim.needs,
        "verdict": verdict.word,
        "measured": verdict.measured,
        "measured_on": verdict.on,
        "reason": verdict.reason,
        "command": verdict.command,
        "beside": dict(verdict.beside),
        "note": claim.note,
    }
