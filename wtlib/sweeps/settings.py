"""What identifies a run: the settings of its model, its fit and its text, and a seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from wtlib.corpus import Corpus, king_james
from wtlib.errors import WtlibError
from wtlib.training import FitConfig, GptConfig, LstmConfig

KINDS: Mapping[str, type[LstmConfig | GptConfig]] = {"lstm": LstmConfig, "gpt": GptConfig}


@dataclass(frozen=True, kw_only=True)
class CorpusConfig:
    """A part of the King James version, as `wtlib.corpus.king_james` takes it."""

    vocab_size: int
    train_tokens: int
    split_seed: int = 0

    def build(self) -> Corpus:
        """Return the text.

        Raises:
            WtlibError: as `king_james`.
        """
        return king_james(
            vocab_size=self.vocab_size, train_tokens=self.train_tokens, seed=self.split_seed
        )


@dataclass(frozen=True)
class RunConfig:
    """All settings of a run but its seed.

    Where two parts have a setting of the same name (`vocab_size`, a GPT's `context`), it has one
    value, so that a setting can be named without its part.
    """

    model: LstmConfig | GptConfig
    fit: FitConfig
    corpus: CorpusConfig

    def __post_init__(self) -> None:
        """Refuse parts that contradict each other."""
        settings: dict[str, object] = {}
        for part in self._parts.values():
            for name, value in asdict(part).items():
                if settings.setdefault(name, value) != value:
                    raise WtlibError(
                        f"{name}={value!r} and {name}={settings[name]!r} in one run: "
                        "the model, the fit and the text must agree"
                    )

    @property
    def _parts(self) -> dict[str, LstmConfig | GptConfig | FitConfig | CorpusConfig]:
        return {"model": self.model, "fit": self.fit, "corpus": self.corpus}

    @property
    def kind(self) -> str:
        """The kind of model: ``lstm`` or ``gpt``."""
        return next(kind for kind, settings in KINDS.items() if type(self.model) is settings)

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting by its name, whichever part it belongs to."""
        merged: dict[str, Any] = {"kind": self.kind}
        for part in self._parts.values():
            merged |= asdict(part)
        return merged

    def with_settings(self, **changes: object) -> RunConfig:
        """Return the config with settings changed by name, in every part that has them.

        Raises:
            WtlibError: if no part has such a setting, or a part refuses the value.
        """
        unknown = [name for name in changes if name not in self.settings]
        if unknown or "kind" in changes:
            raise WtlibError(
                f"{(*unknown, 'kind')[0]!r} is no setting of a run that can be changed; there are "
                f"{', '.join(sorted(set(self.settings) - {'kind'}))}"
            )
        parts: dict[str, Any] = {}
        for part_name, part in self._parts.items():
            own = asdict(part)
            own |= {name: value for name, value in changes.items() if name in own}
            parts[part_name] = type(part)(**own)
        return RunConfig(**parts)

    def to_json(self) -> dict[str, Any]:
        """Return the config as JSON has it, every setting written out."""
        return {"kind": self.kind, **{name: asdict(part) for name, part in self._parts.items()}}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> RunConfig:
        """Return the config that `to_json` wrote; settings that are newer have their defaults.

        Raises:
            WtlibError: if it names a kind or a setting that does not exist.
        """
        try:
            return cls(
                model=KINDS[content["kind"]](**content["model"]),
                fit=FitConfig(**content["fit"]),
                corpus=CorpusConfig(**content["corpus"]),
            )
        except (KeyError, TypeError) as error:
            raise WtlibError(f"these are no settings of a run ({error}): {content}") from error


@dataclass(frozen=True)
class Run:
    """One cell of a sweep, with one seed."""

    config: RunConfig
    seed: int
