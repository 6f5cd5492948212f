"""The handbook's approximation of a model's size, kept under a name that says so."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

from wtlib.errors import WtlibError


@dataclass(frozen=True)
class HandbookEstimate:
    """The handbook's count: blocks of 12·d² + 4·d, no biases, no positions, no final norm."""

    vocab_size: int
    d_model: int
    n_layers: int

    @property
    def vocabulary_matrix(self) -> int:
        """V·d, which is also what the tie saves."""
        return self.vocab_size * self.d_model

    @property
    def per_layer(self) -> int:
        """4·d² for attention, 8·d² for the MLP, 4·d for two LayerNorms."""
        return 12 * self.d_model**2 + 4 * self.d_model

    @property
    def blocks(self) -> int:
        """All layers."""
        return self.n_layers * self.per_layer

    @property
    def if_tied(self) -> int:
        """Blocks and one vocabulary matrix."""
        return self.blocks + self.vocabulary_matrix

    @property
    def if_untied(self) -> int:
        """Blocks and two vocabulary matrices."""
        return self.blocks + 2 * self.vocabulary_matrix

    @property
    def saving(self) -> int:
        """Parameters saved by the tie."""
        return self.vocabulary_matrix

    @property
    def saving_fraction(self) -> float:
        """The saving over the *untied* total: the handbook's "% of model"."""
        return self.saving / self.if_untied


def handbook_estimate(vocab_size: int, d_model: int, n_layers: int) -> HandbookEstimate:
    """Approximate a GPT-2-shaped model the way the handbook's impact table does.

    Source: Brenndoerfer, *Language AI Handbook*, chapter "Weight Tying", section "Scaling
    Considerations". Use :func:`wtlib.counting.count_parameters` for exact counts.

    Raises:
        WtlibError: a size is not a positive whole number.
    """
    for name, value in (("vocab_size", vocab_size), ("d_model", d_model), ("n_layers", n_layers)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise WtlibError(f"{name} is {value!r}; it must be a whole number, at least 1")
    return HandbookEstimate(vocab_size, d_model, n_layers)


def saving_fraction(vocab_size: int | float, d_model: int | float, body: int | float) -> float:
    """The fraction of an untied model that tying saves: V·d / (2·V·d + B).

    ``body`` is B, every parameter outside the two vocabulary matrices. The fraction rises with V
    and tends to one half. Sizes may be real numbers, for plots.

    Raises:
        WtlibError: ``vocab_size`` or ``d_model`` is not positive, ``body`` is negative, or one of
            them is no finite number.
    """
    for name, value in (("vocab_size", vocab_size), ("d_model", d_model)):
        if not (_is_size(value) and value > 0):
            raise WtlibError(f"{name} is {value!r}; it must be positive and finite")
    if not (_is_size(body) and body >= 0):
        raise WtlibError(f"body is {body!r}; it must be zero or more, and finite")
    matrix = vocab_size * d_model
    return matrix / (2 * matrix + body)


def _is_size(value: object) -> bool:
    if isinstance(value, int):  # of any length; no float would hold it
        return not isinstance(value, bool)
    return isinstance(value, Real) and math.isfinite(value)
