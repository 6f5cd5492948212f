"""What measuring leaves as it was, unusual models that work, and models that are refused."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from tests.wtlib.routes_models import build, by_autograd, row_norms, text
from wtlib.routes import RouteNotFoundError, Routes, measure_routes


class Toy(nn.Module):
    """The smallest tied language model; subclasses vary one thing."""

    embedding: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(20, 8, **self.embedding)
        self.body = nn.Linear(8, 8)

    def get_input_embeddings(self) -> nn.Module:
        return self.table

    def read(self, ids: Tensor) -> Tensor:
        return self.table(ids)

    def head(self, hidden: Tensor) -> Tensor:
        return F.linear(hidden, self.table.weight)

    def forward(self, input_ids: Tensor) -> Any:
        hidden = self.read(input_ids)
        return SimpleNamespace(logits=self.head(hidden + torch.tanh(self.body(hidden))))


IDS = torch.tensor([[3, 4, 3, 5, 6], [7, 3, 0, 0, 0]])


def own_gradient(model: Any) -> Tensor:
    """The tied gradient by plain backward, mean cross-entropy over shifted ids."""
    logits = model(IDS).logits
    F.cross_entropy(logits[:, :-1].flatten(0, 1), IDS[:, 1:].flatten()).backward()
    gradient = model.table.weight.grad
    model.zero_grad()
    return gradient.to_dense()


def check_sum(model: Any) -> Routes:
    routes = measure_routes(model, IDS, rows=range(20), verify=True)
    assert routes.short.rows is not None
    assert routes.long.rows is not None
    torch.testing.assert_close(routes.short.rows + routes.long.rows, own_gradient(model))
    torch.testing.assert_close(routes.short.row_norms, row_norms(routes.short.rows))
    torch.testing.assert_close(routes.long.row_norms, row_norms(routes.long.rows))
    assert routes.max_difference is not None
    assert routes.max_difference < 1e-6
    return routes


class InPlace(Toy):
    def read(self, ids: Tensor) -> Tensor:
        return super().read(ids).mul_(3.0)

    def head(self, hidden: Tensor) -> Tensor:
        return super().head(hidden).mul_(0.5)


class Twice(Toy):
    """Two lookups and two projections."""

    def read(self, ids: Tensor) -> Tensor:
        return super().read(ids) + 0.5 * super().read(ids.flip(1))

    def head(self, hidden: Tensor) -> Tensor:
        return super().head(hidden) + super().head(torch.sin(hidden))


class Padded(Toy):
    embedding = {"padding_idx": 0}  # noqa: RUF012


class NegativePadding(Toy):
    embedding = {"padding_idx": -20}  # noqa: RUF012


class ByFrequency(Toy):
    embedding = {"scale_grad_by_freq": True}  # noqa: RUF012


class Sparse(Toy):
    embedding = {"sparse": True}  # noqa: RUF012


class Inspecting(Toy):
    """Reads the matrix without a gradient, which is no route."""

    def head(self, hidden: Tensor) -> Tensor:
        assert self.table.weight.shape == (20, 8)
        scale = self.table.weight.detach().norm() + self.table.weight.data.sum()
        return F.linear(hidden, self.table.weight.to(hidden.dtype)) / scale


@pytest.mark.parametrize(
    "kind", [Toy, InPlace, Twice, Padded, NegativePadding, ByFrequency, Sparse, Inspecting]
)
def test_any_module_with_a_table(kind: type[Toy]) -> None:
    routes = check_sum(kind())
    assert routes.activation_norms == ()


def test_padding_row_gets_no_long_gradient() -> None:
    assert float(measure_routes(Padded(), IDS).long.row_norms[0]) == 0.0
    assert float(measure_routes(Toy(), IDS).long.row_norms[0]) > 0.0


@pytest.mark.parametrize("kind", [Toy, InPlace])
@pytest.mark.parametrize("verify", [False, True])
def test_frozen_parameters(kind: type[Toy], verify: bool) -> None:
    model = kind()
    free = measure_routes(model, IDS)
    model.requires_grad_(False)
    frozen = measure_routes(model, IDS, verify=verify)
    torch.testing.assert_close(frozen.short.row_norms, free.short.row_norms)
    torch.testing.assert_close(frozen.long.row_norms, free.long.row_norms)
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_shared_blocks_give_one_norm_per_application() -> None:
    model = build("llama")
    model.model.layers[2] = model.model.layers[0]
    assert len(measure_routes(model, text()).activation_norms) == 3


def snapshot(model: Any) -> dict[str, Any]:
    return {
        "values": [p.detach().clone() for p in model.parameters()],
        "grads": [p.grad for p in model.parameters()],
        "versions": [p._version for p in model.parameters()],
        "requires": [p.requires_grad for p in model.parameters()],
        "modes": [m.training for m in model.modules()],
        "hooks": [
            len(hooks)
            for m in model.modules()
            for hooks in (m._forward_hooks, m._forward_pre_hooks, m._backward_hooks)
        ],
        "random": torch.get_rng_state(),
        "buffers": [b.clone() for b in model.buffers()],
        "grad enabled": torch.is_grad_enabled(),
    }


def assert_unchanged(before: dict[str, Any], after: dict[str, Any]) -> None:
    for key in ("values", "buffers"):
        assert all(map(torch.equal, before[key], after[key]))
    assert all(a is b for a, b in zip(before["grads"], after["grads"], strict=True))
    assert torch.equal(before["random"], after["random"])
    for key in ("versions", "requires", "modes", "hooks", "grad enabled"):
        assert before[key] == after[key]


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_the_model_is_left_as_it_was(training: bool, verify: bool) -> None:
    model = build("gpt2", resid_pdrop=0.2, embd_pdrop=0.2, attn_pdrop=0.2).train(training)
    for index, parameter in enumerate(model.parameters()):
        parameter.requires_grad_(index % 3 != 0)
        if index % 2:
            parameter.grad = torch.ones_like(parameter)
    before = snapshot(model)
    measure_routes(model, text(), verify=verify, rows=[1])
    assert_unchanged(before, snapshot(model))


@pytest.mark.parametrize("where", ["transformer.h.2", "lm_head"])
def test_the_model_is_left_as_it_was_after_an_error(where: str) -> None:
    model = build("gpt2").train()
    model.requires_grad_(False)

    def fail(*_: Any) -> None:
        raise RuntimeError("stop here")

    model.get_submodule(where).register_forward_pre_hook(fail)
    before = snapshot(model)
    with pytest.raises(RuntimeError, match="stop here"):
        measure_routes(model, text(), verify=True)
    assert_unchanged(before, snapshot(model))


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
def test_inside_no_grad(context: Any) -> None:
    model = build("gpt2")
    outside = measure_routes(model, text())
    with context():
        inside = measure_routes(model, text())
    assert torch.equal(inside.short.row_norms, outside.short.row_norms)


def test_dropout_acts_in_train_mode_and_verifies() -> None:
    model = build("gpt2", resid_pdrop=0.5).train()
    routes = measure_routes(model, text(), verify=True)
    assert routes.loss != measure_routes(model.eval(), text()).loss
    assert routes.max_difference == pytest.approx(0.0, abs=1e-6)


def test_gradient_checkpointing() -> None:
    model = build("llama").train()
    plain = measure_routes(model, text())
    model.activation_checkpointing_enable({"use_reentrant": False})
    routes = measure_routes(model, text())
    torch.testing.assert_close(routes.long.row_norms, plain.long.row_norms)
    assert routes.activation_norms == pytest.approx(plain.activation_norms)


def test_two_parameters_with_one_storage_are_not_tied_for_autograd() -> None:
    model = build("gpt2")
    model.lm_head.weight = nn.Parameter(model.lm_head.weight.data)
    routes = measure_routes(model, text(), verify=True)
    assert not routes.tied
    reference = by_autograd(build("gpt2"), text())
    torch.testing.assert_close(routes.long.row_norms, row_norms(reference.long))
    assert routes.max_difference == pytest.approx(0.0, abs=1e-6)


# Models that are refused.


class Multiplied(Toy):
    def head(self, hidden: Tensor) -> Tensor:
        return hidden @ self.table.weight.T


class Indexed(Toy):
    def read(self, ids: Tensor) -> Tensor:
        return self.table.weight[ids]


class ThirdUse(Toy):
    def head(self, hidden: Tensor) -> Tensor:
        return super().head(hidden) + self.table.weight.square().sum()


class Projected(Toy):
    def head(self, hidden: Tensor) -> Tensor:
        return hidden @ F.linear(self.table.weight, self.body.weight).T


class Renormalising(Toy):
    embedding = {"max_norm": 1.0}  # noqa: RUF012


class Headless(Toy):
    def head(self, hidden: Tensor) -> Tensor:
        return self.body(hidden)


class Unread(Toy):
    def read(self, ids: Tensor) -> Tensor:
        return self.body(torch.ones(*ids.shape, 8))


class Detached(Toy):
    def read(self, ids: Tensor) -> Tensor:
        return super().read(ids).detach()


class Cut(Toy):
    def __init__(self) -> None:
        super().__init__()
        self.requires_grad_(False)

    def read(self, ids: Tensor) -> Tensor:
        return super().read(ids).detach()


class NoGradLoss(Toy):
    def forward(self, input_ids: Tensor) -> Any:
        return SimpleNamespace(loss=super().forward(input_ids).logits.detach().sum())


class BranchUnused(Toy):
    """The logits it returns are not those of its head."""

    def forward(self, input_ids: Tensor) -> Any:
        hidden = self.read(input_ids)
        self.head(hidden)
        return SimpleNamespace(logits=self.body(hidden).repeat(1, 1, 3))


class Tuple(Toy):
    def forward(self, input_ids: Tensor) -> Any:
        return (super().forward(input_ids).logits,)


class OtherHead(Toy):
    """Untied; a lookup in the output matrix, or a projection by the input table."""

    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Linear(8, 20)

    def get_output_embeddings(self) -> nn.Module:
        return self.out


class LookupInHead(OtherHead):
    def read(self, ids: Tensor) -> Tensor:
        return F.embedding(ids, self.out.weight)


REFUSED: list[tuple[type[Toy], str]] = [
    (Multiplied, "uses its vocabulary matrix in `__get__`"),
    (Indexed, "uses its vocabulary matrix in `__getitem__`"),
    (ThirdUse, "uses its vocabulary matrix in `square`"),
    (Projected, "F.linear is called with the vocabulary matrix in an unexpected place"),
    (OtherHead, "F.linear is called with the vocabulary matrix in an unexpected place"),
    (LookupInHead, "looks rows up in its output matrix"),
    (Renormalising, r"max_norm=1\.0"),
    (Headless, "no logits were seen to come from the model's output matrix"),
    (Unread, "no row of the model's input table was looked up"),
    (Detached, "no gradient of the loss reaches the lookup in the input table"),
    (Cut, "the hidden states that reach the head carry no gradient"),
    (NoGradLoss, "the loss carries no gradient"),
    (BranchUnused, "no gradient of the loss reaches the head's logits"),
    (Tuple, "returned tuple without loss or logits"),
]


@pytest.mark.parametrize(("kind", "message"), REFUSED)
def test_refused_rather_than_guessed(kind: type[Toy], message: str) -> None:
    model = kind()
    before = snapshot(model)
    with pytest.raises(RouteNotFoundError, match=message):
        measure_routes(model, IDS)
    assert_unchanged(before, snapshot(model))


def test_encoder_decoder_is_refused() -> None:
    config = transformers.T5Config(vocab_size=32, d_model=8, d_kv=4, d_ff=8, num_layers=1)
    with pytest.raises(RouteNotFoundError, match="is an encoder-decoder"):
        measure_routes(transformers.T5ForConditionalGeneration(config), IDS)


def test_model_without_embeddings() -> None:
    with pytest.raises(RouteNotFoundError, match="Linear names no input embeddings"):
        measure_routes(nn.Linear(2, 2), IDS)


def test_model_without_a_head() -> None:
    model = build("gpt2").transformer
    with pytest.raises(RouteNotFoundError, match="without loss or logits"):
        measure_routes(model, IDS)


def test_embedding_without_a_weight() -> None:
    model = Toy()
    model.table = nn.Identity()  # type: ignore[assignment]
    with pytest.raises(RouteNotFoundError, match=r"\(Identity\) has no `weight` tensor"):
        measure_routes(model, IDS)


def test_quantised_embedding() -> None:
    model = Toy()
    model.table.weight = nn.Parameter(torch.zeros(20, 8, dtype=torch.int8), requires_grad=False)
    with pytest.raises(RouteNotFoundError, match="quantised or wrapped"):
        measure_routes(model, IDS)


def test_meta_device() -> None:
    with pytest.raises(RouteNotFoundError, match="meta device"):
        measure_routes(Toy().to("meta"), IDS)
