"""The word-level LSTM language model of Zaremba et al. and of Press & Wolf, tied or not."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from wtlib.training.parts import ModelSettings, SmallModel, State, initialise_matrix


@dataclass(frozen=True, kw_only=True)
class LstmConfig(ModelSettings):
    """The settings of an `Lstm`.

    `dropout` acts on the input vectors, between layers and on the output, not from step to step.
    With vectors much shorter than the default `init_std` gives, a small LSTM spends its first
    epochs on word frequencies alone.
    """

    init_std: float = 0.3

    @property
    def n_parameters(self) -> int:
        """Parameters in closed form; for each layer, 8d² + 4d; the logits have a bias."""
        d = self.d_model
        return self.ends + self.vocab_size + self.n_layers * (8 * d * d + 4 * d)


class LstmLayer(nn.Module):
    """One LSTM layer with one bias for each gate; `nn.LSTM` would keep two that only add up."""

    no_bias: Tensor

    def __init__(self, d: int) -> None:
        """Build the layer with uninitialised weights."""
        super().__init__()
        self.weight_ih = nn.Parameter(torch.empty(4 * d, d))
        self.weight_hh = nn.Parameter(torch.empty(4 * d, d))
        self.bias = nn.Parameter(torch.empty(4 * d))
        self.register_buffer("no_bias", torch.zeros(4 * d), persistent=False)

    def forward(
        self, x: Float[Tensor, "T B d"], h: Float[Tensor, "1 B d"], c: Float[Tensor, "1 B d"]
    ) -> tuple[Float[Tensor, "T B d"], Float[Tensor, "1 B d"], Float[Tensor, "1 B d"]]:
        """Return the outputs, and the hidden and cell state after the last."""
        weights = [self.weight_ih, self.weight_hh, self.bias, self.no_bias]
        return torch.lstm(x, [h, c], weights, True, 1, 0.0, self.training, False, False)


class Lstm(SmallModel):
    """A stack of LSTM layers between the table and the head, whose logits have a bias."""

    def __init__(self, config: LstmConfig, seed: int) -> None:
        """Build the model and draw its initial values."""
        super().__init__(config, head_bias=True, seed=seed)
        self.config = config
        self.layers = nn.ModuleList(LstmLayer(config.d_model) for _ in range(config.n_layers))
        for name, parameter in self.layers.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
            else:
                initialise_matrix(parameter, self.generator)
        self.initialise_ends(config.init_std)

    def start(self, batch_size: int) -> State:
        """Return zero hidden and cell states, layer after layer."""
        zeros = torch.zeros(1, batch_size, self.config.d_model)
        return (zeros,) * (2 * self.config.n_layers)

    def forward(
        self, input_ids: Int64[Tensor, "B T"], state: State
    ) -> tuple[Float[Tensor, "B T V"], State]:
        """Return the logits, and the state to go on with, cut off from this stretch's gradient."""
        x = self.dropout(self.wte(input_ids.T))
        new: list[Tensor] = []
        for layer, h, c in zip(self.layers, state[::2], state[1::2], strict=True):
            x, h, c = layer(x, h, c)
            x = self.dropout(x)
            new += (h.detach(), c.detach())
        return self.head(x.transpose(0, 1)), tuple(new)
