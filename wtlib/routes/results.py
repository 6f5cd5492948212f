"""What `measure_routes` returns: frozen records of numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor


def quotient(norm: float, other: float) -> float:
    """`norm / other` as floating-point arithmetic has it: x / 0 is infinite, 0 / 0 is NaN."""
    if other == 0:
        return math.inf if norm else math.nan
    return norm / other


@dataclass(frozen=True, eq=False)
class Route:
    """The gradient that one use of the vocabulary matrix sends into it.

    Attributes:
        row_norms: L2 norm of the gradient of each row, `(V,)`, float64.
        norm: Frobenius norm of the whole `(V, d)` gradient.
        rows_touched: rows whose gradient has any nonzero entry in the model's own precision.
        rows: gradient of the rows asked for with `rows=`, `(R, d)`, in the model's precision;
            `None` when none were asked for.
    """

    row_norms: Float[Tensor, " V"]
    norm: float
    rows_touched: int
    rows: Float[Tensor, "R d"] | None


@dataclass(frozen=True, eq=False)
class Cosines:
    """Agreement of the two routes on the rows that both touch.

    Attributes:
        token_ids: the shared rows in ascending order, `(S,)`.
        values: cosine between the two gradients of each shared row, `(S,)`, float64.
    """

    token_ids: Int[Tensor, " S"]
    values: Float[Tensor, " S"]

    @property
    def count(self) -> int:
        """Number of shared rows."""
        return self.values.numel()

    @property
    def mean(self) -> float:
        """Mean cosine; NaN when no row is shared."""
        return float(self.values.mean()) if self.count else math.nan

    @property
    def sd(self) -> float:
        """Sample standard deviation (n - 1); NaN below two rows."""
        return float(self.values.std()) if self.count > 1 else math.nan

    @property
    def standard_error(self) -> float:
        """Standard error of the mean: `sd / sqrt(count)`."""
        return self.sd / math.sqrt(self.count) if self.count else math.nan

    @property
    def negative_share(self) -> float:
        """Share of shared rows whose cosine is below zero."""
        return float((self.values < 0).double().mean()) if self.count else math.nan


@dataclass(frozen=True)
class Decomposition:
    """Where the ratio between the routes comes from.

    Write `D` for the logits' gradient `(N, V)`, `H` for the hidden states the head reads `(N, d)`,
    `W` for the head's matrix, `g_top = D W` for the gradient at the head's input, and `g_0` for
    the gradient at the lookup's output. Then `short = D^T H` and `long = scatter(g_0)`, and

        ratio = hidden_scale / (row_scale * stack_gain * scatter_gain)

    holds exactly, because each norm between the two ends cancels. All norms are Frobenius norms.

    Attributes:
        logits: `||D||`.
        head_input: `||g_top||`.
        lookup_output: `||g_0||`, before repeated tokens are added up.
        hidden_scale: `||D^T H|| / ||D||`, the scale of the hidden states as the short route
            weighs them; for a single predicted token it is `||h||`.
        row_scale: `||D W|| / ||D||`, the scale of the matrix's rows as the long route starts
            with them.
        stack_gain: `||g_0|| / ||g_top||`, what the way down through final norm, blocks and
            embedding (with any multiplier) does to the gradient's norm.
        scatter_gain: `||scatter(g_0)|| / ||g_0||`; 1 when no token that gets a gradient repeats.
        hidden_norm: root mean square of `||h_t||` over the positions that predict something.
    """

    logits: float
    head_input: float
    lookup_output: float
    hidden_scale: float
    row_scale: float
    stack_gain: float
    scatter_gain: float
    hidden_norm: float

    @property
    def ratio(self) -> float:
        """The product of the factors: short norm over long norm."""
        return quotient(self.hidden_scale, self.row_scale * self.stack_gain * self.scatter_gain)


@dataclass(frozen=True, eq=False)
class Routes:
    """The two gradient routes into the vocabulary matrix, for one batch of text.

    Attributes:
        tied: whether table and head are one parameter; otherwise the routes end in two.
        loss: the model's own loss (mean cross-entropy, nats per predicted token).
        tokens: tokens read (positions that `mask` leaves visible).
        distinct_tokens: distinct ids among them.
        predictions: positions that contribute a loss term.
        short: the head's route, through the logits.
        long: the table's route, through the lookup.
        cosines: agreement of the two on shared rows; empty when the matrices' shapes differ.
        activation_norms: norm of the loss's gradient with respect to the hidden states leaving
            each block, first block first; one entry per application when blocks are shared.
            Empty when the model's blocks are not recognised.
        decomposition: the factors whose product is `ratio`.
        max_difference: largest absolute difference between the materialised routes and the
            gradient autograd gives the model's own parameters; `None` without `verify=True`.
    """

    tied: bool
    loss: float
    tokens: int
    distinct_tokens: int
    predictions: int
    short: Route
    long: Route
    cosines: Cosines
    activation_norms: tuple[float, ...]
    decomposition: Decomposition
    max_difference: float | None

    @property
    def ratio(self) -> float:
        """Short norm over long norm; infinite when nothing reaches the table."""
        return quotient(self.short.norm, self.long.norm)
