"""Measures of a model on the book's sentence, all taken from one observation of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from torch import Tensor, nn

    from wtlib.routes import Routes
    from wtlib.specimens import Specimen

SENTENCE = "The sky is blue and the grass is green"

# The ids that each tokenizer gives the sentence, one token per word: for models at random
# initialisation, which come without a tokenizer.
SENTENCE_IDS: Mapping[str, tuple[int, ...]] = {
    "gpt2": (464, 6766, 318, 4171, 290, 262, 8701, 318, 4077),
    "smollm2-135m": (504, 6376, 314, 4461, 284, 260, 5372, 314, 2654),
}

RouteName = Literal["short", "long"]


@dataclass(frozen=True)
class Observation:
    """Everything measured of one model on one text, in one go.

    Attributes:
        input_ids: the sentence, as the model reads it.
        routes: the two routes, verified against the model's own gradient.
        hook_calls: how often a hook on the vocabulary matrix fires in one backward pass.
        head_difference: largest difference between the model's logits and the products of its
            final hidden states with the rows of the matrix.
    """

    input_ids: tuple[int, ...]
    routes: Routes
    hook_calls: int
    head_difference: float


def observe(specimen: Specimen) -> Observation:
    """Observe a specimen on the sentence, in its own tokens."""
    ids = specimen.tokenizer(SENTENCE)["input_ids"]
    return _observe(specimen.model, tuple(ids))


def observe_random(name: str) -> Observation:
    """Observe a specimen's architecture at random initialisation, seed 0."""
    from wtlib import specimens

    return _observe(specimens.random_init(name), SENTENCE_IDS[name])


def _observe(model: Any, ids: tuple[int, ...]) -> Observation:
    import torch

    from wtlib.routes import measure_routes

    input_ids = torch.tensor([ids])
    hook_calls, head_difference = _backward_once(model, input_ids)
    routes = measure_routes(model, input_ids, verify=True)
    return Observation(ids, routes, hook_calls, head_difference)


def _backward_once(model: Any, input_ids: Tensor) -> tuple[int, float]:
    import torch

    matrix: nn.Parameter = model.get_output_embeddings().weight
    calls = 0

    def count(_: Tensor) -> None:
        nonlocal calls
        calls += 1

    hook = matrix.register_hook(count)
    stored = matrix.grad
    try:
        output = model(input_ids, labels=input_ids, output_hidden_states=True)
        output.loss.backward(inputs=[matrix])
    finally:
        hook.remove()
        matrix.grad = stored
    with torch.no_grad():
        products = output.hidden_states[-1] @ matrix.T
        return calls, float((output.logits - products).abs().max())


def tokens(observation: Observation) -> int:
    """Return the tokens of the sentence."""
    return observation.routes.tokens


def distinct_tokens(observation: Observation) -> int:
    """Return the distinct tokens of the sentence."""
    return observation.routes.distinct_tokens


def loss(observation: Observation) -> float:
    """Return the loss, in nats per predicted token."""
    return observation.routes.loss


def norm(observation: Observation, route: RouteName) -> float:
    """Return the norm of a route."""
    return float(getattr(observation.routes, route).norm)


def rows_touched(observation: Observation, route: RouteName) -> int:
    """Return the rows of the matrix that a route touches."""
    return int(getattr(observation.routes, route).rows_touched)


def ratio(observation: Observation) -> float:
    """Return the head's norm over the table's."""
    return observation.routes.ratio


def token_norm(observation: Observation, word: str, route: RouteName) -> float:
    """Return the norm of a word's row in a route; the word is one token of the sentence."""
    token = observation.input_ids[SENTENCE.split().index(word)]
    return float(getattr(observation.routes, route).row_norms[token])


def max_difference(observation: Observation) -> float:
    """Return the largest difference between the model's own gradient and the routes' sum."""
    difference = observation.routes.max_difference
    assert difference is not None  # an observation is always verified
    return difference


def is_sum(observation: Observation) -> bool:
    """Return whether the gradient is the routes' sum, to a millionth of its largest row."""
    largest = float(observation.routes.short.row_norms.max())
    return max_difference(observation) <= 1e-6 * largest


def hook_calls(observation: Observation) -> int:
    """Return how often a hook on the matrix fires in one backward pass."""
    return observation.hook_calls


def head_difference(observation: Observation) -> float:
    """Return the largest difference between logits and products of hidden states with rows."""
    return observation.head_difference


def activation_norm(observation: Observation, block: int) -> float:
    """Return the norm of the gradient leaving a block, counted from 1 at the bottom."""
    return observation.routes.activation_norms[block - 1]


def activation_growth(observation: Observation) -> float:
    """Return the largest norm leaving any block over the norm leaving the last, topmost, one."""
    norms = observation.routes.activation_norms
    return max(norms) / norms[-1]


def stack_gain(observation: Observation) -> float:
    """Return the gradient's norm at the lookup over its norm leaving the last block."""
    routes = observation.routes
    return routes.decomposition.lookup_output / routes.activation_norms[-1]


def gain_with_final_norm(observation: Observation) -> float:
    """Return the gradient's norm at the lookup over its norm at the head's input."""
    return observation.routes.decomposition.stack_gain


def scale_ratio(observation: Observation) -> float:
    """Return the scale of the hidden states over the scale of the rows, as the routes see them."""
    parts = observation.routes.decomposition
    return parts.hidden_scale / parts.row_scale


def rows_led_by_head(observation: Observation) -> float:
    """Return the percentage of rows touched by both routes where the head's part is larger."""
    short, long = observation.routes.short.row_norms, observation.routes.long.row_norms
    both = (short > 0) & (long > 0)
    return 100 * float((short > long)[both].double().mean())


MEASURES: Mapping[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        activation_growth,
        activation_norm,
        distinct_tokens,
        gain_with_final_norm,
        head_difference,
        hook_calls,
        is_sum,
        loss,
        max_difference,
        norm,
        ratio,
        rows_led_by_head,
        rows_touched,
        scale_ratio,
        stack_gain,
        token_norm,
        tokens,
    )
}
