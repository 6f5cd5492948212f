import subprocess
import sys

import pytest

from wtlib.cli import main


def _wtlib(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "wtlib", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_help_lists_every_command_with_a_word_about_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    for command in ("claims", "count", "routes", "specimen"):
        assert f"    {command} " in shown


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from wtlib.cli import build_parser; build_parser(); "
        "print(sorted({'torch', 'transformers', 'matplotlib', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_a_request_that_cannot_be_answered_is_one_line_and_status_2() -> None:
    done = _wtlib("count", "no-such-model")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("wtlib: ")
    assert "no-such-model" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_who_has_left_is_not_an_error() -> None:
    program = f"{sys.executable} -m wtlib count gpt2; echo status $? >&2"
    done = subprocess.run(
        ["bash", "-c", f"({program}) | true"], capture_output=True, text=True, check=False
    )
    assert done.stderr.strip() == "status 0"
