"""From a model's shape, data and purpose to a recommendation."""

from __future__ import annotations

from dataclasses import dataclass

from wtlib import census
from wtlib.advice.branches import (
    BRANCHES,
    LARGE_SAVING,
    PURPOSES,
    SMALL_SAVING,
    Branch,
    Word,
)
from wtlib.counting import Memory, handbook_estimate, saving_fraction
from wtlib.errors import WtlibError

# A block's parameters in units of d²: what the advice assumes, and the range that holds nine in ten
# of the census's dense transformers. Mixtures of experts lie far above it.
_PER_BLOCK = 12
_LEANEST, _RICHEST = 10, 20
# Models whose saving is within this factor are neighbours.
_NEAR = 1.5


@dataclass(frozen=True)
class Reason:
    """A branch that applies, and what it comes to for this model, in words."""

    branch: Branch
    numbers: str


@dataclass(frozen=True)
class Neighbours:
    """What builders did at a like saving.

    Attributes:
        low, high: the range of savings looked at, as fractions of the untied total.
        models: causal models of the census in it.
        tied: how many of them are tied.
    """

    low: float
    high: float
    models: int
    tied: int


@dataclass(frozen=True)
class Advice:
    """A recommendation and everything it rests on.

    Attributes:
        recommendation: tie, untie, either, or keep what the weights have.
        decided_by: the code of the first reason that applies.
        reasons: every reason that applies, the deciding one first.
        uncertain: what the advice does not know.
        next_steps: what to see to if you follow it.
        vocabulary_matrix, if_tied, if_untied: parameters, with blocks of 12·d².
        saving: one matrix over the untied total, a fraction.
        saving_range: the same over the blocks of most dense transformers, low to high.
        layers_bought: how many layers the second matrix would pay for.
        saved_bytes: weights in bf16, and training state under mixed-precision Adam.
        neighbours: what builders did at a like saving.
    """

    recommendation: Word
    decided_by: str
    reasons: tuple[Reason, ...]
    uncertain: tuple[str, ...]
    next_steps: tuple[str, ...]
    vocabulary_matrix: int
    if_tied: int
    if_untied: int
    saving: float
    saving_range: tuple[float, float]
    layers_bought: float
    saved_bytes: tuple[int, int]
    neighbours: Neighbours


def advise(
    vocab_size: int,
    d_model: int,
    layers: int,
    *,
    tokens: int | None = None,
    purpose: str = "pretraining",
) -> Advice:
    """Recommend to tie or not, with reasons.

    Args:
        vocab_size: rows of the vocabulary matrix, V.
        d_model: width, d.
        layers: blocks, L, each taken as 12·d² parameters.
        tokens: tokens of training text, repetitions not counted; None if unknown.
        purpose: what the model is for, a key of `PURPOSES`.

    Raises:
        WtlibError: a size or the number of tokens is not a positive whole number, or the purpose
            is unknown.
    """
    model = handbook_estimate(vocab_size, d_model, layers)
    if tokens is not None and (
        isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 1
    ):
        raise WtlibError(f"tokens is {tokens!r}; give a whole number, at least 1, or leave it out")
    if purpose not in PURPOSES:
        raise WtlibError(f"no purpose {purpose!r}; choose one of: {', '.join(PURPOSES)}")

    matrix = model.vocabulary_matrix
    body = layers * _PER_BLOCK * d_model**2
    saving = matrix / (body + 2 * matrix)
    low, high = (
        saving_fraction(vocab_size, d_model, layers * multiple * d_model**2)
        for multiple in (_RICHEST, _LEANEST)
    )
    case = _Case(matrix, body, saving, layers, tokens, purpose)
    reasons = tuple(
        Reason(branch, case.numbers(branch.code)) for branch in BRANCHES if case.meets(branch.code)
    )
    decisive = reasons[0].branch
    return Advice(
        recommendation=decisive.word,
        decided_by=decisive.code,
        reasons=reasons,
        uncertain=tuple(_uncertain(case, decisive.code, low, high)),
        next_steps=_NEXT_STEPS[decisive.word],
        vocabulary_matrix=matrix,
        if_tied=body + matrix,
        if_untied=body + 2 * matrix,
        saving=saving,
        saving_range=(low, high),
        layers_bought=case.layers_bought,
        saved_bytes=(Memory(matrix).bf16, Memory(matrix).adam_mixed),
        neighbours=_neighbours(saving),
    )


