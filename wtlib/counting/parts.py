"""What a model is made of, as data: matrices, norms, blocks, stacks.

A family (:mod:`wtlib.counting.families`) turns a config into one :class:`Architecture`; everything
else that is counted — parameters, bytes, FLOPs — follows from that description alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Matrix:
    """``copies`` linear maps ``d_in -> d_out``, of which ``active`` multiply each token.

    ``active`` differs from ``copies`` only for experts (a router picks some of them).
    """

    d_in: int
    d_out: int
    bias: bool = False
    copies: int = 1
    active: int | None = None

    @property
    def weights(self) -> int:
        """Entries of the matrices, biases left out."""
        return self.copies * self.d_in * self.d_out

    @property
    def biases(self) -> int:
        """Entries of the bias vectors."""
        return self.copies * self.d_out if self.bias else 0

    @property
    def parameters(self) -> int:
        """Weights and biases."""
        return self.weights + self.biases

    @property
    def flops(self) -> int:
        """Forward FLOPs per token: two per multiply-add, the bias not counted."""
        active = self.copies if self.active is None else self.active
        return 2 * active * self.d_in * self.d_out


@dataclass(frozen=True)
class Vector:
    """Parameters that multiply nothing as a matrix: scales, tables that are looked up, filters."""

    width: int
    shift: int = 0
    copies: int = 1
    weights: int = field(default=0, init=False)
    flops: int = field(default=0, init=False)

    @property
    def biases(self) -> int:
        """Entries that are added: a LayerNorm's shift, a filter's bias."""
        return self.copies * self.shift

    @property
    def parameters(self) -> int:
        """Entries of all copies."""
        return self.copies * (self.width + self.shift)


@dataclass(frozen=True)
class Scores:
    """Attention's work that no parameter accounts for: queries·keys and weights·values.

    ``width`` is the sum over heads of the query-key width and the value width; a token pays two
    FLOPs times ``width`` for each position it attends to.
    """

    width: int
    weights: int = field(default=0, init=False)
    biases: int = field(default=0, init=False)
    parameters: int = field(default=0, init=False)
    flops: int = field(default=0, init=False)


Part = Matrix | Vector | Scores


def norm(width: int, *, bias: bool = False, copies: int = 1) -> Vector:
    """An RMSNorm (a scale) or, with ``bias``, a LayerNorm (a scale and a shift)."""
    return Vector(width, shift=width if bias else 0, copies=copies)


@dataclass(frozen=True)
class Block:
    """One transformer block: parts by concern, in no particular order."""

    attention: tuple[Part, ...]
    mlp: tuple[Part, ...]
    norms: tuple[Vector, ...]

    @property
    def score_width(self) -> int:
        """The width of attention's products, see :class:`Scores`."""
        return sum(part.width for part in self.attention if isinstance(part, Scores))

    @property
    def parts(self) -> tuple[Part, ...]:
        """Everything in the block."""
        return self.attention + self.mlp + self.norms


@dataclass(frozen=True)
class Stack:
    """``layers`` executed layers made of ``stored`` blocks; fewer under cross-layer sharing."""

    name: str
    block: Block
    layers: int
    stored: int


@dataclass(frozen=True)
class Architecture:
    """A whole model. The vocabulary matrix is ``(vocab_size, embedding_dim)``."""

    family: str
    vocab_size: int
    embedding_dim: int
    d_model: int
    tied: bool
    stacks: tuple[Stack, ...]
    positions: int = 0
    final_norm: int = 0
    head_bias: bool = False
    other: Mapping[str, tuple[Part, ...]] = field(default_factory=dict, hash=False)


def parameters(parts: Iterable[Part]) -> int:
    """Entries of all parts."""
    return sum(part.parameters for part in parts)


def flops(parts: Iterable[Part]) -> int:
    """Forward FLOPs per token of all parts."""
    return sum(part.flops for part in parts)


def self_attention(
    d_model: int,
    heads: int,
    *,
    kv_heads: int | None = None,
    head_dim: int | None = None,
    qkv_bias: bool = False,
    out_bias: bool = False,
) -> tuple[Part, ...]:
    """Query, key, value and output projections; fused projections hold the same entries."""
    head_dim = d_model // heads if head_dim is None else head_dim
    kv_heads = heads if kv_heads is None else kv_heads
    return (
        Matrix(d_model, heads * head_dim, qkv_bias),
        Matrix(d_model, kv_heads * head_dim, qkv_bias, copies=2),
        Matrix(heads * head_dim, d_model, out_bias),
        Scores(2 * heads * head_dim),
    )


def plain_mlp(d_model: int, ffn: int, *, bias: bool = True) -> tuple[Matrix, ...]:
    """Up, non-linearity, down."""
    return (Matrix(d_model, ffn, bias), Matrix(ffn, d_model, bias))


def gated_mlp(d_model: int, ffn: int, *, bias: bool = False) -> tuple[Matrix, ...]:
    """Gate and up, their product, down (SwiGLU, GeGLU)."""
    return (Matrix(d_model, ffn, bias, copies=2), Matrix(ffn, d_model, bias))


def experts(
    d_model: int, ffn: int, *, number: int, active: int, bias: bool = False
) -> tuple[Matrix, ...]:
    """A router and ``number`` gated MLPs, ``active`` of which see each token."""
    return (
        Matrix(d_model, number, bias),
        Matrix(d_model, ffn, bias, copies=2 * number, active=2 * active),
        Matrix(ffn, d_model, bias, copies=number, active=active),
    )
