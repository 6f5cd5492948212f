"""The embedded specimen: a quantised model out of a Python package, dequantised once."""

from __future__ import annotations

import json
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest import mock

from safetensors import SafetensorError

from wtlib.specimens import files, packages
from wtlib.specimens.pins import PackagePin, SpecimenError
from wtlib.specimens.quiet import quiet

MANIFEST = "manifest.json"


def locate(pin: PackagePin, search: list[str] | None = None) -> Path:
    """The verified weights' file inside the installed distribution, which is not imported.

    Raises:
        SpecimenError: as `packages.locate`, which says where it looks.
    """
    return packages.locate(pin.name, pin.distribution, pin.version, pin.weights, search)


def ready(pin: PackagePin, gguf: Path) -> Path:
    """The folder with the dequantised checkpoint, made now if it is not in the cache.

    The folder's name carries what the result depends on: the file and the two converters.

    Raises:
        SpecimenError: the result cannot be written, or was altered while it was.
    """
    converters = "-".join(f"{name}{version(name)}" for name in ("transformers", "gguf"))
    name = f"{pin.name}-{pin.weights.sha256[:12]}-{converters}"
    folder = files.cache_folder() / name
    if not is_whole(folder):
        with files.only_one(name):
            if not is_whole(folder):
                shutil.rmtree(folder, ignore_errors=True)
                try:
                    files.publish(folder, lambda new: _dequantise(gguf, new))
                except (OSError, SafetensorError) as error:
                    raise SpecimenError(
                        f"{pin.name}: the dequantised model could not be written to {folder} "
                        f"({error}). It takes 0.6 GB: make room, or name another folder in "
                        "WTLIB_CACHE."
                    ) from error
                if not is_whole(folder):
                    shutil.rmtree(folder, ignore_errors=True)
                    raise SpecimenError(
                        f"{pin.name}: {folder} was altered while it was written, and has been "
                        "removed. Check the disk and try again."
                    )
    return folder


def is_whole(folder: Path) -> bool:
    """Whether every file of the folder is what its manifest says, and none is missing or new."""
    try:
        digests = json.loads((folder / MANIFEST).read_text())
        present = {path.name for path in folder.iterdir()} - {MANIFEST}
        return present == set(digests) and all(
            files.sha256(folder / name) == digest for name, digest in digests.items()
        )
    except (OSError, ValueError, AttributeError):
        return False


def _dequantise(gguf: Path, folder: Path) -> None:
    """Write the GGUF file's model as fp32 safetensors, with its tokenizer and a manifest."""
    with quiet():
        import torch
        from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
        from transformers import modeling_gguf_pytorch_utils as reader

        source: dict[str, Any] = {"gguf_file": gguf.name, "local_files_only": True}
        config = AutoConfig.from_pretrained(gguf.parent, **source)
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        # The reader's progress bar obeys no setting.
        with mock.patch.object(reader, "tqdm", lambda tensors, **_: tensors):
            tensors = reader.load_gguf_checkpoint(
                str(gguf), return_tensors=True, model_to_load=model, torch_dtype=torch.float32
            )["tensors"]
        # `assign` also puts real tensors where the meta ones were, then the head is tied again.
        keys = model.load_state_dict(tensors, strict=False, assign=True)
        model.tie_weights()
        tied = set(model.all_tied_weights_keys)
        if set(keys.missing_keys) - tied or keys.unexpected_keys:
            raise SpecimenError(
                f"{gguf} does not fill the model: missing {keys.missing_keys}, unexpected "
                f"{keys.unexpected_keys}. Install the versions of requirements.txt."
            )
        model.save_pretrained(folder, max_shard_size="100GB")
        AutoTokenizer.from_pretrained(gguf.parent, **source).save_pretrained(folder)
    digests = {path.name: files.sha256(path) for path in sorted(folder.iterdir())}
    files.write(folder / MANIFEST, json.dumps(digests, indent=1).encode())
