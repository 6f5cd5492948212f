"""The ledger: its file, its values, its verdicts, each against something independent."""

import copy
import dataclasses
import itertools
import json
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from wtlib import census, claims, cli, measures
from wtlib.claims import Bounds, rows, values
from wtlib.measures import models, optimizers

CLAIMS = {claim.id: claim for claim in claims.load()}

# ------------------------------------------------------------------------------ the real file


def test_rows_per_source() -> None:
    counts = Counter(claim.source.key for claim in claims.load())
    assert counts == {"handbook": 27, "essay": 12, "post": 67, "llmc": 1, "specimen": 11}


def test_each_audited_claim_of_the_first_chapters_has_a_row() -> None:
    numbers = {
        int(claim.id.rpartition("-")[2]): claim.source.key
        for claim in claims.load()
        if claim.id.rpartition("-")[2].isdigit()
        and claim.id.count("-") == 1
        and claim.source.key != "specimen"
    }
    audited = [*range(1, 31), *range(41, 45), *range(48, 80)]
    assert sorted(numbers) == audited
    for number, source in numbers.items():
        assert source == ("handbook" if number <= 22 else "essay" if number <= 44 else "post")


def test_each_source_is_described_and_used() -> None:
    data = yaml.safe_load(claims.PATH.read_text(encoding="utf-8"))
    assert set(data["sources"]) == {claim.source.key for claim in claims.load()}


def test_find_by_id_and_by_slug() -> None:
    assert claims.find("post-73") is claims.find("post-qwen3-06b")
    assert claims.find("post-73").anchor == "claim-post-73"


def test_find_says_what_is_near() -> None:
    with pytest.raises(claims.LedgerError, match=r"no claim 'post-7' in the ledger: did you mean"):
        claims.find("post-7")
    with pytest.raises(claims.LedgerError, match=r"no claim '!' in the ledger: `python -m wtlib"):
        claims.find("!")


def test_claims_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        claims.find("post-73").places = 3  # type: ignore[misc]


def test_importing_and_loading_needs_nothing_heavy() -> None:
    code = (
        "import sys; from wtlib import claims; claims.load(); "
        "print([m for m in ('torch', 'transformers', 'matplotlib') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


# ---------------------------------------------------------------------------------- the schema

ROW: dict[str, Any] = {
    "id": "post-1",
    "source": "post",
    "chapter": 2,
    "claim": "A claim.",
    "published": 31,
    "needs": "nothing",
    "measure": {"function": "arithmetic.percent", "arguments": {"part": 31, "whole": 100}},
}
SOURCES = {"post": {"author": "nobody", "title": "Nothing", "date": "never"}}


def load(tmp_path: Path, *entries: dict[str, Any], sources: Any = SOURCES) -> Any:
    path = tmp_path / "claims.yml"
    path.write_text(yaml.safe_dump({"sources": sources, "claims": list(entries)}))
    return claims.load(path)


def test_a_row_with_defaults(tmp_path: Path) -> None:
    (claim,) = load(tmp_path, ROW)
    assert (claim.places, claim.tolerance, claim.unit, claim.slug) == (0, 0.5, "", None)
    assert claims.verdict(claim).word == "reproduced"


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in ROW.items() if name != key}


