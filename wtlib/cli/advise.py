"""``python -m wtlib advise``: whether to tie, with the evidence for each reason."""

from __future__ import annotations

import argparse
import dataclasses
import json

NAME = "advise"
HELP = "recommend to tie or not, for a model of your sizes, data and purpose"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    from wtlib.advice.branches import PURPOSES

    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "purposes:\n" + "\n".join(
        f"  {key:<12} {text}" for key, text in PURPOSES.items()
    )
    parser.add_argument("--vocab-size", type=int, required=True, metavar="V")
    parser.add_argument("--d-model", type=int, required=True, metavar="D")
    parser.add_argument("--layers", type=int, required=True, metavar="L")
    parser.add_argument(
        "--tokens", type=int, metavar="N", help="tokens of training text, repetitions not counted"
    )
    parser.add_argument(
        "--purpose", default="pretraining", metavar="P", help="what it is for; see below"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print the advice as text or as JSON."""
    from wtlib.advice import advise, report

    advice = advise(
        args.vocab_size, args.d_model, args.layers, tokens=args.tokens, purpose=args.purpose
    )
    if args.json:
        print(json.dumps(dataclasses.asdict(advice), ensure_ascii=False, indent=2))
    else:
        print(report(advice))
    return 0
