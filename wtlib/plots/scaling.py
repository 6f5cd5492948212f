"""Figures of the chapter on scaling: where the parameters sit and what the tie saves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, NullLocator

from wtlib.census import CensusModel
from wtlib.counting import HandbookEstimate, ParameterCount, saving_fraction
from wtlib.display import Table, table
from wtlib.plots import palette
from wtlib.plots.figure import Figure, canvas, styled

# Written on a coloured bar, whatever the page's ink: dark enough for all three bar colours.
_ON_COLOUR = "#111111"
_CONTOUR_LEVELS = (0.01, 0.02, 0.05, 0.10, 0.20, 0.30, 0.40)
_BODY_PER_LAYER = 12  # the multiple of d² that the contours assume


# The models named in the figures, with the offset of each label from its mark, in points.
_CURVE_LABELS = {
    "EleutherAI/pythia-14m": ("Pythia-14M", -8, 7),
    "google/gemma-3-270m": ("Gemma-3-270M", -8, 6),
    "bigscience/bloom-560m": ("BLOOM-560M", 9, -4),
    "openai-community/gpt2": ("GPT-2", -9, 5),
    "Qwen/Qwen3-0.6B": ("Qwen3-0.6B", 10, -4),
    "HuggingFaceTB/SmolLM2-135M": ("SmolLM2-135M", -9, 5),
    "meta-llama/Llama-3.2-3B": ("Llama-3.2-3B", 10, -4),
    "meta-llama/Llama-3.1-8B": ("Llama-3.1-8B", -9, 7),
    "meta-llama/Meta-Llama-3-70B": ("Llama-3-70B", -4, 12),
    "xai-org/grok-1": ("Grok-1", 0, 12),
}
_CONTOUR_LABELS = {
    "EleutherAI/pythia-14m": ("Pythia-14M", 2, 11),
    "EleutherAI/pythia-70m": ("Pythia-70M", 0, -11),
    "openai-community/gpt2": ("GPT-2", -4, 11),
    "meta-llama/Llama-3.2-1B": ("Llama-3.2-1B", 8, 0),
    "allenai/OLMo-1B-hf": ("OLMo-1B, both ways", 8, 0),
    "google/gemma-3-270m": ("Gemma-3-270M", 0, -11),
    "Qwen/Qwen3-0.6B": ("Qwen3-0.6B", -8, -9),
    "Qwen/Qwen1.5-1.8B": ("Qwen 1.7–1.8B, both ways", -4, 10),
    "meta-llama/Llama-3.2-3B": ("Llama-3.2-3B", 8, -2),
    "openai-community/gpt2-medium": ("GPT-2 medium", 0, -11),
    "TinyLlama/TinyLlama-1.1B-Chat-v1.0": ("TinyLlama-1.1B", 8, 0),
    "HuggingFaceTB/SmolLM2-135M": ("SmolLM2-135M", -2, 11),
    "openai-community/gpt2-xl": ("GPT-2 XL", 0, -11),
    "Qwen/Qwen3-4B": ("Qwen3-4B", -8, 6),
    "Qwen/Qwen3-8B": ("Qwen3-8B", 0, 10),
    "google/gemma-2-27b": ("Gemma-2-27B", 0, -11),
    "CohereForAI/c4ai-command-r-v01": ("Command-R", 4, 11),
    "google/gemma-3-27b-pt": ("Gemma-3-27B", -8, 0),
    "CohereForAI/c4ai-command-r-plus": ("Command-R+", -6, -10),
    "meta-llama/Meta-Llama-3-70B": ("Llama-3-70B", -8, -9),
    "meta-llama/Llama-3.1-405B": ("Llama-405B", 0, -11),
    "xai-org/grok-1": ("Grok-1", -8, 0),
}


@dataclass(frozen=True)
class BlockMultiple:
    """A block's matrices in units of d²: attention, MLP, and which model they belong to."""

    model: str
    attention: float
    mlp: float

    @property
    def total(self) -> float:
        """The multiple of d² that the block holds."""
        return self.attention + self.mlp


@dataclass(frozen=True)
class DepthBand:
    """Models of ``least`` to ``most`` layers, set against contours drawn for ``layers``."""

    layers: int
    least: int
    most: int

    def __contains__(self, model: CensusModel) -> bool:
        """Whether the model's depth lies in the band."""
        return self.least <= model.layers <= self.most


