"""Specimens from the hub, against a real server on the loopback address."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
import torch
from nbclient import NotebookClient
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM, GPT2Config

from tests.wtlib.hub import COMMIT, REPO, Hub, Reader, finish, pin
from wtlib.specimens import FilePin, HubPin, PackagePin

# The embedded specimen of a reader who has not installed it.
NO_PACKAGE = PackagePin(
    name="smollm2-135m",
    distribution="no-such-package",
    version="1",
    licence="Apache-2.0",
    quantisation="Q4_1",
    weights=FilePin("none.gguf", "0" * 64),
)
# The client passes data on in blocks of 10 MiB, so only a larger file can be resumed.
BLOCK = 10 * 1024 * 1024


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model of GPT-2's architecture, with its tokenizer."""
    folder = tmp_path_factory.mktemp("tiny-gpt2")
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=90_000, n_embd=64, n_layer=1, n_head=2, n_positions=32)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture
def files(folder: Path) -> dict[str, bytes]:
    names = ("model.safetensors", "config.json", "tokenizer.json")
    return {name: (folder / name).read_bytes() for name in names}


@pytest.fixture
def tiny(files: dict[str, bytes]) -> HubPin:
    return pin(files)


@pytest.fixture
def hub(files: dict[str, bytes]) -> Iterator[Hub]:
    with Hub(dict(files)) as hub:
        yield hub


@pytest.fixture
def reader(tmp_path: Path, hub: Hub) -> Reader:
    return Reader(tmp_path, hub.url)


def prepare(tiny: HubPin, name: str = "gpt2") -> str:
    return f"specimens.prepare({name!r}, gpt2={tiny!r}, package={NO_PACKAGE!r})"


def load(tiny: HubPin, name: str = "gpt2") -> str:
    return f"describe(specimens.load({name!r}, gpt2={tiny!r}, package={NO_PACKAGE!r}))"


def altered(content: bytes) -> bytes:
    """The same number of bytes, one of the last of them another."""
    return content[:-5] + bytes([content[-5] ^ 1]) + content[-4:]


def test_first_cached_and_offline_load(
    reader: Reader, hub: Hub, tiny: HubPin, folder: Path
) -> None:
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    expected = model(torch.tensor([[84, 104, 101]])).logits[0, -1, :5].tolist()

    first = reader.run(load(tiny))
    assert first["line"] == f"gpt2 at {COMMIT}: the hub has it ({hub.url})"
    assert first["identity"] == {
        "name": "gpt2",
        "source": REPO,
        "revision": COMMIT,
        "sha256": hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest(),
        "licence": "MIT",
        "dtype": "float32",
    }
    assert first["logits"] == pytest.approx(expected, rel=1e-6)
    assert first["ids"] == Tokenizer.from_file(str(folder / "tokenizer.json")).encode("abc").ids
    assert (first["training"], first["dtype"]) == (False, "torch.float32")
    assert len(hub.asked_for("model.safetensors")) == 1

    hub.requests.clear()
    cached = reader.run(load(tiny, "auto"))
    assert cached["line"] == f"gpt2 at {COMMIT}: found in the local Hugging Face cache"
    assert cached["logits"] == first["logits"]
    assert hub.requests == []

    offline = reader.run(load(tiny), HF_HUB_OFFLINE="1")
    assert offline["logits"] == first["logits"]
    assert hub.requests == []


def test_a_notebook_shows_nothing_on_stderr(reader: Reader, hub: Hub, tiny: HubPin) -> None:
    notebook = nbformat.v4.new_notebook()
    for source in (
        "from wtlib import specimens\nfrom wtlib.specimens import *",
        f"specimen = specimens.load('gpt2', gpt2={tiny!r})\nspecimen",
        "ids = specimen.tokenizer('abc', return_tensors='pt').input_ids\n"
        "specimens.random_init(specimen.config)(ids, labels=ids).loss.item() > 0",
    ):
        notebook.cells.append(nbformat.v4.new_code_cell(source))
    NotebookClient(notebook, kernel_name="python3").execute(env=reader.environment)
    outputs = [output for cell in notebook.cells for output in cell.outputs]
    assert [output.output_type for output in outputs] == ["execute_result", "execute_result"]
    assert outputs[0].data["text/plain"] == f"gpt2 at {COMMIT}: the hub has it ({hub.url})"
    assert len(hub.asked_for("model.safetensors")) == 1


def test_files_beside_the_pinned_ones_are_not_read(
    reader: Reader, tiny: HubPin, files: dict[str, bytes]
) -> None:
    snapshot = Path(reader.run(prepare(tiny))["paths"][0]).parent
    (snapshot / "tokenizer_config.json").write_text("not JSON")
    (snapshot / "generation_config.json").write_text("not JSON")
    assert reader.run(load(tiny))["name"] == "gpt2"


