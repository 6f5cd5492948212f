"""Small language models: their shape, their seeds, and the loop that pauses."""

import pytest
import torch

from wtlib.errors import WtlibError
from wtlib.routes import measure_routes
from wtlib.training import (
    LanguageModel,
    ModelConfig,
    batches,
    cross_entropy,
    evaluate,
    train,
)

TIED = ModelConfig(vocab_size=11, d_model=8, n_layers=2, n_heads=2, context=6)
UNTIED = ModelConfig(
    vocab_size=11, d_model=8, n_layers=2, n_heads=2, context=6, tie_word_embeddings=False
)
IDS = torch.arange(40) % 11


def test_untying_adds_exactly_one_vocabulary_matrix() -> None:
    tied, untied = (
        sum(p.numel() for p in LanguageModel(config).parameters()) for config in (TIED, UNTIED)
    )
    block = 12 * 8 * 8 + 13 * 8  # GPT-2's closed form
    assert tied == 11 * 8 + 6 * 8 + 2 * block + 2 * 8
    assert untied - tied == 11 * 8


def test_tied_and_untied_of_one_seed_share_all_but_the_head() -> None:
    tied, untied = (LanguageModel(config, seed=3).state_dict() for config in (TIED, UNTIED))
    different = [name for name in tied if not torch.equal(tied[name], untied[name])]
    assert different == ["lm_head.weight"]


def test_a_seed_fixes_the_weights_whatever_was_drawn_before() -> None:
    first = LanguageModel(TIED, seed=1)
    torch.rand(5)
    again, other = LanguageModel(TIED, seed=1), LanguageModel(TIED, seed=2)
    assert torch.equal(first.blocks[1].qkv.weight, again.blocks[1].qkv.weight)  # type: ignore[union-attr, arg-type]
    assert not torch.equal(first.wte.weight, other.wte.weight)


def test_no_position_sees_the_future() -> None:
    model = LanguageModel(TIED)
    ids = torch.tensor([[1, 2, 3, 4, 5, 6]])
    changed = ids.clone()
    changed[0, 4:] = 9
    before, after = model(ids).logits, model(changed).logits
    torch.testing.assert_close(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4:], after[:, 4:])


def test_the_loss_is_the_mean_negative_log_probability_of_the_next_token() -> None:
    model = LanguageModel(TIED)
    ids = torch.tensor([[1, 2, 3, 4]])
    log_probabilities = model(ids).logits.log_softmax(-1)
    expected = -sum(log_probabilities[0, t, ids[0, t + 1]] for t in range(3)) / 3
    torch.testing.assert_close(cross_entropy(model, ids), expected)


@pytest.mark.parametrize("config", [TIED, UNTIED])
def test_routes_of_these_models_are_measured_as_autograd_has_them(config: ModelConfig) -> None:
    model = LanguageModel(config)
    ids = torch.stack([IDS[:6], IDS[7:13]])
    routes = measure_routes(model, ids, verify=True)
    assert routes.tied is config.tie_word_embeddings
    assert routes.loss == pytest.approx(cross_entropy(model, ids).item())
    assert routes.max_difference == pytest.approx(0, abs=1e-7)


def test_the_pause_shows_gradients_that_have_moved_nothing() -> None:
    model = LanguageModel(TIED)
    before = model.wte.weight.detach().clone()
    steps = train(model, [IDS[None, :6]], torch.optim.SGD(model.parameters(), lr=0.5))
    step = next(steps)
    gradient = model.wte.weight.grad
    assert gradient is not None
    assert step.index == 0
    assert torch.equal(model.wte.weight, before)
    expected = before - 0.5 * gradient
    assert next(steps, None) is None
    torch.testing.assert_close(model.wte.weight.detach(), expected)


def test_a_scheduler_moves_after_each_step() -> None:
    model = LanguageModel(TIED)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    warmup = torch.optim.lr_scheduler.LinearLR(optimizer, 1 / 4, total_iters=3)
    windows = batches(IDS, 6, batch_size=2, steps=5)
    rates = [optimizer.param_groups[0]["lr"] for _ in train(model, windows, optimizer, warmup)]
    assert rates == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.0])


def test_training_learns_a_text_that_repeats() -> None:
    model = LanguageModel(TIED)
    before = evaluate(model, IDS)
    windows = batches(IDS, 6, batch_size=8, steps=150)
    steps = list(train(model, windows, torch.optim.AdamW(model.parameters(), lr=1e-2)))
    assert before == pytest.approx(torch.tensor(11.0).log().item(), abs=0.1)
    assert steps[0].loss == pytest.approx(before, abs=0.1)
    assert evaluate(model, IDS) < 0.1 * before


def test_batches_are_windows_of_the_text_and_follow_their_seed() -> None:
    first = list(batches(IDS, 6, batch_size=3, steps=4, seed=1))
    again = list(batches(IDS, 6, batch_size=3, steps=4, seed=1))
    other = list(batches(IDS, 6, batch_size=3, steps=4, seed=2))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(first, other, strict=True))
    assert [batch.shape for batch in first] == [(3, 6)] * 4
    assert all(((batch.diff(dim=1) % 11) == 1).all() for batch in first)


def test_evaluation_is_the_mean_over_whole_contexts() -> None:
    model = LanguageModel(TIED)
    windows = [IDS[None, start : start + 6] for start in range(0, 36, 6)]
    expected = sum(cross_entropy(model, window).item() for window in windows) / len(windows)
    assert evaluate(model, IDS, batch_size=4) == pytest.approx(expected)


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    with pytest.raises(WtlibError, match="n_heads must divide d_model: 10 is no multiple of 4"):
        LanguageModel(ModelConfig(vocab_size=5, d_model=10, n_heads=4))


def test_a_text_shorter_than_a_context_is_refused() -> None:
    with pytest.raises(WtlibError, match="a context of 50 needs a longer text than 40 tokens"):
        next(batches(IDS, 50, batch_size=1, steps=1))
