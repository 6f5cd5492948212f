"""The numbers that come out of a count, as frozen dataclasses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from wtlib.counting.parts import Architecture, Block, flops, parameters
from wtlib.errors import WtlibError


@dataclass(frozen=True)
class BlockCount:
    """Parameters of one block, by concern.

    ``attention`` and ``mlp`` hold their matrices *and* those matrices' biases; ``norms`` holds
    scales and shifts, the norms on queries and keys included. The three add up to ``total``.
    ``matrices`` and ``biases`` cut the same block the other way: ``matrices`` are the entries that
    a token is multiplied by (what "12·d²" speaks of), ``biases`` all vectors that are added,
    a LayerNorm's shift among them. ``flops`` are the forward matmul FLOPs per token.
    """

    attention: int
    mlp: int
    norms: int
    matrices: int
    biases: int
    flops: int

    @property
    def total(self) -> int:
        """All parameters of the block."""
        return self.attention + self.mlp + self.norms

    @classmethod
    def of(cls, block: Block) -> BlockCount:
        """Count a described block."""
        return cls(
            attention=parameters(block.attention),
            mlp=parameters(block.mlp),
            norms=parameters(block.norms),
            matrices=sum(part.weights for part in block.parts),
            biases=sum(part.biases for part in block.parts),
            flops=flops(block.parts),
        )


@dataclass(frozen=True)
class StackCount:
    """A run of equal blocks: ``stored`` have parameters of their own, ``layers`` are executed."""

    name: str
    layers: int
    stored: int
    block: BlockCount
    score_width: int

    @property
    def total(self) -> int:
        """Parameters of the stack."""
        return self.stored * self.block.total


@dataclass(frozen=True)
class Shares:
    """The four meanings of "the vocabulary matrix's share of the model", as fractions.

    One matrix or two, over the total with the tie or without it. For a tied model
    ``one_of_tied`` is what is in memory; for an untied one it is ``two_of_untied``.
    ``one_of_untied`` is the fraction that tying saves. ``two_of_tied`` sets both matrices against
    a total that holds one: it can exceed one, and is defined only to recognise it in print.
    """

    one_of_tied: float
    one_of_untied: float
    two_of_untied: float
    two_of_tied: float


@dataclass(frozen=True)
class Memory:
    """Bytes for ``parameters`` parameters.

    ``fp32`` and ``bf16`` hold the weights alone, at four and two bytes. The two ``adam`` figures
    are training state without activations, 16 bytes a parameter each: ``adam_fp32`` is weights,
    gradients and two moments in fp32 (4+4+4+4); ``adam_mixed`` is bf16 weights and gradients
    beside an fp32 master copy and two fp32 moments (2+2+4+4+4).
    """

    parameters: int

    @property
    def fp32(self) -> int:
        """Weights in fp32."""
        return 4 * self.parameters

    @property
    def bf16(self) -> int:
        """Weights in bf16 (or fp16)."""
        return 2 * self.parameters

    @property
    def adam_fp32(self) -> int:
        """Weights, gradients and Adam's two moments, all fp32."""
        return 16 * self.parameters

    @property
    def adam_mixed(self) -> int:
        """The sum of :attr:`adam_mixed_parts`."""
        return sum(self.adam_mixed_parts.values())

    @property
    def adam_mixed_parts(self) -> Mapping[str, int]:
        """Bytes of each thing that mixed-precision Adam keeps."""
        return {
            "bf16 weights": 2 * self.parameters,
            "bf16 gradients": 2 * self.parameters,
            "fp32 master weights": 4 * self.parameters,
            "fp32 first moments": 4 * self.parameters,
            "fp32 second moments": 4 * self.parameters,
        }


@dataclass(frozen=True)
class Flops:
    """Forward FLOPs per token: matrix products only, two for each multiply-add.

    ``blocks`` are the stacks' matrices, ``scores`` the products of queries with keys and of
    weights with values (zero unless a context length was given), ``head`` the product with the
    vocabulary matrix, ``other`` what stands between (projections, a head's transform). Looking a
    row up costs none; norms, biases and non-linearities are left out. An encoder-decoder counts
    one token through each stack.
    """

    blocks: int
    head: int
    other: int = 0
    scores: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.blocks + self.scores + self.other + self.head

    @property
    def head_share(self) -> float:
        """The head's fraction of the total; tying does not change it."""
        return self.head / self.total