def measure(**changes: Any) -> dict[str, Any]:
    return ROW | {"measure": ROW["measure"] | changes}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (ROW | {"tolerence": 1}, r"claim 'post-1': unknown key 'tolerence'; known are .*tolerance"),
        (without("claim"), r"claim 'post-1': no 'claim'; add it"),
        ("words", r"claim 'words': 'words' is not a mapping"),
        (ROW | {"id": "Post 1"}, r"claim 'Post 1': an id is lower-case words"),
        (ROW | {"source": "pots"}, r"claim 'post-1': no source 'pots'; described are post"),
        (ROW | {"id": "essay-1"}, r"claim 'essay-1': an id begins with its source, here 'post'"),
        (ROW | {"needs": "luck"}, r"claim 'post-1': needs 'luck'; known are nothing, configs"),
        (ROW | {"needs": "specimen"}, r"needs 'specimen', specimen None: one asks for the other"),
        (ROW | {"specimen": "gpt2"}, r"needs 'nothing', specimen 'gpt2': one asks for the other"),
        (without("measure"), r"claim 'post-1': give either a measure, or why it is unmeasured"),
        (ROW | {"unmeasured": "x"}, r"claim 'post-1': give either a measure, or why"),
        (ROW | {"published": {"over": 3}}, r"'post-1': bounds {'over': 3}: give numbers, under"),
        (ROW | {"published": {"above": "3"}}, r"'post-1': bounds {'above': '3'}: give numbers"),
        (ROW | {"published": []}, r"claim 'post-1': list \[\]: give numbers"),
        (ROW | {"published": None}, r"claim 'post-1': None: give a number, words"),
        (measure(function="arithmetic.guess"), r"no measure 'arithmetic.guess'; known are"),
        (measure(function="os.system"), r"'post-1': no measure 'os.system'; known are"),
        (measure(arguments={"part": 3}), r"percent: missing a required argument: 'whole'"),
        (measure(arguments={"part": 3, "hole": 4}), r"arithmetic.percent: .*argument"),
        (measure(argument={}), r"claim 'post-1', measure: unknown key 'argument'"),
        (measure(function="models.tokens", arguments={}), r"models.tokens takes a model: name a"),
        (
            ROW | {"needs": "specimen", "specimen": "gpt2"},
            r"arithmetic.percent does not take a model",
        ),
        (ROW | {"beside": [{"label": "x"}]}, r"claim 'post-1', beside 1: no 'arguments'; add it"),
        (
            ROW | {"beside": [{"label": "x", "function": "models.tokens", "arguments": {},
                               "specimen": "gpt2", "architecture": "gpt2"}]},
            r"claim 'post-1', beside 1: a specimen and an architecture: give one of them",
        ),
    ],
)  # fmt: skip
def test_a_wrong_row_is_named(entry: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(claims.LedgerError, match=message):
        load(tmp_path, entry)


def test_two_claims_of_one_name(tmp_path: Path) -> None:
    for other in (ROW, ROW | {"id": "post-2", "slug": "post-1"}):
        with pytest.raises(claims.LedgerError, match="'post-1' names two claims"):
            load(tmp_path, ROW, other)


def test_a_wrong_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(claims.LedgerError, match="source post: no 'date'; add it"):
        load(tmp_path, ROW, sources={"post": {"author": "nobody", "title": "Nothing"}})


# ------------------------------------------------------------------------------------ values


@pytest.mark.parametrize(
    ("published", "measured", "tolerance", "agreed"),
    [
        (23.8, 23.75, 0.05, True),
        (23.8, 23.85, 0.05, True),
        (23.8, 23.8501, 0.05, False),
        (80, 84.9, 5.0, True),
        (0, 0.0, 0.0, True),
        (0, 1e-12, 0.0, False),
        (7, math.nan, 0.5, False),
        (True, True, 0.5, True),
        (True, False, 0.5, False),
        (True, 1, 0.5, False),
        (1, True, 0.5, False),
        ("words", "words", 0.0, True),
        ("words", "word", 0.0, False),
        ((1, 2), [1.4, 2.4], 0.5, True),
        ((1, 2), [1.4, 2.6], 0.5, False),
        ((1, 2), [1], 0.5, False),
        ((True, False), [True, False], 0.5, True),
        ((True, False), [True, True], 0.5, False),
        (Bounds(5, None, True), 5.0, 0.5, False),
        (Bounds(5, None, True), 5.1, 0.5, True),
        (Bounds(None, 5, True), 5.0, 0.5, False),
        (Bounds(None, 5, False), 5.0, 0.5, True),
        (Bounds(5, None, False), 5.0, 0.5, True),
        (Bounds(10, 20, False), [10, 20.0], 0.5, True),
        (Bounds(10, 20, False), [10, 20.1], 0.5, False),
        (Bounds(None, 5, False), math.nan, 0.5, False),
    ],
)
def test_agreement(published: Any, measured: Any, tolerance: float, agreed: bool) -> None:
    assert values.agrees(published, measured, tolerance) is agreed


@pytest.mark.parametrize(
    ("raw", "unit", "places", "text"),
    [
        (38_597_376, "", 0, "38,597,376"),
        (23.8, "%", 1, "23.8%"),
        (38.6, "M", 1, "38.6M"),
        (64, "times", 0, "64\N{NO-BREAK SPACE}times"),
        (0.06, "", 3, "0.060"),
        (-0.0069, "", 4, "\N{MINUS SIGN}0.0069"),
        (80, "times", -1, "80\N{NO-BREAK SPACE}times"),
        (True, "", 0, "yes"),
        ([True, False], "", 0, "yes / no"),
        ([31.0, 5.2], "%", 1, "31.0 / 5.2%"),
        ({"above": 15}, "%", 0, "more than 15%"),
        ({"below": 5}, "%", 0, "less than 5%"),
        ({"at_least": 90}, "%", 0, "at least 90%"),
        ({"at_most": 52.94}, "", 2, "at most 52.94"),
        ({"from": 10, "to": 20}, "%", 0, "10 to 20%"),
        ("a forecast", "", 0, "a forecast"),
    ],
)
def test_text(raw: Any, unit: str, places: int, text: str) -> None:
    assert values.text(values.parse(raw), unit, places) == text


# ---------------------------------------------------------- measurements without a model


def gpt2_total(d: int, n_layers: int, vocab_size: int = 50257) -> int:
    return vocab_size * d + 1024 * d + n_layers * (12 * d * d + 13 * d) + 2 * d


GPT2 = {768: 12, 1024: 24, 1280: 36, 1600: 48}
TIED_SHARES = [100 * 50257 * d / gpt2_total(d, n) for d, n in GPT2.items()]


def handbook(vocab_size: int, d: int, n_layers: int) -> float:
    matrix = vocab_size * d
    return 100 * matrix / (2 * matrix + n_layers * (4 * d**2 + 2 * d * 4 * d + 4 * d))


def counted(name: str, share: Callable[[int, int, int], float]) -> float:
    """From the census's totals, which were counted on the meta device."""
    model = census.find(name)
    return share(model.embedding_params, model.total_if_tied, model.total_if_untied)


def one_of_tied(matrix: int, tied: int, untied: int) -> float:
    return 100 * matrix / tied


CAUSAL = [model for model in census.load() if model.kind == "causal"]
SMALL = [model for model in CAUSAL if model.total_params < 500_000_000]

# Each claim's measured value, computed another way: closed forms, or the census's own totals.
INDEPENDENT: dict[str, Any] = {
    "handbook-01": counted("EleutherAI/pythia-14m", lambda m, t, u: 200 * m / u),
    "handbook-02": [2, 2],
    "handbook-03": 12 + 13 / 768,
    "handbook-04": True,
    "handbook-05": 4,
    "handbook-06": 50257 * 768,
    "handbook-07": 50257 * 1024,
    "handbook-08": 50257 * 1280,
    "handbook-09": 50257 * 1600,
    "handbook-10": 128_000 * 1024,
    "handbook-table-small": handbook(50257, 768, 12),
    "handbook-table-medium": handbook(50257, 1024, 24),
    "handbook-table-large": handbook(50257, 1280, 36),
    "handbook-table-xl": handbook(50257, 1600, 48),
    "handbook-table-large-vocab": handbook(128_000, 1024, 24),
    "handbook-11": TIED_SHARES,
    "handbook-12": [handbook(50257, 768, 12), handbook(50257, 1024, 24)],
    "handbook-13": 128_256 * 8192 / 1e6,
    "handbook-14": 0,
    "handbook-15": [handbook(50257, 1024, 24), handbook(128_000, 1024, 24)],
    "handbook-16": True,
    "handbook-17": TIED_SHARES[0],
    "handbook-18": TIED_SHARES[3],
    "handbook-19": 0,
    "handbook-20": 131.072,
    "handbook-21": list(itertools.chain(*GPT2.items())),
    "essay-23": 100 * 74 / 148,
    "essay-27": 98.304,
    "essay-28": (2 * 128_000 * 768 + 12 * (12 * 768**2 + 13 * 768) + 2 * 768) / 1e6,
    "essay-29": 1048.576,
    "essay-30": 100 * 19 / 27,
    "essay-44": 1,
    "post-56": 52.94 / 0.83,
    "post-57": 0.116 / 0.060,
    "post-58": 0.83 / 0.060,
    "post-59": (26.29**2 + 24.39**2 + 0.01**2 + 15.95**2) ** 0.5,
    "post-62": 4600 / 84,
    "post-63": 768**-0.5,
    "post-64": 0.0069 * 84**0.5 / 0.0463,
    "post-65": 2.004 / 0.025,
    "post-68": TIED_SHARES[0],
    "post-69": 12 + 13 / 768,
    "post-70": TIED_SHARES,
    "post-size-gpt2": TIED_SHARES[0],
    "post-size-medium": TIED_SHARES[1],
    "post-size-large": TIED_SHARES[2],
    "post-size-xl": TIED_SHARES[3],
    "post-size-gpt2-matrix": 38.597376,
    "post-size-medium-matrix": 51.463168,
    "post-size-large-matrix": 64.328960,
    "post-size-xl-matrix": 80.411200,
    "post-71": [1600 / 768, gpt2_total(1600, 48) / gpt2_total(768, 12)],
    "post-72": [True, True, True, False, False, False],
    "post-73": counted("Qwen/Qwen3-0.6B", one_of_tied),
    "post-74": counted("Qwen/Qwen3-1.7B", one_of_tied),
    "post-75": counted("Qwen/Qwen3-4B", one_of_tied),
    "post-76": counted("Qwen/Qwen3-8B", lambda m, t, u: 100 * m / u),
    "post-77": [2048, 3072, 4096],
    "post-llama-32-1b": True,
    "post-llama-32-3b": True,
    "post-llama-31-8b": False,
    "specimen-parameters": 134_515_008,
    "specimen-vocabulary": 49_152,
    "specimen-shape": [576, 30],
}


def test_every_claim_measured_without_a_model_is_computed_another_way() -> None:
    assert INDEPENDENT.keys() == {
        claim.id
        for claim in claims.load()
        if claim.measure and claim.needs in ("nothing", "configs")
    }


@pytest.mark.parametrize("name", INDEPENDENT)
def test_measured(name: str) -> None:
    measured = claims.verdict(CLAIMS[name]).measured
    assert measured == pytest.approx(INDEPENDENT[name], rel=1e-12)


# Beside the claim, the values that the audit of the sources found by other means.
BESIDE = {
    "handbook-01": ["62.6%"],
    "handbook-03": [
        *(f"{number}\N{NO-BREAK SPACE}d²" for number in ("4.0", "8.0")),
        *(
            f"{number}\N{NO-BREAK SPACE}d²"
            for number in ("14.50", "15.00", "13.00", "11.50", "10.67")
        ),
    ],
    "handbook-05": ["84,971,520", "85,056,000"],
    "handbook-11": ["23.7 / 12.7 / 7.7 / 4.9%"],
    "handbook-13": ["2,101.3M"],
    "handbook-14": ["31.2%"],
    "handbook-17": ["23.7%", "47.3%"],
    "handbook-18": ["4.91%"],
    "handbook-table-large-vocab": ["30.26%"],
    "essay-28": ["183.4M", "352.5M"],
    "essay-29": ["1,050.7M", "1.49%"],
    "essay-44": ["2"],
    "post-62": ["58.3%", "5.5\N{NO-BREAK SPACE}points"],
    "post-64": ["1.76\N{NO-BREAK SPACE}standard errors"],
    "post-75": ["12.3%"],
    "post-76": ["15.2%"],
    "post-78": ["4.0 / 8.2B", "3.1 / 7.6B", "1.5 / 7.6B", "0.5 / 1.8B"],
}


@pytest.mark.parametrize("name", BESIDE)
def test_beside(name: str) -> None:
    assert [text for _, text in claims.verdict(CLAIMS[name]).beside] == BESIDE[name]


def test_beside_from_the_census() -> None:
    smallest, largest = (
        f(100 * m.embedding_params / m.total_if_untied for m in SMALL) for f in (min, max)
    )
    assert dict(claims.verdict(CLAIMS["handbook-12"]).beside).popitem()[1] == (
        f"{smallest:.1f} / {largest:.1f}%"
    )
    above = [m.tie_word_embeddings for m in CAUSAL if m.total_params > 40_000_000_000]
    assert dict(claims.verdict(CLAIMS["essay-30"]).beside).popitem()[1] == (
        f"{100 * sum(above) / len(above):.1f}%"
    )


def test_the_wrong_claims_differ() -> None:
    wrong = [3, 14, 18, 19, 29, 57, 58, 73, 75]
    for number in wrong:
        source = "handbook" if number <= 22 else "essay" if number <= 44 else "post"
        assert claims.verdict(CLAIMS[f"{source}-{number:02}"]).word == "differs", number


def test_the_right_claims_are_reproduced() -> None:
    right = {
        "handbook": [1, 2, 4, 5, 6, 7, 8, 9, 10, 15, 16, 20, 21],
        "essay": [27],
        "post": [63, 65, 68, 69, 70, 71, 72, 74, 77],
    }
    for source, numbers in right.items():
        for number in numbers:
            found = claims.verdict(CLAIMS[f"{source}-{number:02}"])
            assert found.word == "reproduced", found


def test_an_opinion_is_not_measured() -> None:
    found = claims.verdict(CLAIMS["handbook-22"])
    assert (found.word, found.measured, found.measured_text) == ("not re-measured here", None, "")
    assert found.reason.startswith("a forecast")
    assert str(found) == "not re-measured here"


@pytest.mark.parametrize(("weight_decay", "steps"), [(0.0, 1), (0.0, 199), (0.0, 20)])
def test_later_movement_in_closed_form(weight_decay: float, steps: int) -> None:
    # With one gradient g and zeros after, step t moves each coordinate by
    # lr * sqrt(1 - b2^t) / (1 - b1^t) * (1 - b1) b1^(t-1) / sqrt((1 - b2) b2^(t-1)).
    def step(t: int) -> float:
        moment = 0.1 * 0.9 ** (t - 1) / (1 - 0.9**t)
        scale = math.sqrt(0.001 * 0.999 ** (t - 1) / (1 - 0.999**t))
        return moment / scale

    expected = sum(step(t) for t in range(2, steps + 2)) / step(1)
    found = optimizers.later_movement("adamw", 0.01, weight_decay, steps)
    assert found == pytest.approx(expected, rel=1e-3)


def test_later_movement_of_sgd_is_none() -> None:
    assert optimizers.later_movement("sgd", 0.01, 0.0, 199) == 0
    assert claims.verdict(CLAIMS["post-67"]).word == "differs"


# ------------------------------------------------------------------ measurements of a model


@pytest.fixture(scope="module")
def tiny() -> Any:
    """GPT-2 in small: its vocabulary, its tokens, and few other numbers."""
    torch = pytest.importorskip("torch")
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(n_embd=16, n_layer=3, n_head=2))
    model.loss_type = "ForCausalLM"
    return model.eval()