@dataclass(frozen=True)
class _Case:
    """The model that is asked about."""

    matrix: int
    body: int
    saving: float
    layers: int
    tokens: int | None
    purpose: str

    @property
    def if_untied(self) -> int:
        return self.body + 2 * self.matrix

    @property
    def layers_bought(self) -> float:
        return self.matrix * self.layers / self.body

    @property
    def scarce(self) -> bool:
        return self.tokens is not None and self.tokens < self.if_untied

    def meets(self, code: str) -> bool:
        """Whether the branch of that code applies."""
        return {
            "trained-weights": self.purpose == "checkpoint",
            "memory-limit": self.purpose == "device",
            "transfer": self.purpose == "transfer",
            "one-vocabulary": self.purpose == "translation",
            "two-devices": self.purpose == "pipeline" and self.saving < LARGE_SAVING,
            "scarce-data": self.scarce,
            "large-saving": self.saving >= LARGE_SAVING,
            "small-saving": self.saving < SMALL_SAVING,
            "middle": SMALL_SAVING <= self.saving < LARGE_SAVING,
        }[code]

    def numbers(self, code: str) -> str:
        """What the branch of that code comes to for this model."""
        share = f"one matrix is {self.saving:.1%} of the untied total"
        if code == "scarce-data":
            return f"{self.tokens:,} tokens for {self.if_untied:,} parameters"
        if code in ("trained-weights", "two-devices"):
            return f"one matrix holds {self.matrix:,} parameters"
        if code == "memory-limit":
            state = Memory(self.matrix)
            return (
                f"the second matrix takes {state.bf16 / 1e6:,.0f} MB of bf16 weights, "
                f"{state.adam_mixed / 1e6:,.0f} MB in training"
            )
        if code == "large-saving":
            return f"{share}, or {self.layers_bought:.1f} more layers"
        return share


def _uncertain(case: _Case, decided_by: str, low: float, high: float) -> list[str]:
    notes = [
        f"Blocks are taken as {_PER_BLOCK}·d²; with the {_LEANEST} to {_RICHEST}·d² of most dense "
        f"transformers the saving is {low:.1%} to {high:.1%}."
    ]
    crossed = [f"{cut:.0%}" for cut in (SMALL_SAVING, LARGE_SAVING) if low < cut <= high]
    if crossed:
        notes.append(f"That range crosses the line at {crossed[0]}: count your own config exactly.")
    if decided_by in ("large-saving", "small-saving", "middle"):
        notes.append(
            f"The lines at {SMALL_SAVING:.0%} and {LARGE_SAVING:.0%} are a choice of this guide; "
            "no measurement jumps there."
        )
    if case.tokens is None and decided_by != "trained-weights":
        notes.append("How much text there is was not said: with few tokens, tying may regularise.")
    if decided_by == "scarce-data":
        notes.append(
            "The experiments behind this are mostly recurrent models on one corpus; larger "
            "vocabularies and transformers have been tried less."
        )
    if decided_by in ("small-saving", "middle"):
        notes.append("Of the experiments this book knows, none trains one large model both ways.")
    return notes


_NEXT_STEPS: dict[Word, tuple[str, ...]] = {
    "tie": (
        "Initialise the matrix for its job as a head: a standard deviation near 0.02, or one over "
        "the square root of the width with the input scaled up to match.",
        "After loading, wrapping or sharding, check that the tie is still there: "
        "python -m wtlib inspect TARGET.",
        "Set tie_word_embeddings to true and store the matrix once.",
    ),
    "untie": (
        "Set tie_word_embeddings to false; several families read an absent key as true.",
        "Give the head its own optimizer settings if its gradient needs them.",
        "Count both matrices when you report the size, and say so.",
    ),
    "either": (
        "Train a small pair both ways on your own data, to the minimum of the validation loss.",
        "Whichever you choose, write the flag into the config explicitly.",
    ),
    "keep": (
        "Find out what the weights are before you touch them: python -m wtlib inspect TARGET.",
        "To train the two ends apart, copy the matrix and set tie_word_embeddings to false in the "
        "same step.",
    ),
}


def _neighbours(saving: float) -> Neighbours:
    low, high = saving / _NEAR, saving * _NEAR
    near = [
        model
        for model in census.load()
        if model.kind == "causal" and low <= model.embedding_params / model.total_if_untied <= high
    ]
    return Neighbours(low, high, len(near), sum(model.tie_word_embeddings for model in near))
