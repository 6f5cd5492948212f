import sys

import pytest

from wtlib.errors import WtlibError
from wtlib.tying import CASES, comparison

ROWS = comparison()


def test_the_inspector_is_right_on_every_case() -> None:
    assert [row.case for row in ROWS if not row.right["inspector"]] == []


def test_where_the_tools_in_use_are_wrong_on_the_installed_versions() -> None:
    wrong = {
        tool: {row.case for row in ROWS if not row.right[tool]}
        for tool in ("accelerate", "safetensors", "num_parameters")
    }
    two_parameters = {
        "two Parameters, one storage (.data)",
        "two Parameters, one storage (.t())",
        "a head that views part of the table",
    }
    assert wrong == {
        "accelerate": two_parameters,
        "num_parameters": two_parameters,
        "safetensors": {
            "two Parameters, one storage (.t())",
            "columns of one buffer",
            "one Parameter on the meta device",
        },
    }


def test_a_tool_that_raises_has_no_answer() -> None:
    raised = {row.case for row in ROWS if row.safetensors is None}
    assert raised == {"two Parameters, one storage (.t())", "columns of one buffer"}


def test_one_case_alone() -> None:
    (row,) = comparison(CASES[1:2])
    assert row == ROWS[1]
    assert all(row.right.values())


def test_accelerate_must_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "accelerate.utils", None)
    with pytest.raises(WtlibError, match="accelerate is not installed"):
        comparison(CASES[:1])
