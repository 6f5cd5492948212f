"""Figures of the chapter on regularisation: what tying changes, and what becomes of the rows."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from wtlib.display import Align, Cell, Table, table
from wtlib.drift import Band, Parting
from wtlib.plots import palette
from wtlib.plots.figure import Figure, canvas, styled
from wtlib.signature import Change, Estimate
from wtlib.sweeps import Record
from wtlib.training import Epoch

_MARKS = ("o", "s", "^", "v", "P", "X")


@styled
def plane(published: Sequence[Change], measured: Sequence[Change] = ()) -> Figure:
    """Draw changes of training against changes of test perplexity, one point a setting.

    Args:
        published: changes out of the literature, drawn with their labels.
        measured: changes of this book's runs.
    """
    drawing, axes = canvas(7.0, 4.6)
    for changes, colour, mark, label in (
        (measured, palette.TIED, "o", "measured here"),
        (published, palette.PUBLISHED, "D", "Press & Wolf, published"),
    ):
        if changes:
            axes.plot(
                [change.train.value for change in changes],
                [change.test.value for change in changes],
                color=colour,
                linestyle="none",
                marker=mark,
                label=label,
            )
    for change in published:
        axes.annotate(
            change.label,
            (change.train.value, change.test.value),
            xytext=(0, 8),
            textcoords="offset points",
            ha="center",
            fontsize=9,
        )
    shown = (*published, *measured)
    reach = 1.25 * max(abs(change.train.value) for change in shown)
    tests = [change.test.value for change in shown]
    axes.set(
        xlim=(-reach, 1.25 * reach),
        ylim=(1.25 * min(*tests, -0.02), 1.35 * max(*tests, 0.01)),
        xlabel="change of training perplexity by tying",
        ylabel="change of test perplexity by tying",
    )
    _quadrants(axes)
    drawing.legend(loc="outside lower center", ncols=2)
    kinds = [change.kind for change in shown]
    counted = "; ".join(f"{kind}: {kinds.count(kind)}" for kind in dict.fromkeys(kinds))
    return Figure(
        drawing=drawing,
        alt=f"A plane of {len(shown)} points: to the right training perplexity rises by tying, "
        f"downwards test perplexity falls. Points by what they show: {counted}.",
        caption="When you tie, do training and test perplexity move apart or together?",
        data=_changes_table(
            [("Press & Wolf", change) for change in published]
            + [("here", change) for change in measured]
        ),
    )


def _quadrants(axes: Axes) -> None:
    axes.axhline(0, color=palette.INK, linewidth=0.8)
    axes.axvline(0, color=palette.INK, linewidth=0.8)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    for x, y, words in (
        (0.99, 0.02, "worse in training, better in test:\na regulariser's mark"),
        (0.01, 0.02, "both better"),
        (0.99, 0.98, "both worse"),
        (0.01, 0.98, "only training better"),
    ):
        axes.annotate(
            words,
            (x, y),
            xycoords="axes fraction",
            ha="right" if x > 0.5 else "left",
            va="top" if y > 0.5 else "bottom",
            fontsize=9,
            alpha=0.8,
            style="italic",
        )


def _changes_table(changes: Sequence[tuple[str, Change]], header: str = "whose") -> Table:
    return table(
        [
            [who, change.label, _percent(change.train), _percent(change.test), change.kind]
            for who, change in changes
        ],
        [header, "setting", "training", "test", "what it shows"],
        align=["left", "left", "right", "right", "left"],
    )


def _percent(estimate: Estimate) -> str:
    text = f"{100 * estimate.value:+.1f}%"
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} ({100 * estimate.low:+.1f} to {100 * estimate.high:+.1f})"


@styled
def curves(runs: Mapping[str, Sequence[Epoch]], best: Mapping[str, int], *, what: str) -> Figure:
    """Draw training and validation loss by epoch.

    Args:
        runs: per run ("tied", "untied"), its epochs.
        best: per run, the epoch with the least validation loss, counted from one.
        what: how the runs were trained, for the caption.
    """
    drawing, axes = canvas(7.0, 4.2)
    colours = {"tied": palette.TIED, "untied": palette.UNTIED}
    for name, epochs in runs.items():
        steps = range(1, len(epochs) + 1)
        for part, line in (("train", ":"), ("valid", "-")):
            axes.plot(
                steps,
                [getattr(epoch, f"{part}_loss") for epoch in epochs],
                color=colours[name],
                linestyle=line,
                label=f"{name}, {'training' if part == 'train' else 'validation'}",
            )
        axes.plot(best[name], epochs[best[name] - 1].valid_loss, marker="o", color=colours[name])
    axes.set(xlabel="epoch", ylabel="loss, nats a token")
    axes.grid(visible=True, alpha=0.2)
    drawing.legend(loc="outside lower center", ncols=2)
    ends = "; ".join(
        f"{name}: training loss ends at {epochs[-1].train_loss:.2f}, least validation loss "
        f"{epochs[best[name] - 1].valid_loss:.2f}"
        for name, epochs in runs.items()
    )
    longest = max(map(len, runs.values()))
    rows: list[list[Cell]] = []
    for number in range(1, longest + 1):
        row: list[Cell] = [number]
        for epochs in runs.values():
            done = epochs[number - 1 : number]  # empty once the run has ended
            row += [f"{epoch.train_loss:.2f}" for epoch in done] or [None]
            row += [f"{epoch.valid_loss:.2f}" for epoch in done] or [None]
        rows.append(row)
    return Figure(
        drawing=drawing,
        alt=f"Two pairs of lines against the epoch, training loss dotted, validation loss solid, "
        f"with a point where validation loss is least. {ends}.",
        caption=f"{what}: which model fits the text it reads, and which the text it does not?",
        data=table(
            rows,
            ["epoch", *(f"{name}, {part}" for name in runs for part in ("training", "validation"))],
            align=["right"] * (1 + 2 * len(runs)),
        ),
    )


@styled
def forest(changes: Sequence[Change], *, what: str) -> Figure:
    """Draw each setting's change of training and of test perplexity, with its interval.

    Args:
        changes: one a setting; every pair of runs is drawn as a small point.
        what: what was trained, for the caption.
    """
    drawing, panels = canvas(7.4, 1.5 + 0.34 * len(changes), 1, 2, sharey=True)
    places = range(len(changes))
    for axes, title, colour, estimates in (
        (panels[0], "training", palette.BODY, [change.train for change in changes]),
        (panels[1], "test", palette.TIED, [change.test for change in changes]),
    ):
        for place, estimate in zip(places, estimates, strict=True):
            if estimate.low is not None and estimate.high is not None:
                axes.plot([estimate.low, estimate.high], [place, place], color=colour, linewidth=3)
            axes.plot(
                estimate.each,
                [place] * len(estimate.each),
                color=palette.INK,
                linestyle="none",
                marker="|",
                markersize=7,
                alpha=0.6,
            )
            axes.plot(estimate.value, place, color=colour, marker="o")
        axes.axvline(0, color=palette.INK, linewidth=0.8)
        axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        axes.set(title=f"{title} perplexity", xlabel="tied against untied")
        axes.grid(visible=True, axis="x", alpha=0.2)
    panels[0].set_yticks(places, [change.label for change in changes], fontsize=9)
    panels[0].set_ylim(len(changes) - 0.4, -0.6)  # the first setting on top
    lower = sum(change.test.value < 0 for change in changes)
    pairs = sum(len(change.test.each) for change in changes)
    return Figure(
        drawing=drawing,
        alt=f"Two panels with one line for each of {len(changes)} settings: the change that tying "
        f"makes, with its interval and a tick for each of {pairs} pairs of runs. Test perplexity "
        f"is lower in the mean in {lower} of them.",
        caption=f"What does tying change in {what}, setting by setting?",
        data=_changes_table(
            [(str(len(change.test.each)), change) for change in changes], header="pairs"
        ),
    )


@styled
def parting_rows(bands: Sequence[Band], epochs: Mapping[int, Sequence[Parting]]) -> Figure:
    """Draw how far the rows of a table and an output matrix that started equal have parted.

    Args:
        bands: tokens by frequency, rarest first.
        epochs: per number of epochs done, the parting of each band.
    """
    drawing, (angles, ways) = canvas(7.4, 4.4, 1, 2)
    last = max(epochs)
    for index, (band, mark) in enumerate(zip(bands, _MARKS, strict=False)):
        shade = 0.5 + 0.5 * index / max(len(bands) - 1, 1)
        angles.plot(
            list(epochs),
            [partings[index].cosine for partings in epochs.values()],
            color=palette.UNTIED,
            alpha=shade,
            marker=mark,
            markersize=4,
            label=band.label,
        )
    angles.set(
        title="angle between the two rows", xlabel="epoch", ylabel="mean cosine", ylim=(-0.05, 1.05)
    )
    angles.legend(fontsize=8, title="token seen", title_fontsize=8)
    places = range(len(bands))
    for offset, colour, label, moved in (
        (-0.2, palette.TABLE, "row in the table", [p.table_moved for p in epochs[last]]),
        (0.2, palette.HEAD, "row in the output matrix", [p.head_moved for p in epochs[last]]),
    ):
        ways.barh([place + offset for place in places], moved, 0.38, color=colour, label=label)
    ways.set_yticks(places, [band.label for band in bands], fontsize=9)
    ways.set(title=f"way gone by epoch {last}", xlabel="distance, in lengths at the start")
    drawing.legend(*ways.get_legend_handles_labels(), loc="outside lower right", ncols=2)
    rare, common = epochs[last][0], epochs[last][-1]
    return Figure(
        drawing=drawing,
        alt=f"Left, one falling line for each band of frequency: the mean cosine between a token's "
        f"two rows, from {epochs[min(epochs)][0].cosine:.2f} at the start to {rare.cosine:.2f} for "
        f"the rarest and {common.cosine:.2f} for the commonest in epoch {last}. Right, bars: "
        f"the rarest tokens' rows went {rare.table_moved:.2f} lengths in the table and "
        f"{rare.head_moved:.2f} in the output matrix, the commonest {common.table_moved:.2f} and "
        f"{common.head_moved:.2f}.",
        caption="Left free, how far do a token's two rows part, and which of the two walks away?",
        data=table(
            [
                [
                    epoch,
                    band.label,
                    len(band.ids),
                    *(f"{v:.2f}" for v in (part.cosine, part.table_moved, part.head_moved)),
                ]
                for epoch, partings in epochs.items()
                for band, part in zip(bands, partings, strict=True)
            ],
            ["epoch", "token seen", "tokens", "cosine", "table moved", "output matrix moved"],
            align=["right", "left", "right", "right", "right", "right"],
        ),
    )


@styled
def resemblances(
    bands: Sequence[Band], scores: Mapping[str, Sequence[float]], *, shuffled: float
) -> Figure:
    """Draw how well maps from other matrices meet the rows of a tied matrix, by frequency.

    Args:
        bands: tokens by frequency, rarest first.
        scores: per source matrix, the mean cosine of each band.
        shuffled: the largest mean cosine that a source has when rows are paired at random.
    """
    drawing, axes = canvas(7.0, 4.0)
    colours = (palette.TABLE, palette.HEAD, palette.TIED)
    for (name, values), colour, line, mark in zip(
        scores.items(), colours, ("--", "-", ":"), _MARKS, strict=False
    ):
        axes.plot(range(len(bands)), values, color=colour, linestyle=line, marker=mark, label=name)
    axes.axhline(shuffled, color=palette.INK, linewidth=0.8)
    axes.annotate(
        "rows paired at random",
        (0, shuffled),
        xytext=(0, 4),
        textcoords="offset points",
        fontsize=9,
    )
    axes.set_xticks(range(len(bands)), [band.label for band in bands], fontsize=9)
    axes.set(xlabel="how often a token was seen", ylabel="mean cosine", ylim=(-0.05, 1.0))
    axes.grid(visible=True, axis="y", alpha=0.2)
    drawing.legend(loc="outside lower center", ncols=1)
    ends = "; ".join(f"{name}, {v[0]:.2f} to {v[-1]:.2f}" for name, v in scores.items())
    right: Align = "right"
    return Figure(
        drawing=drawing,
        alt=f"Lines of the mean cosine with the tied matrix's rows against a token's frequency, "
        f"from the rarest to the commonest: {ends}. Rows paired at random give about "
        f"{shuffled:.2f}.",
        caption="Which of an untied model's matrices does a tied matrix resemble?",
        data=table(
            [
                [band.label, len(band.ids), *(f"{values[index]:.2f}" for values in scores.values())]
                for index, band in enumerate(bands)
            ],
            ["token seen", "tokens", *scores],
            align=["left", *(right,) * (1 + len(scores))],
        ),
    )


@styled
def recorded_curves(records: Sequence[Record]) -> Figure:
    """Draw validation loss by epoch, a line a run, in a panel for each dropout.

    Args:
        records: of one sweep; all that differ only in what is not drawn are drawn alike.
    """
    dropouts = sorted({record.config.model.dropout for record in records})
    drawing, panels = canvas(7.4, 3.9, 1, len(dropouts), sharey=True, squeeze=False)
    rows: list[list[Cell]] = []
    for axes, dropout in zip(panels[0], dropouts, strict=True):
        for tied, name, colour, line in (
            (True, "tied", palette.TIED, "-"),
            (False, "untied", palette.UNTIED, "--"),
        ):
            runs = [
                record
                for record in records
                if record.config.model.dropout == dropout
                and record.config.model.tie_word_embeddings is tied
                and not record.diverged
            ]
            for index, record in enumerate(runs):
                losses = [epoch.valid_loss for epoch in record.curve]
                label = None if index else name
                axes.plot(
                    range(1, len(losses) + 1), losses, line, color=colour, alpha=0.7, label=label
                )
            if runs:
                epochs, least = (
                    sum(float(record.metrics[key]) for record in runs) / len(runs)
                    for key in ("best_epoch", "valid_loss")
                )
                rows.append([f"{dropout:g}", name, len(runs), f"{epochs:.1f}", f"{least:.3f}"])
        axes.set(title=f"dropout {dropout:g}", xlabel="epoch")
        axes.grid(visible=True, alpha=0.2)
    panels[0][0].set_ylabel("validation loss, nats a token")
    drawing.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    said = "; ".join(f"dropout {row[0]}, {row[1]}: {row[4]} in epoch {row[3]}" for row in rows)
    return Figure(
        drawing=drawing,
        alt=f"{len(dropouts)} panels with a falling line for each run, solid for tied, dashed for "
        f"untied. Means of the least validation loss and of its epoch: {said}.",
        caption="How do the recorded runs get to their best epoch, and when?",
        data=table(
            rows,
            ["dropout", "ends", "runs", "best epoch, mean", "least validation loss, mean"],
            align=["right", "left", "right", "right", "right"],
        ),
    )
