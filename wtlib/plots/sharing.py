"""Figures of the chapter on cross-layer sharing."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.colors import LogNorm, Normalize
from matplotlib.patches import Rectangle

from wtlib.display import table
from wtlib.gaps import Gap
from wtlib.latency import Latency
from wtlib.plots import Figure, canvas, palette, styled
from wtlib.sharing import Plan
from wtlib.similarity import Place

# Series are told apart by line and mark as well as by colour.
_LINES = ("-", "--", "-.", ":", "-", "--", "-.")
_MARKS = ("o", "s", "^", "D", "v", "P", "X")


@styled
def schemes(plans: Mapping[str, Plan]) -> Figure:
    """Draw which stored sublayer each layer uses, a panel a scheme; what is shared is filled.

    Args:
        plans: plans of one depth, by the name of the scheme.
    """
    drawing, panels = canvas(7.6, 3.6, 1, len(plans), sharey=True)
    rows = []
    for axes, (name, plan) in zip(np.atleast_1d(panels), plans.items(), strict=True):
        for column, used in enumerate((plan.attention, plan.mlp)):
            times = Counter(used)
            for layer, index in enumerate(used):
                shared = times[index] > 1
                colour = palette.SERIES[index % len(palette.SERIES)]
                axes.add_patch(
                    Rectangle(
                        (column + 0.06, layer + 0.08),
                        0.88,
                        0.84,
                        facecolor=colour if shared else "none",
                        edgecolor=colour,
                        alpha=0.55 if shared else 1,
                    )
                )
                axes.text(column + 0.5, layer + 0.5, str(index), ha="center", va="center")
        axes.set(xlim=(0, 2), ylim=(0, plan.layers), yticks=[])
        axes.set_xticks([0.5, 1.5], ["att.", "MLP"], fontsize=8)
        axes.set_title(
            name.replace("reverse-", "reverse-\n").replace("-only", "\nonly"), fontsize=9
        )
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        rows.append(
            (
                name,
                " ".join(map(str, plan.attention)),
                " ".join(map(str, plan.mlp)),
                plan.stored_attentions,
                plan.stored_mlps,
            )
        )
    np.atleast_1d(panels)[0].set_ylabel("layer, first at the bottom")
    return Figure(
        drawing,
        alt=(
            "One stack of layers for each scheme. Every layer has two cells, attention and MLP, "
            "with the number of the stored sublayer it uses; cells whose sublayer is used more "
            "than once are filled. "
            + " ".join(
                f"{name} stores {plan.stored_attentions} attentions and {plan.stored_mlps} MLPs."
                for name, plan in plans.items()
            )
        ),
        caption="Which layer uses which block?",
        data=table(
            rows,
            ["scheme", "attention used by each layer", "MLP used", "attentions", "MLPs stored"],
        ),
    )


@styled
def latency(series: Sequence[Sequence[Latency]], cache_bytes: int | None) -> Figure:
    """Draw the time of a shared stack over that of an unshared one, against the stack's bytes.

    Args:
        series: per batch size, the latencies of all widths.
        cache_bytes: the last-level cache; where the stack exceeds it and a block does not, the
            ground is shaded.
    """
    drawing, axes = canvas(7.0, 4.0)
    rows: list[tuple[str | int, ...]] = []
    for found, colour, line, mark in zip(
        series, (palette.TABLE, palette.HEAD), _LINES, _MARKS, strict=False
    ):
        sizes = [x.setting.weight_bytes("none") / 1e6 for x in found]
        ratios = [x.ratio for x in found]
        spread = np.abs(np.array([x.quartiles for x in found]).T - np.array(ratios))
        batch = found[0].setting.batch_size
        axes.errorbar(
            sizes, ratios, yerr=spread, color=colour, linestyle=line, marker=mark, capsize=3,
            label=f"batch of {batch}",
        )  # fmt: skip
        rows += [
            (
                batch,
                x.setting.d_model,
                *(f"{x.setting.weight_bytes(name) / 1e6:.1f}" for name in ("none", "all")),
                f"{x.ratio:.2f}",
                "{:.2f}–{:.2f}".format(*x.quartiles),
                len(x.ratios),
            )
            for x in found
        ]
    if cache_bytes is not None:
        layers = series[0][0].setting.n_layers
        low, high = cache_bytes / 1e6, layers * cache_bytes / 1e6
        axes.axvspan(low, high, color=palette.BODY, alpha=0.18, linewidth=0)
        axes.text(
            math.sqrt(low * high), 1.16, "a block fits the cache,\nthe stack does not",
            ha="center", va="top", fontsize=9,
        )  # fmt: skip
    axes.axhline(1, color=palette.INK, linewidth=0.8)
    axes.set(xscale="log", xlabel="weights of the unshared stack, MB", ylabel="shared / unshared")
    axes.set_ylim(0, 1.2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.legend(loc="lower right")
    lowest = [min(found, key=lambda x: x.ratio) for found in series]
    return Figure(
        drawing,
        alt=(
            "Two lines of the time of a shared stack over that of an unshared one, against the "
            "size of the unshared stack on a logarithmic scale. "
            + " ".join(
                f"For a batch of {x.setting.batch_size} the lowest ratio is {x.ratio:.2f}, at "
                f"{x.setting.weight_bytes('none') / 1e6:.0f} MB, and the last is "
                f"{found[-1].ratio:.2f}."
                for x, found in zip(lowest, series, strict=True)
            )
        ),
        caption="When is a shared stack faster, although it computes the same?",
        data=table(
            rows,
            ["batch", "width", "MB, unshared", "MB, shared", "ratio", "quartiles", "pairs"],
            align=["right"] * 7,
        ),
    )


@styled
def applications(norms: Mapping[str, Sequence[float]], sums: Mapping[str, float]) -> Figure:
    """Draw the gradient's norm of each application of a shared block, and the norm of the sum.

    Args:
        norms: per moment of training, the norms by application, first layer first.
        sums: per moment, the norm of the sum.
    """
    drawing, panels = canvas(7.0, 3.4, 1, len(norms), sharey=False)
    rows = []
    for axes, (moment, of) in zip(np.atleast_1d(panels), norms.items(), strict=True):
        names = [*(str(layer) for layer in range(len(of))), "sum"]
        heights = [*of, sums[moment]]
        axes.bar(names, heights, color=[palette.TABLE] * len(of) + [palette.TIED])
        axes.set(title=moment, xlabel="application")
        rows += [
            (moment, name, f"{height:.4g}") for name, height in zip(names, heights, strict=True)
        ]
    np.atleast_1d(panels)[0].set_ylabel("norm of the gradient")
    return Figure(
        drawing,
        alt=(
            "Bar charts of the gradient's norm for each application of the shared block, and of "
            "their sum. "
            + " ".join(
                f"{moment}: the largest is application {int(np.argmax(of))}, the sum is "
                f"{sums[moment] / math.fsum(of):.2f} of the norms added up."
                for moment, of in norms.items()
            )
        ),
        caption="Which application of a shared block moves it?",
        data=table(rows, ["moment", "application", "norm"], align=["left", "right", "right"]),
    )


@styled
def gaps(found: Sequence[Gap]) -> Figure:
    """Draw each scheme's loss over that of the unshared stack, against the depth."""
    drawing, axes = canvas(7.0, 4.2)
    names = list(dict.fromkeys(gap.sharing for gap in found if gap.sharing != "none"))
    for place, name in enumerate(names):
        members = [gap for gap in found if gap.sharing == name]
        means = [gap.mean for gap in members]
        spread = np.abs(np.array([gap.range for gap in members]).T - np.array(means))
        # Side by side, so that one bar does not hide the other.
        shift = 1 + 0.03 * (place - (len(names) - 1) / 2)
        axes.errorbar(
            [gap.n_layers * shift for gap in members],
            means,
            yerr=spread,
            color=palette.SERIES[place % len(palette.SERIES)],
            linestyle=_LINES[place % len(_LINES)],
            marker=_MARKS[place % len(_MARKS)],
            capsize=2,
            label=name,
        )
    depths = sorted({gap.n_layers for gap in found})
    axes.axhline(0, color=palette.INK, linewidth=0.8)
    axes.set(xscale="log", xlabel="layers", ylabel="test loss − unshared, nats")
    axes.set_xticks(depths, [str(depth) for depth in depths])
    axes.minorticks_off()
    axes.legend(fontsize=9, ncols=2)
    return Figure(
        drawing,
        alt=(
            "One line for each scheme: its test loss minus that of the unshared stack of the same "
            "depth, against the depth; bars span the seeds. "
            + " ".join(
                f"{name}: "
                + ", ".join(
                    f"{gap.mean:+.3f} at {gap.n_layers}" for gap in found if gap.sharing == name
                )
                + "."
                for name in names
            )
        ),
        caption="What does sharing cost, and does it cost more in a deeper stack?",
        data=table(
            [
                (
                    gap.sharing,
                    gap.n_layers,
                    gap.n_parameters,
                    len(gap.by_seed),
                    f"{gap.loss:.3f}",
                    f"{gap.mean:+.3f}",
                    "{:+.3f} to {:+.3f}".format(*gap.range),
                )
                for gap in found
            ],
            ["scheme", "layers", "parameters", "seeds", "test loss", "gap", "range of the gap"],
        ),
    )


