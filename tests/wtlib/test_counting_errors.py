"""Each error says what was wrong, the value, and what to do."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wtlib.counting import (
    FAMILIES,
    count_parameters,
    encoder_parameters,
    handbook_estimate,
    read_config,
    saving_fraction,
)
from wtlib.errors import WtlibError

WRONG: list[tuple[Any, str]] = [
    ({}, "config has no model_type; add one of: albert, bart"),
    ({"model_type": "wavenet"}, "model_type 'wavenet' is not counted here; known: albert, bart"),
    ({"model_type": ["gpt2"]}, "model_type ['gpt2'] is not counted here"),
    ("gpt2", "config is a str; give a dict or an object with to_dict()"),
    (None, "config is a NoneType; give a dict"),
    ({"model_type": "gpt2", "vocab_size": None}, "gpt2 config: vocab_size is missing; add it"),
    (
        {"model_type": "gpt2", "vocab_size": 0},
        "gpt2 config: vocab_size is 0; it must be at least 1",
    ),
    ({"model_type": "gpt2", "n_embd": -768}, "n_embd is -768; it must be at least 1"),
    ({"model_type": "gpt2", "n_layer": 10**30}, "n_layer is above 1,000,000,000,000; check"),
    ({"model_type": "gpt2", "n_layer": 12.5}, "n_layer is 12.5; it must be a whole number"),
    ({"model_type": "gpt2", "n_layer": "12"}, "n_layer is '12'; it must be a whole number"),
    ({"model_type": "gpt2", "n_layer": True}, "n_layer is True; it must be a whole number"),
    ({"model_type": "gpt2", "n_inner": 0}, "n_inner is 0; it must be at least 1"),
    ({"model_type": "gpt2", "n_head": 7}, "n_embd 768 is not a multiple of n_head 7"),
    (
        {"model_type": "llama", "num_key_value_heads": 5},
        "num_attention_heads 32 is not a multiple of num_key_value_heads 5",
    ),
    (
        {"model_type": "falcon", "new_decoder_architecture": True, "num_kv_heads": 8},
        "num_attention_heads 71 is not a multiple of num_kv_heads 8",
    ),
    ({"model_type": "llama", "head_dim": -1}, "head_dim is -1; it must be at least 1"),
    (
        {"model_type": "gpt2", "tie_word_embeddings": "yes"},
        "tie_word_embeddings is 'yes'; it must be true or false",
    ),
    (
        {"model_type": "gpt2", "add_cross_attention": True},
        "add_cross_attention True is not counted here: only the decoder by itself is",
    ),
    ({"model_type": "deberta-v2", "legacy": False}, "legacy False is not counted here"),
    ({"model_type": "bert", "type_vocab_size": -1}, "type_vocab_size is -1; it must be at least 0"),
    ({"model_type": "t5", "feed_forward_proj": 3}, "feed_forward_proj is 3; it must be a string"),
    ({"model_type": "qwen3_moe", "mlp_only_layers": 3}, "mlp_only_layers is 3; it must be a list"),
    ({"model_type": "gemma3", "text_config": {"vocab_size": 0}}, "gemma3_text config: vocab_size"),
]


@pytest.mark.parametrize(("config", "message"), WRONG)
def test_wrong_config(config: Any, message: str) -> None:
    with pytest.raises(WtlibError, match=re.escape(message)):
        count_parameters(config)


anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 60),
    st.sampled_from([10**12, 10**400]),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.integers(-3, 60) | st.text(max_size=3) | st.lists(st.none()), max_size=2),
    st.just({"a": 1}),
)


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(sorted(FAMILIES)), st.data())
def test_whatever_a_config_holds_it_is_counted_or_refused(
    model_type: str, data: st.DataObject
) -> None:
    keys = sorted({*FAMILIES[model_type].defaults, *FAMILIES[model_type].aliases, "text_config"})
    config = data.draw(st.dictionaries(st.sampled_from(keys), anything, max_size=4))
    try:
        count = count_parameters({"model_type": model_type, **config})
    except WtlibError:
        return
    assert 0 < count.if_tied < count.if_untied
    assert 0 < count.flops.head_share <= 1


def test_null_flag_reads_as_false() -> None:
    assert not count_parameters({"model_type": "gpt2", "tie_word_embeddings": None}).tied


def test_encoder_parameters_of_a_decoder() -> None:
    with pytest.raises(WtlibError, match="gpt2 has no masked-language-model head"):
        encoder_parameters({"model_type": "gpt2"})


@pytest.mark.parametrize("context_length", [-1, True])
def test_context_that_is_no_number_of_positions(context_length: Any) -> None:
    message = re.escape(f"context_length is {context_length!r}; give the positions attended to")
    with pytest.raises(WtlibError, match=message):
        count_parameters({"model_type": "gpt2"}).flops_at(context_length)


@pytest.mark.parametrize("layers", [0, -1, True])
def test_handbook_sizes(layers: Any) -> None:
    with pytest.raises(WtlibError, match=re.escape(f"n_layers is {layers!r}; it must be a whole")):
        handbook_estimate(50257, 768, layers)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 768, 1), "vocab_size is 0; it must be positive"),
        ((10, float("nan"), 1), "d_model is nan; it must be positive"),
        ((10, 768, -1), "body is -1; it must be zero or more"),
        ((10, 768, float("inf")), "body is inf; it must be zero or more"),
        ((True, 768, 1), "vocab_size is True; it must be positive"),
    ],
)
def test_saving_fraction_sizes(arguments: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(WtlibError, match=message):
        saving_fraction(*arguments)


def test_folder_without_config(tmp_path: Path) -> None:
    with pytest.raises(WtlibError, match=r"holds no config\.json; give a model's folder"):
        read_config(tmp_path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(WtlibError, match=r"nowhere\.json cannot be read: No such file"):
        read_config(tmp_path / "nowhere.json")


@pytest.mark.parametrize(
    "text", ["{", "", "[" * 100_000, "\xff"], ids=["cut", "empty", "deep", "bytes"]
)
def test_invalid_json(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(WtlibError, match="is not valid JSON"):
        read_config(path)


def test_json_that_is_no_object(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("[1]")
    with pytest.raises(WtlibError, match="holds a list; a config is a JSON object"):
        read_config(tmp_path)
