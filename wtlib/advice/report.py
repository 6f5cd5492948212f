"""An advice in words."""

from __future__ import annotations

import textwrap

from wtlib.advice.deciding import Advice


def report(advice: Advice) -> str:
    """Return the advice as paragraphs, for a terminal or a page."""
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
