"""For each code of a finding: a small target that has it, and a near one that has not."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from torch import nn

from tests.wtlib.tying import files
from tests.wtlib.tying.files import BODY, HEAD, LLAMA, TABLE, D, V, folder, matrix
from tests.wtlib.tying.models import llama
from wtlib.tying import Inspection, inspect
from wtlib.tying.cases import BiasedHead, Blocks, TwoEnds, TwoStacks, by_data, by_part, tied

Build = Callable[[Path], Inspection]
TIED, UNTIED = {**LLAMA, "tie_word_embeddings": True}, {**LLAMA, "tie_word_embeddings": False}
ONE, TWO, SAME = files.tied_tensors(), files.untied_tensors(), files.equal_tensors()


@dataclass(frozen=True)
class Example:
    """``faulty`` has the finding, ``sound`` is the nearest thing that has not."""

    faulty: Build
    sound: Build


def config_only(config: Mapping[str, Any]) -> Build:
    return lambda path: inspect(folder(path, config))


def stored(config: Mapping[str, Any] | None, tensors: files.Tensors, **kwargs: Any) -> Build:
    return lambda path: inspect(folder(path, config, tensors, **kwargs))


def ggufs(tensors: files.Tensors, **kwargs: Any) -> Build:
    return lambda path: inspect(files.gguf_file(path / "model.gguf", tensors, **kwargs))


def live(build: Callable[[], nn.Module], **kwargs: Any) -> Build:
    return lambda path: inspect(build(), **kwargs)


class Config:
    """The one thing the inspector asks of a live model's config."""

    def __init__(self, **values: Any) -> None:
        self._values = values

    def to_dict(self) -> dict[str, Any]:
        return dict(self._values)


def flagged(model: nn.Module, flag: bool, **values: Any) -> nn.Module:
    model.config = Config(**{**LLAMA, "tie_word_embeddings": flag, **values})  # type: ignore[assignment]
    return model


def broken() -> nn.Module:
    """What ``load_state_dict(assign=True)`` leaves of a tie."""
    model = tied()
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    model.load_state_dict(state, assign=True)
    return flagged(model, True)


def embedding(**options: Any) -> nn.Module:
    model = TwoEnds()
    model.wte = nn.Embedding(V, D, **options)
    nn.init.normal_(model.wte.weight, std=0.02)
    model.lm_head.weight = model.wte.weight
    return model


def default_init() -> nn.Module:
    torch.manual_seed(0)
    model = TwoEnds()
    model.wte = nn.Embedding(200, D)
    model.lm_head = nn.Linear(D, 200, bias=False)
    model.lm_head.weight = model.wte.weight
    return model


class Wrapped(nn.Module):
    """An end as PEFT's ``modules_to_save`` leaves it: the original, and the trained copy."""

    def __init__(self, original: nn.Module) -> None:
        super().__init__()
        self.original_module = original
        self.modules_to_save = nn.ModuleDict({"default": nn.Linear(D, V, bias=False)})


def adapted() -> nn.Module:
    model = flagged(tied(), True)
    model.lm_head = Wrapped(model.lm_head)  # type: ignore[arg-type]
    return model


def frozen(both: bool) -> nn.Module:
    model = by_data()
    model.lm_head.weight.requires_grad_(False)
    model.wte.weight.requires_grad_(not both)
    return model


def with_bias(length: int) -> nn.Module:
    model = tied()
    model.lm_head.bias = nn.Parameter(torch.zeros(length))
    return model


def apart(path: Path) -> Inspection:
    model = llama()
    model.lm_head.weight = nn.Parameter(torch.randn_like(model.lm_head.weight))
    return inspect(model, checkpoint=saved(path))


def saved(path: Path) -> Path:
    llama().save_pretrained(path)
    return path


def loaded(path: Path) -> Inspection:
    return inspect(llama(), checkpoint=saved(path))


def grouped(model: nn.Module, *groups: list[torch.Tensor]) -> Inspection:
    return inspect(model, optimizer=torch.optim.SGD([{"params": g} for g in groups], lr=0.1))


def stepped(build: Callable[[], nn.Module]) -> Build:
    def run(path: Path) -> Inspection:
        model = build()
        return grouped(model, [*model.parameters()])

    return run


def two_groups(build: Callable[[], TwoEnds]) -> Build:
    def run(path: Path) -> Inspection:
        model = build()
        return grouped(model, [model.wte.weight], [model.lm_head.weight])

    return run


def stale(path: Path) -> Inspection:
    model = tied()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.wte.weight = model.lm_head.weight = nn.Parameter(torch.randn(V + 1, D))
    return inspect(model, optimizer=optimizer)


