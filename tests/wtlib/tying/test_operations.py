from collections.abc import Callable

import pytest
from torch import nn

from tests.wtlib.tying.models import gpt2, llama, tied
from wtlib.tying import PYTORCH, TRANSFORMERS, Survival, Tie, survival

# What torch 2.13 and transformers 5.24 were seen to do, worked out by hand on the same toys.
BROKEN = {
    "load_state_dict(state, assign=True)": "two Parameters, one storage",
    "… then to_empty(device='cpu')": "separate",
    "set_input_embeddings(new)": "separate",
}
REFUSED = {"safetensors save_file"}


def outcomes(rows: tuple[Survival, ...]) -> dict[str, str]:
    return {row.operation: row.outcome for row in rows}


def expected(names: tuple[str, ...]) -> dict[str, str]:
    return {
        name: "broken" if name in BROKEN else "refused" if name in REFUSED else "kept"
        for name in names
    }


def test_pytorch_operations_on_the_toy() -> None:
    rows = survival(tied, PYTORCH)
    assert outcomes(rows) == expected(tuple(PYTORCH))
    for row in rows:
        assert row.before == Tie(True, True, True)
        assert row.counted_before == 472
        assert row.counted_after == {"kept": 472, "broken": 872, "refused": None}[row.outcome]


@pytest.mark.parametrize("build", [gpt2, llama])
def test_every_operation_on_transformers_models(build: Callable[[], nn.Module]) -> None:
    operations = {**PYTORCH, **TRANSFORMERS}
    rows = survival(build, operations)
    assert outcomes(rows) == expected(tuple(operations))
    for row in rows:
        if row.operation in BROKEN:
            assert row.after is not None
            assert row.after.kind == BROKEN[row.operation]


def test_resizing_adds_one_row_once() -> None:
    name = "resize_token_embeddings(V + 1)"
    (row,) = survival(gpt2, {name: TRANSFORMERS[name]})
    assert row.counted_after == row.counted_before + 8


def test_saving_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    survival(gpt2, TRANSFORMERS)
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""


def test_every_operation_gets_a_model_of_its_own() -> None:
    built: list[nn.Module] = []

    def build() -> nn.Module:
        built.append(tied())
        return built[-1]

    survival(build, {"one": lambda build: build(), "two": lambda build: build()})
    assert len({id(model) for model in built}) == 4
