"""The two models against PyTorch's LSTM, transformers' GPT-2 and the closed forms."""

import re
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

from tests.wtlib.training.settings import GPT, LSTM, VOCAB_SIZE, ids
from wtlib.errors import WtlibError
from wtlib.training import Gpt, GptConfig, Lstm, LstmConfig, build
from wtlib.training.parts import Dropout


@pytest.mark.parametrize(
    ("changes", "published"),
    [
        # Press & Wolf, tables 5 and 6: the large model to the unit, the small one to the digits.
        ({"d_model": 1500, "tie_word_embeddings": False}, 66_022_000),
        ({"d_model": 1500}, 51_022_000),
        ({"d_model": 200, "tie_word_embeddings": False}, 4.65e6),
        ({"d_model": 200}, 2.65e6),
        ({"d_model": 200, "projection_regularization": 0.15}, 2.69e6),
    ],
)
def test_the_lstm_has_the_published_number_of_parameters(
    changes: dict[str, Any], published: float
) -> None:
    config = LstmConfig(vocab_size=10_000, **changes)
    assert config.n_parameters == pytest.approx(published, rel=0, abs=0 if published > 5e6 else 5e3)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("strength", [0.0, 0.1])
@pytest.mark.parametrize(
    "config",
    [
        LSTM,
        replace(LSTM, n_layers=3),
        GPT,
        *(
            replace(GPT, n_layers=4, sharing=sharing)
            for sharing in (
                "all",
                "groups-2",
                "cycle-2",
                "attention-only",
                "mlp-only",
                "ends-apart",
            )
        ),
    ],
)
def test_closed_form_and_unique_parameters_agree(
    config: LstmConfig | GptConfig, tied: bool, strength: float
) -> None:
    config = replace(config, tie_word_embeddings=tied, projection_regularization=strength)
    model = build(config, seed=0)
    storages = {p.data_ptr(): p.numel() for p in model.parameters()}
    assert config.n_parameters == model.n_parameters() == sum(storages.values())


def test_the_lstm_computes_what_pytorch_s_does() -> None:
    model = Lstm(replace(LSTM, tie_word_embeddings=False), seed=0).eval()
    reference: Any = nn.LSTM(LSTM.d_model, LSTM.d_model, LSTM.n_layers, batch_first=True)
    with torch.no_grad():
        for i in range(LSTM.n_layers):
            model.get_parameter(f"layers.{i}.bias").normal_()
            for theirs, ours in (
                ("weight_ih", "weight_ih"),
                ("weight_hh", "weight_hh"),
                ("bias_ih", "bias"),
            ):
                source = model.get_parameter(f"layers.{i}.{ours}")
                getattr(reference, f"{theirs}_l{i}").copy_(source)
            getattr(reference, f"bias_hh_l{i}").zero_()
    input_ids = ids(3, 14)
    hidden, _ = reference(model.wte(input_ids))
    expected = hidden @ model.head.output.weight.T + model.head.output.bias
    first, state = model(input_ids[:, :9], model.start(3))
    second, _ = model(input_ids[:, 9:], state)
    torch.testing.assert_close(torch.cat([first, second], dim=1), expected)


def test_the_gpt_computes_what_transformers_gpt2_does() -> None:
    config = replace(GPT, n_layers=3, sharing="groups-3", tie_word_embeddings=False)
    model = Gpt(config, seed=0).eval()
    reference: Any = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=config.vocab_size,
            n_embd=config.d_model,
            n_layer=config.n_layers,
            n_head=config.n_heads,
            n_positions=config.context,
            activation_function="gelu",
            bos_token_id=None,
            eos_token_id=None,
            tie_word_embeddings=False,
        )
    ).eval()
    attention: Any = model.attentions[0]
    mlp: Any = model.mlps[0]
    pairs: list[tuple[Any, Any]] = [
        (reference.transformer.wte, model.wte),
        (reference.transformer.wpe, model.wpe),
        (reference.transformer.ln_f, model.norm),
        (reference.lm_head, model.head.output),
    ]
    for block in reference.transformer.h:  # each a copy of the one shared block
        pairs += [
            (block.ln_1, attention.norm),
            (block.attn.c_attn, attention.qkv),
            (block.attn.c_proj, attention.out),
            (block.ln_2, mlp.norm),
            (block.mlp.c_fc, mlp.up),
            (block.mlp.c_proj, mlp.out),
        ]
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:  # biases and norms, which start at zero and one
                parameter.normal_(mean=1.0, std=0.1)
        for theirs, ours in pairs:
            transposed = type(theirs).__name__ == "Conv1D"
            theirs.weight.copy_(ours.weight.T if transposed else ours.weight)
            if getattr(theirs, "bias", None) is not None:
                theirs.bias.copy_(ours.bias)
    input_ids = ids(2, config.context)
    logits, state = model(input_ids)
    torch.testing.assert_close(logits, reference(input_ids).logits, rtol=1e-4, atol=1e-5)
    assert state == ()


