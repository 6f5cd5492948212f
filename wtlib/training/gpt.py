"""A GPT-2 in small, tied or not, whose layers may share their attention, their MLP, or both."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from wtlib.counting import BlockCount, ParameterCount, count_parameters
from wtlib.errors import WtlibError
from wtlib.sharing import Plan, plan
from wtlib.training.parts import (
    ModelSettings,
    SmallModel,
    State,
    at_least,
    initialise_matrix,
)


@dataclass(frozen=True, kw_only=True)
class GptConfig(ModelSettings):
    """The settings of a `Gpt`.

    `dropout` acts on the input vectors and on what each sublayer adds. `sharing` is a scheme of
    `wtlib.sharing`. `context` is the number of positions, and the most that a stretch may have.
    """

    n_heads: int = 4
    context: int = 64
    sharing: str = "none"

    def __post_init__(self) -> None:
        """Refuse settings that make no model, naming the first that does not."""
        super().__post_init__()
        at_least(self, 1, "n_heads", "context", whole=True)
        if self.d_model % self.n_heads:
            raise WtlibError(f"n_heads={self.n_heads} does not divide d_model={self.d_model}")
        self.plan  # noqa: B018 (refuses an impossible scheme now)

    @property
    def plan(self) -> Plan:
        """Which sublayers each layer uses."""
        return plan(self.sharing, self.n_layers)

    @property
    def count(self) -> ParameterCount:
        """The exact count of the GPT-2 of this shape, which shares nothing across layers."""
        return count_parameters(
            {
                "model_type": "gpt2",
                "vocab_size": self.vocab_size,
                "n_embd": self.d_model,
                "n_layer": self.n_layers,
                "n_head": self.n_heads,
                "n_positions": self.context,
                "tie_word_embeddings": self.tie_word_embeddings,
            }
        )

    @property
    def n_parameters(self) -> int:
        """Parameters in closed form, a shared sublayer counted once."""
        count = self.count
        block: BlockCount = count.block
        norm = block.norms // 2  # one before each sublayer, and shared with it
        stack = self.plan.parameters(block.attention + norm, block.mlp + norm)
        return self.ends + count.positions + stack + count.final_norm


class Attention(nn.Module):
    """A LayerNorm and causal self-attention."""

    def __init__(self, config: GptConfig) -> None:
        """Build the sublayer at PyTorch's own initialisation."""
        super().__init__()
        d = config.d_model
        self.n_heads = config.n_heads
        self.norm = nn.LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)

    def forward(self, x: Float[Tensor, "B T d"]) -> Float[Tensor, "B T d"]:
        """Return what the sublayer adds to the residual stream."""
        B, T, d = x.shape
        heads = self.qkv(self.norm(x)).view(B, T, 3, self.n_heads, d // self.n_heads)
        q, k, v = heads.permute(2, 0, 3, 1, 4)  # each (B, n_heads, T, d / n_heads)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(B, T, d))


class Mlp(nn.Module):
    """A LayerNorm, up by four, GELU, down."""

    def __init__(self, config: GptConfig) -> None:
        """Build the sublayer at PyTorch's own initialisation."""
        super().__init__()
        d = config.d_model
        self.norm = nn.LayerNorm(d)
        self.up = nn.Linear(d, 4 * d)
        self.out = nn.Linear(4 * d, d)

    def forward(self, x: Float[Tensor, "B T d"]) -> Float[Tensor, "B T d"]:
        """Return what the sublayer adds to the residual stream."""
        return self.out(F.gelu(self.up(self.norm(x))))


class Gpt(SmallModel):
    """A decoder-only transformer, normalised before each sublayer, with learned positions."""

    def __init__(self, config: GptConfig, seed: int) -> None:
        """Build the model and draw its initial values.

        The matrices that write into the residual stream start smaller the deeper the model is,
        as in GPT-2: each layer writes twice, whether its blocks are shared or not.
        """
        super().__init__(config, head_bias=False, seed=seed)
        self.config = config
        self.wpe = nn.Embedding(config.context, config.d_model)
        self.plan = config.plan
        self.attentions = nn.ModuleList(
            Attention(config) for _ in range(self.plan.stored_attentions)
        )
        self.mlps = nn.ModuleList(Mlp(config) for _ in range(self.plan.stored_mlps))
        self.norm = nn.LayerNorm(config.d_model)
        self._initialise_body()
        self.initialise_ends(config.init_std)

    @torch.no_grad()
    def _initialise_body(self) -> None:
        self.wpe.weight.normal_(std=0.02, generator=self.generator)
        for name, parameter in (*self.attentions.named_parameters(), *self.mlps.named_parameters()):
            if name.endswith("bias"):
                parameter.zero_()
            elif parameter.ndim == 2:
                writes = name.endswith("out.weight")
                scale = 1 / math.sqrt(2 * self.config.n_layers) if writes else 1.0
                initialise_matrix(parameter, self.generator, scale)

    def forward(
        self, input_ids: Int64[Tensor, "B T"], state: State = ()
    ) -> tuple[Float[Tensor, "B T V"], State]:
        """Return the logits, and the empty state: nothing is carried beyond the context.

        Raises:
            WtlibError: if there are more tokens than positions.
        """
        T = input_ids.shape[1]
        if self.config.context < T:
            raise WtlibError(f"{T} tokens do not fit into context={self.config.context}")
        x = self.dropout(self.wte(input_ids) + self.wpe.weight[:T])
        for i, j in zip(self.plan.attention, self.plan.mlp, strict=True):
            x = x + self.dropout(self.attentions[i](x))
            x = x + self.dropout(self.mlps[j](x))
        return self.head(self.norm(x)), state