@dataclass(frozen=True)
class ParameterCount:
    """Exact parameters of one model, each unique matrix counted once.

    ``total`` is the count under the config's own flag ``tied``; ``if_tied`` and ``if_untied`` are
    the same model either way. ``vocabulary_matrix`` is ``vocab_size * embedding_dim``; the
    embedding's width differs from ``d_model`` where a projection stands between (OPT-350M,
    ALBERT). ``positions`` are position tables (and T5's relative biases), ``final_norm`` the norm
    after the last block (both stacks' for an encoder-decoder), ``head_bias`` a bias on the logits,
    ``other`` what is left, by name.

    Untied means: the head has a matrix of its own, and nothing else changes. (transformers then
    also keeps a second, unread copy of BERT's logit bias, and splits the table that BART's two
    stacks share.)
    """

    family: str
    vocab_size: int
    embedding_dim: int
    d_model: int
    tied: bool
    stacks: tuple[StackCount, ...]
    positions: int
    final_norm: int
    head_bias: int
    other: Mapping[str, int] = field(hash=False)
    other_flops: int

    @property
    def vocabulary_matrix(self) -> int:
        """Entries of one vocabulary matrix, V·E."""
        return self.vocab_size * self.embedding_dim

    @property
    def blocks(self) -> int:
        """Parameters of all stored blocks."""
        return sum(part.total for part in self.stacks)

    @property
    def body(self) -> int:
        """Everything but the vocabulary matrices: the B of V·d / (2·V·d + B)."""
        return (
            self.blocks
            + self.positions
            + self.final_norm
            + self.head_bias
            + sum(self.other.values())
        )

    @property
    def if_tied(self) -> int:
        """Total with one vocabulary matrix."""
        return self.body + self.vocabulary_matrix

    @property
    def if_untied(self) -> int:
        """Total with a head matrix of its own."""
        return self.body + 2 * self.vocabulary_matrix

    @property
    def total(self) -> int:
        """Total under the config's own flag."""
        return self.if_tied if self.tied else self.if_untied

    @property
    def saving(self) -> int:
        """What the tie saves (or would save)."""
        return self.if_untied - self.if_tied

    @property
    def layers(self) -> int:
        """Layers executed, all stacks together."""
        return sum(part.layers for part in self.stacks)

    @property
    def block(self) -> BlockCount:
        """The block of the last stack: the only one of most models, the decoder's of a T5."""
        return self.stacks[-1].block

    @property
    def shares(self) -> Shares:
        """The four shares of the model."""
        one, two = self.vocabulary_matrix, 2 * self.vocabulary_matrix
        return Shares(
            one_of_tied=one / self.if_tied,
            one_of_untied=one / self.if_untied,
            two_of_untied=two / self.if_untied,
            two_of_tied=two / self.if_tied,
        )

    @property
    def memory(self) -> Memory:
        """Bytes under the config's own flag; ``Memory(count.if_untied)`` is the other way."""
        return Memory(self.total)

    @property
    def flops(self) -> Flops:
        """Forward FLOPs per token, attention's scores left out."""
        return self.flops_at(0)

    def flops_at(self, context_length: int) -> Flops:
        """Forward FLOPs per token that attends to ``context_length`` positions in every layer.

        Causal masking and sliding windows are not subtracted: give the mean number of positions
        attended to, ``(T + 1) // 2`` for a causal sequence of T computed without waste (half a
        position short where T is even), or T for kernels that compute the full square.

        Raises:
            WtlibError: ``context_length`` is negative, or not a whole number.
        """
        whole = isinstance(context_length, int) and not isinstance(context_length, bool)
        if not whole or context_length < 0:
            raise WtlibError(
                f"context_length is {context_length!r}; give the positions attended to, 0 or more, "
                "as a whole number"
            )
        return Flops(
            blocks=sum(part.layers * part.block.flops for part in self.stacks),
            head=2 * self.vocabulary_matrix,
            other=self.other_flops,
            scores=sum(2 * part.layers * part.score_width * context_length for part in self.stacks),
        )

    @classmethod
    def of(cls, model: Architecture) -> ParameterCount:
        """Count a described model."""
        return cls(
            family=model.family,
            vocab_size=model.vocab_size,
            embedding_dim=model.embedding_dim,
            d_model=model.d_model,
            tied=model.tied,
            stacks=tuple(
                StackCount(
                    part.name,
                    part.layers,
                    part.stored,
                    BlockCount.of(part.block),
                    part.block.score_width,
                )
                for part in model.stacks
            ),
            positions=model.positions,
            final_norm=model.final_norm,
            head_bias=model.vocab_size if model.head_bias else 0,
            other={name: parameters(parts) for name, parts in model.other.items()},
            other_flops=sum(flops(parts) for parts in model.other.values()),
        )
