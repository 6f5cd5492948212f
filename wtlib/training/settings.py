"""How a small language model is fitted."""

from dataclasses import dataclass

from wtlib.errors import WtlibError
from wtlib.training.parts import at_least

OPTIMIZERS = ("adamw", "sgd")
SCHEDULES = ("plateau", "cosine", "constant")


@dataclass(frozen=True, kw_only=True)
class FitConfig:
    """How a model is fitted.

    An epoch reads the training part once, in `batch_size` streams side by side, `context` tokens
    at a time, from a starting point drawn anew. A recurrent model carries its state from one
    stretch to the next, and gradients stop between stretches.

    An epoch *stalls* if it lowers the least validation loss so far by less than `min_improvement`
    nats per token. `schedule`: ``plateau`` multiplies the learning rate by `plateau_factor` after
    every epoch that stalls; ``cosine`` lowers it to zero over all `max_epochs`; ``constant`` keeps
    it. `warmup_steps` come before either. A run ends after `patience` stalls, in all and not in a
    row; with None it runs through `max_epochs`, so that runs of equal text, batch and context take
    equal numbers of steps. `weight_decay` is decoupled from the gradient and acts on matrices only.
    `clip_norm` bounds the norm of the gradient.
    """

    optimizer: str = "adamw"
    learning_rate: float = 1e-2
    batch_size: int = 10
    context: int = 35
    max_epochs: int = 30
    patience: int | None = 3
    min_improvement: float = 1e-3
    schedule: str = "plateau"
    plateau_factor: float = 0.25
    warmup_steps: int = 0
    weight_decay: float = 0.0
    clip_norm: float = 1.0

    def __post_init__(self) -> None:
        """Refuse settings that make no run, naming the first that does not."""
        for name, choices in (("optimizer", OPTIMIZERS), ("schedule", SCHEDULES)):
            if getattr(self, name) not in choices:
                raise WtlibError(f"{name}={getattr(self, name)!r} is none of {', '.join(choices)}")
        at_least(self, 1, "batch_size", "context", "max_epochs", whole=True)
        at_least(self, 0, "warmup_steps", whole=True)
        at_least(self, 0, "learning_rate", "plateau_factor", "weight_decay", "min_improvement")
        if self.patience is not None:
            at_least(self, 1, "patience", whole=True)
        if not self.clip_norm > 0:
            raise WtlibError(f"clip_norm={self.clip_norm} must be above 0; inf clips nothing")