DEPTH_BANDS = (
    DepthBand(12, 6, 16),
    DepthBand(24, 17, 28),
    DepthBand(36, 29, 48),
    DepthBand(80, 49, 130),
)


@styled
def parameters_by_part(estimates: Mapping[str, HandbookEstimate]) -> Figure:
    """Draw where the parameters of untied models sit: input table, output head, layers.

    Left in millions, right as shares of the untied total.
    """
    names = list(estimates)
    drawing, (absolute, relative) = canvas(7.4, 3.4, 1, 2, sharey=True)
    for index, estimate in enumerate(estimates.values()):
        matrix, blocks, total = estimate.vocabulary_matrix, estimate.blocks, estimate.if_untied
        for axes, scale in ((absolute, 1e6), (relative, total / 100)):
            left = 0.0
            for size, colour in (
                (matrix, palette.TABLE),
                (matrix, palette.HEAD),
                (blocks, palette.BODY),
            ):
                axes.barh(index, size / scale, left=left, color=colour, height=0.7)
                left += size / scale
        both = 200 * matrix / total
        for middle, percent in ((both / 2, both), ((both + 100) / 2, 100 - both)):
            _write_on_bar(relative, middle, index, f"{percent:.0f}%")
        absolute.text(total / 1e6 + 15, index, f"{total / 1e6:,.0f}", va="center", fontsize=9)
    absolute.set_yticks(range(len(names)), names)
    absolute.invert_yaxis()
    absolute.set_xlim(0, max(e.if_untied for e in estimates.values()) / 1e6 * 1.17)
    absolute.set_xlabel("parameters, millions")
    relative.set_xlim(0, 100)
    relative.set_xlabel("share of the untied total, %")
    for axes in (absolute, relative):
        axes.tick_params(axis="y", length=0)
    drawing.legend(
        handles=_swatches(
            ("input table", palette.TABLE), ("output head", palette.HEAD), ("layers", palette.BODY)
        ),
        loc="outside upper center",
        ncols=3,
    )
    rows = [
        (
            name,
            e.vocabulary_matrix,
            e.vocabulary_matrix,
            e.blocks,
            e.if_untied,
            f"{200 * e.vocabulary_matrix / e.if_untied:.1f}%",
        )
        for name, e in estimates.items()
    ]
    most = max(rows, key=lambda row: float(row[5].rstrip("%")))
    least = min(rows, key=lambda row: float(row[5].rstrip("%")))
    return Figure(
        drawing,
        alt=(
            f"Stacked bars for {len(rows)} untied configurations. The two vocabulary matrices "
            f"take {most[5]} of {most[0]} and {least[5]} of {least[0]}; the layers take the rest."
        ),
        caption="Where do the parameters of an untied model sit, by the handbook’s formula?",
        data=table(
            rows,
            ["model", "input table", "output head", "layers", "untied total", "two matrices"],
            align=["left", "right", "right", "right", "right", "right"],
        ),
    )


@styled
def absolute_savings(estimates: Mapping[str, HandbookEstimate]) -> Figure:
    """Draw the parameters that tying saves, V·d, in millions."""
    drawing, axes = canvas(7.0, 2.8)
    savings = {name: estimate.saving for name, estimate in estimates.items()}
    axes.barh(list(savings), [s / 1e6 for s in savings.values()], color=palette.TIED, height=0.65)
    for index, saving in enumerate(savings.values()):
        axes.text(saving / 1e6 + 1.5, index, f"{saving / 1e6:.1f}", va="center")
    axes.invert_yaxis()
    axes.set_xlim(0, max(savings.values()) / 1e6 * 1.12)
    axes.set_xlabel("parameters saved, millions")
    axes.tick_params(axis="y", length=0)
    most, least = max(savings, key=savings.__getitem__), min(savings, key=savings.__getitem__)
    return Figure(
        drawing,
        alt=(
            f"Bars of the parameters saved by tying, from {savings[least] / 1e6:.1f} million in "
            f"{least} to {savings[most] / 1e6:.1f} million in {most}."
        ),
        caption="How many parameters does the tie save, in numbers?",
        data=table(list(savings.items()), ["model", "parameters saved"]),
    )


