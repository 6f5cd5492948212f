"""Fits: the same numbers twice, the best epoch's weights, ends of every kind."""

import io
import json
import math
import re
from dataclasses import replace
from typing import Any

import psutil
import pytest
import torch

from tests.wtlib.training.settings import FIT, GPT, LSTM, VOCAB_SIZE, a_corpus
from wtlib import corpus
from wtlib.corpus import Corpus
from wtlib.errors import WtlibError
from wtlib.training import FitConfig, GptConfig, LstmConfig, fit, perplexity
from wtlib.training.parts import SmallModel
from wtlib.training.running import LANES, evaluate, streams


@pytest.fixture(scope="module")
def toy() -> Corpus:
    return a_corpus()


@pytest.mark.parametrize("config", [replace(LSTM, dropout=0.3), replace(GPT, dropout=0.3)])
def test_the_same_seed_gives_the_same_numbers(config: LstmConfig | GptConfig, toy: Corpus) -> None:
    torch.manual_seed(1)
    once = fit(config, FIT, toy, seed=0)
    torch.manual_seed(2)
    before = torch.get_rng_state()
    twice = fit(config, FIT, toy, seed=0)
    assert torch.equal(torch.get_rng_state(), before)
    assert once.metrics() == twice.metrics()
    assert once.curve == twice.curve
    assert fit(config, FIT, toy, seed=1).curve != once.curve


