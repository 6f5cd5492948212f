"""What training makes of the two ends: how far their rows part, which one a tied matrix resembles.

The ends are the table that looks tokens up and the output matrix that scores them, row by row.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from wtlib.errors import WtlibError
from wtlib.training.parts import SmallModel


@dataclass(frozen=True, eq=False)
class Ends:
    """Copies of both vocabulary matrices at one moment; equal for a tied model."""

    table: Float[Tensor, "V d"]
    head: Float[Tensor, "V d"]


@dataclass(frozen=True, eq=False)
class Band:
    """Tokens of similar frequency: their ids, and the range of their counts."""

    ids: Int64[Tensor, " n"]
    fewest: int
    most: int

    @property
    def label(self) -> str:
        """The range of counts in words."""
        if self.fewest == self.most:
            return "once" if self.most == 1 else f"{self.most} times"
        return f"{self.fewest}–{self.most:,} times"


@dataclass(frozen=True)
class Parting:
    """How a band's rows stand to each other, and to where they started; means over its tokens."""

    cosine: float
    """Between a token's row in the table and its row in the output matrix."""
    table_moved: float
    """Distance of the table's row from its start, in lengths of the row at the start."""
    head_moved: float
    """The same for the output matrix."""


@dataclass(frozen=True, eq=False)
class Resemblance:
    """How well the best affine map takes the rows of one matrix to those of another.

    `cosines` has one entry a row: between the row that is to be met and the row that the map gives,
    both measured from the mean of the rows that the map was fitted to. No row is judged by a map
    that was fitted to it. `shuffled` is the mean cosine when rows are paired at random.
    """

    cosines: Float64[Tensor, " V"]
    shuffled: float

    @property
    def mean(self) -> float:
        """The mean cosine over all rows."""
        return float(self.cosines.mean())

    def mean_over(self, band: Band) -> float:
        """Return the mean cosine over a band's rows."""
        return float(self.cosines[band.ids].mean())


def ends(model: SmallModel) -> Ends:
    """Return copies of a model's two vocabulary matrices, for later."""
    table = model.get_input_embeddings().weight
    head = model.get_output_embeddings().weight
    return Ends(table.detach().clone(), head.detach().clone())


def bands(counts: Int64[Tensor, " V"], edges: Sequence[int]) -> tuple[Band, ...]:
    """Sort tokens into bands by their counts, rarest first; a band without tokens is left out.

    Args:
        counts: how often each token occurs.
        edges: the fewest counts of each band but the first, rising.

    Raises:
        WtlibError: if the edges do not rise.
    """
    if list(edges) != sorted(set(edges)):
        raise WtlibError(f"edges must rise, not {tuple(edges)}")
    place = torch.bucketize(counts, torch.tensor(edges), right=True)
    found = []
    for index in range(len(edges) + 1):
        ids = (place == index).nonzero().flatten()
        if len(ids):
            inside = counts[ids]
            found.append(Band(ids, int(inside.min()), int(inside.max())))
    return tuple(found)


def parting(start: Ends, now: Ends, band: Band) -> Parting:
    """Measure how far a band's rows have parted since the start.

    Raises:
        WtlibError: if a row of the band was zero at the start, so that it has no length.
    """
    ids = band.ids
    lengths = {"table": start.table[ids].norm(dim=1), "head": start.head[ids].norm(dim=1)}
    for name, length in lengths.items():
        if not bool((length > 0).all()):
            raise WtlibError(f"a row of the {name} is zero at the start: its way has no unit")
    cosine = torch.cosine_similarity(now.table[ids], now.head[ids], dim=1)
    table_way = (now.table[ids] - start.table[ids]).norm(dim=1) / lengths["table"]
    head_way = (now.head[ids] - start.head[ids]).norm(dim=1) / lengths["head"]
    return Parting(float(cosine.mean()), float(table_way.mean()), float(head_way.mean()))


def resemblance(
    source: Float[Tensor, "V d"],
    target: Float[Tensor, "_ d_target"],
    *,
    folds: int = 5,
    seed: int = 0,
) -> Resemblance:
    """Fit the best affine map from the rows of one matrix to those of another, and judge it.

    Rows are dealt into `folds` parts; the map fitted by least squares to the others is judged on
    each. Lopardo et al. (arXiv:2603.26663) compare embedding matrices by their best linear map;
    centring and held-out rows are this book's choice, so that a common direction of all rows, or
    a map with many parameters, does not pass for resemblance.

    Raises:
        WtlibError: if the matrices do not have a row for each token, or too few for the map.
    """
    tokens, d = source.shape
    if len(target) != tokens:
        raise WtlibError(f"the rows must come in pairs: {tokens} against {len(target)}")
    if folds < 2 or tokens - tokens // folds <= d + 1:
        raise WtlibError(
            f"{tokens} rows in {folds} folds are too few to fit and judge a map from width {d}"
        )
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(tokens, generator=generator)
    partners = torch.randperm(tokens, generator=generator)
    x, y = source.double(), target.double()
    return Resemblance(
        cosines=_held_out(x, y, order, folds),
        shuffled=float(_held_out(x, y[partners], order, folds).mean()),
    )


def _held_out(
    x: Float64[Tensor, "V d"],
    y: Float64[Tensor, "V d_target"],
    order: Int64[Tensor, " V"],
    folds: int,
) -> Float64[Tensor, " V"]:
    cosines = torch.empty(len(x), dtype=torch.float64)
    for fold in range(folds):
        judged = order[fold::folds]
        fitted = torch.ones(len(x), dtype=torch.bool)
        fitted[judged] = False
        x_mean, y_mean = x[fitted].mean(0), y[fitted].mean(0)
        weights = torch.linalg.lstsq(x[fitted] - x_mean, y[fitted] - y_mean).solution
        cosines[judged] = torch.cosine_similarity(
            (x[judged] - x_mean) @ weights, y[judged] - y_mean, dim=1
        )
    return cosines
