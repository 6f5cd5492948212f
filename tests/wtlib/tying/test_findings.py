import json
import re
from pathlib import Path

import jsonschema
import pytest

import wtlib
from tests.wtlib.tying.examples import EXAMPLES, LIVE_BIASES, Example
from wtlib.tying import CODES

SCHEMA = json.loads((Path(wtlib.__file__).parent / "data/inspection.schema.json").read_text())
ALL = [*EXAMPLES.items(), *LIVE_BIASES.items()]


def test_every_code_has_an_example_and_no_other_has() -> None:
    assert list(EXAMPLES) == list(CODES)


@pytest.mark.parametrize(("code", "example"), ALL, ids=[code for code, _ in ALL])
def test_the_faulty_has_the_finding_and_the_sound_has_not(
    code: str, example: Example, tmp_path: Path
) -> None:
    faulty, sound = example.faulty(tmp_path / "faulty"), example.sound(tmp_path / "sound")
    assert code in faulty.codes
    assert code not in sound.codes
    assert faulty.exit_status >= (CODES[code].severity == "error")
    for found in (faulty, sound):
        document = json.loads(json.dumps(found.document(), allow_nan=False))
        jsonschema.validate(document, SCHEMA, jsonschema.Draft202012Validator)
        assert document == found.document()


def test_a_sentence_each_for_what_is_wrong_and_what_to_do(tmp_path: Path) -> None:
    for code, example in EXAMPLES.items():
        for finding in example.faulty(tmp_path / code).findings:
            for sentence in (finding.message, finding.do, CODES[finding.code].when):
                assert re.fullmatch(r".+\.", sentence)
                assert not re.search(r"\.\s+[A-Z]", sentence), sentence


def test_errors_come_first(tmp_path: Path) -> None:
    found = EXAMPLES["rows-differ"].faulty(tmp_path)
    order = ["error", "warning", "note"]
    places = [order.index(finding.severity) for finding in found.findings]
    assert places == sorted(places)
