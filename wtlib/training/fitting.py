"""Fitting a small language model to a text, reproducibly, whatever interrupts it."""

from collections.abc import Callable
from pathlib import Path

import torch
from tqdm import tqdm

from wtlib.corpus import Corpus
from wtlib.errors import WtlibError
from wtlib.training import checkpoints
from wtlib.training.gpt import Gpt, GptConfig
from wtlib.training.lstm import Lstm, LstmConfig
from wtlib.training.parts import SmallModel
from wtlib.training.results import Fit
from wtlib.training.running import DivergedError, Run
from wtlib.training.settings import FitConfig

Observer = Callable[[int, SmallModel], None]
"""Called with the number of epochs done and the model as it then is."""


def build(config: LstmConfig | GptConfig, seed: int) -> SmallModel:
    """Return the model of these settings at its initial values, the global generator untouched."""
    with torch.random.fork_rng(devices=[]):  # PyTorch's layers draw values that are then replaced
        return Lstm(config, seed) if isinstance(config, LstmConfig) else Gpt(config, seed)


def fit(
    model_config: LstmConfig | GptConfig,
    fit_config: FitConfig,
    corpus: Corpus,
    seed: int,
    *,
    checkpoint: Path | None = None,
    progress: bool = False,
    observe: Observer | None = None,
) -> Fit:
    """Train a model on a corpus until the settings say stop, and measure its best epoch.

    The same arguments give the same numbers on one machine with one number of threads: every draw
    comes from generators of the run's own. With `checkpoint`, a file that is written after every
    epoch, a run that was killed goes on from its last whole epoch, to the same numbers. `progress`
    shows a bar, on a terminal only. `observe` is called with the number of epochs done, from zero,
    and the model as it then is.

    Raises:
        WtlibError: if settings and corpus do not fit together, or the checkpoint is another run's.
    """
    _check(model_config, fit_config, corpus)
    run = Run(build(model_config, seed), fit_config, corpus, order_seed=seed)
    key = checkpoints.key(model_config, fit_config, corpus.fingerprint, seed)
    if checkpoint is not None and checkpoint.exists():
        checkpoints.load(checkpoint, key, run)
    diverged = None
    try:
        if not run.curve:
            run.measure_start()
            if observe is not None:
                observe(0, run.model)
        # tqdm itself stays silent where the stream is no terminal.
        bar = tqdm(
            total=fit_config.max_epochs,
            initial=len(run.curve),
            unit="epoch",
            leave=False,
            disable=None if progress else True,
        )
        with bar:
            while not run.finished:
                run.epoch()
                if checkpoint is not None:
                    checkpoints.save(checkpoint, key, run)
                if observe is not None:
                    observe(len(run.curve), run.model)
                bar.set_postfix(valid=f"{run.curve[-1].valid_loss:.3f}", refresh=False)
                bar.update()
    except DivergedError as end:
        diverged = end.divergence
    return run.result(diverged)


def _check(model: LstmConfig | GptConfig, config: FitConfig, corpus: Corpus) -> None:
    if model.vocab_size != corpus.vocab_size:
        raise WtlibError(
            f"vocab_size={model.vocab_size} is not that of corpus {corpus.name}, "
            f"{corpus.vocab_size}"
        )
    if isinstance(model, GptConfig) and config.context > model.context:
        raise WtlibError(
            f"context={config.context} of the fit is longer than the model's, {model.context}"
        )
