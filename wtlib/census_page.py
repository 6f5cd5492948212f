"""The census as a table: text for a terminal, HTML that the page makes searchable and sortable."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from wtlib.census import CensusModel
from wtlib.display import Align, table

_COLUMNS: tuple[tuple[str, Align], ...] = (
    ("model", "left"),
    ("weights", "left"),
    ("flag says", "left"),
    ("parameters", "right"),
    ("saving", "right"),
    ("family", "left"),
    ("year", "right"),
    ("kind", "left"),
    ("V", "right"),
    ("d", "right"),
    ("L", "right"),
)


def tie_word(model: CensusModel) -> str:
    """Whether the shipped weights are tied; a question mark where nothing verifies it."""
    word = "tied" if model.tie_word_embeddings else "untied"
    return word if model.verified else f"{word}?"


def flag_word(model: CensusModel) -> str:
    """What the config's own key says; a dash where there is none to say it."""
    if model.config_flag is None:
        return "–"
    return "tied" if model.config_flag else "untied"


def saving(model: CensusModel) -> float:
    """One vocabulary matrix over the untied total, a fraction."""
    return model.embedding_params / model.total_if_untied


@dataclass(frozen=True)
class CensusPage:
    """Some models of the census, one row each.

    As HTML the rows carry their sources; ``book/_static/census.js`` adds a search, filters and
    sorting. Without scripts the table is whole and readable. ``data-sort`` is what a column is
    sorted by, ``data-search`` what the search looks at.
    """

    models: tuple[CensusModel, ...]
    caption: str = ""

    def __repr__(self) -> str:
        """Return the table as aligned text."""
        return repr(
            table(
                [_cells(model) for model in self.models],
                [head for head, _ in _COLUMNS],
                caption=self.caption,
                align=[align for _, align in _COLUMNS],
            )
        )

    def _repr_html_(self) -> str:
        escape = html.escape
        heads = "".join(
            f'<th scope="col" class="wt-{align}">{escape(head)}</th>'
            for head, align in (*_COLUMNS, ("sources", "left"))
        )
        label = escape(self.caption or "The census", quote=True)
        return (
            f'<div class="wt-census"><div class="wt-table" role="region" aria-label="{label}" '
            f'tabindex="0"><table><caption>{escape(self.caption)}</caption>'
            f"<thead><tr>{heads}</tr></thead><tbody>"
            + "".join(map(_row, self.models))
            + "</tbody></table></div></div>"
        )


def page(models: Sequence[CensusModel], caption: str = "") -> CensusPage:
    """Return the table of some models."""
    return CensusPage(tuple(models), caption)


def _cells(model: CensusModel) -> tuple[str | int, ...]:
    return (
        model.id,
        tie_word(model),
        flag_word(model),
        model.total_params,
        f"{saving(model):.2%}",
        model.family,
        str(model.year),
        model.kind,
        model.vocab_size,
        model.hidden_size,
        model.layers,
    )


def _row(model: CensusModel) -> str:
    escape = html.escape
    cells = "".join(
        f'<td class="wt-{align}" data-sort="{escape(_key(cell), quote=True)}">{_shown(cell)}</td>'
        for cell, (_, align) in zip(_cells(model), _COLUMNS, strict=True)
    )
    search = " ".join((model.id, model.family, model.model_type, model.kind, str(model.year)))
    tie = "tied" if model.tie_word_embeddings else "untied"
    return (
        f'<tr data-tie="{tie}" data-verified="{"yes" if model.verified else "no"}" '
        f'data-kind="{model.kind}" data-search="{escape(search.lower(), quote=True)}">'
        f'{cells}<td class="wt-left">{_sources(model)}</td></tr>'
    )


def _key(cell: str | int) -> str:
    """What the cell is sorted by: a number as a bare number."""
    return str(cell).removesuffix("%")


def _shown(cell: str | int) -> str:
    if cell in ("tied?", "untied?"):
        word = str(cell).rstrip("?")
        return f'{word}<abbr title="not verified: taken from the class’s default">?</abbr>'
    return f"{cell:,}" if isinstance(cell, int) else html.escape(cell)


def _sources(model: CensusModel) -> str:
    facts = (
        ("tie", f"{model.source} [{model.flag_evidence}]"),
        ("sizes", model.source_dims + ("" if model.dims_verified else " [not verified]")),
        ("count", model.count_method),
        ("note", model.note),
    )
    items = "".join(f"<dt>{what}</dt><dd>{html.escape(text)}</dd>" for what, text in facts if text)
    name = html.escape(model.id)
    return (
        f'<details><summary aria-label="sources of {name}">sources</summary>'
        f"<dl>{items}</dl></details>"
    )
