import json
import re
from pathlib import Path

import wtlib
from tests.book.inspector_page import PAGE, filled, tables

SCHEMA = json.loads((Path(wtlib.__file__).parent / "data/inspection.schema.json").read_text())


def test_the_tables_are_those_of_the_code() -> None:
    page = PAGE.read_text()
    assert filled(page) == page
    assert all(table in page for table in tables().values())


def test_every_key_of_the_json_form_is_explained() -> None:
    explained = set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE))
    assert set(SCHEMA["properties"]) <= explained
