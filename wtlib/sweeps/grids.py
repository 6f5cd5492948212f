"""The book's sweeps, and how a sweep is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product

from wtlib.errors import WtlibError
from wtlib.sweeps.settings import CorpusConfig, Run, RunConfig
from wtlib.training import FitConfig, GptConfig, LstmConfig


@dataclass(frozen=True)
class Sweep:
    """A named list of runs, all different."""

    name: str
    runs: tuple[Run, ...]

    def __post_init__(self) -> None:
        """Refuse a run that is listed twice."""
        if len(set(self.runs)) < len(self.runs):
            raise WtlibError(f"sweep {self.name} lists a run twice; a grid needs distinct values")


def grid(
    name: str, base: RunConfig, *, seeds: Iterable[int], axes: Mapping[str, Iterable[object]]
) -> Sweep:
    """Return the sweep of all combinations of the axes' values, for every seed.

    An axis is a setting's name, as `RunConfig.with_settings` takes it. All cells of the first seed
    come before those of the second, so that a sweep cut short is a whole grid with fewer seeds.

    Raises:
        WtlibError: if an axis is no setting, or a value is refused or listed twice.
    """
    cells = [
        base.with_settings(**dict(zip(axes, values, strict=True)))
        for values in product(*axes.values())
    ]
    return Sweep(name, tuple(Run(cell, seed) for seed in seeds for cell in cells))


def _regularization_lstm() -> Sweep:
    base = RunConfig(
        LstmConfig(vocab_size=500, d_model=48, init_std=0.3),
        FitConfig(learning_rate=1e-2, batch_size=10, context=35, max_epochs=80),
        CorpusConfig(vocab_size=500, train_tokens=20_000),
    )
    return grid(
        "regularization-lstm",
        base,
        seeds=range(5),
        axes={
            "vocab_size": (500, 1_500),
            "projection_regularization": (0.0, 1e-3),
            "dropout": (0.0, 0.2, 0.5),
            "tie_word_embeddings": (True, False),
        },
    )


def _regularization_gpt() -> Sweep:
    base = RunConfig(
        GptConfig(vocab_size=500, d_model=48, context=20, init_std=0.02),
        FitConfig(learning_rate=4e-3, batch_size=10, context=20, max_epochs=60, warmup_steps=50),
        CorpusConfig(vocab_size=500, train_tokens=15_000),
    )
    return grid(
        "regularization-gpt",
        base,
        seeds=range(3),
        axes={"dropout": (0.0, 0.2, 0.5), "tie_word_embeddings": (True, False)},
    )


_EQUAL_STEPS = FitConfig(
    learning_rate=2e-3,
    batch_size=10,
    context=20,
    max_epochs=6,
    patience=None,
    schedule="cosine",
    warmup_steps=50,
)


def _initialization() -> Sweep:
    d_model = 128
    base = RunConfig(
        GptConfig(vocab_size=500, d_model=d_model, context=20),
        replace(_EQUAL_STEPS, max_epochs=5),
        CorpusConfig(vocab_size=500, train_tokens=15_000),
    )
    return grid(
        "initialization",
        base,
        seeds=range(3),
        axes={
            "init_std": (0.02, d_model**-0.5, 0.1, 1.0),
            "tie_word_embeddings": (True, False),
        },
    )


def _cross_layer() -> Sweep:
    base = RunConfig(
        GptConfig(vocab_size=500, d_model=48, context=20, init_std=0.02),
        _EQUAL_STEPS,
        CorpusConfig(vocab_size=500, train_tokens=15_000),
    )
    schemes = (
        "none",
        "all",
        "groups-2",
        "cycle-2",
        "reverse-cycle-2",
        "attention-only",
        "mlp-only",
    )
    return grid(
        "cross-layer",
        base,
        seeds=range(3),
        axes={"sharing": schemes, "n_layers": (2, 4, 8, 12)},
    )


_SWEEPS: Mapping[str, Callable[[], Sweep]] = {
    "regularization-lstm": _regularization_lstm,
    "regularization-gpt": _regularization_gpt,
    "initialization": _initialization,
    "cross-layer": _cross_layer,
}
NAMES = tuple(_SWEEPS)


def find(name: str) -> Sweep:
    """Return one of the book's sweeps.

    Raises:
        WtlibError: if there is none of that name.
    """
    if name not in _SWEEPS:
        raise WtlibError(f"{name!r} is no sweep of the book; there are {', '.join(NAMES)}")
    return _SWEEPS[name]()
