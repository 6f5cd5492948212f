"""The census against closed forms, and against the models that transformers builds."""

import csv
import time
from pathlib import Path

import pytest

from tests.wtlib import meta_device
from wtlib import census
from wtlib.counting import count_parameters
from wtlib.errors import WtlibError

MODELS = census.load()
# Not in transformers: Grok-1, and MobileLLM, whose architecture is Llama's.
BUILDABLE = [model for model in MODELS if model.model_type != "grok-1 (JAX)"]


def test_every_row_and_column_is_read() -> None:
    path = Path(census.__file__).parent / "data" / "census.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(MODELS) == len(rows) == 176
    for model, row in zip(MODELS, rows, strict=True):
        for column, cell in row.items():
            if column == "layers":
                assert model.stack_layers == tuple(int(part) for part in cell.split("+"))
            else:
                value = getattr(model, column)
                assert ("" if value is None else str(value)) == cell


def test_ids_are_unique() -> None:
    assert len({model.id for model in MODELS}) == len(MODELS)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.id)
def test_closed_form_equals_the_census(model: census.CensusModel) -> None:
    count = count_parameters(model.config())
    assert count.total == model.total_params
    assert count.if_tied == model.total_if_tied
    assert count.if_untied == model.total_if_untied
    assert count.vocabulary_matrix == model.embedding_params
    assert count.tied == model.tie_word_embeddings
    assert (count.head_bias > 0) == model.lm_head_bias


@pytest.mark.parametrize("model", BUILDABLE, ids=lambda model: model.id)
def test_closed_form_equals_the_built_model(model: census.CensusModel) -> None:
    config = model.config()
    if config["model_type"] == "mobilellm":
        config |= {"model_type": "llama", "tie_word_embeddings": config["share_embedding"]}
    built = meta_device.count(config)
    if config["model_type"] in ("t5", "mt5"):
        built += 0 if model.tie_word_embeddings else model.embedding_params  # forced to tie
    assert count_parameters(model.config()).total == built


def test_the_whole_census_is_counted_in_half_a_second() -> None:
    census.load.cache_clear()
    start = time.process_time()
    for model in census.load():
        count_parameters(model.config())
    assert time.process_time() - start < 0.5


def test_natural_pair_differs_by_one_matrix() -> None:
    tied, untied = census.find("allenai/OLMo-1B-hf"), census.find("allenai/OLMo-1B-0724-hf")
    assert untied.total_params - tied.total_params == tied.embedding_params == 103_022_592


def test_find() -> None:
    assert census.find("Qwen/Qwen3-8B") == census.find("Qwen3-8B")


def test_find_nothing() -> None:
    with pytest.raises(WtlibError, match=r"'Qwen3-8b' is not in the census; near it: Qwen3-8B"):
        census.find("Qwen3-8b")
    with pytest.raises(WtlibError, match=r"'zzzzzzzzzz' is not in the census$"):
        census.find("zzzzzzzzzz")


def test_encoder_decoders_have_two_stacks() -> None:
    model = census.find("google-t5/t5-base")
    assert (model.layers, model.stack_layers) == (24, (12, 12))
