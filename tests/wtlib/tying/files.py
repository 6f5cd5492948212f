"""Small checkpoints for the tests, written by the formats' own libraries or, if faulty, by hand."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import safetensors.numpy

V, D = 11, 4
GPT2 = {"model_type": "gpt2", "vocab_size": V, "n_embd": D, "n_layer": 1, "n_head": 2,
        "n_positions": 8}  # fmt: skip
LLAMA = {"model_type": "llama", "vocab_size": V, "hidden_size": D, "intermediate_size": 8,
         "num_hidden_layers": 1, "num_attention_heads": 2}  # fmt: skip
TABLE, HEAD = "model.embed_tokens.weight", "lm_head.weight"
BODY = "model.layers.0.self_attn.q_proj.weight"

Tensors = Mapping[str, np.ndarray[Any, Any]]


def matrix(seed: int = 0, rows: int = V, columns: int = D) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32)


def tied_tensors() -> dict[str, np.ndarray[Any, Any]]:
    return {TABLE: matrix(), BODY: matrix(1, D)}


def untied_tensors() -> dict[str, np.ndarray[Any, Any]]:
    return {**tied_tensors(), HEAD: matrix(2)}


def equal_tensors() -> dict[str, np.ndarray[Any, Any]]:
    return {**tied_tensors(), HEAD: matrix()}


def folder(
    path: Path,
    config: Mapping[str, Any] | None,
    tensors: Tensors | None = None,
    metadata: dict[str, str] | None = None,
    **files: Any,
) -> Path:
    """A model's folder: config.json, model.safetensors, and further JSON files by stem."""
    path.mkdir(parents=True, exist_ok=True)
    if config is not None:
        (path / "config.json").write_text(json.dumps(config))
    if tensors is not None:
        safetensors.numpy.save_file(dict(tensors), path / "model.safetensors", metadata)
    for stem, content in files.items():
        (path / f"{stem}.json").write_text(json.dumps(content))
    return path


def sharded(path: Path, config: Mapping[str, Any], shards: list[Tensors]) -> Path:
    """A folder of several weights' files under an index."""
    folder(path, config)
    weight_map: dict[str, str] = {}
    for number, tensors in enumerate(shards, 1):
        name = f"model-{number:05d}-of-{len(shards):05d}.safetensors"
        safetensors.numpy.save_file(dict(tensors), path / name)
        weight_map |= dict.fromkeys(tensors, name)
    index = {"metadata": {}, "weight_map": weight_map}
    (path / "model.safetensors.index.json").write_text(json.dumps(index))
    return path


def safetensors_bytes(header: object, data: bytes = b"", length: int | None = None) -> bytes:
    """A safetensors file by hand: any header, any data, any claim about the header's length."""
    content = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(content) if length is None else length) + content + data


def gguf_file(
    path: Path,
    tensors: Tensors,
    architecture: str = "llama",
    tokens: list[str] | None = None,
    quantised: Mapping[str, gguf.GGMLQuantizationType] | None = None,
    **metadata: Any,
) -> Path:
    """A GGUF file by the gguf package; ``quantised`` says which tensors to store in which type."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = gguf.GGUFWriter(path, architecture)
    for key, value in metadata.items():
        add = writer.add_float32 if isinstance(value, float) else writer.add_string
        add(f"{architecture}.{key}", value)
    if tokens is not None:
        writer.add_token_list(tokens)
    for name, tensor in tensors.items():
        kind = (quantised or {}).get(name)
        if kind is None:
            writer.add_tensor(name, tensor)
        else:
            writer.add_tensor(name, gguf.quants.quantize(tensor, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
