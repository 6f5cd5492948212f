"""Chapter 1: the two jobs of the matrix, the kinds of tie, the four shares of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from wtlib.counting import ParameterCount
from wtlib.display import table
from wtlib.plots import Figure, canvas, palette, styled
from wtlib.tying import Fingerprint


@styled
def lookup_and_scores(
    row: Float[np.ndarray, " d"],
    scores: Float[np.ndarray, " V"],
    read: str,
    answers: Sequence[tuple[str, float]],
) -> Figure:
    """Set the two jobs side by side: one row of ``d`` numbers, and ``V`` scores.

    Args:
        row: the row that a lookup returns.
        scores: the scores of all rows for one hidden state.
        read: the token whose row it is.
        answers: tokens to name in the right panel with their scores, best first.
    """
    drawing, (left, right) = canvas(6.6, 4.0, columns=2, width_ratios=[1, 1.2])
    left.vlines(np.arange(len(row)), 0, row, color=palette.TABLE, linewidth=0.8)
    left.axhline(0, color=palette.INK, linewidth=0.6)
    left.set(title=f"Look up “{read.strip()}”: one row", xlabel="entry of the row", ylabel="value")

    ranked = np.sort(scores)[::-1]
    ranks = np.arange(1, len(ranked) + 1)
    right.plot(ranks, ranked, color=palette.HEAD)
    # The labels stand in a column in the empty corner above the curve, in the points' order.
    step = (ranked[0] - ranked[-1]) * 0.055
    for rank, (token, score) in enumerate(answers, start=1):
        right.plot(rank, score, "o", color=palette.HEAD, markersize=4)
        right.annotate(
            token.strip(),
            xy=(rank, score),
            xytext=(len(ranked) ** 0.62, ranked[0] - (rank - 1) * step),
            va="center",
            arrowprops={"arrowstyle": "-", "color": palette.BODY, "linewidth": 0.7},
        )
    right.set(xscale="log", title="Score: every row", xlabel="rank of the row", ylabel="score")

    smallest, middle, largest = (float(np.quantile(row, q)) for q in (0, 0.5, 1))
    best, worst = float(ranked[0]), float(ranked[-1])
    marks = [len(answers) * 2, *(10**power for power in range(2, 6)), len(ranked)]
    data = [
        ("lookup", "smallest entry", f"{smallest:.3f}"),
        ("lookup", "median entry", f"{middle:.3f}"),
        ("lookup", "largest entry", f"{largest:.3f}"),
        *(("head", f"score of “{token.strip()}”", f"{score:.2f}") for token, score in answers),
        *(
            ("head", f"score at rank {mark:,}", f"{ranked[mark - 1]:.2f}")
            for mark in marks
            if mark <= len(ranked)
        ),
    ]
    return Figure(
        drawing,
        alt=(
            f"Left: the {len(row):,} entries of the row that the lookup of “{read.strip()}” "
            f"returns, as thin bars on both sides of zero. Right: the scores of all "
            f"{len(ranked):,} rows for one hidden state, sorted. They fall from {best:.2f}, for "
            f"“{answers[0][0].strip()}”, to {worst:.2f}."
        ),
        caption="What does each job return: one row, or a number for every row?",
        data=table(data, ["job", "what", "value"], align=["left", "left", "right"]),
    )


@styled
def ties(toys: Mapping[str, Fingerprint]) -> Figure:
    """Draw where names lead: to which Parameters, and those to which memory."""
    drawing, axes = canvas(6.6, 1.25 * len(toys))
    rows = []
    for place, (title, toy) in enumerate(toys.items()):
        parameters = 1 if toy.before is None or toy.before.same_object else 2
        memories = 1 if toy.before is None or toy.before.same_storage else 2
        _draw_ties(axes, -place, title, toy.vocabulary_names, parameters, memories)
        rows.append((title, ", ".join(toy.vocabulary_names), parameters, memories))
    axes.set(xlim=(-0.95, 2.6), ylim=(0.45 - len(toys), 0.55))
    axes.axis("off")
    sentences = [
        f"{title}: {_plural(len(toys[title].vocabulary_names), 'name')}, "
        f"{_plural(parameters, 'Parameter')}, {_plural(memories, 'piece')} of memory"
        for title, _, parameters, memories in rows
    ]
    return Figure(
        drawing,
        alt="Arrows from names to Parameters to memory. " + ". ".join(sentences) + ".",
        caption="Where do the names lead? Each drawing is read off one of the toys.",
        data=table(rows, ["toy", "names", "Parameters", "pieces of memory"]),
    )


@styled
def shares(count: ParameterCount, model: str) -> Figure:
    """Draw the four meanings of "share of the model" of one model: a part of a bar each."""
    named, matrix, untied = count.shares, count.vocabulary_matrix / 1e6, count.if_untied / 1e6
    bars = [
        ("one_of_tied", 1, count.if_tied, named.one_of_tied),
        ("one_of_untied", 1, count.if_untied, named.one_of_untied),
        ("two_of_untied", 2, count.if_untied, named.two_of_untied),
        ("two_of_tied", 2, count.if_tied, named.two_of_tied),
    ]
    drawing, axes = canvas(6.6, 3.4)
    for place, (_, matrices, total, share) in enumerate(bars):
        axes.barh(place, total / 1e6, height=0.6, color=palette.BODY)
        axes.barh(place, matrix, height=0.6, color=palette.TABLE)
        if matrices == 2:
            # The tied total holds no second matrix: hatched, it lies over what is there.
            absent = total == count.if_tied
            look = {"color": "none", "hatch": "///"} if absent else {"color": palette.HEAD}
            axes.barh(place, matrix, left=matrix, height=0.6, **look)
        end = max(total / 1e6, matrices * matrix)
        axes.text(end + untied / 100, place, f"{share:.1%}", va="center")
    axes.set(
        yticks=range(len(bars)),
        yticklabels=[name for name, *_ in bars],
        xlabel="parameters, millions",
        xlim=(0, 1.12 * untied),
    )
    axes.invert_yaxis()
    listing = ", ".join(f"{name} {share:.1%}" for name, _, _, share in bars)
    return Figure(
        drawing,
        alt=(
            f"Four bars for {model}, as long as the tied or the untied total. The coloured part "
            f"is one or two vocabulary matrices: {listing}. In the last bar the second matrix is "
            "hatched over the rest of the model, because the tied total does not hold it."
        ),
        caption=(
            f"What part of {model} is the vocabulary? It depends on how many matrices are counted "
            "(blue and orange), and against which total (the whole bar)."
        ),
        data=table(
            [(name, matrices, total, f"{share:.2%}") for name, matrices, total, share in bars],
            ["share", "matrices counted", "total they are set against", "percent"],
            align=["left", "right", "right", "right"],
        ),
    )


def _draw_ties(
    axes: Any, middle: int, title: str, names: tuple[str, ...], parameters: int, memories: int
) -> None:
    """Draw one toy as a row: its title, then names, Parameters and memory with arrows between."""
    levels = [
        (0.3, list(names), palette.INK),
        (1.35, ["Parameter"] * parameters, palette.TABLE),
        (2.25, ["memory"] * memories, palette.HEAD),
    ]
    half_widths = (0.36, 0.27, 0.23)
    heights = [
        [middle] if len(labels) == 1 else [middle + 0.22, middle - 0.22] for _, labels, _ in levels
    ]
    axes.text(-0.95, middle, title, va="center")
    for (x, labels, color), ys in zip(levels, heights, strict=True):
        for label, y in zip(labels, ys, strict=True):
            box = {"boxstyle": "round,pad=0.3", "facecolor": "none", "edgecolor": color}
            axes.text(x, y, label, ha="center", va="center", fontsize=10, bbox=box)
    for level in (0, 1):
        start, end = levels[level][0] + half_widths[level], levels[level + 1][0]
        targets = heights[level + 1]
        for place, y in enumerate(heights[level]):
            axes.annotate(
                "",
                xy=(end - half_widths[level + 1], targets[min(place, len(targets) - 1)]),
                xytext=(start, y),
                arrowprops={"arrowstyle": "->", "color": palette.INK},
            )


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("s" if number > 1 else "")
