"""What measures a claim, against closed forms, the census's totals and plain autograd."""

import copy
import dataclasses
import itertools
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from wtlib import census, claims, measures
from wtlib.measures import models, optimizers

CLAIMS = {claim.id: claim for claim in claims.load()}

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
# The families whose code in transformers multiplies inputs or logits, by reading it; of the tied
# causal models, Grok-1 and RWKV have no class to build.
SCALED = ("gemma", "gemma2", "gemma3_text", "cohere", "granite", "xglm")
TIED = [m for m in CAUSAL if m.tie_word_embeddings and m.model_type not in ("grok-1 (JAX)", "rwkv")]
QWEN3 = [census.find(f"Qwen/Qwen3-{size}") for size in ("0.6B", "1.7B", "4B", "8B", "14B", "32B")]

# ALBERT-base with embeddings of width 768, by hand: tables, norm, map and pooler; a block's halves.
ALBERT_REST = 768 * (30_000 + 512 + 2 + 2) + 2 * (768 * 768 + 768)
ALBERT_ATTENTION = 4 * (768 * 768 + 768) + 2 * 768
ALBERT_MLP = 2 * 768 * 3072 + 3072 + 768 + 2 * 768
ALBERT_BLOCK = ALBERT_ATTENTION + ALBERT_MLP
# The same without the map, and with embeddings of width 128.
ALBERT_TOPS = {
    768: ALBERT_REST - (768 * 768 + 768),
    128: 128 * (30_000 + 512 + 2 + 2) + 128 * 768 + 768 + (768 * 768 + 768),
}
ALBERT_STACKS = {
    "all": ALBERT_BLOCK,
    "attention": ALBERT_ATTENTION + 12 * ALBERT_MLP,
    "ffn": 12 * ALBERT_ATTENTION + ALBERT_MLP,
    "none": 12 * ALBERT_BLOCK,
}

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
    "essay-32": 1,
    "essay-33": (ALBERT_REST + 12 * ALBERT_BLOCK) / (ALBERT_REST + ALBERT_BLOCK),
    "essay-34": 0,
    "essay-42": 100 * sum(m.model_type in SCALED for m in TIED) / len(TIED),
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
    "post-80": 74.3,
    "post-81": ["up", "down"],
    "post-83": "dropout",
    # OPT-66B, BLOOM, Falcon-40B, Command-R, Command-R+ and Grok-1.
    "post-85": 6,
    # torch.nn.Linear's documentation: weight of shape (out_features, in_features).
    "post-86": [True, True],
    "post-88": [TIED_SHARES[0], TIED_SHARES[-1]],
    "post-89": [8.190735360, 8.030261248],
    "qwen-cards-totals": [model.total_params / 1e9 for model in QWEN3],
    "qwen-cards-bodies": [
        (model.total_if_tied - model.vocab_size * model.hidden_size) / 1e9 for model in QWEN3
    ],
    "kerashub-t5": [76_961_152, 247_577_856, 783_150_080, 2_849_757_184, 11_135_332_352],
    "transformerlens-gpt2": True,
    "mlcllm-qwen2": False,
    "olmo-config-july": False,
    **{
        f"albert-table4-{width}-{shared}-size": (top + stack) / 1e6
        for width, top in ALBERT_TOPS.items()
        for shared, stack in ALBERT_STACKS.items()
    },
    # Two tables of ten thousand rows or one, a bias a row, eight squares and four biases a layer.
    "presswolf-large-parameters": [
        (k * 10_000 * 1500 + 10_000 + 2 * (8 * 1500**2 + 4 * 1500)) / 1e6 for k in (2, 1)
    ],
    "presswolf-small-parameters": [
        (k * 10_000 * 200 + 10_000 + 2 * (8 * 200**2 + 4 * 200)) / 1e6 for k in (2, 1)
    ],
    "thomas-parameters": [gpt2_total(768, 12) + k * 50257 * 768 - 12 * 3 * 768 for k in (1, 0)],
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
    measured, expected = claims.verdict(CLAIMS[name]).measured, INDEPENDENT[name]
    words = isinstance(expected, str) or (
        isinstance(expected, list) and isinstance(expected[0], str)
    )
    assert measured == (expected if words else pytest.approx(expected, rel=1e-12))


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
    "essay-33": ["7.7\N{NO-BREAK SPACE}times", "12.0\N{NO-BREAK SPACE}times"],
    "albert-table4-768-none-size": ["108.5M"],
    "albert-table4-128-none-size": ["89.1M"],
    "essay-44": ["2"],
    "post-62": ["58.3%", "5.5\N{NO-BREAK SPACE}points"],
    "post-64": ["1.76\N{NO-BREAK SPACE}standard errors"],
    "post-75": ["12.3%"],
    "post-76": ["15.2%"],
    "post-85": ["10\N{NO-BREAK SPACE}models"],
    "post-89": ["1.8 / 6.7B"],
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
    wrong = [3, 14, 18, 19, 29, 33, 57, 58, 73, 75]
    for number in wrong:
        source = "handbook" if number <= 22 else "essay" if number <= 47 else "post"
        assert claims.verdict(CLAIMS[f"{source}-{number:02}"]).word == "differs", number


def test_the_right_claims_are_reproduced() -> None:
    right = {
        "handbook": [1, 2, 4, 5, 6, 7, 8, 9, 10, 15, 16, 20, 21],
        "essay": [27, 32, 34],
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