@pytest.fixture(scope="module")
def observation(tiny: Any) -> models.Observation:
    return models.observe(specimen(tiny, "gpt2"))


def specimen(model: Any, name: str) -> Any:
    ids = list(models.SENTENCE_IDS["gpt2"])
    return SimpleNamespace(model=model, name=name, tokenizer=lambda text: {"input_ids": ids})


@pytest.fixture(scope="module")
def gradients(tiny: Any) -> dict[str, Any]:
    """Both routes by the straightforward method: an untied copy, one backward pass."""
    import torch

    untied = copy.deepcopy(tiny)
    untied.lm_head.weight = torch.nn.Parameter(untied.lm_head.weight.detach().clone())
    ids = torch.tensor([models.SENTENCE_IDS["gpt2"]])
    untied(ids, labels=ids).loss.backward()
    return {"short": untied.lm_head.weight.grad, "long": untied.transformer.wte.weight.grad}


@pytest.mark.parametrize("route", ["short", "long"])
def test_norm_and_rows_against_an_untied_copy(
    route: models.RouteName, observation: models.Observation, gradients: dict[str, Any]
) -> None:
    gradient = gradients[route]
    assert models.norm(observation, route) == pytest.approx(
        float(gradient.double().norm()), rel=1e-5
    )
    assert models.rows_touched(observation, route) == int(gradient.any(dim=1).sum())
    token = models.SENTENCE_IDS["gpt2"][3]
    assert models.token_norm(observation, "blue", route) == pytest.approx(
        float(gradient[token].norm()), rel=1e-4
    )