def test_offline_without_a_cache_is_an_error(reader: Reader, hub: Hub, tiny: HubPin) -> None:
    message = reader.error(prepare(tiny), HF_HUB_OFFLINE="1")
    assert message == (
        "gpt2 was asked for by name and cannot be had: WTLIB_GPT2_DIR is not set; "
        "model.safetensors is not in the local Hugging Face cache; HF_HUB_OFFLINE is set, so the "
        "hub is not asked. Put model.safetensors, config.json, tokenizer.json of "
        f"{REPO} at revision {COMMIT} in a folder and name it in WTLIB_GPT2_DIR, or choose another "
        "specimen."
    )
    assert hub.requests == []


def test_wrong_revision_is_an_error(reader: Reader, hub: Hub, tiny: HubPin) -> None:
    wrong = dataclasses.replace(tiny, revision="f" * 40)
    message = reader.error(prepare(wrong))
    assert f"{hub.url} has no revision {'f' * 40} of {REPO}" in message


def test_altered_weights_are_never_loaded_nor_kept(reader: Reader, hub: Hub, tiny: HubPin) -> None:
    hub.files["model.safetensors"] = altered(hub.files["model.safetensors"])
    found = hashlib.sha256(hub.files["model.safetensors"]).hexdigest()
    message = reader.error(load(tiny))
    assert "model.safetensors is not the pinned file" in message
    assert f"expected sha256 {tiny.weights.sha256}, found {found}" in message
    assert "It has been removed from the cache" in message
    assert reader.cached_weights() == []


def test_auto_goes_on_when_the_hub_delivers_altered_weights(
    reader: Reader, hub: Hub, tiny: HubPin
) -> None:
    hub.files["model.safetensors"] = altered(hub.files["model.safetensors"])
    message = reader.error(load(tiny, "auto"))
    assert message.startswith("No specimen can be had. gpt2: ")
    assert "model.safetensors is not the pinned file" in message
    assert "the Python package no-such-package is not installed" in message


def test_weights_of_another_size_are_not_downloaded(reader: Reader, hub: Hub, tiny: HubPin) -> None:
    hub.files["model.safetensors"] += b" "
    message = reader.error(prepare(tiny))
    size = tiny.weights.size
    assert size is not None
    assert f"offers other weights than the pinned ones: model.safetensors of {REPO}" in message
    assert f"expected {size:,} bytes, found {size + 1:,}" in message
    assert hub.asked_for("model.safetensors") == []


@pytest.mark.parametrize("damage", ["altered", "truncated"])
def test_a_damaged_file_in_the_cache_is_replaced(
    reader: Reader, hub: Hub, tiny: HubPin, damage: str
) -> None:
    weights = Path(reader.run(prepare(tiny))["paths"][0]).resolve()
    content = weights.read_bytes()
    weights.write_bytes(altered(content) if damage == "altered" else content[:-100])

    message = reader.error(prepare(tiny), HF_HUB_OFFLINE="1")
    assert "model.safetensors is not the pinned file" in message
    assert reader.cached_weights() == []

    again = Path(reader.run(prepare(tiny))["paths"][0])
    assert again.read_bytes() == content


def test_a_connection_cut_half_way_is_resumed(reader: Reader, hub: Hub, tiny: HubPin) -> None:
    hub.cut, hub.cuts = BLOCK + 1000, 1
    paths = reader.run(prepare(tiny))["paths"]
    assert hashlib.sha256(Path(paths[0]).read_bytes()).hexdigest() == tiny.weights.sha256
    assert [request.start for request in hub.asked_for("model.safetensors")] == [0, BLOCK]


def test_a_connection_cut_for_good_leaves_nothing_and_can_be_tried_again(
    reader: Reader, hub: Hub, tiny: HubPin
) -> None:
    hub.cut, hub.cuts = 1000, 100
    message = reader.error(prepare(tiny))
    assert (
        f"model.safetensors of {REPO} at {COMMIT} could not be downloaded from {hub.url}" in message
    )
    assert "Try again; files that are complete are kept." in message
    assert reader.cached_weights() == []

    hub.cuts = 0
    assert reader.run(prepare(tiny))["name"] == "gpt2"


@pytest.mark.parametrize("name", ["gpt2", "auto"])
def test_a_server_that_never_answers_costs_six_seconds_at_most(
    reader: Reader, hub: Hub, tiny: HubPin, name: str
) -> None:
    hub.silent = True
    found = reader.run(f"timed(lambda: {prepare(tiny, name)})")
    seconds, message = found["seconds"], found["error"]
    assert seconds <= 6
    assert f"{hub.url} did not answer within 5 seconds" in message


def test_two_processes_at_once_download_once(reader: Reader, hub: Hub, tiny: HubPin) -> None:
    processes = [reader.start(load(tiny)) for _ in range(2)]
    first, second = (finish(process) for process in processes)
    assert first["logits"] == second["logits"]
    assert len(hub.asked_for("model.safetensors")) == 1


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (404, "EntryNotFound", f"has no model.safetensors in {REPO} at {COMMIT}"),
        (404, "RepoNotFound", f"has no public model {REPO}"),
        (403, "GatedRepo", f"gives {REPO} only to those it knows: log in with `hf auth login`"),
        (500, "", "answered HTTP 500"),
    ],
)
def test_what_the_hub_refuses(
    reader: Reader, hub: Hub, tiny: HubPin, status: int, code: str, said: str
) -> None:
    hub.status, hub.code = status, code
    assert f"{hub.url} {said}" in reader.error(prepare(tiny))


