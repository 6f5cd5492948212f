"""The calculator in the page: the same sums as wtlib.counting, and a form that can be used."""

import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.book.browser import chromium_or_skip
from wtlib import census
from wtlib.counting import Memory, ParameterCount, count_parameters
from wtlib.counting.parts import (
    Architecture,
    Block,
    Stack,
    gated_mlp,
    norm,
    plain_mlp,
    self_attention,
)

STATIC = Path(__file__).parents[2] / "book" / "_static"
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Calculator</title>
<link rel="stylesheet" href="{static}/calculator.css"></head><body>
<div class="wt-calculator"><p>Without scripts</p></div>
<script src="{static}/calculator.js"></script></body></html>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The calculator alone on a page of the file system, at a phone's width."""
    document = tmp_path_factory.mktemp("calculator") / "index.html"
    document.write_text(PAGE.format(static=STATIC.as_uri()), encoding="utf-8")
    with chromium_or_skip() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 800})
        page.goto(document.as_uri())
        yield page


@pytest.fixture
def fresh(page: Any) -> Any:
    page.reload()
    return page


def expected(count: ParameterCount) -> dict[str, Any]:
    """What the script must answer, from the library's count."""
    shares, flops, block = count.shares, count.flops, count.block

    def state(parameters: int) -> dict[str, int]:
        memory = Memory(parameters)
        return {"fp32": memory.fp32, "bf16": memory.bf16, "adam_mixed": memory.adam_mixed}

    return {
        "matrix": count.vocabulary_matrix,
        "attention": block.attention,
        "mlp": block.mlp,
        "norms": block.norms,
        "block": block.total,
        "positions": count.positions,
        "final_norm": count.final_norm,
        "body": count.body,
        "total": count.total,
        "if_tied": count.if_tied,
        "if_untied": count.if_untied,
        "saving": count.saving,
        "saving_fraction": shares.one_of_untied,
        "shares": {
            "one_of_tied": shares.one_of_tied,
            "one_of_untied": shares.one_of_untied,
            "two_of_untied": shares.two_of_untied,
            "two_of_tied": shares.two_of_tied,
        },
        "memory": {
            "tied": state(count.if_tied),
            "untied": state(count.if_untied),
            "saved": state(count.saving),
        },
        "flops": {
            "blocks": flops.blocks,
            "head": flops.head,
            "total": flops.total,
            "head_share": flops.head_share,
        },
    }


def described(config: dict[str, Any]) -> ParameterCount:
    """Count the calculator's configuration from its parts: it reaches shapes no family has."""
    d, ffn, everywhere = config["d_model"], config["ffn_size"], config["biases"] == "all"
    shift = config["norm"] == "layer"
    norms = [norm(d, bias=shift, copies=2)]
    if config["qk_norm"]:
        norms.append(norm(config["head_dim"], copies=2))
    block = Block(
        attention=self_attention(
            d,
            config["heads"],
            kv_heads=config["kv_heads"],
            head_dim=config["head_dim"],
            qkv_bias=config["biases"] != "none",
            out_bias=everywhere,
        ),
        mlp=(gated_mlp if config["gated"] else plain_mlp)(d, ffn, bias=everywhere),
        norms=tuple(norms),
    )
    return ParameterCount.of(
        Architecture(
            family="any",
            vocab_size=config["vocab_size"],
            embedding_dim=d,
            d_model=d,
            tied=config["tied"],
            stacks=(Stack("decoder", block, config["layers"], config["layers"]),),
            positions=config["positions"] * d,
            final_norm=2 * d if shift else d,
        )
    )


def random_configs(number: int) -> list[dict[str, Any]]:
    """Configurations over every combination of choices, with sizes drawn from a fixed seed."""
    draw = random.Random(0)
    choices = itertools.product(
        [True, False], ["none", "qkv", "all"], ["rms", "layer"], [True, False], [True, False]
    )
    configs = []
    for gated, biases, kind, qk_norm, tied in itertools.islice(itertools.cycle(choices), number):
        kv_heads = draw.choice([1, 2, 3, 8])
        configs.append(
            {
                "vocab_size": draw.randint(1, 300_000),
                "d_model": draw.randint(1, 20_000),
                "layers": draw.randint(1, 130),
                "ffn_size": draw.randint(1, 60_000),
                "heads": kv_heads * draw.choice([1, 2, 4, 7]),
                "kv_heads": kv_heads,
                "head_dim": draw.choice([1, 64, 80, 128, 256]),
                "positions": draw.choice([0, 1, 1024, 2048]),
                "gated": gated,
                "biases": biases,
                "norm": kind,
                "qk_norm": qk_norm,
                "tied": tied,
            }
        )
    return configs


def llama_config(config: dict[str, Any]) -> dict[str, Any]:
    """The config.json of a gated configuration, in the family that has its biases and norms."""
    family = "qwen3" if config["qk_norm"] else "llama" if config["biases"] == "all" else "qwen2"
    if config["biases"] == "none" and not config["qk_norm"]:
        family = "mistral"
    everywhere = config["biases"] == "all"
    return {
        "model_type": family,
        "vocab_size": config["vocab_size"],
        "hidden_size": config["d_model"],
        "num_hidden_layers": config["layers"],
        "intermediate_size": config["ffn_size"],
        "num_attention_heads": config["heads"],
        "num_key_value_heads": config["kv_heads"],
        "head_dim": config["head_dim"],
        "tie_word_embeddings": config["tied"],
        "attention_bias": everywhere,
        "mlp_bias": everywhere,
    }


