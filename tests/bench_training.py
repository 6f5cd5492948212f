"""Throughput of `fit`'s epochs against the plainest loop over the same model: `make bench`.

The plainest loop is what you would write first: forward, loss, backward, clip, step, with AdamW
as PyTorch makes it. It starts no streams, keeps no record, and checks nothing. Both read the same
batches with one thread; times are the process's own, medians of alternating epochs.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import torch
from torch import nn

from wtlib import corpus, display
from wtlib.corpus import Corpus
from wtlib.training import FitConfig, GptConfig, LstmConfig, build
from wtlib.training.parts import SmallModel, cross_entropy
from wtlib.training.running import Run, streams

VOCAB_SIZE = 1_000
REPEATS = 5
CONFIGS: tuple[LstmConfig | GptConfig, ...] = (
    LstmConfig(vocab_size=VOCAB_SIZE),
    LstmConfig(vocab_size=VOCAB_SIZE, dropout=0.5),
    GptConfig(vocab_size=VOCAB_SIZE),
)
FIT = FitConfig(max_epochs=REPEATS + 1)


def plain_epoch(
    model: SmallModel, optimizer: torch.optim.Optimizer, text: Corpus, length: int
) -> None:
    """Read the training part once, in batches of the same shape as a run's."""
    model.train()
    state = model.start(FIT.batch_size)
    for input_ids, labels in streams(
        text.train, lanes=FIT.batch_size, length=length, context=FIT.context
    ):
        optimizer.zero_grad()
        logits, state = model(input_ids, state)
        loss = cross_entropy(logits, labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), FIT.clip_norm)
        optimizer.step()


def seconds(call: Callable[[], object]) -> float:
    """The process's own time of one call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def main() -> None:
    """Print tokens a second both ways, and their ratio."""
    torch.set_num_threads(1)
    text = corpus.king_james(vocab_size=VOCAB_SIZE, train_tokens=30_000)
    rows = []
    for config in CONFIGS:
        run = Run(build(config, seed=0), FIT, text, order_seed=0)
        model = build(config, seed=0)
        optimizer = torch.optim.AdamW(model.parameters(), lr=FIT.learning_rate)
        length = run.steps_per_epoch * FIT.context
        ours, plain = [], []
        for _ in range(REPEATS + 1):  # the first of each warms up
            ours.append(seconds(run.train_once))
            plain.append(seconds(partial(plain_epoch, model, optimizer, text, length)))
        tokens = FIT.batch_size * length
        fast, slow = (tokens / statistics.median(times[1:]) for times in (ours, plain))
        name = f"{type(model).__name__}, dropout {config.dropout}"
        rows.append((name, f"{fast:,.0f}", f"{slow:,.0f}", f"{fast / slow:.2f}"))
    headers = ("model", "fit, tokens/s", "plain loop, tokens/s", "ratio")
    print(display.table(rows, headers, caption="Training throughput on one thread"))


if __name__ == "__main__":
    main()
