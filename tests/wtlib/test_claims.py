"""The ledger: its file, its values, and what it shows."""

import dataclasses
import json
import math
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from wtlib import claims, cli
from wtlib.claims import Bounds, rows, values

CLAIMS = {claim.id: claim for claim in claims.load()}

# ------------------------------------------------------------------------------ the real file


def test_rows_per_source() -> None:
    counts = Counter(claim.source.key for claim in claims.load())
    assert counts == {
        "handbook": 27,
        "essay": 25,
        "post": 78,
        "llmc": 1,
        "qwen": 2,
        "mobilellm": 4,
        "kerashub": 1,
        "transformerlens": 1,
        "mlcllm": 1,
        "olmo": 1,
        "albert": 22,
        "takase": 14,
        "presswolf": 11,
        "lopardo": 3,
        "thomas": 3,
        "specimen": 11,
    }


def test_each_audited_claim_has_a_row() -> None:
    numbers = {
        int(claim.id.rpartition("-")[2]): claim.source.key
        for claim in claims.load()
        if claim.id.rpartition("-")[2].isdigit()
        and claim.id.count("-") == 1
        and claim.source.key != "specimen"
    }
    assert sorted(numbers) == [*range(1, 91)]
    for number, source in numbers.items():
        assert source == ("handbook" if number <= 22 else "essay" if number <= 47 else "post")


def test_each_source_is_described_and_used() -> None:
    data = yaml.safe_load(claims.PATH.read_text(encoding="utf-8"))
    assert set(data["sources"]) == {claim.source.key for claim in claims.load()}


def test_find_by_id_and_by_slug() -> None:
    assert claims.find("post-73") is claims.find("post-qwen3-06b")
    assert claims.find("post-73").anchor == "claim-post-73"


def test_find_says_what_is_near() -> None:
    with pytest.raises(claims.LedgerError, match=r"no claim 'post-7' in the ledger: did you mean"):
        claims.find("post-7")
    with pytest.raises(claims.LedgerError, match=r"no claim '!' in the ledger: `python -m wtlib"):
        claims.find("!")


def test_claims_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        claims.find("post-73").places = 3  # type: ignore[misc]


def test_importing_and_loading_needs_nothing_heavy() -> None:
    code = (
        "import sys; from wtlib import claims; claims.load(); "
        "print([m for m in ('torch', 'transformers', 'matplotlib') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


# ---------------------------------------------------------------------------------- the schema

ROW: dict[str, Any] = {
    "id": "post-1",
    "source": "post",
    "chapter": 2,
    "claim": "A claim.",
    "published": 31,
    "needs": "nothing",
    "measure": {"function": "arithmetic.percent", "arguments": {"part": 31, "whole": 100}},
}
SOURCES = {"post": {"author": "nobody", "title": "Nothing", "date": "never"}}


def load(tmp_path: Path, *entries: dict[str, Any], sources: Any = SOURCES) -> Any:
    path = tmp_path / "claims.yml"
    path.write_text(yaml.safe_dump({"sources": sources, "claims": list(entries)}))
    return claims.load(path)


def test_a_row_with_defaults(tmp_path: Path) -> None:
    (claim,) = load(tmp_path, ROW)
    assert (claim.places, claim.tolerance, claim.unit, claim.slug) == (0, 0.5, "", None)
    assert claims.verdict(claim).word == "reproduced"


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in ROW.items() if name != key}


