"""What is timed."""

from __future__ import annotations

from dataclasses import dataclass

from wtlib.errors import WtlibError
from wtlib.training import GptConfig

N_LAYERS = 12


@dataclass(frozen=True)
class Setting:
    """What is timed: `batch_size` streams, one token each, through `n_layers` layers.

    One token a stream is what a model computes when it writes, without its attention to what
    stands before.
    """

    d_model: int
    batch_size: int
    n_layers: int = N_LAYERS
    sharing: str = "all"
    pairs: int = 40

    def __post_init__(self) -> None:
        """Refuse a setting that times nothing."""
        for name in ("batch_size", "pairs"):
            if getattr(self, name) < 1:
                raise WtlibError(f"{name}={getattr(self, name)} must be at least 1")

    def config(self, sharing: str) -> GptConfig:
        """Return the model timed: next to no vocabulary, so that the stack is all."""
        return GptConfig(
            vocab_size=2,
            d_model=self.d_model,
            n_layers=self.n_layers,
            n_heads=1,  # with one token there is nothing to attend to but itself
            context=1,
            sharing=sharing,
        )

    def weight_bytes(self, sharing: str) -> int:
        """Return the bytes of the model's weights in fp32."""
        return 4 * self.config(sharing).n_parameters