@styled
def prices(found: Sequence[Gap], costs: Mapping[tuple[str, int], Mapping[str, float]]) -> Figure:
    """Draw the test loss of every stack against what it costs, a panel for each kind of cost.

    Args:
        found: the stacks with their losses.
        costs: of each (scheme, depth), the costs by kind.
    """
    kinds = list(next(iter(costs.values())))
    drawing, panels = canvas(7.6, 5.6, 2, math.ceil(len(kinds) / 2), sharey=True)
    names = list(dict.fromkeys(gap.sharing for gap in found))
    for axes, kind in zip(panels.flat, kinds, strict=True):
        for place, name in enumerate(names):
            members = [gap for gap in found if gap.sharing == name]
            axes.plot(
                [costs[gap.sharing, gap.n_layers][kind] for gap in members],
                [gap.loss for gap in members],
                color=palette.INK if name == "none" else palette.SERIES[(place - 1) % 6],
                linestyle=_LINES[place % len(_LINES)],
                marker=_MARKS[place % len(_MARKS)],
                markersize=5,
                linewidth=1,
                label=name,
            )
        axes.set(xlim=(0, None), xlabel=kind)
    for axes in panels[:, 0]:
        axes.set_ylabel("test loss, nats")
    drawing.legend(
        *panels.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9
    )
    lowest = min(found, key=lambda gap: gap.loss)
    return Figure(
        drawing,
        alt=(
            f"{len(kinds)} panels of the test loss of every scheme and depth, against "
            + ", ".join(kinds)
            + ". Lines join the depths of a scheme. The lowest loss is that of "
            f"{lowest.sharing} with {lowest.n_layers} layers."
        ),
        caption="What is a stack's quality paid with: parameters, arithmetic, or time?",
        data=table(
            [
                (
                    gap.sharing,
                    gap.n_layers,
                    f"{gap.loss:.3f}",
                    *(f"{cost:.3g}" for cost in costs[gap.sharing, gap.n_layers].values()),
                )
                for gap in found
            ],
            ["scheme", "layers", "test loss", *kinds],
        ),
    )


