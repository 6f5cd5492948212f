"""From a name to a specimen: which one, where it is, and why. Loads neither torch nor models."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wtlib.paths import existing
from wtlib.specimens import checkpoints, embedded, hub
from wtlib.specimens.pins import GPT2, SMOLLM2, HubPin, Identity, PackagePin, SpecimenError

EDITION = "WTLIB_SPECIMEN"
AUTO = "auto"


@dataclass(frozen=True)
class Resolution:
    """Which specimen a name stands for, and why.

    `paths` are its files on this machine, verified against their pins where there are any; empty
    when `load` or `prepare` still has to download them.
    """

    name: str
    reason: str
    identity: Identity
    paths: tuple[Path, ...]

    def __str__(self) -> str:
        """Which and why, in one line."""
        return f"{self.name}: {self.reason}"


def resolve(
    name: str | None = None, *, gpt2: HubPin = GPT2, package: PackagePin = SMOLLM2
) -> Resolution:
    """Find out which specimen `name` stands for, without downloading or loading it.

    Args:
        name: "auto", "gpt2", "smollm2-135m", a folder, or a hub id ``owner/model``; None for the
            edition in the environment variable `WTLIB_SPECIMEN`, else "auto".
        gpt2: what counts as GPT-2.
        package: what counts as the embedded specimen.

    Raises:
        SpecimenError: there is no such specimen, or it cannot be had.
    """
    name, because = wanted(name)
    if name == AUTO:
        return _auto(gpt2, package)
    if name in (gpt2.name, gpt2.repo):
        return _insist(gpt2, because)
    if name == package.name:
        return _embedded(package, f"asked for{because}")
    path = existing(name)
    if path is not None and path.is_dir():
        # Absolute, so that the name means the same in a notebook's folder.
        return _folder(path.resolve(), because)
    if path is not None:
        raise SpecimenError(f"{name} is a file, and a specimen is a folder. Name {path.parent}.")
    if hub.is_id(name):
        return _hub_id(name, because)
    raise SpecimenError(
        f"There is no specimen {name!r}: it is not one of auto, {gpt2.name}, {package.name}, not a "
        "folder, and not a hub id of the form owner/model. Check the spelling."
    )


def wanted(name: str | None) -> tuple[str, str]:
    """The name that counts, and who gave it, as the end of "asked for …"."""
    if name is not None:
        return name, " by name"
    edition = os.environ.get(EDITION)
    return (edition, f" by {EDITION}") if edition else (AUTO, "")


def _auto(gpt2: HubPin, package: PackagePin) -> Resolution:
    found = _find_gpt2(gpt2)
    if isinstance(found, Resolution):
        return found
    return instead(package, "; ".join(found))


def instead(package: PackagePin, why_not: str) -> Resolution:
    """The embedded specimen, in place of a GPT-2 that cannot be had.

    Raises:
        SpecimenError: it cannot be had either.
    """
    try:
        return _embedded(package, f"the embedded specimen, because GPT-2 cannot be had ({why_not})")
    except SpecimenError as error:
        raise SpecimenError(f"No specimen can be had. gpt2: {why_not}. {error}") from error


def _insist(gpt2: HubPin, because: str) -> Resolution:
    found = _find_gpt2(gpt2)
    if isinstance(found, Resolution):
        return found
    raise SpecimenError(
        f"{gpt2.name} was asked for{because} and cannot be had: {'; '.join(found)}. Put "
        f"{', '.join(file.name for file in gpt2.files)} of {gpt2.repo} at revision "
        f"{gpt2.revision} in a folder and name it in {hub.GPT2_FOLDER}, or choose another specimen."
    )


def _find_gpt2(pin: HubPin) -> Resolution | list[str]:
    """GPT-2 from the first place that has it, else what each place said."""
    folder = hub.gpt2_folder()
    places: list[tuple[str, Callable[[], tuple[Path, ...]]]] = [
        ("found in the local Hugging Face cache", lambda: hub.in_cache(pin)),
        (f"the hub has it ({hub.endpoint()})", lambda: hub.offers(pin)),
    ]
    problems = []
    if folder is not None:
        places.insert(
            0,
            (
                f"found in the folder {hub.GPT2_FOLDER} names ({folder})",
                lambda: hub.in_folder(pin, folder),
            ),
        )
    else:
        problems.append(f"{hub.GPT2_FOLDER} is not set")
    for reason, look in places:
        try:
            paths = look()
        except SpecimenError as error:
            problems.append(str(error))
        else:
            return Resolution(pin.name, reason, _hub_identity(pin), paths)
    return problems


def _hub_identity(pin: HubPin) -> Identity:
    return Identity(
        pin.name, pin.repo, pin.revision, pin.weights.sha256, pin.licence, dtype="float32"
    )


def _embedded(pin: PackagePin, reason: str) -> Resolution:
    path = embedded.locate(pin)
    identity = Identity(
        name=pin.name,
        source=f"Python package {pin.distribution} {pin.version}",
        revision=pin.version,
        sha256=pin.weights.sha256,
        licence=pin.licence,
        dtype=f"float32, dequantised from {pin.quantisation}",
    )
    return Resolution(pin.name, reason, identity, (path,))


def _folder(folder: Path, because: str) -> Resolution:
    paths = checkpoints.weights(folder)
    identity = Identity(
        name=str(folder),
        source=str(folder),
        revision=checkpoints.commit(folder),
        sha256=checkpoints.digest(paths),
        licence="unknown",
        dtype="float32",
    )
    return Resolution(str(folder), f"the folder asked for{because}", identity, paths)


def _hub_id(repo: str, because: str) -> Resolution:
    """The model as the local cache has it, else as the hub's main branch stands now."""
    try:
        paths = checkpoints.cached(repo)
    except SpecimenError as not_cached:
        try:
            revision = hub.ask(repo, "config.json", "main").commit_hash
        except SpecimenError as error:
            raise SpecimenError(f"{repo} cannot be had: {not_cached}; {error}.") from error
        paths, sha256 = (), None
        reason = f"asked for{because}, the hub has it ({hub.endpoint()})"
    else:
        revision, sha256 = paths[0].parent.name, checkpoints.digest(paths)
        reason = f"asked for{because}, found in the local Hugging Face cache"
    return Resolution(
        repo, reason, Identity(repo, repo, revision, sha256, "unknown", "float32"), paths
    )
