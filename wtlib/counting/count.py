"""From a config to a count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wtlib.counting.families import FAMILIES
from wtlib.counting.families.encoders import HEAD_TRANSFORM
from wtlib.counting.parts import Architecture
from wtlib.counting.results import ParameterCount
from wtlib.errors import WtlibError

# Where a multimodal config nests a text config that does not name its own type.
_TEXT_MODEL_TYPES = {"gemma3": "gemma3_text"}


def count_parameters(config: Mapping[str, Any] | object) -> ParameterCount:
    """Count a model's parameters exactly, from its config alone.

    Closed form: no weights, no torch. Each unique matrix counts once, so ``total`` equals the
    number of entries in the distinct parameters of the built model (checked on the meta device).

    Args:
        config: a mapping with the content of a ``config.json``, or an object with ``to_dict()``
            (a transformers config). Absent keys take the default of the family's config class,
            which is how the files are meant: an absent ``tie_word_embeddings`` is true for GPT-2
            and Gemma and false for Llama and Qwen. Of a multimodal config with a ``text_config``
            the text decoder is counted, under the flag of the outermost config that has one.

    Raises:
        WtlibError: no or an unknown ``model_type``; a size that is missing, not whole or too
            small; heads that do not divide; a setting the closed form does not describe.
    """
    return ParameterCount.of(_describe(config))


def encoder_parameters(config: Mapping[str, Any] | object) -> int:
    """Parameters of an encoder by itself, as papers on BERT and ALBERT count them.

    With the pooler (a d by d map and its bias), without the masked-language-model head.

    Raises:
        WtlibError: as :func:`count_parameters`, or the model has no such head.
    """
    count = count_parameters(config)
    if HEAD_TRANSFORM not in count.other:
        raise WtlibError(f"{count.family} has no masked-language-model head; use count_parameters")
    pooler = count.d_model * (count.d_model + 1)
    return count.if_tied - count.head_bias - count.other[HEAD_TRANSFORM] + pooler


def _describe(config: Mapping[str, Any] | object) -> Architecture:
    values = _text_config(_mapping(config))
    model_type = values.get("model_type")
    if model_type is None:
        raise WtlibError(f"config has no model_type; add one of: {_known()}")
    family = FAMILIES.get(model_type) if isinstance(model_type, str) else None
    if family is None:
        raise WtlibError(f"model_type {model_type!r} is not counted here; known: {_known()}")
    return family.describe(values)


def _mapping(config: Mapping[str, Any] | object) -> Mapping[str, Any]:
    if isinstance(config, Mapping):
        return config
    to_dict = getattr(config, "to_dict", None)
    if not callable(to_dict):
        raise WtlibError(
            f"config is a {type(config).__name__}; give a dict or an object with to_dict()"
        )
    values: Mapping[str, Any] = to_dict()
    return values


def _text_config(values: Mapping[str, Any]) -> Mapping[str, Any]:
    nested = values.get("text_config")
    if not isinstance(nested, Mapping):
        return values
    outer_type = values.get("model_type")
    text = {"model_type": _TEXT_MODEL_TYPES.get(str(outer_type), outer_type), **nested}
    if "tie_word_embeddings" in values:
        text["tie_word_embeddings"] = values["tie_word_embeddings"]
    return text


def _known() -> str:
    return ", ".join(sorted(FAMILIES))
