"""`python -m wtlib count`."""

import json
from pathlib import Path
from typing import Any

import pytest

from wtlib.cli import main

TINY = {"model_type": "llama", "vocab_size": 97, "hidden_size": 24, "num_attention_heads": 4}


def counted(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["count", *arguments, "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["count", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_specimens(capsys: pytest.CaptureFixture[str]) -> None:
    assert counted(capsys, "gpt2")["total"] == 124_439_808
    assert counted(capsys, "smollm2-135m")["total"] == 134_515_008


def test_census_model(capsys: pytest.CaptureFixture[str]) -> None:
    document = counted(capsys, "Qwen/Qwen3-8B")
    assert (document["tied"], document["total"]) == (False, 8_190_735_360)


def test_file_and_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(TINY))
    by_file, by_folder = counted(capsys, str(path)), counted(capsys, str(tmp_path))
    assert by_file["total"] == by_folder["total"]
    assert by_file["vocabulary_matrix"] == 97 * 24


def test_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--vocab-size", "50257", "--d-model", "768", "--layers", "12"]
    assert counted(capsys, *sizes)["total"] == 124_439_808
    assert counted(capsys, *sizes, "--positions", "1")["total"] == 124_439_808 - 1023 * 768


def test_document(capsys: pytest.CaptureFixture[str]) -> None:
    document = counted(capsys, "gpt2", "--context-length", "1024")
    assert document["saving"] == document["if_untied"] - document["if_tied"] == 38_597_376
    assert document["stacks"][0]["block"]["total"] == 7_087_872
    assert document["memory"]["adam_mixed"] == 16 * 124_439_808
    assert document["flops"]["scores"] == 12 * 1024 * 4 * 768
    assert document["shares"]["one_of_tied"] == 38_597_376 / 124_439_808


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["count", "albert-base-v2"]) == 0
    out = capsys.readouterr().out
    assert "encoder: 12 layers, 1 stored" in out
    assert "11,221,680" in out


def test_unknown_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert "'gtp2' is not in the census; near it: gpt2" in refused(capsys, "gtp2")


def test_target_and_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    assert "give either TARGET (gpt2) or sizes" in refused(capsys, "gpt2", "--layers", "3")


def test_sizes_that_are_not_all_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert "missing: --vocab-size, --d-model" in refused(capsys, "--layers", "3")


def test_size_of_zero(capsys: pytest.CaptureFixture[str]) -> None:
    error = refused(capsys, "--vocab-size", "0", "--d-model", "8", "--layers", "3")
    assert "vocab_size is 0; it must be at least 1" in error


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_config_in_any_encoding_of_json(
    encoding: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(TINY | {"name": "é"}, ensure_ascii=False), encoding=encoding)
    assert counted(capsys, str(path))["vocabulary_matrix"] == 97 * 24


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no file 'cnofig.json'" in refused(capsys, "cnofig.json")


def test_a_model_in_other_capitals(capsys: pytest.CaptureFixture[str]) -> None:
    assert "near it: gpt2" in refused(capsys, "GPT2")