def test_a_gateway_is_not_taken_for_a_hub(reader: Reader, hub: Hub, tiny: HubPin) -> None:
    hub.gateway = True
    assert "does not answer like a hub (its answer names no commit)" in reader.error(prepare(tiny))


def test_nobody_at_the_address(tmp_path: Path, tiny: HubPin) -> None:
    reader = Reader(tmp_path, "http://127.0.0.1:9")
    assert "http://127.0.0.1:9 cannot be reached (ConnectError" in reader.error(prepare(tiny))


def test_the_folder_the_reader_names_comes_first(
    reader: Reader, hub: Hub, tiny: HubPin, folder: Path
) -> None:
    found = reader.run(prepare(tiny, "auto"), WTLIB_GPT2_DIR=str(folder))
    assert found["reason"] == f"found in the folder WTLIB_GPT2_DIR names ({folder})"
    assert found["paths"][0] == str(folder / "model.safetensors")
    assert hub.requests == []


def test_an_altered_file_in_the_reader_s_folder_is_refused_and_left(
    reader: Reader, hub: Hub, tiny: HubPin, files: dict[str, bytes], tmp_path: Path
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    for name, content in files.items():
        (mine / name).write_bytes(content if name != "config.json" else altered(content))
    message = reader.error(prepare(tiny), WTLIB_GPT2_DIR=str(mine), HF_HUB_OFFLINE="1")
    assert f"{mine / 'config.json'} is not the pinned file: expected sha256" in message
    assert (mine / "config.json").read_bytes() == altered(files["config.json"])

    (mine / "model.safetensors").unlink()
    message = reader.error(prepare(tiny), WTLIB_GPT2_DIR=str(mine), HF_HUB_OFFLINE="1")
    assert f"{mine / 'model.safetensors'} is missing" in message


def test_a_hub_id_without_a_pin(reader: Reader, hub: Hub, files: dict[str, bytes]) -> None:
    sha256 = hashlib.sha256(files["model.safetensors"]).hexdigest()
    expression = f"describe(specimens.load({REPO!r}))"
    first = reader.run(expression)
    assert first["line"] == f"{REPO} at {COMMIT}: asked for by name, the hub has it ({hub.url})"
    assert first["identity"]["revision"] == COMMIT
    assert first["identity"]["sha256"] == sha256

    hub.requests.clear()
    cached = reader.run(expression)
    assert cached["line"].endswith("asked for by name, found in the local Hugging Face cache")
    assert cached["identity"] == first["identity"]
    assert cached["logits"] == first["logits"]
    assert hub.requests == []


def test_an_altered_file_of_a_hub_id_is_replaced(reader: Reader, hub: Hub) -> None:
    expression = f"specimens.prepare({REPO!r})"
    weights = Path(reader.run(expression)["paths"][0]).resolve()
    content = weights.read_bytes()
    weights.write_bytes(altered(content))
    message = reader.error(expression, HF_HUB_OFFLINE="1")
    assert f"{REPO} cannot be had: " in message
    assert "It has been removed from the cache; HF_HUB_OFFLINE is set" in message
    assert Path(reader.run(expression)["paths"][0]).read_bytes() == content


def test_a_sharded_hub_id(reader: Reader, hub: Hub, folder: Path, tmp_path: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(folder)
    model.save_pretrained(tmp_path / "shards", max_shard_size="1MB")
    del hub.files["model.safetensors"]
    for path in (tmp_path / "shards").iterdir():
        hub.files[path.name] = path.read_bytes()
    shards = sorted((tmp_path / "shards").glob("*.safetensors"))
    assert len(shards) > 1
    lines = "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in shards
    )
    found = reader.run(f"describe(specimens.load({REPO!r}))")
    assert found["identity"]["sha256"] == hashlib.sha256(lines.encode()).hexdigest()


def test_a_hub_id_with_pickled_weights_only_is_refused(reader: Reader, hub: Hub) -> None:
    hub.files["pytorch_model.bin"] = hub.files.pop("model.safetensors")
    message = reader.error(f"specimens.prepare({REPO!r})")
    assert message == (
        f"{REPO} at {COMMIT} has neither model.safetensors nor model.safetensors.index.json. "
        "Pickled weights are never loaded: choose a model with safetensors."
    )
    assert hub.asked_for("pytorch_model.bin") == []


def test_a_hub_id_that_is_nowhere(reader: Reader, hub: Hub) -> None:
    message = reader.error("specimens.resolve('nobody/nothing')")
    assert message == (
        "nobody/nothing cannot be had: it is not in the local Hugging Face cache; "
        f"{hub.url} has no public model nobody/nothing."
    )


def test_the_configuration_of_a_hub_id(reader: Reader, hub: Hub, files: dict[str, bytes]) -> None:
    found = reader.run(f"specimens.config({REPO!r})")
    assert found == json.loads(files["config.json"])
    assert hub.asked_for("model.safetensors") == []
