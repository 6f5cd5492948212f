import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.wtlib.test_paths import ODD
from wtlib.cli import build_parser, main


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


@pytest.mark.parametrize("word", ODD)
@pytest.mark.parametrize("command", [["count"], ["specimen"], ["claims", "--specimen"]])
def test_an_odd_word_is_no_specimen(
    command: list[str],
    word: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    monkeypatch.chdir(tmp_path)  # an empty word is not the folder you happen to stand in
    assert main([*command, word]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"There is no specimen {word!r}" in captured.err


@pytest.mark.parametrize(
    "command", [["--help"], ["sweep", "--help"], ["count", "gpt2"], ["census"]]
)
def test_a_terminal_that_cannot_show_a_sign_shows_its_code_point(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "wtlib", *command],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here is always full")
def test_a_full_disk_is_one_line_and_status_2() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "wtlib", "count", "gpt2"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "wtlib: [Errno 28] No space left on device\n"


def test_a_closed_output_is_not_an_error() -> None:
    program = f"{sys.executable} -m wtlib count gpt2 >&-"
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "command",
    [
        ["count", "gpt2"],
        ["census", "--tied"],
        ["census", "--family", "Qwen3", "--kind", "masked"],
        ["claims", "--id", "handbook-03"],
        ["specimen", "smollm2-135m"],
    ],
)
def test_json_is_one_object(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    assert main([*command, "--json"]) == 0
    assert isinstance(json.loads(capsys.readouterr().out, parse_constant=refuse), dict)


ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "book").glob("*.md"))]


def test_every_printed_command_can_be_typed_and_is_printed_once_a_page() -> None:
    seen = []
    for page in PAGES:
        lines = page.read_text(encoding="utf-8").splitlines()
        found = [line for line in lines if line.startswith("python -m wtlib ")]
        # A synopsis has what may be left out in brackets.
        plain = [line.translate({ord("["): None, ord("]"): None}) for line in found]
        commands = [shlex.split(line, comments=True)[3:] for line in plain]
        assert all(commands.count(command) == 1 for command in commands), page
        seen += commands
    assert len(seen) > 8
    parser = build_parser()
    for command in seen:
        parser.parse_args(command)  # exits where it does not fit
