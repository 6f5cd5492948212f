"""A token to be read but hardly ever written: what a small tied model makes of it.

A marker stands before every occurrence of one word. A model that recognises it knows the word that
follows. It should not write the marker itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from wtlib.corpus import Corpus
from wtlib.errors import WtlibError
from wtlib.training import LanguageModel, ModelConfig, batches

REMEDIES = ("none", "no label", "bias", "mask")

_CONTEXT = 32
_IGNORED = -100


@dataclass(frozen=True)
class Marked:
    """A small model trained on marked text.

    `written` is the mean probability of the marker, over all positions; `padding` that of the rows
    no text uses. `known` is the mean probability of the marked word right after a marker, and
    `unknown` its mean probability at the other positions where it does not come. `loss` is in nats
    per token, over labels that are not the marker.
    """

    tied: bool
    remedy: str
    written: float
    padding: float
    known: float
    unknown: float
    loss: float
    marker_norm: float
    """Norm of the marker's row in the table, over the mean norm of the rows of the text."""
    padding_norm: float
    """The same of the padding rows."""


def marked(ids: Int64[Tensor, " N"], word: int, marker: int) -> Int64[Tensor, " M"]:
    """Return a text with the marker put before every occurrence of the word."""
    pieces = torch.stack([torch.full_like(ids, marker), ids], 1).flatten()
    kept = torch.stack([ids == word, torch.ones_like(ids, dtype=torch.bool)], 1).flatten()
    return pieces[kept]


def fit_marked(
    corpus: Corpus,
    word: str,
    remedy: str,
    *,
    tied: bool = True,
    steps: int = 150,
    padding: int = 16,
    seed: int = 0,
) -> Marked:
    """Train a small model on a text with markers, and ask what it reads and writes.

    Args:
        corpus: the text.
        word: the word that markers stand before.
        remedy: "none" trains on the marker as on any label; the others never have it as one.
            "no label" does nothing else, "bias" adds a learned bias to each logit, zero at first,
            and "mask" takes marker and padding out of the softmax, in training and in use.
        tied: whether the head is the table.
        steps: of training, 16 stretches of 32 tokens each.
        padding: rows that no token uses.
        seed: of the initial values and the order of the text.

    Raises:
        WtlibError: the word is not in the vocabulary, or there is no such remedy.
    """
    if word not in corpus.vocabulary:
        raise WtlibError(f"{word!r} is not in the vocabulary of {corpus.name}")
    if remedy not in REMEDIES:
        raise WtlibError(f"remedy={remedy!r} is none of {', '.join(REMEDIES)}")
    V, place = corpus.vocab_size, corpus.vocabulary.index(word)
    config = ModelConfig(
        V + 1 + padding, d_model=64, context=_CONTEXT, tie_word_embeddings=tied, init_std=0.125
    )
    model = LanguageModel(config, seed)
    if remedy == "bias":
        model.lm_head.bias = nn.Parameter(torch.zeros(config.vocab_size))
    mask = torch.zeros(config.vocab_size)
    if remedy == "mask":
        mask[V:] = -torch.inf

    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    text = marked(corpus.train, place, V)
    for input_ids in batches(text, _CONTEXT, batch_size=16, steps=steps, seed=seed):
        labels = input_ids[:, 1:]
        if remedy != "none":
            labels = labels.masked_fill(labels == V, _IGNORED)
        optimizer.zero_grad()
        _loss(model(input_ids).logits + mask, labels).backward()
        optimizer.step()
        schedule.step()
    return _measure(model, corpus, place, mask, tied, remedy)


def _loss(logits: Float[Tensor, "B T V"], labels: Int64[Tensor, "B S"]) -> Tensor:
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels.flatten(), ignore_index=_IGNORED)


@torch.no_grad()
def _measure(
    model: LanguageModel, corpus: Corpus, word: int, mask: Tensor, tied: bool, remedy: str
) -> Marked:
    V = corpus.vocab_size
    text = marked(corpus.valid, word, V)
    windows = text[: len(text) // _CONTEXT * _CONTEXT].view(-1, _CONTEXT)
    logits = model(windows).logits + mask
    read, came = windows[:, :-1], windows[:, 1:]
    chances = logits[:, :-1].softmax(-1)
    norms = model.wte.weight.norm(dim=1)
    usual = norms[:V].mean()
    return Marked(
        tied=tied,
        remedy=remedy,
        written=float(chances[..., V].mean()),
        padding=float(chances[..., V + 1 :].sum(-1).mean()),
        known=float(chances[read == V][:, word].mean()),
        unknown=float(chances[(read != V) & (came != word)][:, word].mean()),
        loss=float(_loss(logits, came.masked_fill(came == V, _IGNORED))),
        marker_norm=float(norms[V] / usual),
        padding_norm=float(norms[V + 1 :].mean() / usual),
    )
