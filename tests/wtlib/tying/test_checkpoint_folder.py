import json
import os
import shutil
from pathlib import Path

import pytest

from tests.wtlib.tying import files
from tests.wtlib.tying.files import HEAD, LLAMA, TABLE, folder, matrix
from wtlib.tying import InspectError, inspect
from wtlib.tying.checkpoint import open_checkpoint

ONE, TWO = files.tied_tensors(), files.untied_tensors()


def test_a_folder_a_file_and_a_config_alone(tmp_path: Path) -> None:
    folder(tmp_path, LLAMA, TWO)
    for target in (tmp_path, str(tmp_path), tmp_path / "model.safetensors"):
        found = inspect(target)
        assert found.file is not None
        assert found.config is not None
        assert found.tied is False
        assert found.kind == ("file" if str(target).endswith("safetensors") else "folder")
    alone = inspect(tmp_path / "config.json")
    assert alone.file is None
    assert alone.bytes is None
    assert alone.tied is False


def test_a_single_file_of_another_name_is_found(tmp_path: Path) -> None:
    folder(tmp_path, LLAMA, TWO)
    (tmp_path / "model.safetensors").rename(tmp_path / "consolidated.safetensors")
    assert open_checkpoint(tmp_path).entries.keys() == TWO.keys()


def test_shards_are_one_model_also_by_one_of_their_names(tmp_path: Path) -> None:
    files.sharded(tmp_path, LLAMA, [ONE, {HEAD: matrix()}])
    for target in (tmp_path, tmp_path / "model-00001-of-00002.safetensors"):
        found = inspect(target)
        assert found.file is not None
        assert found.file.equal
        assert len(found.file.files) == 2


def test_shards_without_an_index_are_found_by_their_numbers(tmp_path: Path) -> None:
    files.sharded(tmp_path, LLAMA, [ONE, {HEAD: matrix(2)}])
    (tmp_path / "model.safetensors.index.json").unlink()
    assert open_checkpoint(tmp_path).entries.keys() == TWO.keys()
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(InspectError, match=r"lacks model-00002-of-00002.safetensors of 2 shards"):
        open_checkpoint(tmp_path)


def test_a_shard_that_the_index_names_is_missing(tmp_path: Path) -> None:
    files.sharded(tmp_path, LLAMA, [ONE, {HEAD: matrix(2)}])
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(InspectError, match="complete the folder"):
        open_checkpoint(tmp_path)


@pytest.mark.parametrize("index", ["[]", "{}", '{"weight_map": {"a": "../b.safetensors"}}',
                                   '{"weight_map": {"a": 1}}', '{"weight_map": []}'])  # fmt: skip
def test_an_index_that_is_none(index: str, tmp_path: Path) -> None:
    folder(tmp_path, LLAMA)
    (tmp_path / "model.safetensors.index.json").write_text(index)
    with pytest.raises(InspectError, match="no weight_map of plain file names"):
        open_checkpoint(tmp_path)


def test_an_index_that_is_no_json_or_huge(tmp_path: Path) -> None:
    index = folder(tmp_path, LLAMA) / "model.safetensors.index.json"
    index.write_text("{")
    with pytest.raises(InspectError, match="not valid JSON"):
        open_checkpoint(tmp_path)
    os.truncate(index, 10**9)
    with pytest.raises(InspectError, match="1,000,000,000 bytes; at most"):
        open_checkpoint(tmp_path)


def test_an_index_of_too_many_items(tmp_path: Path) -> None:
    index = folder(tmp_path, LLAMA) / "model.safetensors.index.json"
    index.write_bytes(b"[" + b"[]," * 2_500_001 + b"[]]")
    with pytest.raises(InspectError, match="more than 5,000,000 items"):
        open_checkpoint(tmp_path)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "a.pth", "b.ckpt"])
def test_a_pickle_is_refused_with_the_way_to_convert_it(name: str, tmp_path: Path) -> None:
    (folder(tmp_path, LLAMA) / name).write_bytes(b"\x80\x02.")
    for target in (tmp_path, tmp_path / name):
        with pytest.raises(InspectError, match=r"never opened.*model.save_pretrained\(folder\)"):
            inspect(target)


