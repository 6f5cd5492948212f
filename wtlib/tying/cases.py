"""Small models that share memory in known ways, to try tools on: the truth is built in.

Each case says which names lead to shared memory and how many numbers are unique.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

V, D, E = 11, 4, 3


@dataclass(frozen=True)
class Case:
    """A way to share, a model that shares so, and what a tool should find."""

    name: str
    build: Callable[[], nn.Module]
    shared: frozenset[frozenset[str]]
    unique: int


class TwoEnds(nn.Module):
    """A table, a layer and a head: ``2·V·D + D·D + D`` numbers untied."""

    def __init__(self) -> None:  # noqa: D107
        super().__init__()
        self.wte = nn.Embedding(V, D)
        nn.init.normal_(self.wte.weight, std=0.02)  # nn.Embedding's own would be too large tied
        self.body = nn.Linear(D, D)
        self.lm_head = nn.Linear(D, V, bias=False)

    def forward(self, input_ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """Logits ``(B, T, V)``."""
        logits: Tensor = self.lm_head(torch.tanh(self.body(self.wte(input_ids))))
        return logits


class OneName(nn.Module):
    """A table whose transpose makes the logits: there is no second name to share."""

    def __init__(self) -> None:  # noqa: D107
        super().__init__()
        self.wte = nn.Embedding(V, D)
        self.body = nn.Linear(D, D)

    def forward(self, input_ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """Logits ``(B, T, V)``."""
        return F.linear(torch.tanh(self.body(self.wte(input_ids))), self.wte.weight)


class Blocks(nn.Module):
    """A tied model of three blocks, of which the first ``shared`` are one module."""

    def __init__(self, shared: int = 0) -> None:  # noqa: D107
        super().__init__()
        self.wte = nn.Embedding(V, D)
        self.blocks = nn.ModuleList([nn.Linear(D, D) for _ in range(3)])
        for i in range(1, shared):
            self.blocks[i] = self.blocks[0]
        self.lm_head = nn.Linear(D, V, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, input_ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """Logits ``(B, T, V)``."""
        hidden = self.wte(input_ids)
        for block in self.blocks:
            hidden = torch.tanh(block(hidden))
        logits: Tensor = self.lm_head(hidden)
        return logits


class Projected(nn.Module):
    """A table of width E under a body of width D: the head reads through a projection."""

    def __init__(self) -> None:  # noqa: D107
        super().__init__()
        self.embed_tokens = nn.Embedding(V, E)
        self.project_in = nn.Linear(E, D, bias=False)
        self.project_out = nn.Linear(D, E, bias=False)
        self.lm_head = nn.Linear(E, V, bias=False)
        self.lm_head.weight = self.embed_tokens.weight

    def forward(self, input_ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """Logits ``(B, T, V)``."""
        hidden = torch.tanh(self.project_in(self.embed_tokens(input_ids)))
        logits: Tensor = self.lm_head(self.project_out(hidden))
        return logits


class TwoStacks(nn.Module):
    """An encoder's and a decoder's table and a head; ``tied`` of the three are one Parameter."""

    def __init__(self, tied: int) -> None:  # noqa: D107
        super().__init__()
        self.encoder = nn.ModuleDict({"embed_tokens": nn.Embedding(V, D)})
        self.decoder = nn.ModuleDict({"embed_tokens": nn.Embedding(V, D)})
        self.lm_head = nn.Linear(D, V, bias=False)
        table = self.encoder["embed_tokens"].weight
        for module in (self.decoder["embed_tokens"], self.lm_head)[: tied - 1]:
            module.weight = table


class BiasedHead(nn.Module):
    """A masked-language-model head whose bias has two names, tied or not, as BERT's has."""

    def __init__(self, tied_bias: bool) -> None:  # noqa: D107
        super().__init__()
        self.word_embeddings = nn.Embedding(V, D)
        self.predictions = nn.Module()
        self.predictions.decoder = nn.Linear(D, V)
        self.predictions.decoder.weight = self.word_embeddings.weight
        bias = self.predictions.decoder.bias if tied_bias else nn.Parameter(torch.zeros(V))
        self.predictions.bias = bias


