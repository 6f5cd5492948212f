"""Figures of initialisation: what a matrix's scale at the start does to the loss."""

from collections.abc import Mapping, Sequence

from wtlib.display import table
from wtlib.plots import palette
from wtlib.plots.figure import Figure, canvas, styled
from wtlib.sweeps import Record

_MARKS = ("o", "s", "^")


@styled
def starting_loss(losses: Mapping[str, Mapping[float, float]], *, ignorance: float) -> Figure:
    """Draw the loss before the first step against the standard deviation of the matrix.

    Args:
        losses: per kind of head, the loss by standard deviation.
        ignorance: the loss of equal probabilities, ln V.
    """
    drawing, axes = canvas(7.0, 4.0)
    colours = (palette.TIED, palette.UNTIED, palette.BODY)
    for (name, series), colour, line, mark in zip(
        losses.items(), colours, ("-", "--", ":"), _MARKS, strict=False
    ):
        axes.plot(
            list(series),
            list(series.values()),
            color=colour,
            linestyle=line,
            marker=mark,
            label=name,
        )
    axes.axhline(ignorance, color=palette.INK, linewidth=0.8)
    axes.annotate(
        "equal probabilities, ln V",
        (min(next(iter(losses.values()))), ignorance),
        xytext=(0, -14),
        textcoords="offset points",
        fontsize=9,
    )
    axes.set(
        xscale="log",
        yscale="log",
        ylim=(ignorance / 2.2, None),
        xlabel="standard deviation of the matrix's entries",
        ylabel="loss at step 0, nats a token",
    )
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.grid(visible=True, alpha=0.2)
    drawing.legend(loc="outside lower center", ncols=1)
    ends = "; ".join(
        f"{name}: from {series[min(series)]:.1f} to {series[max(series)]:.1f}"
        for name, series in losses.items()
    )
    stds = sorted({std for series in losses.values() for std in series})
    return Figure(
        drawing=drawing,
        alt=f"Lines of the loss before training against the standard deviation, both axes "
        f"logarithmic. From the smallest to the largest standard deviation: {ends}.",
        caption="How wrong is a model before it has learned anything, and does tying matter to it?",
        data=table(
            [[f"{std:.3g}", *(f"{series[std]:.1f}" for series in losses.values())] for std in stds],
            ["standard deviation", *losses],
            align=["right"] * (1 + len(losses)),
        ),
    )


@styled
def trained(records: Sequence[Record]) -> Figure:
    """Draw loss at the start and after training by the matrices' standard deviation.

    Args:
        records: of the sweep on initialisation.
    """
    drawing, panels = canvas(7.4, 4.0, 1, 2)
    rows: list[list[str | int]] = []
    kinds = ((True, "tied", palette.TIED, "o", -1), (False, "untied", palette.UNTIED, "s", 1))
    stds = sorted({record.config.model.init_std for record in records})
    for axes, metric, title in (
        (panels[0], "initial_loss", "before the first step"),
        (panels[1], "test_loss", "after training, test"),
    ):
        for tied, name, colour, mark, side in kinds:
            for place, std in enumerate(stds):
                values = _losses(records, metric, std, tied=tied)
                axes.plot(
                    [place + 0.08 * side] * len(values),
                    values,
                    color=colour,
                    linestyle="none",
                    marker=mark,
                    alpha=0.8,
                    label=name if place == 0 else None,
                )
        axes.set_xticks(range(len(stds)), [f"{std:.2g}" for std in stds])
        axes.set(title=title, xlabel="standard deviation at the start")
        axes.grid(visible=True, axis="y", alpha=0.2)
    panels[0].set(yscale="log", ylabel="loss, nats a token")
    panels[0].yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    panels[0].yaxis.set_minor_formatter(lambda value, _: "")
    drawing.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    for std in stds:
        for tied, name, *_ in kinds:
            start = _losses(records, "initial_loss", std, tied=tied)
            end = _losses(records, "test_loss", std, tied=tied)
            rows.append(
                [f"{std:.2g}", name, len(end), *(f"{sum(v) / len(v):.2f}" for v in (start, end))]
            )
    said = "; ".join(f"{row[0]} {row[1]}: {row[3]} to {row[4]}" for row in rows)
    return Figure(
        drawing=drawing,
        alt=f"Two panels, loss before the first step and after training, against the standard "
        f"deviation, one point a run. Means of both, by standard deviation: {said}.",
        caption="Does a bad start cost a tied model more, and does training make up for it?",
        data=table(
            rows,
            ["standard deviation", "ends", "runs", "loss before", "test loss after"],
            align=["right", "left", "right", "right", "right"],
        ),
    )


def _losses(records: Sequence[Record], metric: str, std: float, *, tied: bool) -> list[float]:
    return [
        value
        for record in records
        if record.config.model.init_std == std
        and record.config.model.tie_word_embeddings is tied
        and (value := record.number(metric)) is not None
    ]