def run(page: Any, configs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    answers: list[dict[str, Any]] = page.evaluate("cs => cs.map(wtCalculator.count)", configs)
    return answers


def test_counts_like_the_library_on_every_combination_of_choices(page: Any) -> None:
    configs = random_configs(480)
    for config, answer in zip(configs, run(page, configs), strict=True):
        assert answer == expected(described(config)), config


def test_counts_like_count_parameters_on_gated_families(page: Any) -> None:
    configs = [
        config | {"positions": 0, "norm": "rms", "gated": True}
        for config in random_configs(480)
        if not (config["qk_norm"] and config["biases"] != "none")
    ]
    assert len(configs) > 100
    for config, answer in zip(configs, run(page, configs), strict=True):
        assert answer == expected(count_parameters(llama_config(config))), config


def test_counts_like_count_parameters_on_gpt2(page: Any) -> None:
    configs = [
        {
            **config,
            "head_dim": width,
            "kv_heads": config["heads"],
            "d_model": config["heads"] * width,
            "gated": False,
            "biases": "all",
            "norm": "layer",
            "qk_norm": False,
        }
        for width, config in zip(itertools.cycle([32, 64]), random_configs(96), strict=False)
        if config["positions"] > 0
    ]
    assert len(configs) > 40
    for config, answer in zip(configs, run(page, configs), strict=True):
        library = count_parameters(
            {
                "model_type": "gpt2",
                "vocab_size": config["vocab_size"],
                "n_embd": config["d_model"],
                "n_layer": config["layers"],
                "n_head": config["heads"],
                "n_inner": config["ffn_size"],
                "n_positions": config["positions"],
                "tie_word_embeddings": config["tied"],
            }
        )
        assert answer == expected(library), config


def test_presets_are_the_census_models(page: Any) -> None:
    presets = page.evaluate("wtCalculator.presets")
    assert presets
    for model_id, preset in presets.items():
        model = census.find(model_id)
        [answer] = run(page, [preset["config"]])
        assert answer["total"] == model.total_params, model_id
        assert answer["if_tied"] == model.total_if_tied, model_id
        assert answer["if_untied"] == model.total_if_untied, model_id
        assert page.evaluate("wtCalculator.check", preset["config"]) == {}, model_id


def test_the_form_replaces_the_text_for_readers_without_scripts(fresh: Any) -> None:
    assert fresh.get_by_text("Without scripts").count() == 0
    assert fresh.get_by_role("form").count() == 1


def test_every_control_has_a_label(fresh: Any) -> None:
    controls = fresh.locator(".wt-calculator :is(input, select)")
    assert controls.count() == 14
    unlabelled = controls.evaluate_all("cs => cs.filter(c => c.labels.length !== 1).map(c => c.id)")
    assert unlabelled == []


def test_the_status_announces_a_change_made_by_keyboard(fresh: Any) -> None:
    status = fresh.get_by_role("status")
    assert "Tied, this model has 124,439,808 parameters" in status.inner_text()
    tied = fresh.get_by_label("Tied: one matrix for both jobs")
    tied.focus()
    fresh.keyboard.press("Space")
    assert "Untied, this model has 163,037,184 parameters" in status.inner_text()
    assert status.get_attribute("aria-live") == "polite"


def test_tab_reaches_every_control_in_reading_order(fresh: Any) -> None:
    controls = fresh.locator(".wt-calculator :is(input, select)")
    ids = controls.evaluate_all("cs => cs.map(c => c.id)")
    controls.first.focus()
    reached = []
    for _ in ids:
        reached.append(fresh.evaluate("document.activeElement.id"))
        fresh.keyboard.press("Tab")
    assert reached == ids


def test_a_preset_fills_the_form_and_an_edit_makes_it_the_readers_own(fresh: Any) -> None:
    preset = fresh.get_by_label("Start from")
    preset.select_option(label="Qwen3-0.6B")
    assert "596,049,920" in fresh.get_by_role("status").inner_text()
    fresh.get_by_label("Layers L").fill("29")
    assert preset.input_value() == ""


@pytest.mark.parametrize(
    ("label", "text", "message"),
    [
        ("Vocabulary V", "", "Vocabulary V: a whole number, 1 or more."),
        ("Width d", "0", "Width d: a whole number, 1 or more."),
        ("Layers L", "1.5", "Layers L: a whole number, 1 or more."),
        ("Learned positions", "-1", "Learned positions: a whole number, 0 or more."),
        ("MLP width", "10000001", "MLP width: at most 10,000,000."),
        ("Key/value heads", "5", "Key/value heads must divide the 12 heads."),
    ],
)
def test_a_value_that_cannot_be_counted_is_named(
    fresh: Any, label: str, text: str, message: str
) -> None:
    field = fresh.get_by_label(label, exact=True)
    field.fill(text)
    assert fresh.get_by_role("status").inner_text() == message
    assert field.get_attribute("aria-invalid") == "true"
    described_by = field.get_attribute("aria-describedby")
    assert fresh.locator(f"#{described_by}").inner_text() == message
    assert fresh.locator(".wt-calculator table").count() == 0


def test_nothing_is_wider_than_a_phone(fresh: Any) -> None:
    for preset in ["GPT-2 small", "Llama-3-70B"]:
        fresh.get_by_label("Start from").select_option(label=preset)
        width = fresh.evaluate("document.documentElement.scrollWidth")
        assert width <= 390, preset
