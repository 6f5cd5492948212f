"""Figures of the census chapter: who ties, by size, year and family, and what predicts it."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.ticker import FuncFormatter, NullLocator

from wtlib.census import CensusModel
from wtlib.census_page import saving, tie_word
from wtlib.display import table
from wtlib.model_card import CardReading, Reading
from wtlib.plots import palette
from wtlib.plots.figure import Figure, canvas, styled
from wtlib.thresholds import Threshold

_LABELS = {
    "EleutherAI/pythia-14m": ("Pythia-14M", 8, 2),
    "google/gemma-3-270m": ("Gemma-3-270M", 8, 3),
    "openai-community/gpt2": ("GPT-2", -8, 2),
    "facebook/opt-350m": ("OPT-350M", -8, -5),
    "Qwen/Qwen1.5-1.8B": ("Qwen1.5-1.8B", 7, 5),
    "TinyLlama/TinyLlama-1.1B-Chat-v1.0": ("TinyLlama-1.1B", -9, -6),
    "CohereForAI/aya-23-8B": ("Aya-23-8B", 9, 6),
    "CohereForAI/c4ai-command-r-v01": ("Command-R", 8, 5),
    "CohereForAI/c4ai-command-r-plus": ("Command-R+", 8, 4),
    "bigscience/bloom": ("BLOOM-176B", 8, 3),
    "facebook/opt-66b": ("OPT-66B", 8, 4),
    "xai-org/grok-1": ("Grok-1", 8, 4),
    "deepseek-ai/DeepSeek-V3": ("DeepSeek-V3", -2, -11),
}
_READING_COLOURS: Mapping[Reading, str] = {
    "tied": palette.TIED,
    "untied": palette.UNTIED,
    "cannot say": palette.BODY,
    "neither": palette.PUBLISHED,
}


@styled
def share_against_size(models: Sequence[CensusModel], size: Threshold, share: Threshold) -> Figure:
    """Draw each model's saving against its total, with the best line on either axis."""
    drawing, axes = canvas(7.4, 4.9)
    _scatter(axes, models, lambda m: m.total_params, lambda m: 100 * saving(m))
    axes.axvspan(size.values[0], size.values[-1], color=palette.BODY, alpha=0.25, linewidth=0)
    axes.axhline(100 * share.value, color=palette.INK, linestyle="--", linewidth=1)
    _label_lines(axes, size, share)
    for model in models:
        if model.id in _LABELS:
            text, right, up = _LABELS[model.id]
            axes.annotate(
                text,
                (model.total_params, 100 * saving(model)),
                xytext=(right, up),
                textcoords="offset points",
                ha="left" if right > 0 else "right",
                va="center",
                fontsize=8.5,
            )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(0.08, 70)
    axes.set_xlabel("parameters as released (log scale)")
    axes.set_ylabel("saving, % of the untied total (log scale)")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: _count(x)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    drawing.legend(handles=_handles(), loc="outside upper center", ncols=4)
    tied = sum(model.tie_word_embeddings for model in models)
    return Figure(
        drawing,
        alt=(
            f"{len(models)} models, parameters across and saving up, both on logarithmic scales; "
            f"{tied} tied, {len(models) - tied} untied. The saving falls as models grow, and both "
            "kinds mix throughout. The best size threshold, between "
            f"{_count(size.values[0])} and {_count(size.values[-1])}, leaves "
            f"{size.confusion.errors} models on the wrong side; the best threshold on the saving, "
            f"at {share.value:.1%}, leaves {share.confusion.errors}."
        ),
        caption="Does a line across size or saving separate the models that tie?",
        data=table(
            [
                (m.id, m.total_params, f"{saving(m):.2%}", tie_word(m))
                for m in sorted(models, key=lambda m: m.total_params)
            ],
            ["model", "parameters", "saving", "weights"],
            align=["left", "right", "right", "left"],
        ),
    )