@styled
def relative_savings(models: Mapping[str, tuple[HandbookEstimate, ParameterCount]]) -> Figure:
    """Draw the saving as a fraction: the handbook's estimate, and exactly over both totals."""
    drawing, axes = canvas(7.0, 3.2)
    rows = []
    for index, (name, (approximate, exact)) in enumerate(models.items()):
        shares = exact.shares
        estimate = 100 * approximate.saving_fraction
        untied, tied = 100 * shares.one_of_untied, 100 * shares.one_of_tied
        axes.plot([untied, tied], [index, index], color=palette.BODY, linewidth=2, zorder=1)
        axes.plot(untied, index, "o", color=palette.UNTIED, markersize=9)
        axes.plot(tied, index, "o", color=palette.TIED, markersize=9)
        axes.plot(estimate, index, "|", color=palette.INK, markersize=19, markeredgewidth=1.5)
        axes.text(untied - 0.8, index, f"{untied:.2f}%", ha="right", va="center", fontsize=9.5)
        axes.text(tied + 0.8, index, f"{tied:.2f}%", va="center", fontsize=9.5)
        rows.append((name, f"{estimate:.2f}%", f"{untied:.2f}%", f"{tied:.2f}%"))
    first = next(iter(models.values()))[1].shares
    for x, text, colour, side in (
        (100 * first.one_of_untied, "of the untied total", palette.UNTIED, "right"),
        (100 * first.one_of_tied, "of the tied total", palette.TIED, "left"),
    ):
        axes.text(x, -0.42, text, ha=side, va="bottom", color=colour, fontweight="bold")
    axes.set_yticks(range(len(rows)), list(models))
    axes.set_ylim(len(rows) - 0.5, -1.0)
    axes.set_xlim(0, 125 * max(exact.shares.one_of_tied for _, exact in models.values()))
    axes.set_xlabel("one vocabulary matrix, % of the model")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    widest = max(rows, key=lambda row: float(row[3].rstrip("%")) - float(row[2].rstrip("%")))
    error = max(
        abs(approximate.saving_fraction - exact.shares.one_of_untied)
        for approximate, exact in models.values()
    )
    return Figure(
        drawing,
        alt=(
            "For each configuration two dots on a line: one vocabulary matrix as a share of the "
            f"untied and of the tied total. They stand furthest apart for {widest[0]}, "
            f"{widest[2]} against {widest[3]}. A tick marks the handbook’s estimate, never more "
            f"than {100 * error:.2f} points from the untied dot."
        ),
        caption="What share of the model is one vocabulary matrix: and of which model?",
        data=table(
            rows,
            ["model", "handbook’s estimate", "exact, of untied", "exact, of tied"],
            align=["left", "right", "right", "right"],
        ),
    )


@styled
def block_multiples(blocks: Sequence[BlockMultiple]) -> Figure:
    """Draw each model's block as attention and MLP, in units of d²."""
    drawing, axes = canvas(7.0, 0.9 + 0.36 * len(blocks))
    for index, block in enumerate(blocks):
        axes.barh(index, block.attention, color=palette.HEAD, height=0.7)
        axes.barh(index, block.mlp, left=block.attention, color=palette.BODY, height=0.7)
        for middle, size in (
            (block.attention / 2, block.attention),
            (block.attention + block.mlp / 2, block.mlp),
        ):
            _write_on_bar(axes, middle, index, f"{size:.2f}")
        axes.text(block.total + 0.15, index, f"{block.total:.2f}", va="center", fontweight="bold")
    axes.axvline(4, color=palette.INK, linestyle=":", linewidth=1)
    axes.axvline(12, color=palette.INK, linestyle=":", linewidth=1)
    for x, text in ((4, "4 d²"), (12, "12 d²")):
        axes.text(x, -0.55, text, ha="center", va="bottom", fontsize=9.5)
    axes.set_yticks(range(len(blocks)), [block.model for block in blocks])
    axes.set_ylim(len(blocks) - 0.5, -0.5)
    axes.set_xlim(0, max(block.total for block in blocks) * 1.1)
    axes.set_xlabel("matrices of one block, in units of d²")
    axes.tick_params(axis="y", length=0)
    drawing.legend(
        handles=_swatches(("attention", palette.HEAD), ("MLP", palette.BODY)),
        loc="outside upper center",
        ncols=2,
    )
    most, least = max(blocks, key=lambda b: b.total), min(blocks, key=lambda b: b.total)
    return Figure(
        drawing,
        alt=(
            f"Stacked bars of attention and MLP for {len(blocks)} models, in units of d squared. "
            f"They reach from {least.total:.2f} in {least.model} to {most.total:.2f} in "
            f"{most.model}; attention alone is {min(b.attention for b in blocks):.2f} to "
            f"{max(b.attention for b in blocks):.2f}."
        ),
        caption="How many d² does one block hold, and how much of that is attention?",
        data=table(
            [(b.model, f"{b.attention:.2f}", f"{b.mlp:.2f}", f"{b.total:.2f}") for b in blocks],
            ["model", "attention / d²", "MLP / d²", "block / d²"],
            align=["left", "right", "right", "right"],
        ),
    )


