"""What identifies a run, and grids of runs."""

import json

import pytest

from tests.wtlib.sweeps.tiny import BASE, GPT
from wtlib import sweeps
from wtlib.errors import WtlibError
from wtlib.sharing import plan
from wtlib.sweeps import CorpusConfig, Run, RunConfig, Sweep
from wtlib.training import FitConfig, LstmConfig


@pytest.mark.parametrize("config", [BASE, GPT])
def test_a_config_survives_json(config: RunConfig) -> None:
    assert RunConfig.from_json(json.loads(json.dumps(config.to_json()))) == config


def test_a_setting_that_is_newer_than_a_record_has_its_default() -> None:
    content = BASE.to_json()
    del content["fit"]["clip_norm"]
    assert RunConfig.from_json(content) == BASE


def test_a_setting_changes_in_every_part_that_has_it() -> None:
    changed = GPT.with_settings(context=5, vocab_size=40, sharing="all")
    assert changed.fit.context == changed.settings["context"] == 5
    assert changed.model.vocab_size == changed.corpus.vocab_size == 40
    assert changed.fit.batch_size == GPT.fit.batch_size


def test_a_grid_is_every_combination_seed_by_seed() -> None:
    axes = {"dropout": (0.0, 0.5), "tie_word_embeddings": (True, False)}
    runs = sweeps.grid("g", BASE, seeds=(4, 7), axes=axes).runs
    assert [run.seed for run in runs] == [4] * 4 + [7] * 4
    settings = [run.config.settings for run in runs]
    assert [(s["dropout"], s["tie_word_embeddings"]) for s in settings] == [
        *((0.0, True), (0.0, False), (0.5, True), (0.5, False)),
    ] * 2


def test_the_book_s_grids_are_those_its_chapters_announce() -> None:
    lstm, gpt, initialization, cross_layer = map(sweeps.find, sweeps.NAMES)
    assert len(lstm.runs) == 2 * 3 * 2 * 2 * 5
    assert all(run.config.fit.patience for run in (*lstm.runs, *gpt.runs))
    stds = {run.config.settings["init_std"] for run in initialization.runs}
    d_model = initialization.runs[0].config.model.d_model
    assert stds == {0.02, d_model**-0.5, 0.1, 1.0}
    assert len(cross_layer.runs) == 7 * 4 * 3
    for run in cross_layer.runs:
        settings = run.config.settings
        assert plan(settings["sharing"], settings["n_layers"]).layers in {2, 4, 8, 12}
        assert run.config.fit.patience is None  # equal steps


def test_settings_of_two_parts_must_agree() -> None:
    message = "vocab_size=61 and vocab_size=60 in one run: the model, the fit and the text must"
    with pytest.raises(WtlibError, match=message):
        RunConfig(
            LstmConfig(vocab_size=60),
            FitConfig(),
            CorpusConfig(vocab_size=61, train_tokens=1_000),
        )


@pytest.mark.parametrize("name", ["dropuot", "kind"])
def test_an_unknown_setting_is_refused(name: str) -> None:
    with pytest.raises(WtlibError, match=f"'{name}' is no setting of a run that can be changed"):
        BASE.with_settings(**{name: 0.1})


def test_settings_of_no_run_are_refused() -> None:
    with pytest.raises(WtlibError, match=r"these are no settings of a run \('lsmt'\)"):
        RunConfig.from_json({**BASE.to_json(), "kind": "lsmt"})


def test_a_run_listed_twice_is_refused() -> None:
    with pytest.raises(WtlibError, match="sweep s lists a run twice; a grid needs distinct"):
        Sweep("s", (Run(BASE, 0), Run(BASE, 0)))


def test_an_unknown_sweep_is_refused() -> None:
    with pytest.raises(WtlibError, match="'regularisation' is no sweep of the book; there are"):
        sweeps.find("regularisation")
