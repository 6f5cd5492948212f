"""`python -m wtlib census` and `python -m wtlib advise`."""

import json
from typing import Any

import pytest

from wtlib import census
from wtlib.advice import BRANCHES, advise
from wtlib.cli import main

SIZES = ["--vocab-size", "50257", "--d-model", "768", "--layers", "12"]


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main([*arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def ids(found: Any) -> list[str]:
    return [row["id"] for row in found["models"]]


def test_census_json_has_every_column(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "census")
    assert ids(found) == [model.id for model in census.load()]
    first = found["models"][0]
    assert (first["total_params"], first["tie_word_embeddings"]) == (124_439_808, True)
    assert first["source"]
    assert first["layers"] == 12


@pytest.mark.parametrize(("flag", "tied"), [("--tied", True), ("--untied", False)])
def test_census_by_tie_and_family(
    capsys: pytest.CaptureFixture[str], flag: str, tied: bool
) -> None:
    found = document(capsys, "census", "--family", "qwen3", flag)
    assert ids(found) == [
        model.id
        for model in census.load()
        if model.family == "Qwen3" and model.tie_word_embeddings is tied
    ]


def test_census_by_kind(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "census", "--kind", "masked")
    assert {row["kind"] for row in found["models"]} == {"masked"}


def test_census_as_text_marks_and_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["census", "--family", "Qwen1.5"]) == 0
    out = capsys.readouterr().out
    assert out.count("untied?") == 5
    assert "7 models: 1 tied, 6 untied; 5 of these flags not verified" in out


def test_census_of_an_unknown_family_or_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no family 'qwn3'; near it: Qwen3" in refused(capsys, "census", "--family", "qwn3")
    assert "no kind 'zzz'; near it: causal" in refused(capsys, "census", "--kind", "zzz")


def test_census_is_tied_or_untied(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["census", "--tied", "--untied"])
    assert "not allowed with" in capsys.readouterr().err


def test_advise_json_is_the_functions_answer(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "advise", *SIZES, "--tokens", "1000", "--purpose", "transfer")
    advice = advise(50_257, 768, 12, tokens=1000, purpose="transfer")
    assert found["recommendation"] == advice.recommendation == "untie"
    assert found["saving"] == advice.saving
    assert found["neighbours"]["models"] == advice.neighbours.models
    codes = [reason["branch"]["code"] for reason in found["reasons"]]
    assert codes == [reason.branch.code for reason in advice.reasons]
    assert found["reasons"][0]["branch"]["claims"] == ["essay-31"]


def test_advise_as_text_gives_every_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", *SIZES, "--tokens", "1000"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("TIE  (decided by: scarce-data)")
    assert "ledger: essay-25, essay-26, presswolf-large" in out
    large = next(branch for branch in BRANCHES if branch.code == "large-saving")
    assert " ".join(large.because.split()) in " ".join(out.split())
    for heading in ("Uncertain:", "If you follow it:", "In the census, "):
        assert heading in out


def test_advise_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no purpose 'fun'" in refused(capsys, "advise", *SIZES, "--purpose", "fun")
    assert "tokens is 0" in refused(capsys, "advise", *SIZES, "--tokens", "0")
    with pytest.raises(SystemExit):
        main(["advise", "--vocab-size", "9"])
    assert "--d-model, --layers" in capsys.readouterr().err
