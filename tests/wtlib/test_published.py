"""Published series."""

import pytest

from wtlib.published import olmo_gradient_norms


def test_the_olmo_series_starts_at_step_one_and_rises() -> None:
    series = olmo_gradient_norms()
    steps = [row.step for row in series]
    assert steps == sorted(set(steps))
    assert steps[0] == 1
    assert series[0].ratio == pytest.approx(0.28058 / 0.11008)
    assert max(row.ratio for row in series) > 5 * series[0].ratio
