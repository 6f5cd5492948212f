"""What transformers' config classes make of a flag: measured, to check the stored list.

`python -m tests.wtlib.tying.class_flags` measures the installed version again and
writes the list.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
)

import wtlib
from wtlib.specimens.quiet import quiet

LANGUAGE_MODELS = {
    *MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    *MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    *MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
}
PATH = Path(wtlib.__file__).parent / "data" / "class_flags.json"


def measure() -> dict[str, Any]:
    """Construct each config class with the flag absent, true, false, and in its text config."""
    tied: list[str] = []
    untied: list[str] = []
    forced: list[str] = []
    inherits: list[str] = []
    with quiet():
        for model_type in sorted(CONFIG_MAPPING.keys()):
            make: Any = CONFIG_MAPPING[model_type]
            try:
                default = make()
                flag = _flag(default)
                if flag is None and model_type in LANGUAGE_MODELS and not _text(make):
                    flag = False  # models read the flag with that default
                if not isinstance(flag, bool):
                    continue
                kept = [_flag(make(tie_word_embeddings=value)) for value in (True, False)]
            except Exception:  # a class that cannot be built without arguments
                continue
            (tied if flag else untied).append(model_type)
            if kept == [flag, flag]:
                forced.append(model_type)
            elif _nested(make, default, not flag) is not flag:
                inherits.append(model_type)
    return {
        "source": f"transformers {transformers.__version__}",
        "tied": tied,
        "untied": untied,
        "forced": forced,
        "inherits": inherits,
    }


def _flag(config: Any) -> Any:
    return getattr(config, "tie_word_embeddings", None)


def _text(make: Any) -> bool:
    return "text_config" in getattr(make, "sub_configs", {})


def _nested(make: Any, default: Any, value: bool) -> Any:
    if not _text(make):
        return _flag(default)
    text = default.text_config.to_dict() | {"tie_word_embeddings": value}
    try:
        return _flag(make(text_config=text))
    except Exception:
        return _flag(default)


if __name__ == "__main__":
    PATH.write_text(json.dumps(measure(), indent=1) + "\n")
