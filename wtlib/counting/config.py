"""Reading a model's config: checked values, with the family's defaults for absent keys."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import Any, SupportsIndex

from wtlib.errors import WtlibError

# Far above any size a model has, far below where arithmetic on counts leaves what floats can hold.
_MOST = 10**12


class Config:
    """The keys of one config, each checked when it is read.

    A key that is absent takes the default that transformers' config class of the family has;
    ``aliases`` maps a second spelling of a key (``hidden_size``) to the family's own (``n_embd``).
    """

    def __init__(  # noqa: D107
        self,
        values: Mapping[str, Any],
        *,
        family: str,
        defaults: Mapping[str, Any],
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        self.family = family
        self._values = dict(defaults)
        for alias, key in (aliases or {}).items():
            if alias in values:
                self._values[key] = values[alias]
        self._values.update({key: values[key] for key in defaults if key in values})

    def raw(self, key: str) -> Any:
        """The value as it stands."""
        return self._values[key]

    def size(self, key: str) -> int:
        """A positive whole number.

        Raises:
            WtlibError: it is missing, not whole, below 1, or absurdly large.
        """
        return self._whole(key, least=1)

    def number(self, key: str) -> int:
        """A whole number, zero allowed.

        Raises:
            WtlibError: it is missing, not whole, negative, or absurdly large.
        """
        return self._whole(key, least=0)

    def size_or(self, key: str, fallback: int) -> int:
        """A positive whole number, or ``fallback`` where the config says null."""
        return fallback if self.raw(key) is None else self.size(key)

    def flag(self, key: str) -> bool:
        """A boolean.

        Raises:
            WtlibError: it is anything else; null reads as false.
        """
        value = self.raw(key)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise WtlibError(f"{self.family} config: {key} is {value!r}; it must be true or false")
        return value

    def divide(self, key: str, by: str) -> int:
        """``key / by``, which must be whole.

        Raises:
            WtlibError: it is not.
        """
        dividend, divisor = self.size(key), self.size(by)
        if dividend % divisor:
            raise WtlibError(
                f"{self.family} config: {key} {dividend} is not a multiple of {by} {divisor}"
            )
        return dividend // divisor

    def word(self, key: str) -> str:
        """A string.

        Raises:
            WtlibError: it is anything else.
        """
        value = self.raw(key)
        if not isinstance(value, str):
            raise WtlibError(f"{self.family} config: {key} is {value!r}; it must be a string")
        return value

    def items(self, key: str) -> tuple[Any, ...]:
        """The items of a list, or of a string that separates them by ``|``; null reads as none.

        Raises:
            WtlibError: it is anything else.
        """
        value = self.raw(key)
        if isinstance(value, str):
            return tuple(value.split("|"))
        if value is not None and not isinstance(value, list | tuple):
            raise WtlibError(f"{self.family} config: {key} is {value!r}; it must be a list")
        return tuple(value or ())

    def grouped_heads(
        self,
        heads_key: str = "num_attention_heads",
        kv_heads_key: str | None = "num_key_value_heads",
        head_dim_key: str | None = "head_dim",
        d_model_key: str = "hidden_size",
    ) -> tuple[int, int, int]:
        """Query heads, key-value heads and the width of a head.

        Key-value heads that are not given are as many as the query heads; a width that is not
        given is d / heads.

        Raises:
            WtlibError: the heads do not divide into groups, or the width into heads.
        """
        heads = kv_heads = self.size(heads_key)
        if kv_heads_key is not None and self.raw(kv_heads_key) is not None:
            self.divide(heads_key, kv_heads_key)
            kv_heads = self.size(kv_heads_key)
        if head_dim_key is None or self.raw(head_dim_key) is None:
            return heads, kv_heads, self.divide(d_model_key, heads_key)
        return heads, kv_heads, self.size(head_dim_key)

    def refuse(self, key: str, value: Any, why: str) -> None:
        """Stop at a setting that this closed form does not describe.

        Raises:
            WtlibError: ``key`` has that ``value``.
        """
        if self.raw(key) == value:
            raise WtlibError(f"{self.family} config: {key} {value!r} is not counted here: {why}")

    def _whole(self, key: str, *, least: int) -> int:
        value = self.raw(key)
        if value is None:
            raise WtlibError(f"{self.family} config: {key} is missing; add it to the config")
        if isinstance(value, bool) or not isinstance(value, SupportsIndex):
            raise WtlibError(f"{self.family} config: {key} is {value!r}; it must be a whole number")
        if index(value) < least:
            raise WtlibError(f"{self.family} config: {key} is {value}; it must be at least {least}")
        if index(value) > _MOST:
            raise WtlibError(f"{self.family} config: {key} is above {_MOST:,}; check the config")
        return index(value)
