"""The decision guide's page says what the library's branches say."""

import re
from pathlib import Path

import pytest

from wtlib.advice import BRANCHES, Branch

PAGE = Path(__file__).parents[2] / "book" / "deciding.md"
TEXT = PAGE.read_text(encoding="utf-8")
SECTIONS = dict(
    re.findall(r"^\(deciding-([a-z-]+)\)=\n(## .*?)(?=^\(deciding-|^## If|\Z)", TEXT, re.M | re.S)
)


def test_one_section_for_each_branch_in_their_order() -> None:
    assert list(SECTIONS) == [branch.code for branch in BRANCHES]


@pytest.mark.parametrize("branch", BRANCHES, ids=lambda branch: branch.code)
def test_a_section_recommends_what_the_branch_does(branch: Branch) -> None:
    heading = SECTIONS[branch.code].splitlines()[0]
    assert heading.endswith(f": {branch.word}")


@pytest.mark.parametrize("branch", BRANCHES, ids=lambda branch: branch.code)
def test_a_section_quotes_the_branchs_evidence(branch: Branch) -> None:
    section = SECTIONS[branch.code]
    quoted = set(re.findall(r"\{(?:published|verdict)\}`([^`]+)`", section))
    cited = {
        key for keys in re.findall(r"\{cite(?::t)?\}`([^`]+)`", section) for key in keys.split(",")
    }
    assert quoted == set(branch.claims)
    assert cited >= set(branch.sources)


@pytest.mark.parametrize("branch", BRANCHES, ids=lambda branch: branch.code)
def test_the_table_agrees(branch: Branch) -> None:
    [row] = [line for line in TEXT.splitlines() if f"(#deciding-{branch.code})" in line]
    _, _, _, leads_to, evidence, _ = (cell.strip() for cell in row.split("|"))
    assert leads_to.split()[0] == branch.word
    assert evidence == branch.evidence
