"""Small tied models trained with a scale, right or wrong."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from wtlib.corpus import Corpus
from wtlib.scale.applied import scaled
from wtlib.training import LanguageModel, ModelConfig, batches, train


@dataclass(frozen=True)
class Setup:
    """How a tied matrix starts, and the factors that stand on its two uses.

    `std` is the standard deviation of its entries before the first step.
    """

    std: float
    inputs: float = 1.0
    logits: float = 1.0


def fit_scaled(
    corpus: Corpus,
    setup: Setup,
    *,
    d_model: int = 64,
    n_layers: int = 2,
    context: int = 32,
    steps: int = 150,
    learning_rate: float = 3e-3,
    seed: int = 0,
) -> LanguageModel:
    """Train a small tied model with the factors in place; it is returned without them.

    Nothing but the setup differs between two models of one seed: the body starts alike, the
    matrix starts with the same directions, the text comes in the same order. AdamW, 16 stretches
    a step, and a learning rate that falls to zero along a cosine.
    """
    config = ModelConfig(corpus.vocab_size, d_model=d_model, n_layers=n_layers, context=context)
    model = LanguageModel(config, seed)
    with torch.no_grad():
        model.wte.weight.mul_(setup.std / config.init_std)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    text = batches(corpus.train, context, batch_size=16, steps=steps, seed=seed)
    with scaled(model, inputs=setup.inputs, logits=setup.logits):
        for _ in train(model, text, optimizer, schedule):
            pass  # the loop itself takes the steps
    return model
