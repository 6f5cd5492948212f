"""Which way tying moves training and test perplexity: a regulariser's mark, or something else.

A *change* is that of a perplexity when the two matrices are tied, as a fraction of the untied
model's: -0.05 is five per cent lower.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from wtlib.sweeps import PairedDifference, Record

Number = int | float
Kind = Literal["a regulariser's mark", "both better", "both worse", "only training better"]
KINDS: tuple[Kind, ...] = (
    "a regulariser's mark",
    "both better",
    "both worse",
    "only training better",
)

SETTINGS: Mapping[str, str] = {
    "dropout": "dropout {}",
    "vocab_size": "{:,} words",
    "projection_regularization": "λ = {:g}",
}
"""What tells the settings of the sweep of LSTMs apart, and how each is worded."""


@dataclass(frozen=True)
class Estimate:
    """A change, with the interval that the seeds' scatter allows; bounds are None without one."""

    value: float
    low: float | None = None
    high: float | None = None
    each: tuple[float, ...] = ()
    """The changes of the single pairs, where there are several."""

    @property
    def clear(self) -> bool:
        """Whether there is an interval, and zero lies outside."""
        return self.low is not None and self.high is not None and self.low * self.high > 0


@dataclass(frozen=True)
class Change:
    """How tying moved training and test perplexity in one setting."""

    label: str
    train: Estimate
    test: Estimate

    @property
    def kind(self) -> Kind:
        """The directions in words, whatever the intervals say."""
        if self.test.value < 0:
            return "a regulariser's mark" if self.train.value > 0 else "both better"
        return "both worse" if self.train.value > 0 else "only training better"

    @property
    def clear(self) -> bool:
        """Whether both intervals leave zero out."""
        return self.train.clear and self.test.clear


def change(label: str, untied: Sequence[Number], tied: Sequence[Number]) -> Change:
    """Return the change between two models' perplexities, the first training, the last test.

    What stands between (validation) is not looked at.
    """
    return Change(label, Estimate(tied[0] / untied[0] - 1), Estimate(tied[-1] / untied[-1] - 1))


def recorded_changes(
    records: Iterable[Record], by: Mapping[str, str], *, prefix: str = ""
) -> tuple[Change, ...]:
    """Return the change in each setting of a sweep, over its pairs of runs.

    The mean is taken of differences in loss, tied minus untied, so the change is that of the
    perplexities' geometric mean; intervals are those of `wtlib.sweeps.paired_differences`.

    Args:
        records: of one sweep.
        by: per setting that tells groups apart, a template that words its value, such as
            ``"dropout {}"``.
        prefix: put before every label.
    """
    from wtlib.sweeps import paired_differences

    kept = list(records)
    train = paired_differences(kept, "train_loss", by=tuple(by))
    test = paired_differences(kept, "test_loss", by=tuple(by))
    return tuple(
        Change(
            prefix + ", ".join(by[name].format(value) for name, value in one.settings),
            _estimate(one),
            _estimate(other),
        )
        for one, other in zip(train, test, strict=True)
        if one.n
    )


def at_equal_epochs(records: Iterable[Record]) -> tuple[Change, ...]:
    """Return the change of each pair of runs at the earlier of their two best epochs.

    `test` holds the change of *validation* perplexity: the curves know no other. Training loss is
    the mean while the epoch ran, with dropout. Runs without a partner, or that diverged, are left
    out.
    """
    pairs: dict[object, dict[bool, Record]] = {}
    for record in records:
        if not record.diverged:
            others = {**record.config.settings, "seed": record.seed}
            tied = others.pop("tie_word_embeddings")
            pairs.setdefault(tuple(others.items()), {})[tied] = record
    changes = []
    for pair in pairs.values():
        if len(pair) == 2:
            epoch = min(int(record.metrics["best_epoch"]) for record in pair.values())
            tied, untied = (pair[one].curve[epoch - 1] for one in (True, False))
            train = math.expm1(tied.train_loss - untied.train_loss)
            valid = math.expm1(tied.valid_loss - untied.valid_loss)
            changes.append(Change(f"epoch {epoch}", Estimate(train), Estimate(valid)))
    return tuple(changes)


def _estimate(difference: PairedDifference) -> Estimate:
    assert difference.mean is not None  # groups without a pair are left out before
    low, high = difference.low, difference.high
    return Estimate(
        math.expm1(difference.mean),
        None if low is None else math.expm1(low),
        None if high is None else math.expm1(high),
        tuple(map(math.expm1, difference.differences)),
    )
