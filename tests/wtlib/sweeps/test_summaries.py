"""Means and paired differences against what the standard library and hand sums say."""

import statistics

import pytest

from tests.wtlib.sweeps.made_up import record
from wtlib import sweeps
from wtlib.errors import WtlibError

TIED = [3.0, 3.5, 2.5, 3.25]
UNTIED = [3.5, 3.75, 3.5, 3.0]
RECORDS = [
    *(record(loss, seed=s, dropout=0.5) for s, loss in enumerate(TIED)),
    *(
        record(loss, seed=s, dropout=0.5, tie_word_embeddings=False)
        for s, loss in enumerate(UNTIED)
    ),
    record(9.0, dropout=0.1),
    record(None, dropout=0.1, tie_word_embeddings=False),
]


def test_means_and_standard_deviations_are_those_of_the_sample() -> None:
    groups = sweeps.means(RECORDS, "test_loss", by=("dropout", "tie_word_embeddings"))
    tied, untied, lone, lost = groups
    assert tied.settings == (("dropout", 0.5), ("tie_word_embeddings", True))
    for group, losses in ((tied, TIED), (untied, UNTIED)):
        assert group.n == 4
        assert group.mean == pytest.approx(statistics.mean(losses))
        assert group.standard_deviation == pytest.approx(statistics.stdev(losses))
    assert (lone.n, lone.mean, lone.standard_deviation) == (1, 9.0, None)
    assert (lost.n, lost.diverged, lost.mean) == (0, 1, None)


def test_differences_are_tied_minus_untied_of_one_seed() -> None:
    pairs, lost = sweeps.paired_differences(RECORDS, "test_loss", by=("dropout",))
    expected = [tied - untied for tied, untied in zip(TIED, UNTIED, strict=True)]
    assert pairs.differences == pytest.approx(expected)
    assert pairs.mean == pytest.approx(statistics.mean(expected))
    assert not pairs.agree  # seed 3 says otherwise
    assert (lost.n, lost.unpaired, lost.mean, lost.low, lost.agree) == (0, 2, None, None, False)


def normal_pairs(n: int, trial: int) -> list[sweeps.Record]:
    """Return pairs whose differences come from a normal distribution around a quarter."""
    differences = statistics.NormalDist(mu=0.25).samples(n, seed=trial)
    return [
        record(tied * difference, seed=s, tie_word_embeddings=tied)
        for s, difference in enumerate(differences)
        for tied in (True, False)
    ]


def test_the_interval_covers_the_true_mean_about_as_often_as_it_should() -> None:
    covered = 0
    for trial in range(40):
        (pairs,) = sweeps.paired_differences(normal_pairs(20, trial), "test_loss")
        assert pairs.low is not None
        assert pairs.high is not None
        covered += pairs.low <= 0.25 <= pairs.high
    assert 34 <= covered <= 40


def test_the_interval_follows_its_seed() -> None:
    first, again, other = (
        sweeps.paired_differences(normal_pairs(20, 0), "test_loss", seed=seed)[0]
        for seed in (1, 1, 2)
    )
    assert (first.low, first.high) == (again.low, again.high)
    assert first.low != other.low


def test_an_unknown_metric_is_refused() -> None:
    with pytest.raises(WtlibError, match="'loss' is no metric of sweep tiny; there are diverged"):
        sweeps.means(RECORDS, "loss")


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(WtlibError, match="'width' is no setting of sweep tiny; there are batch"):
        sweeps.means(RECORDS, "test_loss", by=("width",))
