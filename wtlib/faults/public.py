"""Faults that people reported in public, each made again on a small model and inspected."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from wtlib.faults import building
from wtlib.faults.building import HEAD, LAYERS, TABLE, V
from wtlib.specimens.quiet import quiet
from wtlib.tying import Inspection, inspect


@dataclass(frozen=True)
class Fault:
    """One public report: where, what area, what went wrong, and the finding that names it.

    `reproduce` makes the fault, in an empty folder if it needs one, and inspects the result.
    """

    reference: str
    area: str
    what: str
    code: str
    reproduce: Callable[[Path], Inspection]

    @property
    def url(self) -> str:
        """The address of the thread."""
        repository, _, number = self.reference.partition("#")
        return f"https://github.com/{repository}/issues/{number}"


@dataclass(frozen=True)
class Reproduced:
    """A fault made again, and what the inspector says of it."""

    fault: Fault
    inspection: Inspection

    @property
    def found(self) -> bool:
        """Whether the inspector names the fault."""
        return self.fault.code in self.inspection.codes


def reproduced(faults: Iterable[Fault]) -> tuple[Reproduced, ...]:
    """Make each fault in a folder of its own and inspect it; nothing is left on disk."""
    found = []
    for fault in faults:
        with tempfile.TemporaryDirectory() as folder, quiet():
            found.append(Reproduced(fault, fault.reproduce(Path(folder))))
    return tuple(found)


def _two_heads(path: Path) -> Inspection:
    tensors = building.state(building.llama())
    tensors[HEAD] = torch.randn_like(tensors[HEAD])
    return inspect(building.folder(path, building.llama().config.to_dict(), tensors))


def _cloned(path: Path) -> Inspection:
    model = building.llama()
    return inspect(building.folder(path, model.config.to_dict(), building.state(model)))


def _assigned(path: Path) -> Inspection:
    model = building.gpt2()
    model.load_state_dict(building.gpt2().state_dict(), assign=True)
    return inspect(model)


def _materialised(path: Path) -> Inspection:
    with torch.device("meta"):
        model = building.gpt2()
    model.to_empty(device="cpu")
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.02)
    return inspect(model)


def _separate_copies(path: Path) -> Inspection:
    model = building.gpt2()
    model.lm_head.weight = nn.Parameter(model.lm_head.weight.detach().clone())
    return inspect(model)


class _ModulesToSave(nn.Module):
    """What PEFT's ``modules_to_save`` puts in a module's place: the module, and a copy to train."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.original_module = module
        self.modules_to_save = nn.ModuleDict({"default": copy.deepcopy(module)})

    def forward(self, *args: Any) -> Any:
        return self.modules_to_save["default"](*args)


def _adapter(path: Path) -> Inspection:
    model = building.gpt2()
    model.lm_head = _ModulesToSave(model.lm_head)
    return inspect(model)


def _head_not_grown(path: Path) -> Inspection:
    model = building.gpt2(tied=False)
    model.base_model.resize_token_embeddings(V + 3, mean_resizing=False)
    return inspect(model)


def _bias_not_grown(path: Path) -> Inspection:
    model = building.bert()
    model.base_model.resize_token_embeddings(V + 3, mean_resizing=False)
    return inspect(model)


