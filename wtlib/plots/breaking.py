"""Figures of the chapter on how sharing breaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.ticker import FuncFormatter, NullLocator

from wtlib.calibration import Calibration, Reliability
from wtlib.display import table
from wtlib.plots import Figure, canvas, palette, styled

_MARKS = ("o", "s", "^", "D")
_LINES = ("-", "--", "-.", ":")
_COLOURS = {"logits": palette.HEAD, "inputs": palette.TABLE}


@styled
def factors(points: Mapping[str, Mapping[float, Calibration]], *, model: str) -> Figure:
    """Draw loss and calibration error against a factor put on one end of a finished model.

    Args:
        points: for "logits" and "inputs", the calibration at each factor.
        model: whose, for the caption.
    """
    drawing, (left, right) = canvas(7.0, 3.6, columns=2)
    rows = []
    for (side, found), mark in zip(points.items(), _MARKS, strict=False):
        x, colour = sorted(found), _COLOURS[side]
        left.plot(x, [found[f].loss for f in x], mark + "-", color=colour, label=f"{side} scaled")
        repaired = [found[f].repaired_loss for f in x]
        left.plot(x, repaired, mark + ":", color=colour, markerfacecolor="none")
        right.plot(x, [found[f].reliability.error for f in x], mark + "-", color=colour)
        right.plot(
            x,
            [found[f].repaired.error for f in x],
            mark + ":",
            color=colour,
            markerfacecolor="none",
        )
        rows += [
            (
                side,
                f"{f:g}",
                f"{c.loss:.3f}",
                f"{c.reliability.error:.3f}",
                f"{c.temperature:.3f}",
                f"{c.repaired_loss:.3f}",
                f"{c.repaired.error:.3f}",
            )
            for f, c in sorted(found.items())
        ]
    for axes, label in ((left, "loss, nats per token"), (right, "calibration error")):
        axes.set(xscale="log", xlabel="factor", ylabel=label)
        axes.set_xticks(sorted({f for found in points.values() for f in found}))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_ylim(bottom=0)
    left.legend(loc="upper center")
    return Figure(
        drawing,
        alt=(
            "Two panels against the factor, each with a line for scaled logits and one for scaled "
            "inputs, as they are (solid) and at the best temperature (dotted). "
            + " ".join(_extremes(side, found) for side, found in points.items())
        ),
        caption=(
            f"What does a wrong factor on a finished model cost ({model}), and what of it does the "
            "best temperature (dotted) take back?"
        ),
        data=table(
            rows,
            ["scaled", "factor", "loss", "ECE", "temperature", "loss then", "ECE then"],
            align=["left", "right", "right", "right", "right", "right", "right"],
        ),
    )


def _extremes(side: str, found: Mapping[float, Calibration]) -> str:
    loss = max(c.loss for c in found.values())
    repaired = max(c.repaired_loss for c in found.values())
    error = max(c.reliability.error for c in found.values())
    return (
        f"Scaled {side}: the loss rises to {loss:.2f}, at the best temperature to {repaired:.2f}; "
        f"the calibration error to {error:.2f}."
    )


@styled
def reliability(diagrams: Mapping[str, Reliability], *, what: str) -> Figure:
    """Draw how often positions of each confidence are right, one panel a model.

    Args:
        diagrams: by name.
        what: whose probabilities these are, for the caption.
    """
    drawing, panels = canvas(7.0, 3.1, columns=len(diagrams), sharey=True)
    rows = []
    for axes, (name, found) in zip(np.atleast_1d(panels), diagrams.items(), strict=True):
        stated, right = found.confidence.numpy(), found.accuracy.numpy()
        share = (found.counts / found.counts.sum()).numpy()
        axes.plot([0, 1], [0, 1], color=palette.INK, linewidth=0.8, alpha=0.6)
        axes.vlines(stated, np.minimum(stated, right), np.maximum(stated, right),
                    color=palette.PUBLISHED, linewidth=1.2)  # fmt: skip
        axes.scatter(stated, right, s=12 + 240 * share, color=palette.HEAD, zorder=3, clip_on=False)
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="confidence", title=name)
        axes.set_xticks([0, 0.5, 1], ["0", "½", "1"])
        rows += [
            (name, f"{c:.3f}", f"{a:.3f}", int(n))
            for c, a, n in zip(stated, right, found.counts.tolist(), strict=True)
        ]
    np.atleast_1d(panels)[0].set_ylabel("share that is right")
    sentences = [
        f"{name}: the error is {found.error:.3f}, and the points lie "
        + ("mostly below" if found.overconfidence > 0.02
           else "mostly above" if found.overconfidence < -0.02 else "close to")
        + " the diagonal"
        for name, found in diagrams.items()
    ]  # fmt: skip
    return Figure(
        drawing,
        alt=(
            "Reliability diagrams, one point a bin of confidence, as large as its share of the "
            "positions; a line joins each to the diagonal. " + ". ".join(sentences) + "."
        ),
        caption=f"Does what {what} states come true as often as stated?",
        data=table(rows, ["model", "confidence", "right", "positions"],
                   align=["left", "right", "right", "right"]),
    )  # fmt: skip


@styled
def layers(
    dropped: Mapping[str, Mapping[int, float]],
    left: Mapping[str, Mapping[int, float]],
    depths: Mapping[str, int],
) -> Figure:
    """Draw the loss added by leaving one layer out, and by leaving early.

    Args:
        dropped: per model, by the layer left out (counted from zero), the loss added.
        left: per model, by the number of layers run, the loss added.
        depths: per model, its layers.
    """
    drawing, panels = canvas(7.0, 3.8, columns=2, sharey=True)
    rows = []
    for axes, series, what in ((panels[0], dropped, "left out"), (panels[1], left, "layers run")):
        for (name, added), colour, mark, line in zip(
            series.items(), palette.SERIES, _MARKS, _LINES, strict=False
        ):
            n = depths[name]
            places = sorted(added)
            # The first layer of a stack stands at 0 and its last at 1, whatever the depth.
            scale = (n - 1) if what == "left out" else n
            axes.plot([place / scale for place in places], [added[p] for p in places],
                      linestyle=line, marker=mark, color=colour, label=name)  # fmt: skip
            rows += [(name, what, place, f"{added[place]:.3f}") for place in places]
        axes.set_yscale("symlog", linthresh=0.1)
        axes.set_ylim(bottom=-0.05)
        axes.set_yticks([0, 0.1, 1, 10, 100], ["0", "0.1", "1", "10", "100"])
        axes.yaxis.set_minor_locator(NullLocator())
    panels[0].set(xlabel="place of the layer left out (0 first, 1 last)",
                  ylabel="loss added, nats per token", title="One layer left out")  # fmt: skip
    panels[1].set(xlabel="share of the layers run", title="Left early")
    panels[0].legend(loc="upper right")
    return Figure(
        drawing,
        alt=(
            "Two panels on a scale that is logarithmic above a tenth of a nat. Left: the loss "
            "added by leaving out a layer, against its place. "
            + " ".join(
                f"{name}: from {min(a.values()):.3f} to {max(a.values()):.3f}."
                for name, a in dropped.items()
            )
            + " Right: the loss added by running only the first layers; all curves fall to zero "
            "at the right edge."
        ),
        caption="What does a layer cost when it is left out, and what does leaving early cost?",
        data=table(rows, ["model", "what", "layer or layers", "loss added"],
                   align=["left", "left", "right", "right"]),
    )  # fmt: skip


@styled
def bits(costs: Mapping[str, Mapping[int, float]], *, model: str) -> Figure:
    """Draw the loss added by rounding one side of a tie, the other, or both.

    Args:
        costs: for "table", "head" and "both", by the bits kept, the loss added.
        model: whose, for the caption.
    """
    drawing, axes = canvas(6.6, 3.6)
    colours = {"table": palette.TABLE, "head": palette.HEAD, "both": palette.BODY}
    rows = []
    for (side, added), mark, line in zip(costs.items(), _MARKS, _LINES, strict=False):
        places: Sequence[int] = sorted(added)
        axes.plot(places, [added[b] for b in places], linestyle=line, marker=mark,
                  color=colours[side], label=side)  # fmt: skip
        rows += [(side, b, f"{added[b]:.3f}") for b in reversed(places)]
    axes.set(xlabel="bits an entry", ylabel="loss added, nats per token")
    axes.set_xticks(sorted({b for added in costs.values() for b in added}))
    axes.invert_xaxis()
    axes.legend(loc="upper left")
    few, many = min(costs["head"]), max(costs["head"])
    return Figure(
        drawing,
        alt=(
            "Loss added against the bits kept, for the table alone, the head alone and both. "
            + " ".join(
                f"At {b} bits the table adds {costs['table'][b]:.2f}, the head "
                f"{costs['head'][b]:.2f}, both {costs['both'][b]:.2f}."
                for b in (many, few)
            )
        ),
        caption=f"Which side of the tie bears fewer bits, in {model}?",
        data=table(rows, ["rounded", "bits", "loss added"], align=["left", "right", "right"]),
    )
