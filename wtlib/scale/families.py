"""Which families of models scale which end, found by building small ones and measuring them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from wtlib.scale.measured import Scales, scales
from wtlib.specimens.quiet import quiet

_WIDTHS = (16, 64)
_POWERS = {0.0: "", 0.5: "√d", -0.5: "1/√d", 1.0: "d", -1.0: "1/d"}
_KEY_PARTS = ("scal", "multiplier", "mult", "dim_model_base")
"""What a setting's name contains if it may set a scale."""

_SMALL = {
    "vocab_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 32,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
    "decoder_start_token_id": 0,
}

# What a family's small model needs beside the common settings, from its width d.
_OWN: Mapping[str, Any] = {
    "opt": lambda d: {"word_embed_proj_dim": d, "ffn_dim": 2 * d},
    "gpt_neo": lambda d: {"attention_types": [[["global"], 2]], "num_layers": 2},
    "mpt": lambda d: {"d_model": d, "n_heads": 2, "n_layers": 2, "max_seq_len": 32},
    "mamba": lambda d: {"state_size": 4, "time_step_rank": 2},
    "xglm": lambda d: {"ffn_dim": 2 * d, "d_model": d, "num_layers": 2, "attention_heads": 2},
    "t5": lambda d: {"d_kv": d // 2, "d_ff": 2 * d, "num_layers": 2, "num_decoder_layers": 2},
    "bart": lambda d: {
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 2 * d,
        "decoder_ffn_dim": 2 * d,
    },
}


@dataclass(frozen=True)
class FamilyScales:
    """What a family does at its ends, at its class's default settings.

    `inputs` and `logits` are rules: a power of the width d, or a number; None if no plain factor
    stands there. `input_keys` and `logit_keys` are the settings that change the factor.
    """

    model_type: str
    inputs: str | None
    input_keys: tuple[str, ...]
    logits: str | None
    logit_keys: tuple[str, ...]
    capped: bool

    @property
    def sides(self) -> tuple[str, ...]:
        """The ends with a factor, be it of the class or of a setting."""
        found = (
            ("inputs", self.inputs not in (None, "1") or self.input_keys),
            ("logits", self.logits not in (None, "1") or self.logit_keys),
        )
        return tuple(side for side, scaled in found if scaled)


def family_scales(model_type: str) -> FamilyScales:
    """Build a family's model at two widths, measure its factors, and find what sets them.

    The settings tried are those with a number or a switch for a value whose name speaks of a
    scale; one counts if changing it changes a factor.
    """
    found = {d: _measure(model_type, d) for d in _WIDTHS}
    small = found[_WIDTHS[0]]
    changes = {key: _measure(model_type, _WIDTHS[0], **new) for key, new in _settings(model_type)}
    return FamilyScales(
        model_type=model_type,
        inputs=_rule({d: s.inputs for d, s in found.items()}),
        input_keys=_changed({key: s.inputs for key, s in changes.items()}, small.inputs),
        logits=_rule({d: s.logits for d, s in found.items()}),
        logit_keys=_changed({key: s.logits for key, s in changes.items()}, small.logits),
        capped=small.capped,
    )


def _measure(model_type: str, d: int, **settings: Any) -> Scales:
    with quiet(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = _build(_config(model_type, d, **settings))
        return scales(model, torch.arange(3, 11)[None])


def _config(model_type: str, d: int, **settings: Any) -> Any:
    from transformers import AutoConfig

    known = AutoConfig.for_model(model_type).to_dict()
    gated = {"num_key_value_heads": 2, "head_dim": d // 2, "intermediate_size": 2 * d}
    # Only what the family's config knows, but under the common names, which every config maps.
    own = {key: value for key, value in gated.items() if key in known}
    own |= _OWN.get(model_type, lambda d: {})(d)
    return AutoConfig.for_model(model_type, **{**_SMALL, "hidden_size": d, **own, **settings})


def _build(config: Any) -> Any:
    from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

    auto = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    return auto.from_config(config).eval()


def _settings(model_type: str) -> list[tuple[str, dict[str, Any]]]:
    """Each setting that may set a scale, with another value for it."""
    defaults = _config(model_type, _WIDTHS[0]).to_dict()
    found = []
    for key, value in sorted(defaults.items()):
        if any(part in key for part in _KEY_PARTS) and isinstance(value, bool | int | float):
            found.append((key, {key: not value if isinstance(value, bool) else 2 * value}))
    return found


def _changed(factors: Mapping[str, float | None], before: float | None) -> tuple[str, ...]:
    return tuple(key for key, factor in factors.items() if not _same(factor, before))


def _same(a: float | None, b: float | None) -> bool:
    return a is b or (a is not None and b is not None and math.isclose(a, b, rel_tol=1e-3))


def _rule(factors: Mapping[int, float | None]) -> str | None:
    """The constant times the power of the width, by halves, that the factors at two widths follow.

    Any two numbers follow some power; one that is no multiple of a half is called another rule.
    """
    (d, first), (other_d, second) = factors.items()
    if first is None or second is None:
        return None
    power = math.log(second / first) / math.log(other_d / d)
    halves = round(2 * power)
    if not math.isclose(2 * power, halves, abs_tol=0.01) or halves / 2 not in _POWERS:
        return "another rule"
    constant, name = first / d ** (halves / 2), _POWERS[halves / 2]
    if _same(constant, 1.0):
        return name or "1"
    return f"{constant:.4g}{'' if name.startswith('1') else '·' if name else ''}{name.lstrip('1')}"
