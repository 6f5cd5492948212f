"""What came out of fitting a small language model."""

import math
from dataclasses import asdict, dataclass, field

from wtlib.training.parts import SmallModel


@dataclass(frozen=True)
class Epoch:
    """One epoch. Losses are in nats per token; the training loss is the mean while it ran."""

    train_loss: float
    valid_loss: float
    learning_rate: float


@dataclass(frozen=True)
class Divergence:
    """Where a run ended because a number was no longer finite: `what`, after how much."""

    epochs: int
    """Whole epochs before it."""
    step: int
    """The step, counted from zero over all epochs."""
    what: str


@dataclass(frozen=True, eq=False)
class Fit:
    """What came out of one run. Losses are in nats per token.

    `train_loss`, `valid_loss` and `test_loss` are those of the weights of `best_epoch`, the one
    with the lowest validation loss, without dropout or penalty; all four are None if the run
    diverged, however far it came. `initial_loss` is the validation loss before the first step,
    None if that is not finite.
    """

    n_parameters: int
    initial_loss: float | None
    curve: tuple[Epoch, ...]
    steps: int
    best_epoch: int | None
    train_loss: float | None
    valid_loss: float | None
    test_loss: float | None
    diverged: Divergence | None
    seconds: float
    model: SmallModel = field(repr=False)
    """The model, with the weights of the best epoch, or those it diverged with."""

    def metrics(self) -> dict[str, object]:
        """Return the numbers but for the curve and the seconds, ready for JSON."""
        losses = {
            "initial": self.initial_loss,
            "train": self.train_loss,
            "valid": self.valid_loss,
            "test": self.test_loss,
        }
        return {
            "n_parameters": self.n_parameters,
            "best_epoch": self.best_epoch,
            "epochs": len(self.curve),
            "steps": self.steps,
            **{f"{part}_loss": loss for part, loss in losses.items()},
            **{f"{part}_perplexity": perplexity(loss) for part, loss in losses.items()},
            "diverged": None if self.diverged is None else asdict(self.diverged),
        }


def perplexity(loss: float | None) -> float | None:
    """Return the exponential of a loss in nats; None for no loss, or one too large to be told."""
    return math.exp(loss) if loss is not None and loss < 100 else None
