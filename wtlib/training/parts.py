"""What the small language models have in common: settings' checks, dropout, the head."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from wtlib.errors import WtlibError

State = tuple[Tensor, ...]
"""What a model carries from one stretch of text to the next; empty for one that carries nothing."""


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """The settings that every small language model has.

    `projection_regularization` is the factor of the penalty on the `Head`'s projection; zero
    means that there is no projection. `init_std` is the standard deviation of the entries of the
    table and of an untied output matrix at the start; the rest of a model does not depend on it.
    """

    vocab_size: int
    d_model: int = 96
    n_layers: int = 2
    tie_word_embeddings: bool = True
    dropout: float = 0.0
    projection_regularization: float = 0.0
    init_std: float = 0.02

    def __post_init__(self) -> None:
        """Refuse settings that make no model, naming the first that does not."""
        at_least(self, 1, "vocab_size", "d_model", "n_layers", whole=True)
        at_least(self, 0, "dropout", "projection_regularization", "init_std")
        if self.dropout >= 1:
            raise WtlibError(f"dropout={self.dropout} must be below 1, or nothing is left")

    @property
    def ends(self) -> int:
        """Parameters of the vocabulary matrices and of the projection: all but the body's."""
        matrices = 1 if self.tie_word_embeddings else 2
        projection = self.d_model**2 if self.projection_regularization else 0
        return matrices * self.vocab_size * self.d_model + projection


def at_least(settings: object, least: int, *names: str, whole: bool = False) -> None:
    """Refuse a setting that is no finite number, or below `least`, or no whole number if it must.

    Raises:
        WtlibError: naming the setting and its value.
    """
    for name in names:
        value = getattr(settings, name)
        kind = int if whole else int | float
        if not isinstance(value, kind) or isinstance(value, bool) or not least <= value < math.inf:
            number = "whole number" if whole else "finite number"
            raise WtlibError(f"{name}={value!r} must be a {number}, at least {least}")


class Dropout(nn.Module):
    """Dropout that draws from a generator of its own, so that a run depends on nothing else."""

    def __init__(self, p: float, generator: torch.Generator) -> None:
        """Drop each entry with probability `p`, drawing from `generator`."""
        super().__init__()
        self.p = p
        self.generator = generator

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Return `x` thinned out and scaled up in training, `x` itself otherwise."""
        if not self.training or self.p == 0:
            return x
        kept = torch.empty_like(x).bernoulli_(1 - self.p, generator=self.generator)
        return x * kept.div_(1 - self.p)


class Head(nn.Module):
    """From hidden states to logits: the output matrix, after a projection if that is regularised.

    Press & Wolf's projection regularisation (arXiv:1608.05859) puts a matrix P (d, d) before the
    output matrix and adds a penalty on its norm to the loss. It is defined with and without
    tying: a tied matrix needs P to score in another space than it looks up in; an untied one has
    its logits' scale held down by the penalty. Here the penalty is the squared Frobenius norm.
    """

    def __init__(self, config: ModelSettings, *, bias: bool) -> None:
        """Build the head at PyTorch's own initialisation."""
        super().__init__()
        d = config.d_model
        self.strength = config.projection_regularization
        self.projection = nn.Linear(d, d, bias=False) if self.strength else None
        self.output = nn.Linear(d, config.vocab_size, bias=bias)

    def forward(self, hidden_states: Float[Tensor, "*shape d"]) -> Float[Tensor, "*shape V"]:
        """Return logits."""
        if self.projection is not None:
            hidden_states = self.projection(hidden_states)
        return self.output(hidden_states)

    def penalty(self) -> Float[Tensor, ""] | float:
        """Return what is added to the training loss: the strength times ‖P‖²."""
        if self.projection is None:
            return 0.0
        return self.strength * self.projection.weight.square().sum()


class SmallModel(nn.Module):
    """A small language model: a table `wte`, something that carries context, a `Head`.

    Subclasses say what `forward` computes. One generator gives the initial values, then dropout's
    draws: the same seed gives the same model and the same run, whatever was drawn before.
    """

    def __init__(self, config: ModelSettings, *, head_bias: bool, seed: int) -> None:
        """Build the table and the head, and tie them if the settings say so."""
        super().__init__()
        self.generator = torch.Generator().manual_seed(seed)
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.head = Head(config, bias=head_bias)
        self.dropout = Dropout(config.dropout, self.generator)
        if config.tie_word_embeddings:
            self.head.output.weight = self.wte.weight

    @torch.no_grad()
    def initialise_ends(self, std: float) -> None:
        """Draw the table, the projection and an untied output matrix, in this order.

        Drawn last, so models of one seed that differ only in their ends share all before them.
        """
        self.wte.weight.normal_(std=std, generator=self.generator)
        if self.head.projection is not None:
            initialise_matrix(self.head.projection.weight, self.generator)
        if self.head.output.weight is not self.wte.weight:
            self.head.output.weight.normal_(std=std, generator=self.generator)
        if self.head.output.bias is not None:
            self.head.output.bias.zero_()

    def get_input_embeddings(self) -> nn.Embedding:
        """Return the token table, under the name that transformers gives it."""
        return self.wte

    def get_output_embeddings(self) -> nn.Linear:
        """Return the output matrix's layer, under the name that transformers gives it."""
        return self.head.output

    def start(self, batch_size: int) -> State:
        """Return the state at the beginning of `batch_size` streams of text."""
        return ()

    def forward(
        self, input_ids: Int64[Tensor, "B T"], state: State
    ) -> tuple[Float[Tensor, "B T V"], State]:
        """Return the logits, and the state to go on with."""
        raise NotImplementedError

    def n_parameters(self) -> int:
        """Return the number of parameters, a shared one counted once."""
        return sum(parameter.numel() for parameter in self.parameters())


@torch.no_grad()
def initialise_matrix(
    weight: Float[Tensor, "d_out d_in"], generator: torch.Generator, scale: float = 1.0
) -> None:
    """Draw a matrix of the body, uniform within ``scale / sqrt(d_in)``, as PyTorch does."""
    bound = scale / math.sqrt(weight.shape[1])
    weight.uniform_(-bound, bound, generator=generator)


def cross_entropy(
    logits: Float[Tensor, "B T V"], labels: Int64[Tensor, "B T"]
) -> Float[Tensor, ""]:
    """Return the mean loss in nats per token."""
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten())
