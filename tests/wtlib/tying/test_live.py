import pytest
import torch
from torch import nn

from tests.wtlib.tying.models import TinyLM, gpt2, tied
from wtlib.tying import NoEndsError, Tie, counted, ends, tie_between

W = torch.arange(12.0).reshape(4, 3)
META = torch.empty(4, 3, device="meta")


@pytest.mark.parametrize(
    ("a", "b", "tie", "kind"),
    [
        (W, W, Tie(True, True, True), "one Parameter"),
        (W, W.view(4, 3), Tie(False, True, True), "two Parameters, one storage"),
        (W, W.t(), Tie(False, True, False), "two Parameters, one storage"),
        (W, W.clone(), Tie(False, False, True), "equal copies"),
        (W, W + 1, Tie(False, False, False), "separate"),
        (W, W.half(), Tie(False, False, False), "separate"),
        (W, W.t().contiguous(), Tie(False, False, False), "separate"),
        (W[:2], W[2:], Tie(False, False, False), "separate"),
        (W, W[:2], Tie(False, False, False), "separate"),
        (META, META, Tie(True, True, True), "one Parameter"),
        (META, torch.empty_like(META), Tie(False, None, None), "unknown"),
        (W, META, Tie(False, None, None), "unknown"),
    ],
)
def test_three_separate_facts(a: torch.Tensor, b: torch.Tensor, tie: Tie, kind: str) -> None:
    assert tie_between(a, b) == tie_between(b, a) == tie
    assert tie.kind == kind


def test_parameters_over_one_tensor_share_memory_but_not_identity() -> None:
    weight = nn.Parameter(W)
    assert tie_between(weight, nn.Parameter(weight.data)) == Tie(False, True, True)


def test_nans_in_the_same_places_are_equal() -> None:
    a = torch.tensor([1.0, float("nan")])
    assert tie_between(a, a.clone()).equal_values
    assert not tie_between(a, a.flip(0)).equal_values


def test_ends_are_the_two_weights() -> None:
    model = TinyLM()
    assert ends(model) == (model.wte.weight, model.lm_head.weight)


def test_transformers_ties_gpt2_by_identity() -> None:
    assert tie_between(*ends(gpt2())).same_object


def test_a_model_without_ends_is_refused() -> None:
    with pytest.raises(NoEndsError, match=r"Linear has no get_input_embeddings\(\)"):
        ends(nn.Linear(2, 2))


def test_a_model_without_a_head_is_refused() -> None:
    model = TinyLM()
    model.get_output_embeddings = lambda: None  # type: ignore[method-assign,assignment,return-value]
    with pytest.raises(NoEndsError, match=r"get_output_embeddings\(\).*tie_between"):
        ends(model)


def test_a_shared_parameter_counts_once() -> None:
    assert counted(TinyLM()) == 2 * 50 * 8 + 8 * 8 + 8 == 872
    assert counted(tied()) == 50 * 8 + 8 * 8 + 8 == 472
