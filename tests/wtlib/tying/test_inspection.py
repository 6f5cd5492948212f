import json
import pkgutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import torch
from torch import nn

from tests.wtlib.tying import files
from tests.wtlib.tying.files import GPT2, HEAD, LLAMA, TABLE, D, V, folder, matrix
from wtlib import tying
from wtlib.cli import main
from wtlib.tying import MECHANISMS, THREATS, InspectError, inspect
from wtlib.tying.cases import Projected, TwoEnds, TwoStacks, by_data, by_transpose, tied

TIED, UNTIED = {**LLAMA, "tie_word_embeddings": True}, {**LLAMA, "tie_word_embeddings": False}
ONE, TWO, SAME = files.tied_tensors(), files.untied_tensors(), files.equal_tensors()
BODY_SIZE = D * D


def test_three_facts_of_a_live_pair() -> None:
    live = inspect(by_data()).live
    assert live is not None
    assert (live.same_object, live.same_storage, live.same_shape) == (False, True, True)
    assert (live.same_stride, live.equal_values) == (True, True)
    assert live.table is not None
    assert live.head is not None
    assert (live.table.name, live.head.name) == ("wte.weight", "lm_head.weight")


def test_a_transposed_parameter_shares_storage_with_other_strides() -> None:
    class Ends(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(V, D)
            self.unembed = nn.Parameter(self.table.weight.t())

    live = inspect(Ends()).live
    assert live is not None
    assert (live.same_storage, live.same_shape, live.same_stride) == (True, False, False)
    assert live.equal_values


def test_ends_are_found_without_getters() -> None:
    model = nn.Sequential(nn.Embedding(V, D), nn.Linear(D, D), nn.Linear(D, V, bias=False))
    live = inspect(model).live
    assert live is not None
    assert live.table is not None
    assert live.head is not None
    assert (live.table.name, live.head.name) == ("0.weight", "2.weight")
    model[2].weight = model[0].weight
    assert inspect(model).mechanisms == ("M1",)


def test_a_model_without_a_table() -> None:
    found = inspect(by_transpose())
    assert found.live is not None
    assert found.live.table is None
    assert found.routes == ()
    assert found.parameters.unique == V * D
    assert inspect(nn.Linear(2, 2)).mechanisms == ()


@pytest.mark.parametrize(
    ("config", "tensors", "unique"),
    [(TIED, ONE, "if_tied"), (UNTIED, TWO, "if_untied"), (TIED, SAME, "if_tied"),
     (UNTIED, SAME, "if_untied"), (TIED, TWO, "if_untied")],
)  # fmt: skip
def test_parameters_of_a_file(
    config: dict[str, Any], tensors: files.Tensors, unique: str, tmp_path: Path
) -> None:
    counts = inspect(folder(tmp_path, config, tensors)).parameters
    assert (counts.if_tied, counts.if_untied) == (V * D + BODY_SIZE, 2 * V * D + BODY_SIZE)
    assert counts.unique == getattr(counts, unique)


def test_parameters_of_a_live_model() -> None:
    body = D * D + D
    for model, unique in ((tied(), V * D), (by_data(), V * D), (TwoEnds(), 2 * V * D)):
        counts = inspect(model).parameters
        assert (counts.if_tied, counts.if_untied) == (V * D + body, 2 * V * D + body)
        assert counts.unique == unique + body


def test_parameters_of_a_config_alone(tmp_path: Path) -> None:
    counts = inspect(folder(tmp_path / "a", {"model_type": "gpt2"})).parameters
    assert (counts.unique, counts.if_untied) == (124_439_808, 163_037_184)
    unknown = inspect(folder(tmp_path / "b", {"model_type": "unheard-of"})).parameters
    assert (unknown.unique, unknown.if_tied, unknown.if_untied) == (None, None, None)


def test_packed_weights_are_counted_from_the_config_or_not_at_all(tmp_path: Path) -> None:
    packed = {"transformer.wte.weight": matrix(), "h.0.qweight": np.ones((2, 2), np.int32)}
    assert inspect(folder(tmp_path / "a", None, packed)).parameters.unique is None
    assert inspect(folder(tmp_path / "b", GPT2, packed)).parameters.unique is not None


def test_routes() -> None:
    def routes(model: nn.Module) -> list[tuple[str, str]]:
        return [(route.matrix, route.route) for route in inspect(model).routes]

    assert routes(tied()) == [("wte.weight", "input"), ("wte.weight", "output")]
    assert routes(TwoEnds()) == [("wte.weight", "input"), ("lm_head.weight", "output")]
    model = TwoEnds()
    model.wte = nn.Embedding(V, D, padding_idx=3)
    assert inspect(model).routes[0].rows.endswith("row 3 never")


def test_what_breaks_depends_on_the_mechanism() -> None:
    assert inspect(TwoEnds()).breaks == ()
    named = {threat.operation for threat in inspect(tied()).breaks}
    assert "load_state_dict(state, assign=True)" in named
    assert not any("ONNX" in operation for operation in named)
    assert {code for threat in THREATS for code in threat.mechanisms} <= set(MECHANISMS)


def test_groups_of_more_than_two_and_projections() -> None:
    live = inspect(TwoStacks(3)).live
    assert live is not None
    assert [len(group.names) for group in live.groups] == [3]
    assert inspect(Projected()).mechanisms == ("M1",)  # without a config the width is not known


@pytest.mark.parametrize("extra", [{"checkpoint": "x"}, {"input_ids": torch.zeros(1, 1)}])
def test_what_only_a_live_model_has(extra: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InspectError, match="is not a live model"):
        inspect(tmp_path, **extra)


def test_a_target_that_is_none() -> None:
    with pytest.raises(InspectError, match="the target is a dict; give a folder"):
        inspect({})  # type: ignore[arg-type]


# The package


def test_files_are_inspected_without_torch_and_names_load_their_modules() -> None:
    code = (
        "import sys, wtlib.tying as t; from wtlib.tying import inspect; "
        "assert 'torch' not in sys.modules; from wtlib.tying import fingerprint, survival; "
        "assert all(callable(f) for f in (inspect, fingerprint, survival)); "
        "assert all(getattr(t, name) is not None for name in t.__all__)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_module_has_the_name_of_a_thing_it_would_hide() -> None:
    modules = {module.name for module in pkgutil.iter_modules(tying.__path__)}
    assert modules & set(tying.__all__) == set()
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        tying.nonsense  # noqa: B018


# The command line


def test_status_0_1_and_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clean, wrong = folder(tmp_path / "a", TIED, ONE), folder(tmp_path / "b", TIED, TWO)
    assert main(["inspect", str(clean)]) == 0
    assert "No findings." in capsys.readouterr().out
    assert main(["inspect", str(wrong)]) == 1
    shown = capsys.readouterr().out
    assert "[tied-flag-unequal-copies]" in shown
    assert "values       different" in shown
    assert main(["inspect", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.startswith("wtlib: ")


def test_a_warning_is_no_error(tmp_path: Path) -> None:
    assert main(["inspect", str(folder(tmp_path, TIED, SAME))]) == 0


def test_json_is_the_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = folder(tmp_path, TIED, SAME)
    assert main(["inspect", str(target), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == inspect(target).document()


def test_names_from_a_file_cannot_drive_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "\\u001b[2J\\ud800.embed_tokens.weight"
    entry = '{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}'
    content = files.safetensors_bytes(f'{{"{name}":{entry}}}'.encode(), bytes(4))
    (tmp_path / "model.safetensors").write_bytes(content)
    assert main(["inspect", str(tmp_path)]) == 0
    assert "\\x1b[2J\\ud800.embed_tokens.weight" in capsys.readouterr().out
    assert main(["inspect", str(tmp_path), "--json"]) == 0


@pytest.mark.parametrize("what", ["config", "gguf"])
def test_text_of_other_targets(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if what == "config":
        target = folder(tmp_path, {"model_type": "unheard-of"}) / "config.json"
    else:
        target = files.gguf_file(tmp_path / "m.gguf", {"token_embd.weight": matrix()})
    assert main(["inspect", str(target)]) == 0
    shown = capsys.readouterr().out
    assert ("not known whether tied" if what == "config" else "M3") in shown


# What it costs. Sizes are a tenth of what is promised, so that the tests are quick.

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self")


def _cost(target: Path) -> tuple[float, int, set[str]]:
    """Processor seconds, peak memory in MB and modules of one run in a process of its own."""
    code = (
        "import re, sys, time; from wtlib.cli import main; "
        f"status = main(['inspect', {str(target)!r}, '--json']); "
        "peak = re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]; "
        "print(time.process_time(), int(peak) // 1024, "
        "*({'torch', 'transformers', 'numpy'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, memory, *modules = done.stderr.split()
    return float(seconds), int(memory), set(modules)


def _large(path: Path, both: bool) -> Path:
    rng = np.random.default_rng(0)
    table = rng.random((5_000, 768), np.float32)
    tensors = {TABLE: table, **{f"model.layers.{i}.mlp.weight": rng.random((768, 768), np.float32)
                                for i in range(12)}}  # fmt: skip
    return folder(path, TIED, {**tensors, HEAD: table} if both else tensors)


@linux
def test_a_config_alone_is_quick_and_loads_nothing_heavy(tmp_path: Path) -> None:
    seconds, memory, modules = _cost(folder(tmp_path, TIED))
    assert modules == set()
    assert seconds < 0.3
    assert memory < 60


@linux
@pytest.mark.parametrize("both", [False, True])
def test_a_large_folder_is_quick_and_stays_on_disk(both: bool, tmp_path: Path) -> None:
    seconds, memory, modules = _cost(_large(tmp_path, both))
    assert modules == set()
    assert seconds < 1
    assert memory < 60


@linux
@pytest.mark.parametrize("both", [False, True])
def test_each_of_two_matrices_is_read_once_and_one_alone_not_at_all(
    both: bool, tmp_path: Path
) -> None:
    def read() -> int:
        return int(Path("/proc/self/io").read_text().split()[1])

    target = _large(tmp_path, both)
    before = read()
    found = inspect(target)
    assert found.file is not None
    assert found.file.table is not None
    once = 2 * found.file.table.nbytes if both else 0
    tail_and_samples = 6 * 2**20
    assert once <= read() - before <= once + tail_and_samples


def test_tens_of_thousands_of_names_take_seconds_at_most(tmp_path: Path) -> None:
    names = {f"model.layers.{i}.w": np.zeros(0, np.float32) for i in range(20_000)}
    safetensors.numpy.save_file(names, tmp_path / "model.safetensors")
    start = time.process_time()
    inspect(tmp_path)
    assert time.process_time() - start < 5
