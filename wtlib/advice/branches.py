"""The decision guide as data: what leads to which recommendation, and on what evidence.

Branches stand in the order in which they decide: the first that applies gives the recommendation,
the others that apply are given beside it. The page ``book/deciding.md`` has one section for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Word = Literal["tie", "untie", "either", "keep"]
Strength = Literal["arithmetic", "experiments", "practice", "judgement"]

PURPOSES: Mapping[str, str] = {
    "pretraining": "a general language model, trained from scratch",
    "device": "a model that must fit a memory limit",
    "transfer": "a model pretrained to be fine-tuned for other tasks",
    "translation": "a sequence-to-sequence model with one vocabulary for both sides",
    "pipeline": "a model whose first and last layers train on different devices",
    "checkpoint": "weights that are trained already",
}

# Where the saving counts as large or small, as fractions of the untied total. A choice: nothing
# in the census or the literature jumps at either.
LARGE_SAVING = 0.10
SMALL_SAVING = 0.03


@dataclass(frozen=True)
class Branch:
    """One reason for or against tying.

    Attributes:
        code: its name, stable; also the anchor ``deciding-<code>`` of its section in the book.
        word: the recommendation it leads to when it decides.
        when: the condition, in words.
        because: the reason, one or two sentences.
        evidence: how strong the reason is: ``arithmetic`` can be redone on paper, ``experiments``
            were run by somebody, ``practice`` is what builders do, ``judgement`` is ours.
        claims: rows of the ledger that bear on it.
        sources: keys of the book's bibliography.
    """

    code: str
    word: Word
    when: str
    because: str
    evidence: Strength
    claims: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


BRANCHES: tuple[Branch, ...] = (
    Branch(
        code="trained-weights",
        word="keep",
        when="the weights are trained already",
        because=(
            "A tie is a fact about trained values. Tying two matrices that differ throws one of "
            "them away; untying copies one matrix and adds parameters that training never used."
        ),
        evidence="arithmetic",
        claims=("essay-44",),
    ),
    Branch(
        code="memory-limit",
        word="tie",
        when="the model must fit a memory limit",
        because=(
            "The second matrix takes its share of weights, gradient and optimizer state. Where "
            "somebody tied and spent the saving on layers, the small loss in accuracy came back."
        ),
        evidence="experiments",
        claims=("mobilellm-share", "mobilellm-points", "handbook-14"),
        sources=("liu2024mobilellm",),
    ),
    Branch(
        code="transfer",
        word="untie",
        when="the model is pretrained to be fine-tuned for other tasks",
        because=(
            "The head is thrown away after pretraining, so its parameters cost nothing later, and "
            "decoupled matrices were found to transfer better at equal fine-tuning size."
        ),
        evidence="experiments",
        claims=("essay-31",),
        sources=("chung2021rethinking",),
    ),
    Branch(
        code="one-vocabulary",
        word="tie",
        when="encoder, decoder and head share one vocabulary",
        because=(
            "One matrix then serves three places, and translation models kept their quality at a "
            "fraction of the size."
        ),
        evidence="experiments",
        sources=("press2017output", "vaswani2017attention"),
    ),
    Branch(
        code="two-devices",
        word="untie",
        when="first and last layer train on different devices and the saving is not large",
        because=(
            "A tied model keeps a copy on either device and exchanges their gradients at every "
            "step: the saving is gone where it was wanted, and the copies can drift apart."
        ),
        evidence="arithmetic",
    ),
    Branch(
        code="scarce-data",
        word="tie",
        when="there are fewer training tokens than parameters of the untied model",
        because=(
            "This is where tying improved the loss on unseen text in published experiments: "
            "small corpora read many times."
        ),
        evidence="experiments",
        claims=(
            *("essay-25", "essay-26", "presswolf-large", "presswolf-large-tied"),
            *("thomas-untied", "thomas-tied"),
        ),
        sources=("press2017output", "inan2017tying"),
    ),
    Branch(
        code="large-saving",
        word="tie",
        when=f"one matrix is {LARGE_SAVING:.0%} or more of the untied total",
        because=(
            "At that size the second matrix competes with layers for the same budget, and most "
            "of the census's models with such a saving tie."
        ),
        evidence="practice",
        claims=("handbook-16", "essay-30"),
        sources=("liu2024mobilellm",),
    ),
    Branch(
        code="small-saving",
        word="untie",
        when=f"one matrix is less than {SMALL_SAVING:.0%} of the untied total",
        because=(
            "The constraint then buys little memory, and untying drops an assumption: that rows "
            "alike as inputs must be alike as outputs. That it also buys accuracy at scale is "
            "asserted more often than shown."
        ),
        evidence="judgement",
        claims=(
            *("essay-31", "post-79", "post-85"),
            *("lopardo-from-output", "lopardo-from-input"),
        ),
        sources=("bertolotti2024tying", "lopardo2026biases"),
    ),
    Branch(
        code="middle",
        word="either",
        when=f"one matrix is between {SMALL_SAVING:.0%} and {LARGE_SAVING:.0%} of the untied total",
        because=(
            "Builders divide about evenly here. Choose by what else you need, and train a small "
            "pair both ways if you can."
        ),
        evidence="practice",
        claims=("handbook-22", "post-78"),
    ),
)
