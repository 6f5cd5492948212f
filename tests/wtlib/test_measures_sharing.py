"""The sharing chapter's measures of records, against the records' raw lines."""

import json
import math
import statistics
from typing import Any

import pytest

from wtlib import claims
from wtlib.measures import sharing
from wtlib.sweeps import RECORDS


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (RECORDS / name).read_text().splitlines()]


def losses() -> dict[tuple[str, int, int], float]:
    return {
        (line["config"]["model"]["sharing"], line["config"]["model"]["n_layers"], line["seed"]):
        line["metrics"]["test_loss"]
        for line in lines("cross-layer.jsonl")
    }  # fmt: skip


def gap(scheme: str, n_layers: int, seed: int) -> float:
    found = losses()
    return found[scheme, n_layers, seed] - found["none", n_layers, seed]


DEPTHS, SEEDS = (4, 8, 12), (0, 1, 2)


@pytest.mark.parametrize("n_layers", DEPTHS)
def test_gap(n_layers: int) -> None:
    expected = statistics.fmean(gap("all", n_layers, seed) for seed in SEEDS)
    assert sharing.gap_at("all", n_layers) == pytest.approx(expected)


def test_the_gap_of_sharing_all_grows_with_each_seed() -> None:
    x = [math.log2(n) for n in DEPTHS]
    centre = statistics.fmean(x)
    slopes = [
        sum((a - centre) * gap("all", n, seed) for a, n in zip(x, DEPTHS, strict=True))
        for seed in SEEDS
    ]
    assert sharing.gap_grows("all") == all(slope > 0 for slope in slopes)
    assert claims.verdict(claims.find("essay-38")).word == "reproduced"


@pytest.mark.parametrize("pair", [("groups-2", "all"), ("attention-only", "mlp-only")])
def test_orders(pair: tuple[str, str]) -> None:
    means = {
        (scheme, n): statistics.fmean(gap(scheme, n, seed) for seed in SEEDS)
        for scheme in pair
        for n in DEPTHS
    }
    less = all(means[pair[0], n] < means[pair[1], n] for n in DEPTHS)
    assert sharing.cheaper(*pair) == less
    assert sharing.between(*pair) == (less and all(means[pair[0], n] > 0 for n in DEPTHS))


@pytest.mark.parametrize(("width", "batch"), [(384, 1), (384, 32), (1024, 1)])
def test_latency_ratio(width: int, batch: int) -> None:
    (line,) = (
        line
        for line in lines("latency.jsonl")
        if (line["config"]["d_model"], line["config"]["batch_size"]) == (width, batch)
    )
    pairs = zip(line["metrics"]["shared"], line["metrics"]["unshared"], strict=True)
    expected = statistics.median(shared / unshared for shared, unshared in pairs)
    assert sharing.latency_ratio(width, batch) == pytest.approx(expected)


def test_verdicts_of_the_records() -> None:
    words = {f"essay-{n}": claims.verdict(claims.find(f"essay-{n}")).word for n in (35, 39, 40)}
    assert words == {"essay-35": "differs", "essay-39": "reproduced", "essay-40": "differs"}
