"""Small language models and the loop that trains them.

The model is a pre-norm transformer small enough to train while a chapter builds. Its head is tied
to its token table or has a matrix of its own; nothing else differs. `train` is a generator that
pauses after every backward pass, so that whoever drives it can look at gradients before the
optimizer uses them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn

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


@dataclass(frozen=True)
class TrainingConfig:
    """How long, on what batches, and with which optimizer."""

    steps: int = 300
    batch_size: int = 16
    learning_rate: float = 1e-3
    warmup_steps: int = 20
    """Steps over which the learning rate rises linearly to its full value."""
    weight_decay: float = 0.0
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Step:
    """One step, seen after its backward pass and before the optimizer moves anything."""

    index: int
    loss: float
    """Mean cross-entropy of the batch, in nats per token."""
    inputs: Int64[Tensor, "B T"]
    labels: Int64[Tensor, "B T"]


def batches(
    ids: Int64[Tensor, " N"], config: TrainingConfig, context: int
) -> Iterator[tuple[Int64[Tensor, "B T"], Int64[Tensor, "B T"]]]:
    """Yield `config.steps` random batches of inputs and of labels, which are one token ahead.

    Raises:
        WtlibError: if the text is shorter than one context and its last label.
    """
    if len(ids) <= context:
        raise WtlibError(f"a context of {context} needs a longer text than {len(ids)} tokens")
    windows = ids.unfold(0, context + 1, 1)  # (N - context, context + 1), a view
    generator = torch.Generator().manual_seed(config.seed)
    for _ in range(config.steps):
        chosen = torch.randint(len(windows), (config.batch_size,), generator=generator)
        batch = windows[chosen]
        yield batch[:, :-1], batch[:, 1:]


def cross_entropy(
    model: LanguageModel, inputs: Int64[Tensor, "B T"], labels: Int64[Tensor, "B T"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy over all positions, in nats per token."""
    return F.cross_entropy(model(inputs).logits.flatten(0, 1), labels.flatten())


def train(
    model: LanguageModel, ids: Int64[Tensor, " N"], config: TrainingConfig
) -> Iterator[Step]:
    """Train `model` on random windows of `ids`, pausing once a step.

    The pause comes when gradients are in place and the optimizer has not yet used them. Nothing
    moves unless the iterator is driven.
    """
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
    )
    for index, (inputs, labels) in enumerate(batches(ids, config, model.config.context)):
        optimizer.zero_grad()
        loss = cross_entropy(model, inputs, labels)
        loss.backward()
        yield Step(index=index, loss=loss.item(), inputs=inputs, labels=labels)
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * min(1.0, (index + 1) / max(1, config.warmup_steps))
        optimizer.step()


@torch.no_grad()
def evaluate(model: LanguageModel, ids: Int64[Tensor, " N"], batch_size: int = 32) -> float:
    """Return the mean cross-entropy over the whole contexts of `ids`, in nats per token."""
    context = model.config.context
    windows = ids.unfold(0, context + 1, context)
    losses = [
        cross_entropy(model, chunk[:, :-1], chunk[:, 1:]) * len(chunk)
        for chunk in windows.split(batch_size)
    ]
    return float(torch.stack(losses).sum() / len(windows))
