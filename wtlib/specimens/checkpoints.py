"""A checkpoint without a pin: a local folder, or a model of the hub at its current commit."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

from wtlib.specimens import files, hub
from wtlib.specimens.pins import SpecimenError
from wtlib.specimens.quiet import hub_quiet

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
VOCABULARIES = ("tokenizer.json", "tokenizer.model", "vocab.json")
COMPANIONS = (
    *VOCABULARIES,
    "merges.txt",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "generation_config.json",
)


def weights(folder: Path) -> tuple[Path, ...]:
    """The safetensors files that hold the folder's weights, in order of name.

    Raises:
        SpecimenError: no configuration, no weights, only pickled weights, or a shard missing.
    """
    if not (folder / "config.json").is_file():
        raise SpecimenError(
            f"{folder} has no config.json. Name a folder that `save_pretrained` wrote."
        )
    if (folder / SINGLE).is_file():
        return (folder / SINGLE,)
    if (folder / INDEX).is_file():
        paths = tuple(folder / name for name in shards(folder / INDEX))
        missing = [path.name for path in paths if not path.is_file()]
        if missing:
            raise SpecimenError(
                f"{folder} lacks {', '.join(missing)}, which {INDEX} names. Complete the folder."
            )
        return paths
    pickled = sorted(path.name for pattern in PICKLES for path in folder.glob(pattern))
    if pickled:
        raise SpecimenError(
            f"{folder} holds its weights as {', '.join(pickled)}. A pickle can run any code when "
            f"it is read, so it is never loaded: convert it to {SINGLE} with "
            "`model.save_pretrained(folder)` where you trust it."
        )
    raise SpecimenError(f"{folder} has neither {SINGLE} nor {INDEX}. Add the weights.")


def shards(index: Path) -> list[str]:
    """The names of the files that an index of a sharded checkpoint refers to, sorted.

    Raises:
        SpecimenError: the index cannot be read, or names a file outside its folder.
    """
    try:
        names = sorted(set(json.loads(index.read_bytes())["weight_map"].values()))
        plain = all(Path(name).name == name for name in names)
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
        names, plain = [], False
    if not names or not plain:
        raise SpecimenError(
            f"{index} is not an index of a sharded checkpoint: its weight_map must give plain "
            "file names. Write it again with `save_pretrained`."
        )
    return names


def digest(paths: tuple[Path, ...]) -> str:
    """The sha256 of one weights' file; of several, that of their lines ``digest  name``."""
    if len(paths) == 1:
        return files.sha256(paths[0])
    lines = "".join(f"{files.sha256(path)}  {path.name}\n" for path in paths)
    return hashlib.sha256(lines.encode()).hexdigest()


def commit(folder: Path) -> str:
    """The commit a folder of the Hugging Face cache stands for, else "unpinned"."""
    folder = folder.absolute()
    if folder.parent.name == "snapshots" and re.fullmatch(r"[0-9a-f]{40}", folder.name):
        return folder.name
    return "unpinned"


@hub_quiet()
def cached(repo: str) -> tuple[Path, ...]:
    """The weights of the model's main branch in the Hugging Face cache, beside their companions.

    Raises:
        SpecimenError: the cache does not have the whole model, or had an altered file of it,
            which is removed.
    """
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(repo, "config.json")
    if not isinstance(config, str):
        raise SpecimenError("it is not in the local Hugging Face cache")
    folder = Path(config).parent
    if not any((folder / name).is_file() for name in VOCABULARIES):
        raise SpecimenError("its tokenizer is not in the local Hugging Face cache")
    paths = weights(folder)
    for path in paths:
        hub.check_blob(path)
    return paths


def download(repo: str, revision: str, *, progress: bool = False) -> tuple[Path, ...]:
    """The weights of a model at a commit, downloaded where missing beside their companions.

    Raises:
        SpecimenError: the transfer failed, a file arrived altered, or there is no safetensors file.
    """
    with files.only_one(f"{repo.replace('/', '--')}-{revision[:12]}"):
        folder = hub.fetch(repo, "config.json", revision).parent
        # Asked for by the branch's name too, the client notes the commit for the next, cached load.
        hub.fetch(repo, "config.json", "main")
        for name in COMPANIONS:
            hub.fetch_if_there(repo, name, revision)
        if hub.fetch_if_there(repo, SINGLE, revision, progress=progress) is None:
            index = hub.fetch_if_there(repo, INDEX, revision)
            if index is None:
                raise SpecimenError(
                    f"{repo} at {revision} has neither {SINGLE} nor {INDEX}. Pickled weights are "
                    "never loaded: choose a model with safetensors."
                )
            for name in shards(index):
                hub.fetch(repo, name, revision, progress=progress)
        paths = weights(folder)
        for path in paths:
            hub.check_blob(path)
    return paths