def test_numbers_of_the_observation(
    observation: models.Observation, gradients: dict[str, Any], tiny: Any
) -> None:
    short, long = gradients["short"].norm(dim=1), gradients["long"].norm(dim=1)
    assert models.tokens(observation) == 9
    assert models.distinct_tokens(observation) == len(set(models.SENTENCE.split()))
    assert models.ratio(observation) == pytest.approx(float(short.norm() / long.norm()), rel=1e-4)
    touched = long > 0
    assert models.rows_led_by_head(observation) == pytest.approx(
        100 * float((short > long)[touched].float().mean())
    )
    assert models.hook_calls(observation) == 1
    assert models.is_sum(observation)
    assert models.head_difference(observation) < 1e-5
    assert models.token_norm(observation, "green", "long") == 0
    assert all(parameter.grad is None for parameter in tiny.parameters())


def test_activation_gradients_against_hooks(observation: models.Observation, tiny: Any) -> None:
    import torch

    ids = torch.tensor([models.SENTENCE_IDS["gpt2"]])
    output = tiny(ids, labels=ids, output_hidden_states=True)
    embedded, *leaving = output.hidden_states[:3]
    norms = [float(g.norm()) for g in torch.autograd.grad(output.loss, [embedded, *leaving])]
    assert models.activation_norm(observation, 1) == pytest.approx(norms[1], rel=1e-4)
    assert models.activation_norm(observation, 2) == pytest.approx(norms[2], rel=1e-4)
    series = observation.routes.activation_norms
    assert models.activation_growth(observation) == pytest.approx(max(series) / series[2])
    assert models.stack_gain(observation) == pytest.approx(norms[0] / series[2], rel=1e-4)


