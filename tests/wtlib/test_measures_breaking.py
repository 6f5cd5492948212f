"""Chapter 6's measures, against what they are made of."""

from wtlib import claims
from wtlib.measures import breaking
from wtlib.scale import family_scales


def test_the_share_follows_from_its_families() -> None:
    assert breaking._sides("gemma") == family_scales("gemma").sides == ("inputs",)
    assert 0 < breaking.scaled_share() < 50


def test_a_wrong_scale_trains_and_is_not_badly_calibrated() -> None:
    assert breaking.wrong_scale_calibration() == [True, False]


def test_a_bias_expresses_a_token_that_is_read_and_not_written() -> None:
    assert breaking.rarely_written() == "can be expressed"


def test_of_three_techniques_leaving_early_applies_to_a_shared_stack() -> None:
    assert breaking.does_not_apply() == [True, False, True]


def test_verdicts_of_the_rows_that_need_an_experiment() -> None:
    for row in ("essay-45", "essay-46"):
        assert claims.verdict(claims.find(row)).word == "differs"
