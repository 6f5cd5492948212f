"""Small language models and the loop that trains them.

The model is a pre-norm transformer small enough to train while a chapter builds. Its head is tied
to its token table or has a matrix of its own; nothing else differs. `train` is a generator that
pauses after every backward pass, so that whoever drives it can look at gradients before the
optimizer uses them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from wtlib.errors import WtlibError


@dataclass(frozen=True)
class ModelConfig:
    """The shape of a `LanguageModel`."""

    vocab_size: int
    d_model: int = 128
    n_layers: int = 2
    n_heads: int = 4
    context: int = 64
    tie_word_embeddings: bool = True
    init_std: float = 0.02


class Block(nn.Module):
    """Attention and an MLP, each after a LayerNorm, each added to the residual stream."""

    def __init__(self, config: ModelConfig) -> None:
        """Build the block at PyTorch's default initialisation."""
        super().__init__()
        d = config.d_model
        self.n_heads = config.n_heads
        self.ln_1 = nn.LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)
        self.ln_2 = nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x: Float[Tensor, "B T d"]) -> Float[Tensor, "B T d"]:
        """Return the residual stream with this block's two contributions added."""
        B, T, d = x.shape
        heads = self.qkv(self.ln_1(x)).view(B, T, 3, self.n_heads, d // self.n_heads)
        q, k, v = heads.permute(2, 0, 3, 1, 4)  # each (B, n_heads, T, d / n_heads)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(B, T, d))
        return x + self.mlp(self.ln_2(x))


class LanguageModel(nn.Module):
    """A decoder-only transformer with a tied or an untied head, initialised as GPT-2 is."""

    def __init__(self, config: ModelConfig, seed: int = 0) -> None:
        """Build the model; the same seed gives the same weights, whatever was drawn before.

        A tied and an untied model of one seed start from the same weights in everything but the
        untied head.

        Raises:
            WtlibError: if `n_heads` does not divide `d_model`.
        """
        if config.d_model % config.n_heads:
            raise WtlibError(
                f"n_heads must divide d_model: {config.d_model} is no multiple of {config.n_heads}"
            )
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.context, config.d_model)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.ln_f = nn.LayerNorm(config.d_model)
        self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        if config.tie_word_embeddings:
            self.lm_head.weight = self.wte.weight
        self._initialise(torch.Generator().manual_seed(seed))

    @torch.no_grad()
    def _initialise(self, generator: torch.Generator) -> None:
        # The head is registered last, so an untied head draws after all that both models have.
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
            elif parameter.ndim == 2:
                parameter.normal_(std=self.config.init_std, generator=generator)

    def get_input_embeddings(self) -> nn.Embedding:
        """Return the token table, under the name that transformers gives it."""
        return self.wte

    def get_output_embeddings(self) -> nn.Linear:
        """Return the head, under the name that transformers gives it."""
        return self.lm_head

    def forward(self, input_ids: Int64[Tensor, "B T"]) -> SimpleNamespace:
        """Return `logits` (B, T, V) as an attribute, as models of transformers do."""
        positions = torch.arange(input_ids.shape[1], device=input_ids.device)
        x = self.wte(input_ids) + self.wpe(positions)
        for block in self.blocks:
            x = block(x)
        return SimpleNamespace(logits=self.lm_head(self.ln_f(x)))


@dataclass(frozen=True, eq=False)
class Step:
    """One step, seen after its backward pass and before the optimizer moves anything."""

    index: int
    loss: float
    """Mean cross-entropy of the batch, in nats per predicted token."""
    input_ids: Int64[Tensor, "B T"]


def batches(
    ids: Int64[Tensor, " N"], context: int, *, batch_size: int, steps: int, seed: int = 0
) -> Iterator[Int64[Tensor, "B T"]]:
    """Yield `steps` batches of windows, each of `context` tokens from anywhere in the text.

    Raises:
        WtlibError: if the text is shorter than one context.
    """
    windows = _windows(ids, context, step=1)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        yield windows[torch.randint(len(windows), (batch_size,), generator=generator)]


def _windows(
    ids: Int64[Tensor, " N"], context: int, step: int
) -> Int64[Tensor, "windows {context}"]:
    if len(ids) < context:
        raise WtlibError(f"a context of {context} needs a longer text than {len(ids)} tokens")
    return ids.unfold(0, context, step)


def cross_entropy(model: LanguageModel, input_ids: Int64[Tensor, "B T"]) -> Float[Tensor, ""]:
    """Return the mean loss of predicting each token from those before it, in nats per token.

    The last position predicts nothing: its label lies outside the window.
    """
    logits = model(input_ids).logits
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), input_ids[:, 1:].flatten())


def train(
    model: LanguageModel,
    batches: Iterable[Int64[Tensor, "B T"]],
    optimizer: Optimizer,
    scheduler: LRScheduler | None = None,
) -> Iterator[Step]:
    """Take one step a batch, and pause in each.

    The pause comes when gradients are in place and the optimizer has not yet used them. Nothing
    moves unless the iterator is driven.
    """
    for index, input_ids in enumerate(batches):
        optimizer.zero_grad()
        loss = cross_entropy(model, input_ids)
        loss.backward()
        yield Step(index=index, loss=loss.item(), input_ids=input_ids)
        optimizer.step()
        if scheduler is not None:
            scheduler.step()


@torch.no_grad()
def evaluate(model: LanguageModel, ids: Int64[Tensor, " N"], batch_size: int = 32) -> float:
    """Return the mean loss over the whole contexts that fit into `ids`, in nats per token.

    Raises:
        WtlibError: if the text is shorter than one context.
    """
    windows = _windows(ids, model.config.context, step=model.config.context)
    losses = [cross_entropy(model, part) * len(part) for part in windows.split(batch_size)]
    return float(torch.stack(losses).sum() / len(windows))
