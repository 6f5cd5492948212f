"""Chapter 1: the two jobs of the matrix, the kinds of tie, the four shares of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
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
    drawing, (left, right) = canvas(7.6, 3.6, columns=2, width_ratios=[1, 1.25])
    left.vlines(np.arange(len(row)), 0, row, color=palette.TABLE, linewidth=0.8)
    left.axhline(0, color=palette.INK, linewidth=0.6)
    left.set(title=f"Look up “{read.strip()}”: one row", xlabel="entry of the row", ylabel="value")

    ranked = np.sort(scores)[::-1]
    ranks = np.arange(1, len(ranked) + 1)
    right.plot(ranks, ranked, color=palette.HEAD)
    for rank, (token, score) in enumerate(answers, start=1):
        right.plot(rank, score, "o", color=palette.HEAD, markersize=4)
        right.annotate(
            token.strip(), (rank, score), xytext=(5, 3), textcoords="offset points", fontsize=9
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
            f"“{answers[0][0].strip()}”, through a long flat middle to {worst:.2f}."
        ),
        caption="What does each job return: one row, or a number for every row?",
        data=table(data, ["job", "what", "value"], align=["left", "left", "right"]),
    )


@styled
def ties(toys: Mapping[str, Fingerprint]) -> Figure:
    """Draw where names lead: to which Parameters, and those to which memory."""
    columns = 2
    drawing, grid = canvas(7.6, 2.1 * -(-len(toys) // columns), -(-len(toys) // columns), columns)
    rows = []
    for axes, (title, toy) in zip(grid.flat, toys.items(), strict=False):
        parameters = 1 if toy.before is None or toy.before.same_object else 2
        memories = 1 if toy.before is None or toy.before.same_storage else 2
        _draw_ties(axes, title, toy.vocabulary_names, parameters, memories)
        rows.append((title, ", ".join(toy.vocabulary_names), parameters, memories))
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
    matrix, named = count.vocabulary_matrix, count.shares
    bars = [
        ("one_of_tied", 1, count.if_tied, named.one_of_tied),
        ("one_of_untied", 1, count.if_untied, named.one_of_untied),
        ("two_of_untied", 2, count.if_untied, named.two_of_untied),
        ("two_of_tied", 2, count.if_tied, named.two_of_tied),
    ]
    drawing, axes = canvas(7.6, 3.2)
    for place, (_, matrices, total, share) in enumerate(bars):
        left = 0.0
        phantom = matrices * matrix + count.body > total
        for part in range(matrices):
            absent = phantom and part == 1
            axes.barh(
                place,
                matrix / 1e6,
                left=left,
                height=0.6,
                color="none" if absent else (palette.TABLE, palette.HEAD)[part],
                edgecolor=palette.HEAD if absent else "none",
                hatch="///" if absent else None,
            )
            left += matrix / 1e6
        axes.barh(place, max(total / 1e6 - left, 0), left=left, height=0.6, color=palette.BODY)
        axes.text(
            max(total / 1e6, left) + count.if_untied / 1e8, place, f"{share:.1%}", va="center"
        )
    axes.set(
        yticks=range(len(bars)),
        yticklabels=[name for name, *_ in bars],
        xlabel="parameters, millions",
        xlim=(0, 1.12 * count.if_untied / 1e6),
    )
    axes.invert_yaxis()
    listing = ", ".join(f"{name} {share:.1%}" for name, _, _, share in bars)
    return Figure(
        drawing,
        alt=(
            f"Four bars for {model}, as long as the tied or the untied total. The coloured part "
            f"is one or two vocabulary matrices: {listing}. In the last bar the second matrix is "
            "hatched, because the tied total does not hold it."
        ),
        caption=f"What part of {model} is the vocabulary? Four answers, all of them right.",
        data=table(
            [(name, matrices, total, f"{share:.2%}") for name, matrices, total, share in bars],
            ["share", "matrices counted", "total they are set against", "percent"],
            align=["left", "right", "right", "right"],
        ),
    )


def _draw_ties(
    axes: Any, title: str, names: tuple[str, ...], parameters: int, memories: int
) -> None:
    levels = [
        (0.0, list(names), palette.INK),
        (1.0, ["Parameter"] * parameters, palette.TABLE),
        (2.0, ["memory"] * memories, palette.HEAD),
    ]
    places = [[(x, y) for y in _heights(len(labels))] for x, labels, _ in levels]
    for before, after in pairwise(places):
        for place, start in enumerate(before):
            end = after[min(place, len(after) - 1)]
            axes.annotate(
                "",
                xy=(end[0] - 0.34, end[1]),
                xytext=(start[0] + 0.36, start[1]),
                arrowprops={"arrowstyle": "->", "color": palette.INK},
            )
    for (_, labels, color), spots in zip(levels, places, strict=True):
        for label, (x, y) in zip(labels, spots, strict=True):
            axes.text(
                x,
                y,
                label,
                ha="center",
                va="center",
                fontsize=9,
                bbox={"boxstyle": "round,pad=0.35", "facecolor": "none", "edgecolor": color},
            )
    axes.set(xlim=(-0.5, 2.4), ylim=(-0.9, 0.9), title=title)
    axes.axis("off")


def _heights(number: int) -> list[float]:
    return [0.0] if number == 1 else [0.45, -0.45]


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("s" if number > 1 else "")
