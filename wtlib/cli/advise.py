"""``python -m wtlib advise``: whether to tie, with the evidence for each reason."""

from __future__ import annotations

import argparse
import dataclasses
import json
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wtlib.advice import Advice

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
    from wtlib.advice import advise

    advice = advise(
        args.vocab_size, args.d_model, args.layers, tokens=args.tokens, purpose=args.purpose
    )
    if args.json:
        print(json.dumps(dataclasses.asdict(advice), ensure_ascii=False, indent=2))
    else:
        print(text(advice))
    return 0


def text(advice: Advice) -> str:
    """Return the advice as paragraphs for a terminal."""
    near = advice.neighbours
    parts = [
        f"{advice.recommendation.upper()}  (decided by: {advice.decided_by})",
        f"{advice.if_tied:,} parameters tied, {advice.if_untied:,} untied; one matrix is "
        f"{advice.vocabulary_matrix:,}, a saving of {advice.saving:.1%}.",
    ]
    for reason in advice.reasons:
        branch = reason.branch
        ledger = f"\nledger: {', '.join(branch.claims)}" if branch.claims else ""
        parts.append(
            f"{branch.word}: {reason.numbers} ({branch.evidence})\n{_wrap(branch.because)}{ledger}"
        )
    parts.append(
        f"In the census, {near.tied} of {near.models} causal models with a saving of "
        f"{near.low:.1%} to {near.high:.1%} are tied."
    )
    parts.append("Uncertain:\n" + "\n".join(_item(note) for note in advice.uncertain))
    parts.append("If you follow it:\n" + "\n".join(_item(step) for step in advice.next_steps))
    return "\n\n".join(parts)


def _wrap(paragraph: str) -> str:
    return textwrap.fill(paragraph, 88, initial_indent="  ", subsequent_indent="  ")


def _item(paragraph: str) -> str:
    return textwrap.fill(paragraph, 88, initial_indent="- ", subsequent_indent="  ")
