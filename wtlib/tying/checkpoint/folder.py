"""From a name to a checkpoint: which files, which headers, which config. Nothing is loaded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from wtlib.counting.files import read_config
from wtlib.paths import existing
from wtlib.tying.checkpoint import gguf, safetensors
from wtlib.tying.checkpoint.entries import Entry, Format, Header, InspectError

TargetKind = Literal["folder", "file", "hub id", "specimen"]

_SINGLE, _INDEX = "model.safetensors", "model.safetensors.index.json"
_ADAPTER = "adapter_config.json"
_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_SHARD = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.(safetensors|gguf)")
_LARGEST_CONFIG = 4 * 2**20
_LARGEST_JSON = 32 * 2**20  # of a tokenizer, or an index
_MOST_ITEMS = 5_000_000


@dataclass(frozen=True)
class Checkpoint:
    """The files of one model and what their headers say.

    ``config`` is the content of config.json where there is one, ``paths`` the weights' files (none
    for a config alone). ``repeated`` are names that two shards hold, ``absent`` names that the
    index promises and its shard lacks. An ``adapter`` holds changes to a model, whose config it
    takes where that can be found on this machine.
    """

    kind: TargetKind
    config: Mapping[str, Any] | None
    folder: Path
    paths: tuple[Path, ...] = ()
    format: Format | None = None
    entries: Mapping[str, Entry] = field(default_factory=dict)
    metadata: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    lengths: Mapping[str, int] = field(default_factory=dict)
    repeated: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    adapter: bool = False


def open_checkpoint(target: str | Path) -> Checkpoint:
    """Find a checkpoint and read its headers.

    Args:
        target: a folder, a .safetensors, .gguf or config.json file, or a hub id whose files are in
            the local Hugging Face cache.

    Raises:
        InspectError: there is no such target, it holds only pickles or nothing, or a header is bad.
    """
    path = existing(str(target))
    try:
        if path is None:
            return _cached(str(target))
        if path.is_dir():
            return _folder(path, "folder")
        if path.is_file():
            return _file(path)
        raise InspectError(f"{path} is neither a file nor a folder; give a model's folder")
    except OSError as error:
        raise InspectError(f"{target} cannot be read: {error.strerror or error}") from error


def bounded_json(path: Path) -> Any:
    """Parse a JSON file of a sensible size.

    Raises:
        InspectError: it is larger than any index or tokenizer, or not JSON.
    """
    size = path.stat().st_size
    if size > _LARGEST_JSON:
        raise InspectError(f"{path} has {size:,} bytes; at most {_LARGEST_JSON:,} are read")
    content = path.read_bytes()
    # Each item costs memory once parsed, so they are counted before.
    if sum(content.count(sign) for sign in (b",", b"[", b"{")) > _MOST_ITEMS:
        raise InspectError(f"{path} has more than {_MOST_ITEMS:,} items")
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InspectError(f"{path} is not valid JSON: {error}") from error


def _folder(folder: Path, kind: TargetKind) -> Checkpoint:
    config, paths, promised = _config(folder), _weights(folder), dict[str, str]()
    if not paths:
        if any(path.suffix in _PICKLES for path in folder.iterdir()):
            raise _pickled(folder)
        if config is None:
            raise InspectError(
                f"{folder} holds neither config.json nor weights (.safetensors, .gguf); "
                "give a model's folder"
            )
        return Checkpoint(kind, config, folder)
    if paths[0].suffix == ".safetensors" and paths[0].name != _SINGLE:
        promised = _weight_map(folder)
    adapter = folder / _ADAPTER
    if config is None and adapter.is_file():
        found = _read(kind, _config_of_base(adapter), folder, paths, promised)
        return replace(found, adapter=True)
    return _read(kind, config, folder, paths, promised)


def _file(path: Path) -> Checkpoint:
    if path.suffix in _PICKLES:
        raise _pickled(path)
    if path.suffix == ".json":
        return Checkpoint("file", _config(path.parent, path.name), path.parent)
    if _SHARD.fullmatch(path.name):  # a part would look like a model without its other parts
        return _folder(path.parent, "file")
    return _read("file", _config(path.parent), path.parent, (path,), {})


def _config(folder: Path, name: str = "config.json") -> Mapping[str, Any] | None:
    path = folder / name
    if not path.is_file():
        return None
    size = path.stat().st_size
    if size > _LARGEST_CONFIG:
        raise InspectError(f"{path} has {size:,} bytes; a config is far smaller")
    return read_config(path)


def _config_of_base(adapter: Path) -> Mapping[str, Any] | None:
    """The config of the model that an adapter changes, if it is on this machine."""
    content = bounded_json(adapter)
    base = content.get("base_model_name_or_path") if isinstance(content, dict) else None
    if not isinstance(base, str):
        return None
    folder = existing(base)
    return _config(folder) if folder and folder.is_dir() else _cached_config(base)


def _weights(folder: Path) -> tuple[Path, ...]:
    if (folder / _SINGLE).is_file():
        return (folder / _SINGLE,)
    if (folder / _INDEX).is_file():
        return _complete(folder, set(_weight_map(folder).values()))
    for suffix in (".safetensors", ".gguf"):
        found = sorted(path for path in folder.iterdir() if path.suffix == suffix)
        shards = [_SHARD.fullmatch(path.name) for path in found]
        if len(found) > 1 and not (
            all(shards) and len({shard[1] for shard in shards if shard}) == 1
        ):
            some = ", ".join(path.name for path in found[:5])
            raise InspectError(f"{folder} holds several models ({some}); give one of the files")
        if found and shards[0]:
            stem, total = shards[0][1], shards[0][3]
            numbers = range(1, int(total) + 1)
            return _complete(folder, (f"{stem}-{n:05d}-of-{total}{suffix}" for n in numbers))
        if found:
            return tuple(found)
    return ()


def _complete(folder: Path, names: Iterable[str]) -> tuple[Path, ...]:
    paths = [folder / name for name in sorted(names)]
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        raise InspectError(
            f"{folder} lacks {', '.join(missing[:5])} of {len(paths)} shards; complete the folder"
        )
    return tuple(paths)


def _weight_map(folder: Path) -> dict[str, str]:
    path = folder / _INDEX
    if not path.is_file():
        return {}
    content = bounded_json(path)
    names = content.get("weight_map") if isinstance(content, dict) else None
    if not isinstance(names, dict) or not all(
        isinstance(name, str) and Path(name).name == name for name in names.values()
    ):
        raise InspectError(
            f"{path} has no weight_map of plain file names; write it again with save_pretrained"
        )
    return names


def _read(
    kind: TargetKind,
    config: Mapping[str, Any] | None,
    folder: Path,
    paths: tuple[Path, ...],
    promised: Mapping[str, str],
) -> Checkpoint:
    headers = [_header(path) for path in paths]
    entries: dict[str, Entry] = {}
    repeated = []
    for header in headers:
        repeated += [name for name in header.entries if name in entries]
        entries.update(header.entries)
    absent = [
        name for name, shard in promised.items()
        if name not in entries or (entries[name].path or Path()).name != shard
    ]  # fmt: skip
    return Checkpoint(
        kind,
        config,
        folder,
        paths,
        headers[0].format,
        entries,
        {key: value for header in headers for key, value in header.metadata.items()},
        {key: value for header in headers for key, value in header.lengths.items()},
        tuple(repeated),
        tuple(absent),
    )


def _header(path: Path) -> Header:
    with path.open("rb") as stream:
        magic = stream.read(4)
        stream.seek(0)
        if magic == gguf.MAGIC:
            return gguf.read(stream, path.stat().st_size, str(path), path)
        # A pickle names its protocol first; torch.save wraps it in a zip archive.
        if path.suffix != ".safetensors" and (magic[:1] == b"\x80" or magic[:2] == b"PK"):
            raise _pickled(path)
        return safetensors.read(stream, path.stat().st_size, str(path), path)


def _pickled(path: Path) -> InspectError:
    return InspectError(
        f"{path} holds pickled weights, and a pickle can run any code when it is read, so it is "
        "never opened. Where you trust it, convert it: load the model with transformers and call "
        "model.save_pretrained(folder), or save_model of safetensors.torch; then inspect that"
    )


def _in_cache(repo: str, name: str) -> Path | None:
    """A file of a model in the local Hugging Face cache; None where it or the model is not."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = try_to_load_from_cache(repo, name)
    except HFValidationError:
        return None
    return Path(found) if isinstance(found, str) else None


def _cached_config(base: str) -> Mapping[str, Any] | None:
    found = _in_cache(base, "config.json") if _HUB_ID.fullmatch(base) else None
    return _config(found.parent) if found else None


def _cached(target: str) -> Checkpoint:
    if not _HUB_ID.fullmatch(target):
        raise InspectError(f"{target!r} does not exist; give a folder, a file or a hub id")

    for name in ("config.json", _SINGLE, _INDEX, _ADAPTER):
        if found := _in_cache(target, name):
            return _folder(found.parent, "hub id")
    from wtlib.specimens import SMOLLM2, resolve

    if target == SMOLLM2.name:
        paths = resolve(target).paths
        return _read("specimen", None, paths[0].parent, paths, {})
    raise InspectError(
        f"{target} is no file or folder, and no model of that name is in the local Hugging Face "
        "cache; download it first (`hf download`), or check the spelling"
    )