@pytest.mark.parametrize("config", [LSTM, GPT])
def test_a_model_learns(config: LstmConfig | GptConfig, toy: Corpus) -> None:
    found = fit(config, replace(FIT, max_epochs=6), toy, seed=0)
    assert found.initial_loss == pytest.approx(math.log(VOCAB_SIZE), rel=0.05)
    assert found.valid_loss is not None
    assert found.initial_loss is not None
    assert found.valid_loss < found.initial_loss - 0.7
    assert found.n_parameters == config.n_parameters
    assert found.steps == 6 * ((len(toy.train) - 20) // 400)


def test_the_best_epoch_s_weights_are_measured(toy: Corpus) -> None:
    # A rate this high makes the loss go up again.
    wild = replace(FIT, learning_rate=0.5, schedule="constant", max_epochs=7, patience=7)
    found = fit(LSTM, wild, toy, seed=0)
    losses = [epoch.valid_loss for epoch in found.curve]
    assert found.best_epoch == 1 + losses.index(min(losses)) < len(losses)
    assert found.valid_loss == min(losses)
    assert found.test_loss == evaluate(found.model, toy.test, FIT.context)
    assert found.train_loss == evaluate(found.model, toy.train, FIT.context)
    assert found.metrics()["test_perplexity"] == pytest.approx(math.exp(found.test_loss or 0))


def test_patience_counts_stalls_and_lowers_the_rate(toy: Corpus) -> None:
    config = replace(FIT, max_epochs=50, patience=2, min_improvement=0.05)
    found = fit(LSTM, config, toy, seed=0)
    losses = [epoch.valid_loss for epoch in found.curve]
    stalled = [i > 0 and loss > min(losses[:i]) - 0.05 for i, loss in enumerate(losses)]
    assert sum(stalled) == 2
    assert stalled[-1]
    expected = [0.02 * 0.25 ** sum(stalled[:i]) for i in range(len(losses))]
    assert [epoch.learning_rate for epoch in found.curve] == pytest.approx(expected)


def test_schedules(toy: Corpus) -> None:
    steps = (len(toy.train) - 20) // 400
    cosine = fit(LSTM, replace(FIT, schedule="cosine", patience=None), toy, seed=0).curve
    expected = [0.01 * (1 + math.cos(math.pi * (i * steps - 1) / (3 * steps))) for i in range(1, 4)]
    assert [epoch.learning_rate for epoch in cosine] == pytest.approx(expected)
    warm = replace(FIT, schedule="constant", warmup_steps=4 * steps, max_epochs=2)
    assert [epoch.learning_rate for epoch in fit(LSTM, warm, toy, seed=0).curve] == pytest.approx(
        [0.005, 0.01]
    )


def test_projection_regularisation_holds_the_projection_down(toy: Corpus) -> None:
    norms = []
    for strength in (1e-6, 1e-2):
        model = fit(replace(LSTM, projection_regularization=strength), FIT, toy, seed=0).model
        assert model.head.projection is not None
        norms.append(float(model.head.projection.weight.detach().norm()))
    assert norms[1] < 0.7 * norms[0]


def test_weight_decay_acts_on_matrices_only(toy: Corpus) -> None:
    start: dict[str, torch.Tensor] = {}

    def remember(epochs: int, model: SmallModel) -> None:
        if epochs == 0:
            start.update({name: p.detach().clone() for name, p in model.named_parameters()})

    # With no learning to speak of, only the decay is left: lr times weight_decay a step.
    still = replace(FIT, optimizer="sgd", learning_rate=1e-9, weight_decay=1e7, max_epochs=1)
    model = fit(GPT, still, toy, seed=0, observe=remember).model
    steps = (len(toy.train) - 20) // 400
    for name, parameter in model.named_parameters():
        shrunk = 0.99**steps if parameter.ndim > 1 else 1.0
        torch.testing.assert_close(parameter.detach(), start[name] * shrunk, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("config", [LSTM, GPT])
def test_a_diverging_run_ends_with_a_record(config: LstmConfig | GptConfig, toy: Corpus) -> None:
    wild = replace(FIT, optimizer="sgd", learning_rate=1e38, clip_norm=math.inf)
    found = fit(config, wild, toy, seed=0)
    assert found.diverged is not None
    assert found.diverged.epochs == 0
    assert 0 < found.diverged.step < 5
    assert re.fullmatch(r"(loss|gradient norm) (nan|inf)", found.diverged.what)
    assert (found.train_loss, found.valid_loss, found.test_loss, found.best_epoch) == (None,) * 4
    assert json.loads(json.dumps(found.metrics(), allow_nan=False)) == found.metrics()


def test_a_model_that_starts_beyond_all_numbers(toy: Corpus) -> None:
    found = fit(replace(GPT, init_std=1e38), FIT, toy, seed=0)
    assert found.diverged is not None
    assert found.diverged.what == "validation loss nan"
    assert found.initial_loss is None


def test_perplexity_of_a_hopeless_loss() -> None:
    assert perplexity(734.0) is None
    assert perplexity(math.log(40)) == pytest.approx(40)


def test_observers_see_every_epoch(toy: Corpus) -> None:
    seen = []
    fit(LSTM, FIT, toy, seed=0, observe=lambda epochs, model: seen.append((epochs, type(model))))
    assert [epochs for epochs, _ in seen] == [0, 1, 2, 3]


def test_streams_read_the_text_in_order() -> None:
    text = torch.arange(1_001)
    batches = list(streams(text, lanes=4, length=250, context=40))
    inputs = torch.cat([x for x, _ in batches], dim=1)
    labels = torch.cat([y for _, y in batches], dim=1)
    assert torch.equal(inputs.flatten(), text[:1_000])
    assert torch.equal(labels.flatten(), text[1:])
    assert {x.shape[1] for x, _ in batches} == {40, 10}


def test_evaluate_is_the_mean_over_all_tokens() -> None:
    model = fit(LSTM, replace(FIT, max_epochs=1), a_corpus(), seed=0).model
    text = a_corpus().valid[: LANES * 30 + 1]
    losses = []
    for lane in range(LANES):  # one stream at a time, in one piece
        part = text[lane * 30 : lane * 30 + 31][None]
        logits, _ = model(part[:, :-1], model.start(1))
        log_probs = logits.log_softmax(-1).gather(-1, part[:, 1:, None])
        losses.append(-log_probs.mean().item())
    assert evaluate(model, text, context=7) == pytest.approx(sum(losses) / LANES, rel=1e-5)


def test_memory_is_flat_over_epochs(toy: Corpus) -> None:
    memory = []
    process = psutil.Process()
    config = replace(FIT, max_epochs=12, patience=None)
    fit(LSTM, config, toy, seed=0, observe=lambda *_: memory.append(process.memory_info().rss))
    assert max(memory[8:]) - max(memory[2:7]) < 4 * 2**20


def test_a_bar_is_drawn_on_a_terminal_only_and_only_when_asked_for(
    toy: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stream(io.StringIO):
        def __init__(self, terminal: bool) -> None:
            super().__init__()
            self.terminal = terminal

        def isatty(self) -> bool:
            return self.terminal

    drawn = []
    for terminal, progress in ((True, True), (False, True), (True, False)):
        stream = Stream(terminal)
        monkeypatch.setattr("sys.stderr", stream)
        fit(LSTM, replace(FIT, max_epochs=1), toy, seed=0, progress=progress)
        drawn.append("epoch" in stream.getvalue())
    assert drawn == [True, False, False]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"optimizer": "lion"}, "optimizer='lion' is none of adamw, sgd"),
        ({"schedule": "linear"}, "schedule='linear' is none of plateau, cosine, constant"),
        ({"batch_size": 0}, "batch_size=0 must be a whole number, at least 1"),
        ({"context": 0}, "context=0 must be"),
        ({"max_epochs": 0}, "max_epochs=0 must be"),
        ({"patience": 0}, "patience=0 must be"),
        ({"warmup_steps": -1}, "warmup_steps=-1 must be"),
        ({"learning_rate": -0.1}, "learning_rate=-0.1 must be a finite number, at least 0"),
        ({"weight_decay": math.nan}, "weight_decay=nan must be"),
        ({"clip_norm": 0.0}, "clip_norm=0.0 must be above 0"),
    ],
)
def test_impossible_settings(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(WtlibError, match=re.escape(message)):
        FitConfig(**changes)


def test_settings_that_do_not_fit_the_corpus(toy: Corpus) -> None:
    with pytest.raises(WtlibError, match="vocab_size=61 is not that of corpus toy, 60"):
        fit(replace(LSTM, vocab_size=61), FIT, toy, seed=0)
    with pytest.raises(WtlibError, match="context=21 of the fit is longer than the model's, 20"):
        fit(GPT, replace(FIT, context=21), toy, seed=0)
    with pytest.raises(WtlibError, match="batch_size=900 times context=20 is more than the 9,9"):
        fit(LSTM, replace(FIT, batch_size=900), toy, seed=0)
    two_parts = corpus.load()
    with pytest.raises(WtlibError, match="corpus genesis-exodus has no test part"):
        fit(replace(LSTM, vocab_size=two_parts.vocab_size), FIT, two_parts, seed=0)