class FlatBuffer(nn.Module):
    """Parameters that are views of one buffer, side by side or column by column; none is tied."""

    def __init__(self, interleaved: bool) -> None:  # noqa: D107
        super().__init__()
        buffer = torch.randn(V, 2 * D)
        parts = buffer.split(D, dim=1) if interleaved else buffer.view(2, V, D)
        self.wte = nn.Embedding(V, D)
        self.lm_head = nn.Linear(D, V, bias=False)
        self.wte.weight, self.lm_head.weight = (nn.Parameter(part) for part in parts)


def tied() -> TwoEnds:
    """One Parameter under two names."""
    model = TwoEnds()
    model.lm_head.weight = model.wte.weight
    return model


def by_data() -> TwoEnds:
    """Two Parameters over one storage, by ``.data``."""
    model = TwoEnds()
    model.lm_head.weight.data = model.wte.weight.data
    return model


def by_transpose() -> nn.Module:
    """An autoencoder by the forum's recipe: a Parameter made of a transposed weight."""
    model = nn.Module()
    model.encoder = nn.Linear(V, D, bias=False)
    model.decoder = nn.Linear(D, V, bias=False)
    model.decoder.weight = nn.Parameter(model.encoder.weight.t())
    return model


def equal_copies() -> TwoEnds:
    """Two tensors of equal values."""
    model = TwoEnds()
    model.lm_head.weight.data.copy_(model.wte.weight.data)
    return model


def by_part() -> nn.Module:
    """A head that is a view of all rows but the last two of a padded table."""
    model = TwoEnds()
    model.lm_head = nn.Linear(D, V - 2, bias=False)
    model.lm_head.weight = nn.Parameter(model.wte.weight.data[: V - 2])
    return model


def on_meta() -> TwoEnds:
    """A tied model without memory."""
    with torch.device("meta"):
        return tied()


def _groups(*groups: tuple[str, ...]) -> frozenset[frozenset[str]]:
    return frozenset(frozenset(group) for group in groups)


_ENDS = ("wte.weight", "lm_head.weight")
_MATRIX, _BODY = V * D, D * D + D
_BLOCK = tuple(tuple(f"blocks.{i}.{leaf}" for i in range(3)) for leaf in ("weight", "bias"))

CASES: tuple[Case, ...] = (
    Case("untied", TwoEnds, _groups(), 2 * _MATRIX + _BODY),
    Case("one Parameter, two names", tied, _groups(_ENDS), _MATRIX + _BODY),
    Case("two Parameters, one storage (.data)", by_data, _groups(_ENDS), _MATRIX + _BODY),
    Case(
        "two Parameters, one storage (.t())",
        by_transpose,
        _groups(("encoder.weight", "decoder.weight")),
        _MATRIX,
    ),
    Case("equal copies", equal_copies, _groups(), 2 * _MATRIX + _BODY),
    Case("one name, used twice", OneName, _groups(), _MATRIX + _BODY),
    Case("a head that views part of the table", by_part, _groups(_ENDS), _MATRIX + _BODY),
    Case("views side by side in one buffer", lambda: FlatBuffer(False), _groups(), 2 * _MATRIX),
    Case("columns of one buffer", lambda: FlatBuffer(True), _groups(), 2 * _MATRIX),
    Case("one Parameter on the meta device", on_meta, _groups(_ENDS), _MATRIX + _BODY),
    Case("one block, three names", lambda: Blocks(3), _groups(_ENDS, *_BLOCK), _MATRIX + _BODY),
    Case(
        "two blocks of three shared",
        lambda: Blocks(2),
        _groups(_ENDS, *(names[:2] for names in _BLOCK)),
        _MATRIX + 2 * _BODY,
    ),
    Case(
        "a tie through a projection",
        Projected,
        _groups(("embed_tokens.weight", "lm_head.weight")),
        V * E + 2 * D * E,
    ),
    Case(
        "three names",
        lambda: TwoStacks(3),
        _groups(("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")),
        _MATRIX,
    ),
    Case(
        "the inputs tied, the head not",
        lambda: TwoStacks(2),
        _groups(("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")),
        2 * _MATRIX,
    ),
    Case(
        "a tied matrix and a tied bias",
        lambda: BiasedHead(True),
        _groups(
            ("word_embeddings.weight", "predictions.decoder.weight"),
            ("predictions.bias", "predictions.decoder.bias"),
        ),
        _MATRIX + V,
    ),
)
