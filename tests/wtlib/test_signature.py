"""Which way perplexities move, against closed forms and made-up records."""

import math
from dataclasses import replace

import pytest

from wtlib.signature import Estimate, Kind, at_equal_epochs, change, recorded_changes
from wtlib.sweeps import CorpusConfig, Record, RunConfig
from wtlib.training import Epoch, FitConfig, LstmConfig

BASE = RunConfig(
    LstmConfig(vocab_size=20, d_model=4),
    FitConfig(),
    CorpusConfig(vocab_size=20, train_tokens=100),
)


def record(*, tied: bool, seed: int, train: float | None, test: float | None) -> Record:
    return Record(
        sweep="a-sweep",
        config=BASE.with_settings(tie_word_embeddings=tied),
        seed=seed,
        metrics={"train_loss": train, "test_loss": test, "diverged": None},
        curve=(),
        seconds=1.0,
        versions={},
        machine={},
        code="",
    )


@pytest.mark.parametrize(
    ("untied", "tied", "kind"),
    [
        ([40, 80], [50, 70], "a regulariser's mark"),
        ([40, 90, 80], [30, 99, 70], "both better"),
        ([40, 80], [50, 90], "both worse"),
        ([40, 80], [30, 90], "only training better"),
    ],
)
def test_a_change_is_named_by_its_two_directions(
    untied: list[int], tied: list[int], kind: Kind
) -> None:
    found = change("a pair", untied, tied)
    assert found.kind == kind
    assert found.train.value == pytest.approx(tied[0] / untied[0] - 1)
    assert found.test.value == pytest.approx(tied[-1] / untied[-1] - 1)
    assert not found.clear


@pytest.mark.parametrize(
    ("estimate", "clear"),
    [
        (Estimate(0.1, 0.05, 0.2), True),
        (Estimate(-0.1, -0.2, -0.05), True),
        (Estimate(0.1, -0.05, 0.2), False),
        (Estimate(0.1), False),
    ],
)
def test_an_estimate_is_clear_when_its_interval_leaves_zero_out(
    estimate: Estimate, clear: bool
) -> None:
    assert estimate.clear is clear


def test_recorded_changes_are_those_of_the_geometric_means() -> None:
    records = [
        record(tied=True, seed=0, train=3.2, test=3.9),
        record(tied=False, seed=0, train=3.0, test=4.0),
        record(tied=True, seed=1, train=3.1, test=3.7),
        record(tied=False, seed=1, train=3.1, test=4.0),
        record(tied=True, seed=2, train=3.0, test=3.0),  # no partner
    ]
    (found,) = recorded_changes(records, {"dropout": "dropout {}"}, prefix="LSTM, ")
    assert found.label == "LSTM, dropout 0.0"
    assert found.train.value == pytest.approx(math.exp(0.1) - 1)
    assert found.test.value == pytest.approx(math.exp(-0.2) - 1)
    assert found.test.each == pytest.approx([math.exp(-0.1) - 1, math.exp(-0.3) - 1])
    assert found.test.low == pytest.approx(math.exp(-0.3) - 1)
    assert found.test.clear
    assert not found.train.clear
    assert not found.clear


def test_a_setting_without_a_pair_has_no_change() -> None:
    diverged = record(tied=False, seed=0, train=None, test=None)
    whole = record(tied=True, seed=0, train=3.0, test=4.0)
    assert recorded_changes([diverged, whole], {"dropout": "{}"}) == ()


def test_at_equal_epochs_both_are_read_at_the_earlier_best() -> None:
    losses = {True: [(5.0, 4.9), (4.0, 4.0), (3.5, 3.8)], False: [(4.8, 4.8), (3.9, 4.1)]}
    best = {True: 3, False: 2}
    records = [
        replace(
            record(tied=tied, seed=0, train=1.0, test=1.0),
            curve=tuple(Epoch(train, valid, 0.1) for train, valid in losses[tied]),
            metrics={"best_epoch": best[tied], "diverged": None},
        )
        for tied in (True, False)
    ]
    alone = record(tied=True, seed=1, train=1.0, test=1.0)
    (found,) = at_equal_epochs([*records, alone])
    assert found.label == "epoch 2"
    assert found.kind == "a regulariser's mark"
    assert found.train.value == pytest.approx(math.exp(0.1) - 1)
    assert found.test.value == pytest.approx(math.exp(-0.1) - 1)