def shards(*tensors: files.Tensors) -> Build:
    return lambda path: inspect(files.sharded(path, UNTIED, list(tensors)))


def misplaced(path: Path) -> Inspection:
    files.sharded(path, UNTIED, [ONE, {HEAD: matrix(2)}])
    index = path / "model.safetensors.index.json"
    content = json.loads(index.read_text())
    content["weight_map"]["model.norm.weight"] = "model-00001-of-00002.safetensors"
    index.write_text(json.dumps(content))
    return inspect(path)


def tokenizer(tokens: int) -> dict[str, Any]:
    return {"model": {"vocab": {f"t{i}": i for i in range(tokens)}}, "added_tokens": []}


def _blocks(seeds: tuple[int, int]) -> dict[str, Any]:
    names = (BODY, BODY.replace("0", "1"))
    return {TABLE: matrix(), **{n: matrix(s, D) for n, s in zip(names, seeds, strict=True)}}


_BERT = {"model_type": "bert", "vocab_size": V, "hidden_size": D}
_BERT_TABLE = "bert.embeddings.word_embeddings.weight"
_BIASES = ("cls.predictions.bias", "cls.predictions.decoder.bias")
_REPLICA = "word_embeddings_for_head.weight"
_MEGATRON = "embedding.word_embeddings.weight"
_GRANITE = {**LLAMA, "model_type": "granite", "tie_word_embeddings": True}
_MOBILELLM = {**LLAMA, "model_type": "mobilellm", "share_embedding": True}
_T5 = {"model_type": "t5", "vocab_size": V, "d_model": D}
_WIDE = {"token_embd.weight": matrix(columns=32)}
_META = torch.device("meta")


def _equal_rows(number: int) -> dict[str, Any]:
    table = matrix()
    table[V - number :] = table[-1]
    return {**ONE, TABLE: table}


def _on_meta() -> nn.Module:
    with _META:
        return tied()


def _head_on_meta() -> nn.Module:
    model = flagged(TwoEnds(), True)
    model.lm_head = nn.Linear(D, V, bias=False, device=_META)
    return model


