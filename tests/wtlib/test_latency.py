"""Latency: what is timed is of one shape, the ratio is paired, records are read back."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from wtlib import cli, latency, recording
from wtlib.errors import WtlibError
from wtlib.latency import Latency, Setting
from wtlib.training import build

TINY = Setting(d_model=16, batch_size=2, n_layers=3, pairs=2)


def test_shared_and_unshared_count_the_same_flops() -> None:
    found = latency.measure(TINY)
    assert found.flops[0] == found.flops[1]
    # Two for each weight of a matrix and token; one token's scores count or not, by the kernel.
    matrices = 3 * 12 * 16**2 + 2 * 16
    scores = 3 * 2 * 2 * 16
    assert 0 <= found.flops[0] - TINY.batch_size * 2 * matrices <= TINY.batch_size * scores
    assert len(found.unshared) == len(found.shared) == TINY.pairs
    assert all(seconds > 0 for seconds in (*found.unshared, *found.shared))


def test_threads_are_put_back() -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        latency.measure(TINY)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)


def test_weight_bytes_are_those_of_the_built_model() -> None:
    for sharing in ("none", "all"):
        model = build(TINY.config(sharing), seed=0)
        assert TINY.weight_bytes(sharing) == sum(p.nbytes for p in model.parameters())


def test_ratios_are_taken_pair_by_pair() -> None:
    found = Latency(TINY, (1.0, 2.0, 4.0), (0.5, 2.0, 1.0), (1, 1))
    assert found.ratios == (0.5, 1.0, 0.25)
    assert found.ratio == 0.5
    assert found.quartiles == (0.375, 0.75)
    assert Latency(TINY, (2.0,), (1.0,), (1, 1)).quartiles == (0.5, 0.5)


def test_records_are_read_back_and_the_last_one_counts(tmp_path: Path) -> None:
    about: dict[str, Any] = {"machine": {"load": 1.5}}
    first, second = (next(latency.record([TINY], lambda: about, tmp_path)) for _ in range(2))
    recorded = latency.load(tmp_path)
    assert [x.shared for x in recorded.latencies] == [second.shared]
    assert first.flops == recorded.latencies[0].flops
    assert (recorded.machine, recorded.stale, recorded.latencies[0].load) == (
        about["machine"],
        0,
        1.5,
    )
    assert recorded.stack(TINY.config("all"), 2).unshared == second.unshared
    with pytest.raises(WtlibError, match="no latency of d_model=16, n_layers=3, sharing='none'"):
        recorded.stack(TINY.config("none"), 2)


def test_records_of_other_code_are_stale(tmp_path: Path) -> None:
    list(latency.record([TINY], lambda: {"machine": {"load": None}}, tmp_path))
    path = tmp_path / latency.FILE
    path.write_text(json.dumps({**json.loads(path.read_text()), "code": "other"}) + "\n")
    assert latency.load(tmp_path).stale == 1


def test_the_books_record_is_whole() -> None:
    recorded = latency.load()
    measured = {(x.setting, len(x.ratios)) for x in recorded.latencies}
    assert measured == {(setting, setting.pairs) for setting in latency.settings()}
    for batch in latency.BATCH_SIZES:
        assert [x.setting.d_model for x in recorded.of(batch)] == list(latency.WIDTHS)
    assert all(x.flops[0] == x.flops[1] for x in recorded.latencies)


def test_nothing_recorded(tmp_path: Path) -> None:
    with pytest.raises(WtlibError, match=r"holds no measurement; run python -m wtlib latency"):
        latency.load(tmp_path)


@pytest.mark.parametrize("name", ["batch_size", "pairs"])
def test_settings_that_time_nothing(name: str) -> None:
    with pytest.raises(WtlibError, match=f"{name}=0 must be at least 1"):
        replace(TINY, **{name: 0})  # type: ignore[arg-type]


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(latency, "settings", lambda: (TINY,))
    assert cli.main(["latency", "--records", str(tmp_path)]) == 0
    assert "d_model 16, batch 2: shared takes" in capsys.readouterr().err
    (found,) = latency.load(tmp_path).latencies
    assert found.setting == TINY


def test_circumstances_are_json() -> None:
    about = recording.circumstances()
    assert json.loads(json.dumps(about)) == about
    assert (
        about["versions"]["torch"] == torch.__version__.partition("+")[0]
        or "+" in torch.__version__
    )


def test_cache_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_CACHES", tmp_path)
    assert recording.last_level_cache_bytes() is None
    for name, size in (("index0", "48K"), ("index3", "32M"), ("index9", "512")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "size").write_text(f"{size}\n")
    assert recording.last_level_cache_bytes() == 32 * 2**20
