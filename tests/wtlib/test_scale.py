"""Scale factors: measured of models whose factors are set, applied, and trained with."""

import math

import pytest
import torch

from tests.wtlib.routes_models import build, text
from wtlib import corpus
from wtlib.errors import WtlibError
from wtlib.scale import Setup, families, family_scales, fit_scaled, scaled, scales

# What tests.wtlib.routes_models sets: width 32.
SET = {
    "gpt2": (1.0, 1.0, False),
    "llama": (1.0, 1.0, False),
    "gemma": (math.sqrt(32), 1.0, False),
    "gemma2": (math.sqrt(32), None, True),
    "cohere": (1.0, 0.0625, False),
    "granite": (12.0, 1 / 8, False),
    "phi": (1.0, 1.0, False),
    "opt": (None, 1.0, False),
    "bloom": (None, 1.0, False),
}


@pytest.mark.parametrize("family", SET)
def test_measured_factors_are_those_set(family: str) -> None:
    found = scales(build(family), text())
    inputs, logits, capped = SET[family]
    assert found.inputs == (None if inputs is None else pytest.approx(inputs, rel=1e-4))
    assert found.logits == (None if logits is None else pytest.approx(logits, rel=1e-4))
    assert found.capped is capped


def test_measuring_leaves_the_model_as_it_was() -> None:
    model = build("gemma")
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    scales(model, text())
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


def test_a_model_without_blocks() -> None:
    model = build("gpt2")
    model.config.n_layer = 5
    with pytest.raises(WtlibError, match="no list of as many blocks"):
        scales(model, text())


def test_rules_and_settings_of_families() -> None:
    t5, granite = family_scales("t5"), family_scales("granite")
    assert (t5.inputs, t5.logits, t5.sides) == ("1", "1/√d", ("logits",))
    assert granite.input_keys == ("embedding_multiplier",)
    assert granite.logit_keys == ("logits_scaling",)
    assert granite.sides == ("inputs", "logits")
    assert family_scales("gpt2").sides == ()


@pytest.mark.parametrize(
    ("factors", "rule"),
    [
        ({16: 1.0, 64: 1.0}, "1"),
        ({16: 4.0, 64: 8.0}, "√d"),
        ({16: 0.25, 64: 0.125}, "1/√d"),
        ({16: 12.0, 64: 12.0}, "12"),
        ({16: 16.0, 64: 4.0}, "256/d"),
        ({16: 2.0, 64: 4.0}, "0.5·√d"),
        ({16: 1.0, 64: 1.5}, "another rule"),
        ({16: None, 64: 1.0}, None),
    ],
)
def test_a_rule_follows_from_two_widths(factors: dict[int, float | None], rule: str) -> None:
    assert families._rule(factors) == rule


def test_factors_are_applied_and_taken_off() -> None:
    model, ids = build("smollm2"), text()
    with torch.no_grad():
        plain = model(ids).logits
        with scaled(model, logits=3.0):
            assert torch.allclose(model(ids).logits, 3 * plain)
        with scaled(model, inputs=2.0):
            embeds = 2 * model.get_input_embeddings().weight[ids]
            moved = model(ids).logits
        assert torch.allclose(moved, model(inputs_embeds=embeds).logits, atol=1e-5)
        assert torch.equal(model(ids).logits, plain)


def test_training_is_deterministic_and_uses_the_factor() -> None:
    found = corpus.load(min_count=50)
    setup = Setup(std=0.5, logits=0.1)
    size = {"d_model": 16, "n_layers": 1, "steps": 5}
    one, two = (fit_scaled(found, setup, **size) for _ in range(2))
    assert torch.equal(one.wte.weight, two.wte.weight)
    other = fit_scaled(found, Setup(std=0.5), **size)
    assert not torch.equal(one.wte.weight, other.wte.weight)


def test_the_matrix_starts_at_its_standard_deviation() -> None:
    model = fit_scaled(corpus.load(min_count=50), Setup(std=0.5), steps=0)
    assert float(model.wte.weight.detach().std()) == pytest.approx(0.5, rel=0.02)
    assert model.lm_head.weight is model.wte.weight