@styled
def error_curves(curves: Mapping[str, Sequence[tuple[int | float, int]]], models: int) -> Figure:
    """Draw how many models each threshold calls wrong; one panel for each quantity.

    Args:
        curves: for each quantity, named with its axis label, pairs of threshold and errors.
        models: how many models are called.
    """
    drawing, panels = canvas(7.4, 3.2, 1, len(curves), sharey=True, squeeze=False)
    rows = []
    for axes, (name, curve) in zip(panels.flat, curves.items(), strict=True):
        inside = [(cut, errors) for cut, errors in curve if cut < float("inf")]
        axes.step(*zip(*inside, strict=True), where="mid", color=palette.HEAD, linewidth=1.8)
        fewest = min(errors for _, errors in curve)
        best = [(cut, errors) for cut, errors in inside if errors == fewest]
        axes.plot(*zip(*best, strict=True), "o", color=palette.INK, markersize=4.5)
        guess = min(curve[0][1], curve[-1][1])
        axes.axhline(guess, color=palette.INK, linestyle=":", linewidth=1)
        axes.annotate(
            f"{fewest} wrong", best[0], xytext=(0, -8), textcoords="offset points",
            ha="center", va="top", fontsize=9.5,
        )  # fmt: skip
        axes.set_xscale("log")
        axes.set_xlabel(name)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: _count(x)))
        axes.xaxis.set_minor_locator(NullLocator())
        rows.append((name, guess, fewest, len(best), _count(best[0][0]), _count(best[-1][0])))
    panels.flat[0].set_ylim(0, guess * 1.15)
    panels.flat[0].set_ylabel(f"called wrong, of {models}")
    panels.flat[0].text(
        0.99, guess + 0.7, "one answer for all", transform=panels.flat[0].get_yaxis_transform(),
        ha="right", va="bottom", fontsize=9,
    )  # fmt: skip
    lowest = " and ".join(f"{row[2]} for {row[0]}" for row in rows)
    return Figure(
        drawing,
        alt=(
            "Errors of every possible threshold: the curves dip from the errors of a single answer "
            f"for all to {lowest}, in wide and ragged valleys."
        ),
        caption="How many models does the best threshold still call wrong?",
        data=table(
            rows,
            ["threshold on", "one answer for all", "fewest", "best cuts", "lowest", "highest"],
            align=["left", "right", "right", "right", "right", "right"],
        ),
    )


@styled
def by_year(models: Sequence[CensusModel]) -> Figure:
    """Draw how many models of each year tie; flags that nothing verifies are hollow."""
    drawing, axes = canvas(7.0, 3.4)
    years = range(min(m.year for m in models), max(m.year for m in models) + 1)
    counts = {year: Counter(tie_word(m) for m in models if m.year == year) for year in years}
    bottom = dict.fromkeys(years, 0)
    for word, colour in (
        ("tied", palette.TIED),
        ("tied?", palette.TIED),
        ("untied?", palette.UNTIED),
        ("untied", palette.UNTIED),
    ):
        heights = [counts[year][word] for year in years]
        axes.bar(
            list(years), heights, bottom=[bottom[year] for year in years], width=0.7,
            facecolor="none" if word.endswith("?") else colour, edgecolor=colour, linewidth=1.4,
        )  # fmt: skip
        bottom = {year: bottom[year] + counts[year][word] for year in years}
    for year in years:
        if bottom[year]:
            tied = counts[year]["tied"] + counts[year]["tied?"]
            axes.text(
                year, bottom[year] + 0.8, f"{tied} of {bottom[year]}", ha="center", fontsize=9
            )
    axes.set_xticks(list(years))
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel("models in the census")
    axes.set_ylim(0, max(bottom.values()) * 1.12)
    axes.legend(handles=_bar_handles(), loc="upper left")
    words = ("tied", "tied?", "untied", "untied?")
    rows: list[tuple[str | int, ...]] = [
        (str(year), *(counts[year][word] for word in words)) for year in years
    ]
    shares = ", ".join(
        f"{counts[y]['tied'] + counts[y]['tied?']} of {bottom[y]} in {y}"
        for y in years
        if bottom[y]
    )
    return Figure(
        drawing,
        alt=f"Stacked bars by year of release. Tied: {shares}.",
        caption="Is tying going out of use?",
        data=table(rows, ["year", "tied", "tied, not verified", "untied", "untied, not verified"]),
    )


@styled
def by_family(models: Sequence[CensusModel]) -> Figure:
    """Draw each family's models along the size axis, families in order of their first release."""
    families: dict[str, list[CensusModel]] = defaultdict(list)
    for model in models:
        families[model.family].append(model)
    names = sorted(families, key=lambda name: (min(m.year for m in families[name]), name))
    row = {name: index for index, name in enumerate(names)}
    drawing, axes = canvas(7.4, 0.9 + 0.2 * len(names))
    for name, members in families.items():
        sizes = [m.total_params for m in members]
        axes.plot([min(sizes), max(sizes)], [row[name]] * 2, color=palette.BODY, linewidth=1)
    _scatter(axes, models, lambda m: m.total_params, lambda m: row[m.family])
    mixed = [name for name in names if len({m.tie_word_embeddings for m in families[name]}) == 2]
    axes.set_yticks(range(len(names)), names, fontsize=9)
    for label in axes.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() in mixed else "normal")
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xscale("log")
    axes.set_xlabel("parameters as released (log scale); families that mix are in bold")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: _count(x)))
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    drawing.legend(handles=_handles(), loc="outside upper center", ncols=4)
    rows = []
    for name in names:
        members = families[name]
        tied = [m.total_params for m in members if m.tie_word_embeddings]
        untied = [m.total_params for m in members if not m.tie_word_embeddings]
        unverified = sum(not m.verified for m in members)
        largest = _count(max(tied)) if tied else "–"
        smallest = _count(min(untied)) if untied else "–"
        rows.append((name, len(tied), len(untied), unverified, largest, smallest))
    return Figure(
        drawing,
        alt=(
            f"{len(names)} families, one row each, their models along a logarithmic size axis. "
            f"Nearly every row has one kind of mark; these mix: {', '.join(mixed)}."
        ),
        caption="Which families tie, and which change with size?",
        data=table(
            rows, ["family", "tied", "untied", "not verified", "largest tied", "smallest untied"],
            align=["left", "right", "right", "right", "right", "right"],
        ),
    )  # fmt: skip


