"""Measures of what tying does to training and test perplexity, printed and recorded.

A printed row is the list of perplexities that a table gives for one model: training first, test
last. Recorded changes come from the book's sweep of LSTMs.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wtlib.signature import Change

Number = int | float
Row = Sequence[Number]


def lstm_parameters_in_millions(vocab_size: int, d_model: int, tied: Sequence[bool]) -> list[float]:
    """Return the parameters of a two-layer LSTM language model, for each way of its ends."""
    from wtlib.training import LstmConfig

    configs = [
        LstmConfig(vocab_size=vocab_size, d_model=d_model, n_layers=2, tie_word_embeddings=one)
        for one in tied
    ]
    return [config.n_parameters / 1e6 for config in configs]


def gpt2_without_qkv_bias(tied: Sequence[bool]) -> list[int]:
    """Return GPT-2's parameters without the biases of queries, keys and values."""
    from wtlib import census
    from wtlib.counting import count_parameters

    model = census.find("openai-community/gpt2")
    count = count_parameters(model.config())
    biases = sum(model.stack_layers) * 3 * model.hidden_size
    return [(count.if_tied if one else count.if_untied) - biases for one in tied]


def test_perplexity(row: Row) -> Number:
    """Return the last of a printed row."""
    return row[-1]


def movement(untied: Row, tied: Row) -> list[str]:
    """Return whether tying moves training and test perplexity up or down."""
    change = _change(untied, tied)
    return ["up" if one.value > 0 else "down" for one in (change.train, change.test)]


def all_show_the_mark(pairs: Sequence[Sequence[Row]]) -> bool:
    """Return whether training perplexity rises and test perplexity falls in every pair."""
    return all(_change(*pair).kind == "a regulariser's mark" for pair in pairs)


def gain(untied: Row, tied: Row) -> float:
    """Return by how many per cent test perplexity falls."""
    return -100 * _change(untied, tied).test.value


def largest_gain(pairs: Mapping[str, Sequence[Row]]) -> str:
    """Return the name of the pair whose test perplexity falls by the largest fraction."""
    return max(pairs, key=lambda name: gain(*pairs[name]))


@functools.cache
def parted_cosine() -> float:
    """Return the mean cosine between tokens' two rows, trained from equal ones and free to part.

    A small LSTM on a part of the King James version, for a few seconds.
    """
    import torch

    from wtlib import corpus, drift
    from wtlib.training import FitConfig, LstmConfig, fit
    from wtlib.training.parts import SmallModel

    text = corpus.king_james(vocab_size=500, train_tokens=10_000)
    model = LstmConfig(vocab_size=500, d_model=32, tie_word_embeddings=False)
    plan = FitConfig(batch_size=10, context=20, max_epochs=8, patience=None, schedule="cosine")
    moments: list[drift.Ends] = []

    def watch(epoch: int, model: SmallModel) -> None:
        if epoch == 0:
            with torch.no_grad():
                model.head.output.weight.copy_(model.wte.weight)
        moments.append(drift.ends(model))

    fit(model, plan, text, seed=0, observe=watch)
    everything = drift.Band(torch.arange(text.vocab_size), 0, int(text.counts.max()))
    return drift.parting(moments[0], moments[-1], everything).cosine


def recorded_gain() -> float:
    """Return by how many per cent tying lowers test perplexity, in the mean over all settings."""
    changes = _recorded()
    return -100 * sum(change.test.value for change in changes) / len(changes)


def recorded_settings(kinds: Sequence[str]) -> list[int]:
    """Return in how many recorded settings the means show each of these kinds."""
    found = [change.kind for change in _recorded()]
    return [found.count(kind) for kind in kinds]  # type: ignore[arg-type]


def recorded_gain_at(dropout: float) -> float:
    """Return the same mean over the recorded settings with that dropout."""
    changes = [change for change in _recorded() if change.label.startswith(f"dropout {dropout},")]
    return -100 * sum(change.test.value for change in changes) / len(changes)


def _change(untied: Row, tied: Row) -> "Change":
    from wtlib.signature import change

    return change("", untied, tied)


def _recorded() -> "tuple[Change, ...]":
    from wtlib import sweeps
    from wtlib.signature import SETTINGS, recorded_changes

    return recorded_changes(sweeps.load("regularization-lstm"), by=SETTINGS)


MEASURES: Mapping[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        all_show_the_mark,
        gain,
        gpt2_without_qkv_bias,
        largest_gain,
        lstm_parameters_in_millions,
        movement,
        parted_cosine,
        recorded_gain,
        recorded_gain_at,
        recorded_settings,
        test_perplexity,
    )
}
