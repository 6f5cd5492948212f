"""What a config says about the tie, and where: five places, which may contradict each other."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from wtlib.counting import FAMILIES, ParameterCount, count_parameters
from wtlib.errors import WtlibError
from wtlib.tying.facts import ConfigFacts, FlagSource

FLAG = "tie_word_embeddings"
# What each key says when it is true. The usual flag is not the only one.
_OWN_KEYS: Mapping[str, bool] = {
    "share_embedding": True,  # MobileLLM
    "weight_tying": True,  # OLMo
    "share_embeddings_and_output_weights": True,  # Megatron core
    "untie_embeddings_and_output_weights": False,  # Megatron-LM
    "share_input_output_embed": True,  # fairseq
    "share_decoder_input_output_embed": True,
    "logits_via_embedding": True,  # T5X, MaxText
    "tie_embeddings": True,  # mamba_ssm
    "tie_weight": True,  # Transformer-XL
    "no_weight_tying": False,  # GPT-NeoX
    "no-weight-tying": False,
}
# Families whose logits or embeddings are multiplied by a number that stands in the config. Left
# out, it silently becomes the class's default, which is another model's.
_SCALES: Mapping[str, tuple[str, ...]] = {
    "cohere": ("logit_scale",),
    "cohere2": ("logit_scale",),
    "falcon_h1": ("embedding_multiplier", "lm_head_multiplier"),
    "granite": ("embedding_multiplier", "logits_scaling"),
    "granitemoe": ("embedding_multiplier", "logits_scaling"),
    "granitemoeshared": ("embedding_multiplier", "logits_scaling"),
    "minicpm": ("scale_emb", "dim_model_base"),
    "minicpm3": ("scale_emb", "dim_model_base"),
}
# These multiply a tied head's input by d_model**-0.5, and so start their table at N(0, 1).
T5_FAMILY = {"t5", "mt5", "umt5", "longt5"}
T5_SCALE = "scale_decoder_outputs"
_SIZES = ("hidden_size", "n_embd", "d_model", "dim", "model_dim", "embed_dim")
# How the names of transformers' architectures without logits over the vocabulary end.
_WITHOUT_HEAD = re.compile(
    r"((?<!LMHead)(?<!DoubleHeads)(?<!MT)Model|Encoder|Classification|QuestionAnswering|MultipleChoice"
    r"|Regression|Retrieval|NextSentencePrediction)$"
)
_CLASS_FLAGS = Path(__file__).parents[1] / "data" / "class_flags.json"


def config_facts(config: Mapping[str, Any]) -> ConfigFacts:
    """Read the flag and what bears on it from the content of a config.json.

    Order: the usual flag at the top level or in the nested text config; a key that the family
    itself reads; the default of transformers' config class for an absent key (census of 5.24's
    classes in ``wtlib/data/class_flags.json``, ``wtlib.counting``'s families first).
    """
    model_type = _word(config.get("model_type"))
    text = _text(config)
    flag, source, key = _flag(config, text, model_type)
    count = counted(config)
    return ConfigFacts(
        model_type=model_type,
        flag=flag,
        source=source,
        key=key,
        loader_flag=_loader_flag(config, text, model_type),
        forced=model_type in _class_flags()["forced"],
        invalid=_invalid(config, text),
        disagreements=_disagreements(config, text, model_type),
        vocab_size=_size(text, "vocab_size") or _size(config, "vocab_size"),
        d_model=next((size for key in _SIZES if (size := _size(text, key))), None),
        missing_scales=tuple(
            scale for scale in _SCALES.get(_text_type(text) or "", ()) if scale not in text
        ),
        wrong_scale=_wrong_scale(config, model_type, flag),
        layers=count.layers if count else None,
        stored_layers=sum(stack.stored for stack in count.stacks) if count else None,
        expects_head=_expects_head(config.get("architectures")),
    )


def counted(config: Mapping[str, Any]) -> ParameterCount | None:
    """The closed-form count of a config, where its family and its sizes allow one."""
    try:
        return count_parameters(config)
    except WtlibError:
        return None


def _flag(
    config: Mapping[str, Any], text: Mapping[str, Any], model_type: str | None
) -> tuple[bool | None, FlagSource | None, str | None]:
    own = {
        key: bool(value) == _OWN_KEYS[key]
        for key, value in config.items()
        if key in _OWN_KEYS and _reads(model_type, key)
    }
    usual = FLAG in config
    if any(own.values()) and not (usual and config[FLAG]):
        return True, "family's own key", next(key for key, tied in own.items() if tied)
    if usual and config[FLAG] and _kept_from_t5(config, model_type):
        return False, "family's own key", T5_SCALE
    if usual:
        return bool(config[FLAG]), "top level", FLAG
    if own:
        return False, "family's own key", next(iter(own))
    if text is not config and FLAG in text:
        return bool(text[FLAG]), "nested text config", f"{_text_key(config)}.{FLAG}"
    default = _class_default(config, text)
    return default, None if default is None else "class default", None


def _reads(model_type: str | None, key: str) -> bool:
    """Whether the family's own code looks at the key: transformers' other classes do not."""
    family = FAMILIES.get(model_type or "")
    if family is not None and key in family.defaults:
        return True
    return family is None and class_default(model_type) is None


def _class_default(config: Mapping[str, Any], text: Mapping[str, Any]) -> bool | None:
    outer = class_default(_word(config.get("model_type")))
    return outer if outer is not None else class_default(_text_type(text))


def class_default(model_type: str | None) -> bool | None:
    """What an absent flag means for a ``model_type``; ``None`` when it is not known."""
    family = FAMILIES.get(model_type or "")
    if family is not None and FLAG in family.defaults:
        return bool(family.defaults[FLAG])
    classes = _class_flags()
    if model_type in classes["tied"]:
        return True
    return False if model_type in classes["untied"] else None


def _loader_flag(
    config: Mapping[str, Any], text: Mapping[str, Any], model_type: str | None
) -> bool | None:
    classes = _class_flags()
    known = model_type in classes["tied"] or model_type in classes["untied"]
    if not known:
        nested = text is not config and class_default(_text_type(text)) is not None
        return bool(_flag(text, text, _text_type(text))[0]) if nested else None
    default = model_type in classes["tied"]
    if model_type in classes["forced"]:
        return default
    if FLAG in config:
        return bool(config[FLAG])
    if model_type in classes["inherits"] and text is not config and FLAG in text:
        return bool(text[FLAG])
    return default


def _disagreements(
    config: Mapping[str, Any], text: Mapping[str, Any], model_type: str | None
) -> tuple[str, ...]:
    said = {key: bool(config[key]) == _OWN_KEYS[key] for key in _OWN_KEYS if key in config}
    if FLAG in config:
        said[FLAG] = bool(config[FLAG])
    if text is not config and FLAG in text:
        said[f"{_text_key(config)}.{FLAG}"] = bool(text[FLAG])
    if _kept_from_t5(config, model_type):
        said[T5_SCALE] = False
    if len(set(said.values())) < 2:
        return ()
    return tuple(f"{key} says {'tied' if tied else 'untied'}" for key, tied in said.items())


def _invalid(config: Mapping[str, Any], text: Mapping[str, Any]) -> str | None:
    for values in (config, text):
        for key in (FLAG, *_OWN_KEYS):
            if key in values and not isinstance(values[key], bool | None):
                return f"{key} is {values[key]!r:.40}"
    return None


def _wrong_scale(
    config: Mapping[str, Any], model_type: str | None, flag: bool | None
) -> str | None:
    scaled = model_type in T5_FAMILY and config.get(T5_SCALE) is True
    return f"{T5_SCALE} is true" if scaled and flag is False else None


def _expects_head(architectures: Any) -> bool:
    if not isinstance(architectures, list) or not architectures:
        return True
    return not all(isinstance(name, str) and _WITHOUT_HEAD.search(name) for name in architectures)


def _kept_from_t5(config: Mapping[str, Any], model_type: str | None) -> bool:
    """Whether a T5's flag was false before transformers 5 overwrote it, and kept it as this key."""
    return model_type in T5_FAMILY and config.get(T5_SCALE) is False


def _text_key(config: Mapping[str, Any]) -> str:
    for key in ("text_config", "llm_config", "language_config", "decoder"):
        if isinstance(config.get(key), Mapping):
            return key
    return ""


def _text(config: Mapping[str, Any]) -> Mapping[str, Any]:
    nested = config.get(_text_key(config))
    return nested if isinstance(nested, Mapping) else config


def _text_type(text: Mapping[str, Any]) -> str | None:
    return _word(text.get("model_type"))


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _size(values: Mapping[str, Any], key: str) -> int | None:
    value = values.get(key)
    return value if type(value) is int and value > 0 else None


@cache
def _class_flags() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(_CLASS_FLAGS.read_text(encoding="utf-8"))
    return {key: frozenset(value) for key, value in content.items() if isinstance(value, list)}