@pytest.mark.parametrize("config", [LSTM, GPT])
def test_the_future_is_not_seen(config: LstmConfig | GptConfig) -> None:
    model = build(config, seed=0).eval()
    input_ids = ids(2, 20)
    changed = input_ids.clone()
    changed[:, 10:] = (changed[:, 10:] + 1) % VOCAB_SIZE
    before, _ = model(input_ids, model.start(2))
    after, _ = model(changed, model.start(2))
    torch.testing.assert_close(before[:, :10], after[:, :10])
    assert not torch.allclose(before[:, 10:], after[:, 10:])


def test_a_shared_block_s_gradient_is_the_sum_over_its_uses() -> None:
    shared = Gpt(replace(GPT, n_layers=4, sharing="cycle-2"), seed=0)
    apart = Gpt(replace(GPT, n_layers=4), seed=0)
    with torch.no_grad():
        for name, parameter in apart.named_parameters():
            layer = re.match(r"(attentions|mlps)\.(\d)(.*)", name)
            source = name if layer is None else f"{layer[1]}.{int(layer[2]) % 2}{layer[3]}"
            parameter.copy_(shared.get_parameter(source))
    for model in (shared, apart):
        logits, _ = model(ids(2, 20))
        logits.square().mean().backward()
    for i in range(2):
        one, other, both = (
            model.get_parameter(f"mlps.{layer}.up.weight").grad
            for model, layer in ((apart, i), (apart, i + 2), (shared, i))
        )
        assert one is not None
        assert other is not None
        torch.testing.assert_close(both, one + other)


@pytest.mark.parametrize("config", [LSTM, GPT])
def test_tied_and_untied_models_of_one_seed_differ_in_the_output_only(
    config: LstmConfig | GptConfig,
) -> None:
    tied = build(config, seed=3)
    untied = build(replace(config, tie_word_embeddings=False), seed=3)
    assert tied.get_output_embeddings().weight is tied.get_input_embeddings().weight
    differ = {
        name
        for name, parameter in untied.named_parameters()
        if name not in dict(tied.named_parameters())
        or not torch.equal(parameter, tied.get_parameter(name))
    }
    assert differ == {"head.output.weight"}


@pytest.mark.parametrize("config", [LSTM, GPT])
def test_init_std_is_that_of_the_vocabulary_matrices(config: LstmConfig | GptConfig) -> None:
    config = replace(config, vocab_size=2_000, init_std=0.3, tie_word_embeddings=False)
    model = build(config, seed=0)
    body = build(replace(config, init_std=0.02), seed=0)
    for matrix in (model.wte.weight, model.head.output.weight):
        assert float(matrix.detach().std()) == pytest.approx(0.3, rel=0.02)
    ends = ("wte.weight", "head.output.weight")
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, body.get_parameter(name)) == (name not in ends)


def test_the_penalty_is_the_squared_norm_of_the_projection() -> None:
    model = Lstm(replace(LSTM, projection_regularization=0.25), seed=0)
    assert model.head.projection is not None
    expected = 0.25 * model.head.projection.weight.norm() ** 2
    torch.testing.assert_close(model.head.penalty(), expected)
    assert Lstm(LSTM, seed=0).head.penalty() == 0


def test_dropout_thins_out_in_training_only() -> None:
    torch.manual_seed(0)
    before = torch.get_rng_state()
    dropout = Dropout(0.25, torch.Generator().manual_seed(0))
    thinned = dropout(torch.ones(200, 200))
    assert thinned.unique().tolist() == pytest.approx([0, 4 / 3])
    assert float(thinned.mean()) == pytest.approx(1, abs=0.02)
    assert torch.equal(dropout.eval()(torch.ones(3)), torch.ones(3))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("config", "changes", "message"),
    [
        (LSTM, {"vocab_size": 0}, "vocab_size=0 must be a whole number, at least 1"),
        (LSTM, {"n_layers": 0}, "n_layers=0 must be a whole number"),
        (LSTM, {"dropout": 1.0}, "dropout=1.0 must be below 1"),
        (LSTM, {"dropout": -0.5}, "dropout=-0.5 must be a finite number, at least 0"),
        (LSTM, {"projection_regularization": float("nan")}, "projection_regularization=nan must"),
        (LSTM, {"init_std": float("inf")}, "init_std=inf must be a finite number"),
        (GPT, {"n_heads": 3}, "n_heads=3 does not divide d_model=16"),
        (GPT, {"context": 0}, "context=0 must be a whole number"),
        (GPT, {"sharing": "groups-3"}, "sharing='groups-3': 3 does not divide the depth"),
        (GPT, {"sharing": "most"}, "sharing='most' is no scheme"),
    ],
)
def test_impossible_settings(
    config: LstmConfig | GptConfig, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(WtlibError, match=re.escape(message)):
        replace(config, **changes)


def test_more_tokens_than_positions() -> None:
    with pytest.raises(WtlibError, match="21 tokens do not fit into context=20"):
        Gpt(GPT, seed=0)(ids(1, 21))