def test_a_pickle_under_another_name_is_refused_too(tmp_path: Path) -> None:
    for content in (b"\x80\x04." + bytes(99), b"PK\x03\x04" + bytes(99)):
        path = tmp_path / "weights.model"
        path.write_bytes(content)
        with pytest.raises(InspectError, match="pickled weights"):
            inspect(path)


def test_safetensors_beside_a_pickle_are_read(tmp_path: Path) -> None:
    (folder(tmp_path, LLAMA, TWO) / "pytorch_model.bin").write_bytes(b"\x80\x02.")
    assert inspect(tmp_path).tied is False


def test_several_models_in_one_folder_are_not_guessed_at(tmp_path: Path) -> None:
    for name in ("q4.gguf", "q8.gguf"):
        files.gguf_file(tmp_path / name, {"token_embd.weight": matrix()})
    with pytest.raises(InspectError, match=r"several models \(q4.gguf, q8.gguf\)"):
        inspect(tmp_path)
    assert inspect(tmp_path / "q4.gguf").tied


def test_nothing_to_inspect(tmp_path: Path) -> None:
    with pytest.raises(InspectError, match=r"neither config.json nor weights"):
        inspect(tmp_path)
    with pytest.raises(InspectError, match="does not exist; give a folder, a file or a hub id"):
        inspect(tmp_path / "none")
    with pytest.raises(InspectError, match="no model of that name is in the local Hugging Face"):
        inspect("no-such-owner/no-such-model")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InspectError, match="neither a file nor a folder"):
        inspect(tmp_path / "pipe")


@pytest.mark.parametrize("word", ["", "~nobody-here", "x" * 5000, "a\0b", "a" * 97 + "/b", "/"])
def test_words_that_name_nothing_are_refused(word: str) -> None:
    with pytest.raises(
        InspectError, match=r"give a model's folder|does not exist|no model of that"
    ):
        inspect(word)


def test_a_config_that_is_no_object_or_huge(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text("[" * 99_999)
    with pytest.raises(ValueError, match="not valid JSON"):
        inspect(path)
    os.truncate(path, 10**9)
    with pytest.raises(InspectError, match="a config is far smaller"):
        inspect(path)


def test_a_hub_id_in_the_local_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = "0123456789" * 4
    model = tmp_path / "models--lab--tiny"
    folder(model / "snapshots" / commit, LLAMA, TWO)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text(commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.file_download.HF_HUB_CACHE", str(tmp_path), raising=False)
    found = inspect("lab/tiny")
    assert (found.kind, found.tied) == ("hub id", False)


def test_the_embedded_specimen_by_name() -> None:
    found = inspect("smollm2-135m")
    assert (found.kind, found.tied, found.exit_status) == ("specimen", True, 0)
    assert found.mechanisms == ("M3",)
    assert found.parameters.unique == 134_515_008
    assert found.parameters.if_untied == 134_515_008 + 49_152 * 576


def test_nothing_is_changed(tmp_path: Path) -> None:
    folder(tmp_path, LLAMA, TWO, tokenizer={"model": {"vocab": {}}})
    for path in tmp_path.iterdir():
        path.chmod(0o444)
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()}
    inspect(tmp_path)
    assert before == {path: (path.read_bytes(), path.stat().st_mtime_ns)
                      for path in tmp_path.iterdir()}  # fmt: skip


def test_a_truncated_download_is_one_clear_error(tmp_path: Path) -> None:
    path = folder(tmp_path, LLAMA, TWO) / "model.safetensors"
    shutil.copy(path, tmp_path / "whole")
    os.truncate(path, path.stat().st_size - 4)
    with pytest.raises(InspectError, match="truncated or its header lies"):
        inspect(tmp_path)


def test_an_adapted_name_keeps_its_role(tmp_path: Path) -> None:
    wrapped = {f"base_model.model.{name}": tensor for name, tensor in TWO.items()}
    found = inspect(folder(tmp_path, LLAMA, wrapped))
    assert found.file is not None
    assert found.file.tables == (f"base_model.model.{TABLE}",)
    assert found.file.heads == (f"base_model.model.{HEAD}",)
    assert json.dumps(found.document())