def _four_bits(path: Path) -> Inspection:
    import gguf
    import numpy as np

    table = np.random.default_rng(0).normal(size=(V, 32)).astype(np.float32)
    kind = gguf.GGMLQuantizationType.Q4_0
    writer = gguf.GGUFWriter(path / "model.gguf", "gemma")
    writer.add_tensor("token_embd.weight", gguf.quants.quantize(table, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return inspect(path / "model.gguf")


def _unrolled(path: Path) -> Inspection:
    tensors = building.state(building.llama())
    del tensors[HEAD]
    first = {n: t for n, t in tensors.items() if ".layers.0." in n}
    for i in range(1, LAYERS):
        tensors |= {n.replace(".layers.0.", f".layers.{i}."): t.clone() for n, t in first.items()}
    return inspect(building.folder(path, building.llama().config.to_dict(), tensors))


def _drifted(path: Path) -> Inspection:
    table = building.state(building.llama())[TABLE]
    names = ("embedding.word_embeddings.weight", "word_embeddings_for_head.weight")
    tensors = {names[0]: table, names[1]: table + 1e-3}
    return inspect(building.folder(path, None, tensors))


def _padded(path: Path) -> Inspection:
    tensors = building.state(building.llama())
    del tensors[HEAD]
    vocabulary = {f"token{i}": i for i in range(V - 5)}
    return inspect(
        building.folder(
            path,
            building.llama().config.to_dict(),
            tensors,
            tokenizer={"model": {"vocab": vocabulary}, "added_tokens": []},
        )
    )


def _wrong_scale(path: Path) -> Inspection:
    config = {"model_type": "t5", "vocab_size": V, "d_model": 16}
    return inspect(
        building.folder(
            path, config | {"tie_word_embeddings": False, "scale_decoder_outputs": True}
        )
    )


def _two_steps(path: Path) -> Inspection:
    model = building.gpt2()
    model.load_state_dict(building.gpt2().state_dict(), assign=True)
    return inspect(model, optimizer=torch.optim.AdamW(model.parameters()))


FAULTS: tuple[Fault, ...] = (
    Fault(
        "huggingface/transformers#42612",
        "load",
        "the flag says tied, the file holds two different matrices",
        "tied-flag-unequal-copies",
        _two_heads,
    ),
    Fault(
        "NVIDIA-NeMo/Megatron-Bridge#919",
        "save",
        "one tensor yielded under two names; cloning it fills the file twice",
        "equal-copies",
        _cloned,
    ),
    Fault(
        "pytorch/pytorch#188346",
        "load",
        "load_state_dict(assign=True) leaves two Parameters on one storage",
        "two-parameters-one-storage",
        _assigned,
    ),
    Fault(
        "pytorch/pytorch#188346",
        "optimizer",
        "… and the optimizer then steps the matrix twice",
        "optimizer-steps-twice",
        _two_steps,
    ),
    Fault(
        "Modalities/modalities#357",
        "sharding",
        "built on the meta device and materialised, the head is no longer the table",
        "tie-missing",
        _materialised,
    ),
    Fault(
        "paiml/entrenar#314",
        "optimizer",
        "table and head are copies, each with a step of its own",
        "tie-broken",
        _separate_copies,
    ),
    Fault(
        "huggingface/peft#2777",
        "adapter",
        "an adapter trains a copy of the head under a flag that says tied",
        "adapter-unties",
        _adapter,
    ),
    Fault(
        "huggingface/transformers#9058",
        "vocabulary",
        "the base model is resized, the head is not",
        "rows-differ",
        _head_not_grown,
    ),
    Fault(
        "huggingface/transformers#851",
        "vocabulary",
        "the matrix is resized, the head's bias is not",
        "bias-length",
        _bias_not_grown,
    ),
    Fault(
        "dottxt-ai/outlines#236",
        "vocabulary",
        "the matrix has more rows than the tokenizer has tokens",
        "padded-rows",
        _padded,
    ),
    Fault(
        "ggml-org/llama.cpp#5650",
        "quantising",
        "the table is stored in four bits, and it is the head too",
        "low-bit-tied-matrix",
        _four_bits,
    ),
    Fault(
        "onnx/onnx#3278",
        "export",
        "a shared block is written once for each layer",
        "equal-blocks",
        _unrolled,
    ),
    Fault(
        "NVIDIA/Megatron-LM#656",
        "pipeline",
        "the copies on the first and the last stage drift apart",
        "replicas-differ",
        _drifted,
    ),
    Fault(
        "ml-explore/mlx-examples#591",
        "scale",
        "the factor on the head's input is applied in the untied case",
        "scale-contradicts-flag",
        _wrong_scale,
    ),
)
"""A choice of public reports, one of each kind that a small example can show."""