@styled
def card_readings(cards: Mapping[str, CardReading]) -> Figure:
    """Draw how many vocabulary matrices fit between a card's two counts, with rounding."""
    drawing, axes = canvas(7.0, 0.9 + 0.3 * len(cards))
    for number in (1, 2):
        axes.axvline(number, color=palette.INK, linestyle=":", linewidth=1)
    for index, card in enumerate(cards.values()):
        colour = _READING_COLOURS[card.reading]
        axes.plot([card.low, card.high], [index, index], color=colour, linewidth=5, alpha=0.5)
        axes.plot(card.matrices, index, "o", color=colour, markersize=6)
        axes.text(2.55, index, card.reading, va="center", fontsize=9.5)
    axes.set_yticks(range(len(cards)), list(cards))
    axes.set_ylim(len(cards) - 0.5, -0.5)
    axes.set_xlim(-0.1, 2.5)
    axes.set_xticks([0, 1, 2])
    axes.set_xlabel("vocabulary matrices between the two counts")
    axes.tick_params(axis="y", length=0)
    words = Counter(card.reading for card in cards.values())
    return Figure(
        drawing,
        alt=(
            f"Intervals for {len(cards)} cards on an axis of matrices, with lines at one and at "
            f"two: {', '.join(f'{count} {word}' for word, count in words.items())}."
        ),
        caption="What do a card’s two counts say about the tie?",
        data=table(
            [
                (name, f"{c.matrices:.2f}", f"{c.low:.2f} to {c.high:.2f}", c.reading)
                for name, c in cards.items()
            ],
            ["card", "matrices", "with rounding", "reading"],
            align=["left", "right", "right", "left"],
        ),
    )


def _scatter(axes: Any, models: Sequence[CensusModel], x: Any, y: Any) -> None:
    """Put models on a plot: circles tied, diamonds untied, hollow where nothing verifies it."""
    for word, marker, colour in (
        ("untied", "D", palette.UNTIED),
        ("untied?", "D", palette.UNTIED),
        ("tied", "o", palette.TIED),
        ("tied?", "o", palette.TIED),
    ):
        group = [model for model in models if tie_word(model) == word]
        axes.scatter(
            [x(model) for model in group], [y(model) for model in group], marker=marker,
            s=30 if marker == "o" else 24, edgecolors=colour, linewidths=1.3, zorder=3,
            facecolors="none" if word.endswith("?") else colour, label=word,
        )  # fmt: skip


def _handles() -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], linestyle="", marker=marker, markeredgecolor=colour, markersize=6,
               markerfacecolor="none" if hollow else colour, label=label)
        for label, marker, colour, hollow in (
            ("tied", "o", palette.TIED, False),
            ("tied, not verified", "o", palette.TIED, True),
            ("untied", "D", palette.UNTIED, False),
            ("untied, not verified", "D", palette.UNTIED, True),
        )
    ]  # fmt: skip


def _bar_handles() -> list[Any]:
    from matplotlib.patches import Patch

    return [
        Patch(edgecolor=palette.UNTIED, facecolor=palette.UNTIED, label="untied"),
        Patch(edgecolor=palette.UNTIED, facecolor="none", label="untied, not verified"),
        Patch(edgecolor=palette.TIED, facecolor="none", label="tied, not verified"),
        Patch(edgecolor=palette.TIED, facecolor=palette.TIED, label="tied"),
    ]


def _label_lines(axes: Any, size: Threshold, share: Threshold) -> None:
    axes.text(
        (size.values[0] * size.values[-1]) ** 0.5, 62, "best size\nthresholds",
        ha="center", va="top", fontsize=8.5,
    )  # fmt: skip
    axes.text(
        1.0, 100 * share.value * 1.06, "best threshold on the saving",
        transform=axes.get_yaxis_transform(), ha="right", va="bottom", fontsize=8.5,
    )  # fmt: skip


def _count(number: int | float) -> str:
    """A number of parameters in three digits, or a plain small number."""
    for scale, unit in ((1e9, "B"), (1e6, "M")):
        if number >= scale:
            digits = number / scale
            return f"{digits:,.0f}{unit}" if digits >= 100 else f"{digits:.3g}{unit}"
    return f"{number:.3g}"
