"""Figures of the chapter on gradient routes."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from wtlib.agreement import Agreement
from wtlib.display import table
from wtlib.plots import palette
from wtlib.plots.figure import Figure, canvas, styled

# Runs are told apart by line and mark as well as by colour.
_LINES = ("-", "--", "-.", ":")
_MARKS = ("o", "s", "^", "D")
_PLAIN = "{x:g}"  # ticks of a logarithmic axis as plain numbers


@styled
def token_norms(
    tokens: Sequence[str], as_answer: Sequence[float], as_question: Sequence[float], *, model: str
) -> Figure:
    """Draw, for every token of a sentence, its row's norm in either route.

    Args:
        tokens: the tokens in reading order, as text.
        as_answer: norm of the token's row in the short route, through the head.
        as_question: norm of the token's row in the long route, through the table.
        model: whose rows these are, for the caption.
    """
    names = [f"“{token}”" for token in tokens]
    drawing, panels = canvas(7.0, 0.9 + 0.32 * len(tokens), 1, 2, sharey=True)
    places = range(len(tokens))
    for axes, norms, colour, title in (
        (panels[0], as_answer, palette.HEAD, "as an answer (short route)"),
        (panels[1], as_question, palette.TABLE, "as a question (long route)"),
    ):
        axes.barh(places, norms, color=colour, height=0.7)
        for place, norm in zip(places, norms, strict=True):
            label = "0, exactly" if norm == 0 else f"{norm:.2g}"
            axes.annotate(
                label, (norm, place), xytext=(3, 0), textcoords="offset points", va="center"
            )
        axes.set(title=title, xlim=(0, 1.22 * max(norms)), xlabel="norm of the row's gradient")
    panels[0].set_yticks(places, names)
    panels[0].invert_yaxis()
    untouched = [name for name, norm in zip(names, as_question, strict=True) if norm == 0]
    return Figure(
        drawing=drawing,
        alt=(
            "Two bar charts with one bar for each token of the sentence. As an answer the largest "
            f"row is {_largest(names, as_answer)}; as a question it is "
            f"{_largest(names, as_question)}. "
            + (f"As a question {', '.join(untouched)} has no bar at all." if untouched else "")
        ).strip(),
        caption=f"Does a token's row learn more as an answer or as a question, in {model}?",
        data=table(
            [
                [name, f"{answer:.4f}", f"{question:.4f}"]
                for name, answer, question in zip(names, as_answer, as_question, strict=True)
            ],
            ["token", "as an answer (short)", "as a question (long)"],
            align=["left", "right", "right"],
        ),
    )


def _largest(names: Sequence[str], norms: Sequence[float]) -> str:
    return max(zip(norms, names, strict=True))[1]


@styled
def journey(
    models: Mapping[str, Sequence[float]],
    arriving: Mapping[str, float],
    printed: Mapping[int, float],
    *,
    printed_blocks: int,
    printed_arriving: float,
) -> Figure:
    """Draw the gradient's norm on its way from the top of the stack down to the table.

    Args:
        models: per model, the norm leaving each block, first block first.
        arriving: per model, the norm of the long route in the table.
        printed: published norms by the block they leave.
        printed_blocks: how many blocks the published model has.
        printed_arriving: the published norm of the long route.
    """
    drawing, axes = canvas(7.0, 4.0)
    rows: list[list[str]] = []
    drawn = [
        (name, {**dict(enumerate(norms, start=1)), 0: arriving[name]}, len(norms))
        for name, norms in models.items()
    ]
    drawn.append(("GPT-2, published", {**printed, 0: printed_arriving}, printed_blocks))
    for (name, norms, blocks), colour, line, mark in zip(
        drawn, (palette.TABLE, palette.BODY, palette.PUBLISHED), _LINES, _MARKS, strict=False
    ):
        down = sorted(norms, reverse=True)
        axes.plot(
            [1 - block / blocks for block in down],
            [norms[block] for block in down],
            color=colour,
            linestyle=line,
            marker=mark,
            markersize=5,
            label=name,
        )
        rows += [
            [name, f"leaving block {block}" if block else "in the table", f"{norms[block]:.4g}"]
            for block in down
        ]
    axes.set(yscale="log", ylabel="norm of the gradient", xlabel="way from the top to the table")
    axes.yaxis.set_major_formatter(_PLAIN)
    axes.set_xticks([0, 0.5, 1], ["leaving the\nlast block", "half-way", "in the\ntable"])
    axes.grid(visible=True, axis="y")
    axes.legend()
    gains = [f"{name}, {norms[0] / norms[max(norms)]:.1f}" for name, norms, _ in drawn]
    return Figure(
        drawing=drawing,
        alt=(
            "Lines of the gradient's norm, on a logarithmic scale, from the last block's output "
            "on the left to the table on the right. Norm in the table over norm at the top: "
            + "; ".join(gains)
            + "."
        ),
        caption="Does the gradient fade on its way down to the table?",
        data=table(rows, ["model", "where", "norm"], align=["left", "left", "right"]),
    )


@styled
def ratio_in_training(
    runs: Mapping[str, Mapping[int, float]], published: Mapping[int, float]
) -> Figure:
    """Draw the ratio of the routes, short over long, against the training step.

    Args:
        runs: per run, the ratio by step; the first step is 1.
        published: a published run's ratio by step.
    """
    drawing, axes = canvas(7.0, 4.2)
    for (name, series), colour, line in zip(
        runs.items(), (palette.TIED, palette.TIED, palette.UNTIED), _LINES, strict=False
    ):
        axes.plot(list(series), list(series.values()), color=colour, linestyle=line, label=name)
    axes.plot(
        list(published),
        list(published.values()),
        color=palette.PUBLISHED,
        linestyle="none",
        marker="D",
        label="OLMo 1B, tied, published",
    )
    axes.axhline(1, color=palette.INK, linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlabel="step", ylabel="short norm over long norm")
    _plain_ticks(axes)
    axes.grid(visible=True, alpha=0.2)
    drawing.legend(loc="outside lower center", ncols=2)
    ends = "; ".join(
        f"{name}: from {series[min(series)]:.1f} to a peak of {max(series.values()):.1f}, "
        f"then {series[max(series)]:.1f}"
        for name, series in runs.items()
    )
    steps = sorted({step for series in (*runs.values(), published) for step in series})
    return Figure(
        drawing=drawing,
        alt=f"The ratio against the step, both on logarithmic scales. {ends}. The published run's "
        f"points lie between {min(published.values()):.1f} and {max(published.values()):.1f}.",
        caption="Is the ratio between the routes a property of tying, or of the moment you look?",
        data=table(
            [
                [step, *(_ratio(series.get(step)) for series in (*runs.values(), published))]
                for step in steps
            ],
            ["step", *runs, "OLMo 1B, published"],
            align=["right"] * (len(runs) + 2),
        ),
    )


def _ratio(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"


def _plain_ticks(axes: Axes) -> None:
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(_PLAIN)


@styled
def agreement(passages: Sequence[Agreement]) -> Figure:
    """Draw the spread of the cosines, and the mean of every passage with two error bars.

    Args:
        passages: one measurement for each passage of text.
    """
    drawing, (spread, means) = canvas(7.4, 3.0 + 0.1 * len(passages), 1, 2, width_ratios=(3, 2))
    pooled = np.concatenate([passage.cosines.numpy() for passage in passages])
    null_sd = passages[0].isotropic_sd
    below = sum(passage.mean < 0 for passage in passages)
    edge = math.ceil(10 * float(np.abs(pooled).max())) / 10
    spread.hist(pooled, bins=40, range=(-edge, edge), density=True, color=palette.BODY)
    grid = np.linspace(-edge, edge, 400)
    density = np.exp(-((grid / null_sd) ** 2) / 2) / (null_sd * math.sqrt(2 * math.pi))
    spread.plot(grid, density, color=palette.UNTIED, label="random directions")
    spread.set(title="one cosine a row", xlabel="cosine between the routes", ylabel="density")
    spread.legend(loc="upper left", fontsize=9)

    places = np.arange(len(passages))
    for offset, colour, label, error in (
        (-0.12, palette.INK, "measured spread", lambda p: p.standard_error),
        (0.12, palette.UNTIED, "random directions", lambda p: p.isotropic_standard_error),
    ):
        means.errorbar(
            [passage.mean for passage in passages],
            places + offset,
            xerr=[1.96 * error(passage) for passage in passages],
            color=colour,
            linestyle="none",
            marker="o",
            markersize=4,
            label=label,
        )
    means.axvline(0, color=palette.INK, linewidth=0.8)
    means.set_yticks(places, [str(place + 1) for place in places], fontsize=8)
    means.invert_yaxis()
    means.locator_params(axis="x", nbins=4)
    means.set(title="mean of each passage", xlabel="mean cosine, ±1.96 errors", ylabel="passage")
    drawing.legend(*means.get_legend_handles_labels(), loc="outside lower right", ncols=2)
    spread = "wider" if pooled.std(ddof=1) > null_sd else "narrower"
    return Figure(
        drawing=drawing,
        alt=(
            f"Left, a histogram of {pooled.size} cosines, {spread} (standard deviation "
            f"{pooled.std(ddof=1):.3f}) than the bell of random directions ({null_sd:.3f}). "
            f"Right, the mean cosine of each of {len(passages)} passages, {below} of them below "
            "zero, with two error bars: one from the measured spread, one for random directions."
        ),
        caption="Do the two routes pull a row the same way?",
        data=table(
            [
                [
                    number,
                    passage.count,
                    f"{passage.mean:.3f}",
                    f"{passage.sd:.3f}",
                    f"{passage.standard_error:.3f}",
                    f"{passage.isotropic_standard_error:.3f}",
                    int((passage.cosines < 0).sum()),
                ]
                for number, passage in enumerate(passages, start=1)
            ],
            ["passage", "rows", "mean", "sd", "error", "error if random", "negative"],
            align=["right"] * 7,
        ),
    )


@styled
def rare_row(distances: Mapping[str, Mapping[str, Sequence[float]]]) -> Figure:
    """Draw how far a row travels that is read in the first step and never again.

    Args:
        distances: per model ("untied", "tied") and optimizer, the distance from the start after
            every step, in units of the distance after the first.
    """
    drawing, panels = canvas(7.4, 3.9, 1, len(distances), sharey=True)
    rows: list[list[str | int]] = []
    for axes, (model, optimizers) in zip(panels, distances.items(), strict=True):
        for (name, path), colour, line in zip(
            optimizers.items(),
            (palette.BODY, palette.UNTIED, palette.TABLE, palette.HEAD),
            _LINES,
            strict=True,
        ):
            axes.plot(range(1, len(path) + 1), path, color=colour, linestyle=line, label=name)
            rows += [
                [model, name, step, f"{path[step - 1]:.2f}"] for step in _milestones(len(path))
            ]
        axes.set(title=f"{model} table", xlabel="step", xscale="log", yscale="log")
        _plain_ticks(axes)
        axes.grid(visible=True, alpha=0.2)
    panels[0].set_ylabel("distance, in first steps")
    drawing.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    ends = "; ".join(
        f"{model}, {name}, {path[-1]:.1f}"
        for model, optimizers in distances.items()
        for name, path in optimizers.items()
    )
    return Figure(
        drawing=drawing,
        alt="Two panels, one line for each optimizer: the row's distance from where it started, "
        f"in units of its first step, against the step. At the end: {ends}.",
        caption="Does a row sit still while nobody reads it?",
        data=table(
            rows,
            ["table", "optimizer", "step", "distance, in first steps"],
            align=["left", "left", "right", "right"],
        ),
    )


def _milestones(last: int) -> list[int]:
    return sorted({step for step in (1, 2, 5, 10, 20, 50, 100, 200) if step < last} | {last})
