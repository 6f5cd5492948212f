"""The independent count: build the model without memory and add up its distinct parameters."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from transformers import (
    CONFIG_MAPPING,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    PreTrainedConfig,
)

ENCODER_DECODERS = ("t5", "mt5", "bart")
ENCODERS = ("bert", "roberta", "albert", "deberta-v2", "modernbert")


def transformers_config(values: Mapping[str, Any]) -> PreTrainedConfig:
    """The library's config object for the content of a config.json."""
    settings = dict(values)
    model_type = settings.pop("model_type")
    if model_type == "gpt_neo":  # its config wants one attention kind per layer; no count depends
        layers = settings.get("num_layers", settings.get("num_hidden_layers", 24))
        settings["attention_types"] = [[["global"], layers]]
    return CONFIG_MAPPING[model_type](**settings)


def auto_class(model_type: str) -> Any:
    """The class that builds the model with its head."""
    if model_type in ENCODER_DECODERS:
        return AutoModelForSeq2SeqLM
    return AutoModelForMaskedLM if model_type in ENCODERS else AutoModelForCausalLM


def unique_parameters(model: nn.Module) -> int:
    """Entries of all distinct parameters; ``parameters()`` yields a tied one once."""
    return sum(parameter.numel() for parameter in model.parameters())


def count(values: Mapping[str, Any]) -> int:
    """Distinct parameters of the model that transformers builds from a config.json's content."""
    config = transformers_config(values)
    with torch.device("meta"):
        return unique_parameters(auto_class(config.model_type).from_config(config))