@styled
def alignment(matrices: Mapping[str, Float[Any, "k k"]]) -> Figure:
    """Draw linear CKA of all pairs of blocks, a panel for each description of what they do."""
    drawing, panels = canvas(7.6, 3.8, 1, len(matrices), sharey=True)
    flat = np.atleast_1d(panels)
    image: Any = None
    for axes, (title, matrix) in zip(flat, matrices.items(), strict=True):
        image = axes.imshow(
            np.asarray(matrix), origin="lower", cmap="viridis", norm=Normalize(0, 1)
        )
        axes.set(title=title, xlabel="block")
    flat[0].set_ylabel("block")
    drawing.colorbar(image, ax=list(flat), label="linear CKA", shrink=0.85)
    neighbours = {name: _by_distance(np.asarray(m)) for name, m in matrices.items()}
    reach = len(next(iter(neighbours.values())))
    shown = [d for d in (1, 2, 4, 8, 16) if d <= reach]
    return Figure(
        drawing,
        alt=(
            "Square maps of linear CKA between all pairs of blocks. "
            + " ".join(
                f"{name}: neighbours have {means[0]:.2f} on the average, blocks {shown[-1]} apart "
                f"{means[shown[-1] - 1]:.2f}."
                for name, means in neighbours.items()
            )
        ),
        caption="Do neighbouring blocks compute alike?",
        data=table(
            [
                (distance, *(f"{means[distance - 1]:.2f}" for means in neighbours.values()))
                for distance in shown
            ],
            ["blocks apart", *(f"{name}, mean CKA" for name in matrices)],
            align=["right"] * (1 + len(matrices)),
        ),
    )


def _by_distance(matrix: Float[Any, "k k"]) -> list[float]:
    """Mean over all pairs of one distance, from distance one on."""
    return [float(np.diagonal(matrix, k).mean()) for k in range(1, len(matrix))]


@styled
def replacement(places: Sequence[Place]) -> Figure:
    """Draw the perplexity with each block at each place, and with each layer left out."""
    losses = np.array([[*place.losses, place.without] for place in places])
    factors = np.exp(losses - places[0].intact)
    n = len(places)
    drawing, axes = canvas(6.6, 5.4)
    # A gap of one column sets "left out" apart from the blocks.
    drawn = np.insert(factors, n, np.nan, axis=1)
    image = axes.imshow(
        drawn, origin="lower", cmap="viridis_r", norm=LogNorm(1, min(1000, factors.max()))
    )
    axes.set(xlabel="block that runs there", ylabel="place in the stack")
    step = 5 if n > 12 else 2
    axes.set_xticks([*range(0, n, step), n + 1], [*map(str, range(0, n, step)), "out"])
    drawing.colorbar(
        image, label="perplexity, times the intact model's", extend="max",
        format=lambda value, _: f"{value:g}",
    )  # fmt: skip
    rows = [
        (
            place.place,
            f"{math.exp(place.without):.3g}",
            place.substitute,
            f"{math.exp(place.losses[place.substitute]):.3g}",
            *(
                f"{math.exp(place.losses[j]):.3g}" if 0 <= j < n else None
                for j in (place.place - 1, place.place + 1)
            ),
        )
        for place in places
    ]
    cheap = int((factors[:, :n] < 1.5).sum()) - n
    return Figure(
        drawing,
        alt=(
            f"A square map of {n} places by {n} blocks, coloured by the perplexity when the block "
            "runs at the place, with one more column for leaving the place out. The intact model "
            f"has {math.exp(places[0].intact):.1f}. Of the replacements {cheap} raise it by less "
            "than a half."
        ),
        caption="Which block can stand in for which?",
        data=table(
            rows,
            ["place", "left out", "best substitute", "with it", "with the one below",
             "with the one above"],
            align=["right"] * 6,
        ),
    )  # fmt: skip
