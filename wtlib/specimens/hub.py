"""GPT-2 and other models from the hub, the Hugging Face cache or a folder the reader names.

The transfer is `huggingface_hub`'s own; here are the pins, the patience and the checks.
"""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import Any

from wtlib.paths import expanded
from wtlib.specimens import files
from wtlib.specimens.pins import FilePin, HubPin, SpecimenError
from wtlib.specimens.quiet import hub_quiet

PATIENCE = 5.0  # seconds the hub gets to answer
GPT2_FOLDER = "WTLIB_GPT2_DIR"


def endpoint() -> str:
    """The hub's address: `HF_ENDPOINT`, else the public hub."""
    from huggingface_hub import constants

    return constants.ENDPOINT


@hub_quiet()
def ask(repo: str, filename: str, revision: str) -> Any:
    """The hub's record of one file (commit, size, etag), within `PATIENCE` seconds.

    Raises:
        SpecimenError: the hub did not answer, refused, or does not know the file or revision;
            the message is a clause that a longer one can quote.
    """
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        HfHubHTTPError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    if constants.is_offline_mode():
        raise SpecimenError("HF_HUB_OFFLINE is set, so the hub is not asked")
    answer: list[Any] = []

    def request() -> None:
        try:
            url = hf_hub_url(repo, filename, revision=revision)
            answer.append(get_hf_file_metadata(url, timeout=PATIENCE))
        except Exception as error:
            answer.append(error)

    # A thread, because a name server that never answers is beyond the client's own time-outs.
    thread = threading.Thread(target=request, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    where = endpoint()
    if not answer:
        raise SpecimenError(f"{where} did not answer within {PATIENCE:g} seconds")
    found = answer[0]
    if not isinstance(found, Exception):
        if found.commit_hash is None:
            # A gateway's log-in page answers too.
            raise SpecimenError(
                f"{where} does not answer like a hub (its answer names no commit): check "
                "HF_ENDPOINT and whether something stands between you and the network"
            )
        return found
    if isinstance(found, RevisionNotFoundError):
        reason = f"{where} has no revision {revision} of {repo}"
    elif isinstance(found, EntryNotFoundError):
        reason = f"{where} has no {filename} in {repo} at {revision}"
    elif isinstance(found, GatedRepoError):
        reason = f"{where} gives {repo} only to those it knows: log in with `hf auth login`"
    elif isinstance(found, RepositoryNotFoundError):
        reason = f"{where} has no public model {repo}"
    elif isinstance(found, HfHubHTTPError):
        reason = f"{where} answered HTTP {found.response.status_code}"
    else:
        reason = f"{where} cannot be reached ({_brief(found)})"
    raise SpecimenError(reason) from found


def in_folder(pin: HubPin, folder: Path) -> tuple[Path, ...]:
    """The pinned files in a folder the reader named, verified; the folder is left as it is.

    Raises:
        SpecimenError: a file is missing or not the pinned one.
    """
    paths = tuple(folder / file.name for file in pin.files)
    for path, file in zip(paths, pin.files, strict=True):
        if problem := files.fault(path, file):
            raise SpecimenError(problem)
    return paths


@hub_quiet()
def in_cache(pin: HubPin) -> tuple[Path, ...]:
    """The pinned files in the Hugging Face cache, verified; an altered one is removed from it.

    Raises:
        SpecimenError: a file is not there, or was not the pinned one.
    """
    from huggingface_hub import try_to_load_from_cache

    paths = []
    for file in pin.files:
        path = try_to_load_from_cache(pin.repo, file.name, revision=pin.revision)
        if not isinstance(path, str):
            raise SpecimenError(f"{file.name} is not in the local Hugging Face cache")
        paths.append(Path(path))
    for path, file in zip(paths, pin.files, strict=True):
        _check(path, file)
    return tuple(paths)


def offers(pin: HubPin) -> tuple[Path, ...]:
    """Ask the hub for the pinned weights; nothing is downloaded, so there are no paths yet.

    Raises:
        SpecimenError: why they cannot be had there.
    """
    record = ask(pin.repo, pin.weights.name, pin.revision)
    expected, found = pin.weights.size, record.size
    if expected is not None and found is not None and found != expected:
        raise SpecimenError(
            f"{endpoint()} offers other weights than the pinned ones: {pin.weights.name} of "
            f"{pin.repo} at {pin.revision}: expected {expected:,} bytes, found {found:,}"
        )
    return ()


def download(pin: HubPin, *, progress: bool = False) -> tuple[Path, ...]:
    """The pinned files, downloaded into the Hugging Face cache where missing, and verified.

    Raises:
        SpecimenError: the transfer failed, or a file is not the pinned one (and is removed).
    """
    with files.only_one(f"{pin.name}-{pin.revision[:12]}"):
        paths = []
        for file in pin.files:
            path = fetch(pin.repo, file.name, pin.revision, progress=progress)
            _check(path, file)
            paths.append(path)
        return tuple(paths)


def fetch(repo: str, filename: str, revision: str, *, progress: bool = False) -> Path:
    """One file, from the Hugging Face cache or the hub.

    Raises:
        SpecimenError: the hub does not have it, or the transfer failed.
    """
    path = fetch_if_there(repo, filename, revision, progress=progress)
    if path is None:
        raise SpecimenError(f"{endpoint()} has no {filename} in {repo} at {revision}")
    return path


def fetch_if_there(
    repo: str, filename: str, revision: str, *, progress: bool = False
) -> Path | None:
    """One file, from the Hugging Face cache or the hub; None when the model has no such file.

    Raises:
        SpecimenError: the transfer failed.
    """
    with hub_quiet(bars=progress):
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import LocalEntryNotFoundError, RemoteEntryNotFoundError

        try:
            return Path(hf_hub_download(repo, filename, revision=revision, etag_timeout=PATIENCE))
        except RemoteEntryNotFoundError:
            return None
        except Exception as error:  # the client lets its transport's errors through
            cause = error.__cause__ if isinstance(error, LocalEntryNotFoundError) else None
            raise SpecimenError(
                f"{filename} of {repo} at {revision} could not be downloaded from {endpoint()} "
                f"({_brief(cause or error)}). Try again; files that are complete are kept."
            ) from error


def _brief(error: BaseException) -> str:
    """An error of the client in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def check_blob(path: Path) -> None:
    """Raise, and remove the file, if its content is not what its name in the cache promises.

    The Hugging Face cache names a large file after the sha256 the hub gave for it.
    """
    name = path.resolve().name
    if re.fullmatch(r"[0-9a-f]{64}", name):
        _check(path, FilePin(path.name, name))


def _check(path: Path, pin: FilePin) -> None:
    """Raise, and take the file out of the Hugging Face cache, if it is not the pinned one."""
    if problem := files.fault(path, pin):
        _remove(path)
        raise SpecimenError(f"{problem}. It has been removed from the cache")


def _remove(path: Path) -> None:
    """Take a file out of the Hugging Face cache: its name there and what the name points to."""
    target = path.resolve()
    path.unlink(missing_ok=True)
    target.unlink(missing_ok=True)


def is_id(name: str) -> bool:
    """Whether `name` has the form of a hub id, ``owner/model``."""
    return re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", name) is not None


def gpt2_folder() -> Path | None:
    """The folder the reader named in `WTLIB_GPT2_DIR`, if any."""
    named = os.environ.get(GPT2_FOLDER)
    return expanded(named) if named else None