@styled
def saving_curve(models: Sequence[CensusModel]) -> Figure:
    """Draw the saving against the one number it depends on, V·d / B, with models on the curve."""
    drawing, axes = canvas(7.0, 4.4)
    ratio = np.logspace(-3, 2, 400)
    axes.axhline(50, color=palette.INK, linestyle=":", linewidth=1)
    axes.text(1.1e-3, 50.8, "limit: one half", va="bottom", fontsize=9.5)
    axes.plot(ratio, 100 * ratio / (2 * ratio + 1), color=palette.BODY, linewidth=2, zorder=1)
    for model in models:
        x, y = _ratio(model), 100 * _saving(model)
        _mark(axes, x, y, model)
        _name(axes, x, y, model, _CURVE_LABELS)
    axes.set_xscale("log")
    axes.set_xlim(1e-3, 1e2)
    axes.set_ylim(0, 56)
    axes.set_xlabel("V·d / B: one matrix over everything else (log scale)")
    axes.set_ylabel("saving, % of the untied total")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.legend(handles=_mark_handles(), loc="center", bbox_to_anchor=(0.8, 0.15))
    least, *_, most = sorted(models, key=_saving)
    return Figure(
        drawing,
        alt=(
            "A curve that rises slowly at first, steeply around a ratio of one tenth to one, and "
            f"flattens towards one half. All {len(models)} models lie on it, from "
            f"{_short(least)} at {_saving(least):.1%} to {_short(most)} at {_saving(most):.1%}."
        ),
        caption="On what single number does the saving depend?",
        data=_census_table(models),
    )


@styled
def saving_contours(models: Sequence[CensusModel]) -> Figure:
    """Draw lines of equal saving over width and vocabulary, a panel for each band of depths.

    The lines assume blocks of 12·d² and the depth in the panel's title.
    """
    drawing, panels = canvas(7.4, 6.8, 2, 2, sharex=True, sharey=True)
    d = np.logspace(np.log10(60), np.log10(45000), 160)
    V = np.logspace(np.log10(22000), np.log10(420000), 120)
    for band, axes in zip(DEPTH_BANDS, panels.flat, strict=True):
        body = band.layers * _BODY_PER_LAYER * d**2
        percent = 100 * (V[:, None] * d) / (2 * V[:, None] * d + body)
        lines = axes.contour(
            d,
            V,
            percent,
            levels=[100 * level for level in _CONTOUR_LEVELS],
            colors=palette.BODY,
            linewidths=0.8,
        )
        axes.set_xscale("log")
        axes.set_yscale("log")
        label_at = _contour_label_points(band, V)
        axes.clabel(lines, fmt="%g%%", fontsize=8.5, colors=palette.INK, manual=label_at)
        for model in models:
            if model in band:
                _mark(axes, model.hidden_size, model.vocab_size, model)
                _name(axes, model.hidden_size, model.vocab_size, model, _CONTOUR_LABELS)
        axes.set_title(
            f"L = {band.layers} (models of {band.least} to {band.most} layers)", fontsize=10
        )
        axes.set_xlim(d[0], d[-1])
        axes.set_ylim(V[0], V[-1])
        axes.set_xticks([256, 1024, 4096, 16384], ["256", "1,024", "4,096", "16,384"])
        axes.set_yticks([32000, 64000, 128000, 256000], ["32k", "64k", "128k", "256k"])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_minor_locator(NullLocator())
    drawing.supxlabel("width d (log scale)", fontsize=11)
    drawing.supylabel("vocabulary V (log scale)", fontsize=11)
    drawing.legend(handles=_mark_handles(), loc="outside upper center", ncols=2)
    shown = [m for m in models if any(m in band for band in DEPTH_BANDS)]
    counts = ", ".join(
        f"{sum(m.tie_word_embeddings for m in inside)} of {len(inside)} at L = {band.layers}"
        for band in DEPTH_BANDS
        for inside in [[m for m in shown if m in band]]
    )
    return Figure(
        drawing,
        alt=(
            "Four panels, shallow to deep, with width across and vocabulary up, and lines of "
            "equal saving that climb to the right: a wider model needs a larger vocabulary for "
            "the same saving, and a deeper one moves every line up and to the left. Of the models "
            f"marked, these tie: {counts}."
        ),
        caption="At which width, vocabulary and depth is the saving large, and who ties there?",
        data=_census_table(shown),
    )