def measure(**changes: Any) -> dict[str, Any]:
    return ROW | {"measure": ROW["measure"] | changes}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (ROW | {"tolerence": 1}, r"claim 'post-1': unknown key 'tolerence'; known are .*tolerance"),
        (without("claim"), r"claim 'post-1': no 'claim'; add it"),
        ("words", r"claim 'words': 'words' is not a mapping"),
        (ROW | {"id": "Post 1"}, r"claim 'Post 1': an id is lower-case words"),
        (ROW | {"source": "pots"}, r"claim 'post-1': no source 'pots'; described are post"),
        (ROW | {"id": "essay-1"}, r"claim 'essay-1': an id begins with its source, here 'post'"),
        (ROW | {"needs": "luck"}, r"claim 'post-1': needs 'luck'; known are nothing, configs"),
        (ROW | {"needs": "specimen"}, r"needs 'specimen', specimen None: one asks for the other"),
        (ROW | {"specimen": "gpt2"}, r"needs 'nothing', specimen 'gpt2': one asks for the other"),
        (without("measure"), r"claim 'post-1': give either a measure, or why it is unmeasured"),
        (ROW | {"unmeasured": "x"}, r"claim 'post-1': give either a measure, or why"),
        (ROW | {"published": {"over": 3}}, r"'post-1': bounds {'over': 3}: give numbers, under"),
        (ROW | {"published": {"above": "3"}}, r"'post-1': bounds {'above': '3'}: give numbers"),
        (ROW | {"published": []}, r"claim 'post-1': list \[\]: give numbers"),
        (ROW | {"published": None}, r"claim 'post-1': None: give a number, words"),
        (ROW | {"published": math.nan}, r"claim 'post-1': nan: give finite numbers"),
        (ROW | {"published": {"above": math.inf}}, r"'post-1': {'above': inf}: give finite"),
        (ROW | {"published": [1, math.nan]}, r"'post-1': \[1, nan\]: give finite numbers"),
        (ROW | {"id": 1}, r"claim 1: id is 1; give words, in quotes if YAML"),
        (ROW | {"source": ["post"]}, r"source is \['post'\]; give words"),
        (ROW | {"claim": " "}, r"claim is ' '; give words"),
        (ROW | {"note": True}, r"note is True; give words"),
        (ROW | {"chapter": "2"}, r"chapter is '2'; give a whole number"),
        (ROW | {"places": 1.5}, r"places is 1.5; give a whole number"),
        (ROW | {"tolerance": -1}, r"tolerance is -1; give a number, zero or more"),
        (ROW | {"tolerance": math.nan}, r"tolerance is nan; give a number, zero or more"),
        (ROW | {"structural": "yes"}, r"structural is 'yes'; give true or false"),
        (ROW | {"beside": {}}, r"beside is {}; give a list"),
        (measure(per=0), r"claim 'post-1', measure: per is 0; give a whole number above zero"),
        (measure(arguments=[3]), r"arguments is \[3\]; give a mapping of names to values"),
        (
            ROW | {"needs": "specimen", "specimen": "gtp2"},
            r"claim 'post-1': no specimen 'gtp2'; known are gpt2, smollm2-135m",
        ),
        (measure(function="arithmetic.guess"), r"no measure 'arithmetic.guess'; known are"),
        (measure(function="os.system"), r"'post-1': no measure 'os.system'; known are"),
        (measure(arguments={"part": 3}), r"percent: missing a required argument: 'whole'"),
        (measure(arguments={"part": 3, "hole": 4}), r"arithmetic.percent: .*argument"),
        (measure(argument={}), r"claim 'post-1', measure: unknown key 'argument'"),
        (measure(function="models.tokens", arguments={}), r"models.tokens takes a model: name a"),
        (
            ROW | {"needs": "specimen", "specimen": "gpt2"},
            r"arithmetic.percent does not take a model",
        ),
        (ROW | {"beside": [{"label": "x"}]}, r"claim 'post-1', beside 1: no 'arguments'; add it"),
        (
            ROW | {"beside": [{"label": "x", "function": "models.tokens", "arguments": {},
                               "specimen": "gpt2", "architecture": "gpt2"}]},
            r"claim 'post-1', beside 1: a specimen and an architecture: give one of them",
        ),
    ],
)  # fmt: skip
def test_a_wrong_row_is_named(entry: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(claims.LedgerError, match=message):
        load(tmp_path, entry)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"claims\.yml: give a mapping `sources` and a list `claims`"),
        (b"sources: {}", r"claims\.yml: give a mapping `sources` and a list `claims`"),
        (b"sources: []\nclaims: []", r"give a mapping `sources` and a list `claims`"),
        (b"sources: {", r"claims\.yml cannot be read as a ledger: while parsing"),
        (b"\xff\xfe\xff", r"claims\.yml cannot be read as a ledger: 'utf-8'"),
        (b"claims: [{note: a, id: b, note: c}]", r"key 'note' stands twice; remove one(.|\n)*line"),
        (b"claims: [!!python/object:x {}]", r"claims\.yml cannot be read as a ledger: could not"),
        (None, r"claims\.yml cannot be read as a ledger: .*No such file"),
    ],
)
def test_a_file_that_is_no_ledger(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "claims.yml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(claims.LedgerError, match=message):
        claims.load(path)


def test_two_claims_of_one_name(tmp_path: Path) -> None:
    for other in (ROW, ROW | {"id": "post-2", "slug": "post-1"}):
        with pytest.raises(claims.LedgerError, match="'post-1' names two claims"):
            load(tmp_path, ROW, other)


def test_a_wrong_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(claims.LedgerError, match="source post: no 'date'; add it"):
        load(tmp_path, ROW, sources={"post": {"author": "nobody", "title": "Nothing"}})


# ------------------------------------------------------------------------------------ values


@pytest.mark.parametrize(
    ("published", "measured", "tolerance", "agreed"),
    [
        (23.8, 23.75, 0.05, True),
        (23.8, 23.85, 0.05, True),
        (23.8, 23.8501, 0.05, False),
        (80, 84.9, 5.0, True),
        (0, 0.0, 0.0, True),
        (0, 1e-12, 0.0, False),
        (7, math.nan, 0.5, False),
        (True, True, 0.5, True),
        (True, False, 0.5, False),
        (True, 1, 0.5, False),
        (1, True, 0.5, False),
        ("words", "words", 0.0, True),
        ("words", "word", 0.0, False),
        ((1, 2), [1.4, 2.4], 0.5, True),
        ((1, 2), [1.4, 2.6], 0.5, False),
        ((1, 2), [1], 0.5, False),
        ((True, False), [True, False], 0.5, True),
        ((True, False), [True, True], 0.5, False),
        (Bounds(5, None, True), 5.0, 0.5, False),
        (Bounds(5, None, True), 5.1, 0.5, True),
        (Bounds(None, 5, True), 5.0, 0.5, False),
        (Bounds(None, 5, False), 5.0, 0.5, True),
        (Bounds(5, None, False), 5.0, 0.5, True),
        (Bounds(10, 20, False), [10, 20.0], 0.5, True),
        (Bounds(10, 20, False), [10, 20.1], 0.5, False),
        (Bounds(None, 5, False), math.nan, 0.5, False),
    ],
)
def test_agreement(published: Any, measured: Any, tolerance: float, agreed: bool) -> None:
    assert values.agrees(published, measured, tolerance) is agreed


@pytest.mark.parametrize(
    ("raw", "unit", "places", "text"),
    [
        (38_597_376, "", 0, "38,597,376"),
        (23.8, "%", 1, "23.8%"),
        (38.6, "M", 1, "38.6M"),
        (64, "times", 0, "64\N{NO-BREAK SPACE}times"),
        (0.06, "", 3, "0.060"),
        (-0.0069, "", 4, "\N{MINUS SIGN}0.0069"),
        (80, "times", -1, "80\N{NO-BREAK SPACE}times"),
        (True, "", 0, "yes"),
        ([True, False], "", 0, "yes / no"),
        ([31.0, 5.2], "%", 1, "31.0 / 5.2%"),
        ({"above": 15}, "%", 0, "more than 15%"),
        ({"below": 5}, "%", 0, "less than 5%"),
        ({"at_least": 90}, "%", 0, "at least 90%"),
        ({"at_most": 52.94}, "", 2, "at most 52.94"),
        ({"from": 10, "to": 20}, "%", 0, "10 to 20%"),
        ("a forecast", "", 0, "a forecast"),
    ],
)
def test_text(raw: Any, unit: str, places: int, text: str) -> None:
    assert values.text(values.parse(raw), unit, places) == text


# ------------------------------------------------------------------------------- what it shows


def test_table_for_a_chapter() -> None:
    shown = claims.table("post-73", "post-qwen3-17b", caption="Shares")
    assert shown.headers == ("id", "claim", "published", "measured", "verdict")
    assert [row[0] for row in shown.rows] == ["post-73", "post-74"]
    assert shown.rows[0][2:] == ("31%", "26.1%", "differs")
    assert shown.caption == "Shares"


def test_tally_adds_up() -> None:
    found = [claims.verdict(CLAIMS[name]) for name in ("post-73", "post-74", "essay-41")]
    assert list(claims.tally(found).rows) == [
        ("post", "1", "1", "0", "2"),
        ("essay", "0", "0", "1", "1"),
        ("all", "1", "1", "1", "3"),
    ]


def test_page_escapes_what_it_shows() -> None:
    claim = dataclasses.replace(CLAIMS["post-73"], claim='<b> & "b"', note="<i>")
    (page,) = claims.pages([claims.verdict(claim)])
    shown = page._repr_html_()
    assert "&lt;b&gt; &amp; &quot;b&quot;" in shown
    assert "<i>" not in shown
    assert '<tr id="claim-post-73" data-claim="post-73" data-verdict="differs: 26.1%">' in shown
    assert '<b> & "b"' in repr(page)


def test_command_prints_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["claims", "--id", "post-73", "--id", "post-routes-ratio"]) == 0
    shown = capsys.readouterr().out
    assert "post-73  differs\n" in shown
    assert "  command: python -m wtlib claims --specimen gpt2 --id post-routes-ratio\n" in shown


def test_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["claims", "--json", "--id", "handbook-18"]) == 0
    (claim,) = json.loads(capsys.readouterr().out)["claims"]
    assert claim["verdict"] == "differs"
    assert claim["measured"] == pytest.approx(5.16, abs=0.005)
    assert claim["published"] == {"low": None, "high": 5, "strict": True}


def test_command_without_such_a_claim(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["claims", "--id", "post-7"]) == 2
    assert "no claim 'post-7'" in capsys.readouterr().err


def test_rows_of_one_file_are_read_once() -> None:
    assert claims.load() is claims.load()
    assert rows.PATH.name == "claims.yml"