EXAMPLES: Mapping[str, Example] = {
    "flag-keys-disagree": Example(
        config_only({**_MOBILELLM, "tie_word_embeddings": False}), config_only(_MOBILELLM)
    ),
    "flag-overruled": Example(
        config_only({**_T5, "tie_word_embeddings": False}),
        config_only({**_T5, "tie_word_embeddings": True}),
    ),
    "flag-not-boolean": Example(
        config_only({**LLAMA, "tie_word_embeddings": "false"}), config_only(UNTIED)
    ),
    "flag-unknown": Example(config_only({"model_type": "no-such-family"}), config_only(LLAMA)),
    "scale-missing": Example(
        config_only(_GRANITE),
        config_only({**_GRANITE, "embedding_multiplier": 12.0, "logits_scaling": 8.0}),
    ),
    "scale-contradicts-flag": Example(
        config_only({**_T5, "tie_word_embeddings": False, "scale_decoder_outputs": True}),
        config_only({**_T5, "tie_word_embeddings": True, "scale_decoder_outputs": True}),
    ),
    "head-random": Example(stored(UNTIED, ONE), stored(UNTIED, TWO)),
    "table-random": Example(
        stored(UNTIED, {HEAD: matrix(), BODY: matrix(1, D)}), stored(UNTIED, TWO)
    ),
    "table-under-the-heads-name": Example(
        stored(TIED, {HEAD: matrix(), BODY: matrix(1, D)}), stored(TIED, ONE)
    ),
    "no-vocabulary": Example(stored(UNTIED, {BODY: matrix(1, D)}), stored(UNTIED, TWO)),
    "tied-flag-unequal-copies": Example(stored(TIED, TWO), stored(TIED, SAME)),
    "untied-flag-equal-copies": Example(stored(UNTIED, SAME), stored(UNTIED, TWO)),
    "equal-copies": Example(stored(TIED, SAME), stored(TIED, ONE)),
    "alias-recorded": Example(stored(TIED, ONE, metadata={HEAD: TABLE}), stored(TIED, ONE)),
    "partial-tie": Example(live(lambda: TwoStacks(2)), live(lambda: TwoStacks(3))),
    "rows-differ": Example(stored(UNTIED, {**ONE, HEAD: matrix(2, V - 2)}), stored(UNTIED, TWO)),
    "vocab-size-differs": Example(stored({**TIED, "vocab_size": V - 1}, ONE), stored(TIED, ONE)),
    "bias-length": Example(
        stored(TIED, {**ONE, "lm_head.bias": np.zeros(V - 1, np.float32)}),
        stored(TIED, {**ONE, "lm_head.bias": np.zeros(V, np.float32)}),
    ),
    "bias-unequal": Example(
        stored(
            _BERT, {_BERT_TABLE: matrix(), **{b: matrix(i, 1, V)[0] for i, b in enumerate(_BIASES)}}
        ),
        stored(_BERT, {_BERT_TABLE: matrix(), **{b: matrix(0, 1, V)[0] for b in _BIASES}}),
    ),
    "tokens-without-rows": Example(
        stored(TIED, ONE, tokenizer=tokenizer(V + 1)), stored(TIED, ONE, tokenizer=tokenizer(V))
    ),
    "padded-rows": Example(
        stored(TIED, ONE, tokenizer=tokenizer(V - 1)), stored(TIED, ONE, tokenizer=tokenizer(V))
    ),
    "identical-last-rows": Example(stored(TIED, _equal_rows(3)), stored(TIED, _equal_rows(1))),
    "forms-differ": Example(
        stored(TIED, {**ONE, HEAD: matrix().astype(np.float16)}), stored(TIED, SAME)
    ),
    "low-bit-tied-matrix": Example(
        ggufs(_WIDE, quantised={"token_embd.weight": gguf.GGMLQuantizationType.Q4_0}),
        ggufs(_WIDE, quantised={"token_embd.weight": gguf.GGMLQuantizationType.Q8_0}),
    ),
    "replicas-differ": Example(
        stored(None, {_MEGATRON: matrix(), _REPLICA: matrix(1)}),
        stored(None, {_MEGATRON: matrix(), _REPLICA: matrix()}),
    ),
    "equal-blocks": Example(stored(TIED, _blocks((1, 1))), stored(TIED, _blocks((1, 2)))),
    "equal-matrices": Example(
        stored(TIED, {**ONE, "a.weight": matrix(5, D), "b.weight": matrix(5, D)}),
        stored(TIED, {**ONE, "a.weight": matrix(5, D), "b.weight": matrix(6, D)}),
    ),
    "name-in-two-shards": Example(
        shards(ONE, {HEAD: matrix(2), TABLE: matrix(3)}), shards(ONE, {HEAD: matrix(2)})
    ),
    "index-disagrees": Example(misplaced, shards(ONE, {HEAD: matrix(2)})),
    "tie-missing": Example(
        live(lambda: flagged(TwoEnds(), True)), live(lambda: flagged(tied(), True))
    ),
    "tie-broken": Example(live(broken), live(lambda: flagged(tied(), True))),
    "tied-against-flag": Example(
        live(lambda: flagged(tied(), False)), live(lambda: flagged(TwoEnds(), False))
    ),
    "two-parameters-one-storage": Example(live(by_data), live(tied)),
    "overlapping-views": Example(live(by_part), live(tied)),
    "not-materialised": Example(live(_on_meta), live(tied)),
    "devices-differ": Example(live(_head_on_meta), live(lambda: flagged(tied(), True))),
    "frozen-on-one-side": Example(live(lambda: frozen(False)), live(lambda: frozen(True))),
    "adapter-unties": Example(live(adapted), live(lambda: flagged(tied(), True))),
    "sparse-lookup": Example(
        live(lambda: embedding(sparse=True)), live(lambda: embedding(sparse=False))
    ),
    "max-norm": Example(
        live(lambda: embedding(max_norm=1.0)), live(lambda: embedding(max_norm=None))
    ),
    "padding-row-moves": Example(
        live(lambda: embedding(padding_idx=0)), live(lambda: embedding(padding_idx=None))
    ),
    "default-init": Example(live(default_init), live(embedding)),
    "shared-block": Example(live(lambda: Blocks(2)), live(Blocks)),
    "live-and-file-disagree": Example(apart, loaded),
    "optimizer-steps-twice": Example(stepped(by_data), stepped(tied)),
    "optimizer-two-groups": Example(two_groups(by_data), two_groups(TwoEnds)),
    "optimizer-leaves-out": Example(stale, stepped(tied)),
}
"""By code, in the order of ``CODES``."""

LIVE_BIASES: Mapping[str, Example] = {
    "bias-length": Example(live(lambda: with_bias(V - 1)), live(lambda: with_bias(V))),
    "partial-tie": Example(live(lambda: BiasedHead(False)), live(lambda: BiasedHead(True))),
}