def _swatches(*entries: tuple[str, str]) -> list[Any]:
    from matplotlib.patches import Patch

    return [Patch(color=colour, label=text) for text, colour in entries]


def _write_on_bar(axes: Any, x: float, row: int, text: str) -> None:
    axes.text(x, row, text, ha="center", va="center", color=_ON_COLOUR, fontsize=9.5)


def _mark(axes: Any, x: int | float, y: int | float, model: CensusModel) -> None:
    """Put a model on the plot: full and green when tied, an open diamond when not."""
    if model.tie_word_embeddings:
        axes.plot(x, y, "o", color=palette.TIED, markersize=5.5, zorder=3)
    else:
        axes.plot(
            x,
            y,
            "D",
            markerfacecolor="none",
            markeredgecolor=palette.UNTIED,
            markeredgewidth=1.4,
            markersize=5,
            zorder=2,
        )


def _name(
    axes: Any,
    x: int | float,
    y: int | float,
    model: CensusModel,
    labels: Mapping[str, tuple[str, int, int]],
) -> None:
    """Write the model's label beside its mark, when it has one."""
    if model.id not in labels:
        return
    text, right, up = labels[model.id]
    axes.annotate(
        text,
        (x, y),
        xytext=(right, up),
        textcoords="offset points",
        ha="center" if abs(right) < 5 else "left" if right > 0 else "right",
        va="center",
        fontsize=8.5,
    )


def _mark_handles() -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], linestyle="", marker="o", color=palette.TIED, label="tied"),
        Line2D(
            [],
            [],
            linestyle="",
            marker="D",
            markerfacecolor="none",
            markeredgecolor=palette.UNTIED,
            markeredgewidth=1.4,
            label="untied",
        ),
    ]


def _contour_label_points(band: DepthBand, V: Any) -> list[tuple[float, float]]:
    """Where each line is labelled: along the panel's upper edge, or its right edge."""
    points = []
    for level in _CONTOUR_LEVELS:
        # saving = V / (2V + 12·L·d), solved for d at a vocabulary near the top of the panel
        height = float(V[-1]) * 0.82
        width = height * (1 - 2 * level) / (level * _BODY_PER_LAYER * band.layers)
        if 110 < width < 26000:
            points.append((width, height))
        elif width > 26000:
            # The line leaves the panel at its right edge.
            points.append((30000.0, 30000.0 * height / width))
    return points


def _short(model: CensusModel) -> str:
    """The model's id without its publisher."""
    return model.id.rpartition("/")[2]


def _ratio(model: CensusModel) -> float:
    """V·d over everything that is not a vocabulary matrix."""
    return model.embedding_params / (model.total_if_tied - model.embedding_params)


def _saving(model: CensusModel) -> float:
    body = model.total_if_tied - model.embedding_params
    return saving_fraction(model.vocab_size, model.embedding_dim, body)


def _census_table(models: Sequence[CensusModel]) -> Table:
    return table(
        [
            (
                model.id,
                model.vocab_size,
                model.hidden_size,
                model.layers,
                "tied" if model.tie_word_embeddings else "untied",
                f"{_ratio(model):.4f}",
                f"{_saving(model):.2%}",
            )
            for model in sorted(models, key=_saving, reverse=True)
        ],
        ["model", "V", "d", "L", "tie", "V·d / B", "saving"],
        align=["left", "right", "right", "right", "left", "right", "right"],
    )