def test_the_journey_multiplies_to_the_ratio(observation: models.Observation) -> None:
    parts = observation.routes.decomposition
    product = models.scale_ratio(observation) / (
        models.gain_with_final_norm(observation) * parts.scatter_gain
    )
    assert product == pytest.approx(models.ratio(observation), rel=1e-6)


def test_a_trained_specimen_is_measured_once(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    observe = models.observe

    def counted_observe(found: Any) -> models.Observation:
        calls.append(found)
        return observe(found)

    monkeypatch.setattr(models, "observe", counted_observe)
    edition = specimen(copy.deepcopy(tiny), "gpt2")
    head = claims.verdict(dataclasses.replace(CLAIMS["post-routes-head-norm"], beside=()), edition)
    rows_touched = claims.verdict(CLAIMS["post-54"], edition)
    assert (head.word, head.on) == ("differs", "GPT-2, trained")
    assert (rows_touched.word, rows_touched.on) == ("reproduced", "GPT-2, trained")
    assert len(calls) == 1


def test_another_specimens_claims_say_what_would_measure_them(tiny: Any) -> None:
    found = claims.verdict(CLAIMS["specimen-loss"], specimen(tiny, "gpt2"))
    assert found.word == "not re-measured here"
    assert found.reason == "needs the trained weights of SmolLM2-135M-Instruct"
    assert found.command == ("python -m wtlib claims --specimen smollm2-135m --id specimen-loss")


def test_structural_claims_at_random_initialisation() -> None:
    # The architecture itself, at its full size, without trained weights.
    reproduced = ["essay-24", "post-49", "post-51", "post-54", "post-60", "post-routes-table-rows",
                  "post-batch-rows-head"]  # fmt: skip
    for name in reproduced:
        found = claims.verdict(CLAIMS[name])
        assert (found.word, found.on) == ("reproduced", "GPT-2, random initialisation"), name
    explained, accumulated = (claims.verdict(CLAIMS[name]) for name in ("post-55", "post-50"))
    assert (explained.word, explained.measured) == ("differs", 8)
    assert explained.beside == (("rows that the table's route touches", "7\N{NO-BREAK SPACE}rows"),)
    assert (accumulated.word, accumulated.measured) == ("differs", 1)
    # The audit's own measurement of the same architecture: 1.4 times, 12 times through the blocks.
    assert dict(claims.verdict(CLAIMS["post-56"]).beside).popitem()[1].startswith("1.4")
    assert claims.verdict(CLAIMS["post-58"]).beside[0][1].startswith("11.8")
    structural = {claim.id for claim in claims.load() if claim.structural}
    assert structural == {*reproduced, "post-50", "post-55"}


# ------------------------------------------------------------------------------- what it shows


def test_table_for_a_chapter() -> None:
    shown = claims.table("post-73", "post-qwen3-17b", caption="Shares")
    assert shown.headers == ("id", "claim", "published", "measured", "verdict")
    assert [row[0] for row in shown.rows] == ["post-73", "post-74"]
    assert shown.rows[0][2:] == ("31%", "26.1%", "differs")
    assert shown.caption == "Shares"


def test_tally_adds_up() -> None:
    found = [claims.verdict(CLAIMS[name]) for name in ("post-73", "post-74", "essay-41")]
    assert list(claims.tally(found).rows) == [
        ("post", "1", "1", "0", "2"),
        ("essay", "0", "0", "1", "1"),
        ("all", "1", "1", "1", "3"),
    ]


def test_page_escapes_what_it_shows() -> None:
    claim = dataclasses.replace(CLAIMS["post-73"], claim='<b> & "b"', note="<i>")
    (page,) = claims.pages([claims.verdict(claim)])
    shown = page._repr_html_()
    assert "&lt;b&gt; &amp; &quot;b&quot;" in shown
    assert "<i>" not in shown
    assert '<tr id="claim-post-73" data-claim="post-73" data-verdict="differs: 26.1%">' in shown
    assert '<b> & "b"' in repr(page)


def test_command_prints_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["claims", "--id", "post-73", "--id", "post-routes-ratio"]) == 0
    shown = capsys.readouterr().out
    assert "post-73  differs\n" in shown
    assert "  command: python -m wtlib claims --specimen gpt2 --id post-routes-ratio\n" in shown


def test_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["claims", "--json", "--id", "handbook-18"]) == 0
    (claim,) = json.loads(capsys.readouterr().out)["claims"]
    assert claim["verdict"] == "differs"
    assert claim["measured"] == pytest.approx(TIED_SHARES[3])
    assert claim["published"] == {"low": None, "high": 5, "strict": True}


def test_command_without_such_a_claim(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["claims", "--id", "post-7"]) == 2
    assert "no claim 'post-7'" in capsys.readouterr().err


def test_measures_have_the_names_they_are_found_by() -> None:
    for module in measures._MODULES.values():
        for name, function in module.MEASURES.items():
            assert function.__name__ == name
    used = {
        measure.function
        for claim in claims.load()
        for measure in (claim.measure, *(beside.measure for beside in claim.beside))
        if measure is not None
    }
    known = {f"{key}.{name}" for key, m in measures._MODULES.items() for name in m.MEASURES}
    assert used == known


def test_rows_of_one_file_are_read_once() -> None:
    assert claims.load() is claims.load()
    assert rows.PATH.name == "claims.yml"
