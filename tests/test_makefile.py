"""What the Makefile would run, without running it."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from wtlib.corpus import sources
from wtlib.specimens import SMOLLM2

ROOT = Path(__file__).parents[1]
SPACED = "my models/tiny"

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def dry_run(*arguments: str, **environment: str) -> str:
    """The commands of some targets, set-up left out."""
    outer = {k: v for k, v in os.environ.items() if k not in ("SPECIMEN", "MAKEFLAGS", "PORT")}
    return subprocess.run(
        ["make", "-n", "-o", "setup", *arguments],
        cwd=ROOT,
        env=outer | environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_make_alone_and_the_readme_list_every_command() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = next(line for line in makefile.splitlines() if line.startswith(".PHONY:"))
    commands = phony.split()[1:]
    listed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert sorted(line.split()[0] for line in listed.splitlines()) == sorted(commands)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in set(commands) - {"help"}:
        assert f"`{command}`" in readme or f"make {command} " in readme, command


def test_a_record_keeps_its_edition_unless_told() -> None:
    assert "--specimen" not in dry_run("record")
    assert '--specimen "auto"' in dry_run("record", "SPECIMEN=auto")
    assert '--specimen "gpt2"' in dry_run("record", SPECIMEN="gpt2")


def test_a_folder_with_a_space_is_one_word() -> None:
    assert f'WTLIB_SPECIMEN="{SPACED}" ' in dry_run("book", f"SPECIMEN={SPACED}")
    assert f'--specimen "{SPACED}" ' in dry_run("record", f"SPECIMEN={SPACED}")


def test_the_packages_of_data_have_one_version() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    packages = re.search(r"^DATA_PACKAGES := (.+)$", makefile, re.MULTILINE)
    assert packages is not None
    assert packages[1] in (ROOT / "README.md").read_text(encoding="utf-8")
    pinned = [
        f"{SMOLLM2.distribution}=={SMOLLM2.version}",
        f"{sources._DISTRIBUTION}=={sources._VERSION}",
    ]
    assert packages[1].split() == pinned


@pytest.mark.parametrize(
    "changed", ["requirements.txt", "constraints.txt", "pyproject.toml", "Makefile"]
)
def test_what_the_environment_is_made_of_makes_it_anew(changed: str, tmp_path: Path) -> None:
    for name in ("requirements.txt", "constraints.txt", "pyproject.toml", "Makefile"):
        shutil.copy(ROOT / name, tmp_path)
        os.utime(tmp_path / name, (1, 1))
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / ".ready").touch()
    asked = ["make", "-q", "setup"]
    question = subprocess.run(asked, cwd=tmp_path, capture_output=True, check=False)
    assert question.returncode == 0
    os.utime(tmp_path / changed, (2**31, 2**31))
    question = subprocess.run(asked, cwd=tmp_path, capture_output=True, check=False)
    assert question.returncode == 1
