"""`python -m wtlib routes`, on a checkpoint folder made here and on bad requests."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from tests.wtlib.routes_models import build, by_autograd, touched
from wtlib.cli import main

WORDS = ["[UNK]", "the", "sky", "is", "blue", "grass", "green"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tiny")
    build("gpt2").save_pretrained(path)
    words = models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]")  # type: ignore[call-arg]
    tokenizer = Tokenizer(words)
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()  # type: ignore[assignment]
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]").save_pretrained(path)
    return path


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["routes", str(folder), "--text", "the sky is blue is green", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    reference = by_autograd(build("gpt2"), torch.tensor([[1, 2, 3, 4, 3, 6]]))
    assert list(found) == [
        "specimen",
        "tokens",
        "distinct_tokens",
        "loss",
        "short",
        "long",
        "ratio",
        "max_difference",
    ]
    assert (found["tokens"], found["distinct_tokens"]) == (6, 5)
    assert found["loss"] == pytest.approx(reference.loss, rel=1e-5)
    for route, gradient in (("short", reference.short), ("long", reference.long)):
        assert found[route]["norm"] == pytest.approx(float(gradient.norm()), rel=1e-5)
        assert found[route]["rows_touched"] == touched(gradient)
    assert found["ratio"] == pytest.approx(found["short"]["norm"] / found["long"]["norm"])
    assert found["max_difference"] == pytest.approx(0.0, abs=1e-6)


def test_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["routes", str(folder), "--text", "the sky is blue"]) == 0
    shown = capsys.readouterr().out
    assert "short route (head)" in shown
    assert "largest difference from the tied gradient" in shown
    assert [line.split() for line in shown.splitlines() if line.startswith("rows touched")] == [
        ["rows", "touched", "61", "3"]
    ]


def test_text_of_one_token(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["routes", str(folder), "--text", "sky"]) == 2
    assert "at least two tokens" in capsys.readouterr().err


def test_help_needs_no_torch() -> None:
    code = (
        "import sys; from wtlib.cli import build_parser; build_parser();"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_bytes_that_are_no_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["routes", str(folder), "--text", "sky \udcff"]) == 2
    assert r"--text 'sky \udcff' is not valid UTF-8" in capsys.readouterr().err


def test_an_infinite_ratio_is_null_in_json(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(folder, tmp_path / "zero")
    model = build("gpt2")
    # Nothing comes back through a head of zeros, so the long route is exactly zero.
    torch.nn.init.zeros_(model.get_input_embeddings().weight)
    model.save_pretrained(tmp_path / "zero")
    assert main(["routes", str(tmp_path / "zero"), "--text", "the sky is blue", "--json"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found["long"]["norm"] == 0 < found["short"]["norm"]
    assert found["ratio"] is None
