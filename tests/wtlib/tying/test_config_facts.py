import json
from typing import Any

import pytest

from tests.wtlib.tying import class_flags
from tests.wtlib.tying.files import GPT2, LLAMA
from wtlib import census
from wtlib.counting import FAMILIES
from wtlib.tying.config_facts import class_default, config_facts

NESTED = {"model_type": "text-model", "tie_word_embeddings": True}


@pytest.mark.parametrize(
    ("config", "flag", "source", "key"),
    [
        ({**LLAMA, "tie_word_embeddings": True}, True, "top level", "tie_word_embeddings"),
        ({**GPT2, "tie_word_embeddings": False}, False, "top level", "tie_word_embeddings"),
        ({**GPT2, "tie_word_embeddings": None}, False, "top level", "tie_word_embeddings"),
        (GPT2, True, "class default", None),
        (LLAMA, False, "class default", None),
        ({"model_type": "lfm2"}, True, "class default", None),
        ({"model_type": "unheard-of"}, None, None, None),
        ({}, None, None, None),
        (
            {"model_type": "unheard-of-vl", "text_config": NESTED},
            True,
            "nested text config",
            "text_config.tie_word_embeddings",
        ),
        (
            {"model_type": "x", "tie_word_embeddings": False, "llm_config": NESTED},
            False,
            "top level",
            "tie_word_embeddings",
        ),
        ({"model_type": "x", "text_config": {"model_type": "gemma2"}}, True, "class default", None),
        (
            {"model_type": "mobilellm", "share_embedding": True, "tie_word_embeddings": False},
            True,
            "family's own key",
            "share_embedding",
        ),
        ({"model_type": "hf_olmo", "weight_tying": True}, True, "family's own key", "weight_tying"),
        (
            {"untie_embeddings_and_output_weights": True},
            False,
            "family's own key",
            "untie_embeddings_and_output_weights",
        ),
        ({"no-weight-tying": False}, True, "family's own key", "no-weight-tying"),
        ({"logits_via_embedding": True}, True, "family's own key", "logits_via_embedding"),
        ({**LLAMA, "share_embedding": True}, False, "class default", None),
    ],
)
def test_the_flag_and_where_it_stands(
    config: dict[str, Any], flag: bool | None, source: str | None, key: str | None
) -> None:
    facts = config_facts(config)
    assert (facts.flag, facts.source, facts.key) == (flag, source, key)


@pytest.mark.parametrize(
    ("config", "loader_flag"),
    [
        (GPT2, True),
        ({**GPT2, "tie_word_embeddings": False}, False),
        ({"model_type": "t5", "tie_word_embeddings": False}, True),
        ({"model_type": "mt5", "tie_word_embeddings": False}, True),
        ({"model_type": "unheard-of"}, None),
        ({"model_type": "llava", "text_config": {"tie_word_embeddings": True}}, True),
        ({"model_type": "gemma3", "text_config": {"tie_word_embeddings": False}}, True),
        (
            {"model_type": "qwen2_audio", "text_config": {"model_type": "qwen2"}},
            False,
        ),
    ],
)
def test_what_transformers_makes_of_it(config: dict[str, Any], loader_flag: bool | None) -> None:
    assert config_facts(config).loader_flag is loader_flag


def test_two_keys_that_disagree_are_named() -> None:
    config = {"model_type": "mobilellm", "share_embedding": True, "tie_word_embeddings": False}
    assert config_facts(config).disagreements == (
        "share_embedding says tied",
        "tie_word_embeddings says untied",
    )
    nested = {**LLAMA, "tie_word_embeddings": True, "text_config": {"tie_word_embeddings": False}}
    assert "text_config.tie_word_embeddings says untied" in config_facts(nested).disagreements


@pytest.mark.parametrize("value", ["false", 0, 1, [], {}])
def test_a_flag_that_is_no_boolean(value: object) -> None:
    facts = config_facts({**LLAMA, "tie_word_embeddings": value})
    assert facts.invalid == f"tie_word_embeddings is {value!r}"
    assert facts.flag is bool(value)


def test_the_stored_list_of_class_flags_is_what_the_installed_version_does() -> None:
    stored = json.loads(class_flags.PATH.read_text())
    assert stored == class_flags.measure(), "run python -m tests.wtlib.tying.class_flags"


def test_the_list_and_the_closed_forms_agree_on_defaults() -> None:
    stored = json.loads(class_flags.PATH.read_text())
    both = [name for name in FAMILIES if name in (*stored["tied"], *stored["untied"])]
    assert len(both) > 40
    assert all(class_default(name) is (name in stored["tied"]) for name in both)


def test_the_flag_of_every_model_of_the_census() -> None:
    wrong = [m.id for m in census.load() if config_facts(m.config()).flag != m.tie_word_embeddings]
    assert wrong == []


@pytest.mark.parametrize(
    ("architectures", "expects"),
    [(None, True), ([], True), (["LlamaForCausalLM"], True), (["GPT2LMHeadModel"], True),
     (["BertForMaskedLM"], True), (["BertModel"], False),
     (["LlamaForSequenceClassification"], False)],
)  # fmt: skip
def test_which_architectures_have_a_head(architectures: object, expects: bool) -> None:
    assert config_facts({**LLAMA, "architectures": architectures}).expects_head is expects


def test_shared_layers() -> None:
    albert = config_facts({"model_type": "albert"})
    assert (albert.layers, albert.stored_layers) == (12, 1)


@pytest.mark.parametrize("config", [{"vocab_size": "x", "hidden_size": -1}, {"model_type": []},
                                    {"text_config": 1}, {"architectures": [1]}])  # fmt: skip
def test_what_makes_no_sense_is_not_known(config: dict[str, Any]) -> None:
    facts = config_facts(config)
    assert facts.flag is None
    assert facts.vocab_size is None
    assert facts.d_model is None
