"""Files that are no notebooks."""

from pathlib import Path

import pytest

from tests import prose_numerals
from tests.numbercheck import record
from tests.numbercheck.reading import NotReadableError, parse

NONE = {
    "empty": "",
    "torn": '{"cells": [',
    "list": "[1]",
    "null": "null",
    "nothing in it": "{}",
    "cells that are no list": '{"cells": 3}',
    "a cell that is none": '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [1]}',
    "metadata that is none": '{"nbformat": 4, "nbformat_minor": 5, "metadata": [], "cells": []}',
    "a format to come": '{"nbformat": 99, "cells": []}',
    "a format that is none": '{"nbformat": "x", "cells": []}',
    "endless": "[" * 100_000,
}


@pytest.mark.parametrize("content", NONE.values(), ids=list(NONE))
def test_what_is_no_notebook_is_said_to_be_none(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(NotReadableError, match="not a readable notebook: "):
        parse(content.encode())
    path = tmp_path / "one.ipynb"
    path.write_text(content)
    assert record.main([str(path)]) == 1
    assert capsys.readouterr().err.startswith(f"{path}: not a readable notebook: ")
    assert prose_numerals.main([str(path)]) == 2
    assert f"{path} cannot be read: not a readable notebook: " in capsys.readouterr().err


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(NotReadableError, match="not a readable notebook: 'utf-8' codec"):
        parse(b"\xff\xfe{}")
