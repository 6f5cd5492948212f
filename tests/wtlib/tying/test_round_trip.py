from collections.abc import Callable

import pytest
from transformers import PreTrainedModel

from tests.wtlib.tying.models import gpt2, llama
from wtlib.tying import CONTENTS, loading
from wtlib.tying.round_trip import Contents

TABLE, HEAD, EITHER = "the file's table", "the file's head", "either, they are equal"

# Seen with transformers 5.24: (flag, contents) -> (kind, table from, head from).
SEEN = {
    (True, "table only"): ("one Parameter", TABLE, TABLE),
    (True, "head only"): ("one Parameter", HEAD, HEAD),
    (True, "both, equal"): ("one Parameter", EITHER, EITHER),
    (True, "both, different"): ("separate", TABLE, HEAD),
    (False, "table only"): ("separate", TABLE, "random"),
    (False, "head only"): ("separate", "random", HEAD),
    (False, "both, equal"): ("equal copies", EITHER, EITHER),
    (False, "both, different"): ("separate", TABLE, HEAD),
}


@pytest.mark.parametrize("build", [gpt2, llama])
@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("contents", CONTENTS)
def test_flag_and_file(
    build: Callable[[], PreTrainedModel],
    flag: bool,
    contents: Contents,
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = loading(build, flag, contents)
    assert (result.tie.kind, result.table_from, result.head_from) == SEEN[flag, contents]
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""
