"""Replacements against models whose list of blocks was changed by hand; the record."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from tests.wtlib.routes_models import build, text
from wtlib import cli, similarity, specimens, sweeps
from wtlib.routes.uses import block_list
from wtlib.similarity import recorded


def by_hand(model: Any, layers: list[int]) -> float:
    """The loss with another list of blocks, by transformers' own labels."""
    body = model.base_model
    name = next(n for n, child in body.named_children() if isinstance(child, nn.ModuleList))
    before, n_layers = getattr(body, name), model.config.num_hidden_layers
    setattr(body, name, nn.ModuleList(before[i] for i in layers))
    model.config.num_hidden_layers = len(layers)
    try:
        with torch.no_grad():
            logits = model(text(), use_cache=False).logits
        return float(cross_entropy(logits[:, :-1].flatten(0, 1), text()[:, 1:].flatten()))
    finally:
        setattr(body, name, before)
        model.config.num_hidden_layers = n_layers


@pytest.mark.parametrize("family", ["gpt2", "smollm2"])
def test_every_place_and_block(family: str) -> None:
    model: Any = build(family)
    n = len(block_list(model))
    places = list(similarity.replacements(model, text()))
    assert [place.place for place in places] == list(range(n))
    for i, place in enumerate(places):
        for j in range(n):
            layers = [j if layer == i else layer for layer in range(n)]
            assert place.losses[j] == pytest.approx(by_hand(model, layers), rel=1e-6)
        rest = [layer for layer in range(n) if layer != i]
        assert place.without == pytest.approx(by_hand(model, rest), rel=1e-6)
        assert place.intact == place.losses[i]
        assert place.substitute != i


def test_the_layers_to_run() -> None:
    assert similarity.replaced(4, 1, 3) == [0, 3, 2, 3]
    assert similarity.replaced(4, 1, None) == [0, 2, 3]


@pytest.fixture
def specimen() -> Any:
    return SimpleNamespace(
        name="small",
        model=build("gpt2"),
        identity=SimpleNamespace(sha256="0" * 64),
        tokenizer=lambda characters: {"input_ids": [ord(c) % 40 for c in characters]},
    )


def test_a_record_goes_on_and_is_read(specimen: Any, tmp_path: Path) -> None:
    measured = similarity.replacement_map(specimen, tmp_path)
    assert not measured.recorded
    similarity.record(specimen, {"machine": {}}, tmp_path)
    path = tmp_path / recorded.FILE
    whole = path.read_text()
    path.write_text("".join(whole.splitlines(keepends=True)[:1]))
    assert not similarity.replacement_map(specimen, tmp_path).recorded
    reported: list[int] = []
    similarity.record(specimen, {"machine": {}}, tmp_path, lambda p: reported.append(p.place))
    assert reported == list(range(1, len(measured.places)))
    assert path.read_text() == whole
    found = similarity.replacement_map(specimen, tmp_path)
    assert found.recorded
    assert found.places == measured.places
    specimen.identity.sha256 = "1" * 64
    assert not similarity.replacement_map(specimen, tmp_path).recorded


def test_the_books_record_is_complete_and_of_the_embedded_specimen() -> None:
    lines = [json.loads(line) for line in (sweeps.RECORDS / recorded.FILE).read_text().splitlines()]
    n = specimens.config("smollm2-135m")["num_hidden_layers"]
    assert {line["place"] for line in lines} == set(range(n))
    assert all(len(line["losses"]) == n for line in lines)
    # What stands at its own place is the intact model, whichever place was asked.
    assert len({round(line["losses"][line["place"]], 3) for line in lines}) == 1


def test_the_command(
    specimen: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(specimens, "load", lambda name: specimen)
    assert cli.main(["replace-blocks", "--records", str(tmp_path)]) == 0
    assert "layer 0: perplexity" in capsys.readouterr().err
    assert similarity.replacement_map(specimen, tmp_path).recorded
