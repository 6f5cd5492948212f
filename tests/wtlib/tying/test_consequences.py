"""The operations that are said to break a tie, run where one machine can."""

from collections.abc import Callable

import pytest
import torch
from accelerate import init_empty_weights
from torch import nn

from tests.wtlib.tying.models import gpt2
from wtlib.tying import THREATS, inspect, loading, operations
from wtlib.tying.cases import tied
from wtlib.tying.consequences import routes, threats


def with_accelerate() -> nn.Module:
    with init_empty_weights():
        return tied()


def quantised_on_one_side() -> nn.Module:
    model = tied()
    model.lm_head.weight = nn.Parameter(model.lm_head.weight.detach().to(torch.float8_e4m3fn))
    return model


BREAKS: dict[str, Callable[[], nn.Module]] = {
    "load_state_dict(state, assign=True)": lambda: operations.load_state_dict_assign(tied),
    "building on the meta device, then to_empty()": lambda: operations.materialise(tied),
    "accelerate's init_empty_weights around the assignment": with_accelerate,
    "replacing the table, or resizing the inner model": lambda: operations.set_input_embeddings(
        gpt2
    ),
    "quantising one side": quantised_on_one_side,
}


@pytest.mark.parametrize("operation", BREAKS)
def test_it_breaks_the_tie_and_is_announced(operation: str) -> None:
    assert operation in {threat.operation for threat in inspect(tied()).breaks}
    live = inspect(BREAKS[operation]()).live
    assert live is not None
    assert live.same_object is False


def test_loading_under_a_flag_that_says_untied_makes_a_random_head() -> None:
    assert "loading with the flag set to false" in {t.operation for t in threats(["M1"])}
    assert loading(gpt2, flag=False, contents="table only").head_from == "random"


def test_groups_by_name_list_the_matrix_twice() -> None:
    assert "an optimizer with groups by name" in {t.operation for t in threats(["M1"])}
    groups = [{"params": [p]} for _, p in tied().named_parameters(remove_duplicate=False)]
    with pytest.raises(ValueError, match="more than one parameter group"):
        torch.optim.AdamW(groups)


def test_every_operation_says_what_to_do_instead() -> None:
    assert len({threat.operation for threat in THREATS}) == len(THREATS)
    assert all(threat.effect and threat.instead and threat.mechanisms for threat in THREATS)


def test_an_untied_model_has_no_tie_to_break() -> None:
    assert threats(["M0"]) == threats(["M0", "M9"]) == ()


def test_routes_of_what_is_not_known() -> None:
    assert routes(None, None, tied=True) == ()
    assert [route.route for route in routes("a", "b", tied=None)] == ["input"]
