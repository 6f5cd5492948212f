"""Measures of chapter 6: scale factors, calibration, rarely written tokens, shared stacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from wtlib import census

# The families that transformers builds by the model type that the census gives them.
_NOT_BUILT = ("grok-1 (JAX)", "rwkv")


@cache
def _sides(model_type: str) -> tuple[str, ...]:
    from wtlib.scale import family_scales

    return family_scales(model_type).sides


def scaled_share() -> float:
    """Return the percentage of the census's tied causal models whose class has a scale factor.

    The factor is found by building a small model of the class and measuring it. Models that
    transformers has no class for are left out.
    """
    tied = [m for m in census.load() if m.kind == "causal" and m.tie_word_embeddings]
    found = [bool(_sides(m.model_type)) for m in tied if m.model_type not in _NOT_BUILT]
    return 100 * sum(found) / len(found)


def wrong_scale_calibration() -> list[bool]:
    """Return whether a model trained with a wrong scale trains, and whether it is badly calibrated.

    A tied matrix of unit variance, without the factor ``d ** -0.5`` on the logits, against one
    with it. Trains: it ends with a lower loss than it began with. Badly calibrated: its expected
    calibration error is more than twice that of the other, and more than a tenth.
    """
    from wtlib import corpus
    from wtlib.calibration import calibration, predictions
    from wtlib.scale import Setup, fit_scaled, scaled

    text = corpus.load(min_count=20)
    d = 32
    results = []
    for steps, factor in ((0, 1.0), (80, 1.0), (80, d**-0.5)):
        setup = Setup(std=1.0, logits=factor)
        model = fit_scaled(text, setup, d_model=d, n_layers=1, steps=steps)
        windows = text.valid[: len(text.valid) // 32 * 32].view(-1, 32)
        with scaled(model, logits=factor):
            results.append(calibration(*predictions(model, windows)))
    start, wrong, right = results
    error = wrong.reliability.error
    return [wrong.loss < start.loss, error > max(0.1, 2 * right.reliability.error)]


def rarely_written() -> str:
    """Return in words whether a tied model can read a token and almost never write it.

    A bias is added to the head of a tied model at random initialisation. The token's probability
    must fall under a millionth at every position, and the hidden states, which read the token's
    row, must stay as they are.
    """
    import torch

    from wtlib.training import LanguageModel, ModelConfig

    model, token = LanguageModel(ModelConfig(50, d_model=16)), 7
    ids = torch.tensor([[1, token, 2, token, 3]])
    seen: list[Any] = []
    model.ln_f.register_forward_hook(lambda module, args, output: seen.append(output))
    with torch.no_grad():
        model(ids)
        bias = torch.zeros(50)
        bias[token] = -20
        model.lm_head.bias = torch.nn.Parameter(bias)
        chances = model(ids).logits.softmax(-1)
    tied = model.lm_head.weight is model.wte.weight
    expressed = tied and torch.equal(*seen) and chances[..., token].max() < 1e-6
    return "can be expressed" if expressed else "cannot be expressed"


def does_not_apply() -> list[bool]:
    """Return, for three techniques on a shared stack, whether they fail to do what they are for.

    Leaving out one application of the block frees no parameters. Leaving after half the layers
    skips half the applications. Rounding the block for one application needs a second copy of it.
    """
    import torch

    from wtlib.surgery import running
    from wtlib.training import Gpt, GptConfig

    model = Gpt(GptConfig(vocab_size=20, d_model=16, n_layers=4, sharing="all"), 0)
    calls = 0

    def count(*_: Any) -> None:
        nonlocal calls
        calls += 1

    model.attentions[0].register_forward_hook(count)
    ids = torch.tensor([[1, 2, 3]])
    with torch.no_grad(), running(model, [0, 1, 3]):
        pruning_frees = model.plan.stored_attentions < len(model.attentions)
    with torch.no_grad(), running(model, range(2)):
        model(ids)
    leaving_saves = calls == model.plan.layers // 2
    rounding_frees = model.plan.stored_attentions > 1  # another block that could hold fewer bits
    return [not pruning_frees, not leaving_saves, not rounding_frees]


MEASURES: Mapping[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (does_not_apply, rarely_written, scaled_share, wrong_scale_calibration)
}
