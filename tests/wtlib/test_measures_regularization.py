"""The measures of chapter 4's claims, against sums done by hand and models that are built."""

import pytest

from wtlib import census, claims, sweeps
from wtlib.measures import regularization
from wtlib.training import LstmConfig, build


def test_parameters_are_those_of_a_model_that_is_built() -> None:
    untied, tied = regularization.lstm_parameters_in_millions(300, 8, [False, True])
    for expected, one in ((untied, False), (tied, True)):
        config = LstmConfig(vocab_size=300, d_model=8, tie_word_embeddings=one)
        assert 1e6 * expected == pytest.approx(build(config, seed=0).n_parameters())


def test_a_gpt2_without_three_biases_a_layer() -> None:
    gpt2 = census.find("openai-community/gpt2")
    expected = [gpt2.total_if_untied - 12 * 3 * 768, gpt2.total_if_tied - 12 * 3 * 768]
    assert regularization.gpt2_without_qkv_bias([False, True]) == expected


def test_printed_rows_move_as_they_say() -> None:
    assert regularization.test_perplexity([48.5, 77.7, 74.3]) == 74.3
    assert regularization.movement([38.0, 114.5], [36.4, 112.4]) == ["down", "down"]
    assert regularization.movement([37.8, 78.4], [48.5, 74.3]) == ["up", "down"]
    assert regularization.gain([10, 200], [20, 150]) == pytest.approx(25)


def test_the_mark_must_show_in_every_pair() -> None:
    mark, both = ([10, 20], [11, 19]), ([10, 20], [9, 19])
    assert regularization.all_show_the_mark([mark, mark])
    assert not regularization.all_show_the_mark([mark, both])


def test_the_largest_gain_is_named() -> None:
    pairs = {"none": ([1, 100], [1, 98]), "dropout": ([1, 100], [1, 95])}
    assert regularization.largest_gain(pairs) == "dropout"


def test_recorded_measures_agree_with_the_records_read_line_by_line() -> None:
    losses: dict[tuple[object, ...], dict[bool, float]] = {}
    for record in sweeps.load("regularization-lstm"):
        model = record.config.model
        setting = (model.dropout, model.vocab_size, model.projection_regularization)
        loss = record.number("test_loss")
        if loss is not None:
            losses.setdefault((*setting, record.seed), {})[model.tie_word_embeddings] = loss
    differences: dict[tuple[object, ...], list[float]] = {}
    for key, pair in losses.items():
        if len(pair) == 2:
            differences.setdefault(key[:-1], []).append(pair[True] - pair[False])
    means = {key: sum(values) / len(values) for key, values in differences.items()}

    # A fall of one per cent is a difference of about -0.01 in loss.
    expected = -100 * sum(means.values()) / len(means)
    assert regularization.recorded_gain() == pytest.approx(expected, abs=0.2)
    bare = [value for key, value in means.items() if key[0] == 0.0]
    assert regularization.recorded_gain_at(0.0) == pytest.approx(
        -100 * sum(bare) / len(bare), abs=0.2
    )
    kinds = ["a regulariser's mark", "both better", "both worse", "only training better"]
    counts = regularization.recorded_settings(kinds)
    assert sum(counts) == len(means)
    assert sum(counts[:2]) == sum(value < 0 for value in means.values())


def test_equal_rows_left_free_part_and_do_not_forget_each_other() -> None:
    assert 0.1 < regularization.parted_cosine() < 0.9


def test_the_ledger_prints_the_rows_that_the_post_mixed() -> None:
    rows = {c.id: c.published for c in claims.load() if c.source.key == "presswolf"}
    assert rows["presswolf-large-tied"] == (48.5, 77.7, 74.3)
    assert rows["presswolf-bayesian-tied"] == (28.2, 75.8, 73.2)
    assert claims.verdict(claims.find("post-80")).word == "differs"
