"""Each mechanism, live and in a file, on the smallest thing that has it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from transformers import (
    AlbertConfig,
    AlbertForMaskedLM,
    BertConfig,
    BertForMaskedLM,
    MT5Config,
    MT5ForConditionalGeneration,
    OPTConfig,
    OPTForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)

from tests.wtlib.tying import files
from tests.wtlib.tying.files import HEAD, LLAMA, TABLE, D, V, folder, matrix
from tests.wtlib.tying.models import gpt2, llama
from wtlib.tying import MECHANISMS, inspect
from wtlib.tying.cases import (
    BiasedHead,
    Blocks,
    OneName,
    TwoEnds,
    TwoStacks,
    by_data,
    by_part,
    by_transpose,
    on_meta,
    tied,
)

IDS = torch.tensor([[1, 2, 3]])
TIED, UNTIED = {**LLAMA, "tie_word_embeddings": True}, {**LLAMA, "tie_word_embeddings": False}
ONE, TWO, SAME = files.tied_tensors(), files.untied_tensors(), files.equal_tensors()


def albert() -> nn.Module:
    return AlbertForMaskedLM(
        AlbertConfig(
            vocab_size=V, embedding_size=3, hidden_size=4, num_hidden_layers=3,
            num_attention_heads=2, intermediate_size=8, max_position_embeddings=8,
        )
    )  # fmt: skip


def bert() -> nn.Module:
    return BertForMaskedLM(
        BertConfig(
            vocab_size=V, hidden_size=4, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=8, max_position_embeddings=8,
        )
    )  # fmt: skip


def opt_350m() -> nn.Module:
    return OPTForCausalLM(
        OPTConfig(
            vocab_size=V, hidden_size=4, word_embed_proj_dim=3, num_hidden_layers=1, ffn_dim=8,
            num_attention_heads=2, max_position_embeddings=8, do_layer_norm_before=False,
        )
    )  # fmt: skip


def t5() -> nn.Module:
    return T5ForConditionalGeneration(
        T5Config(vocab_size=V, d_model=4, d_kv=2, d_ff=8, num_layers=1, num_heads=2)
    )


def mt5_untied() -> nn.Module:
    """An mT5 as its weights are: the class ties, the checkpoint's head is its own."""
    model = MT5ForConditionalGeneration(
        MT5Config(vocab_size=V, d_model=4, d_kv=2, d_ff=8, num_layers=1, num_heads=2)
    )
    model.lm_head.weight = nn.Parameter(torch.randn(V, 4))
    return model


def untied(build: Callable[[], Any]) -> nn.Module:
    model = build()
    model.lm_head.weight = nn.Parameter(model.lm_head.weight.detach() + 1)
    return model


@pytest.mark.parametrize(
    ("build", "found"),
    [
        (TwoEnds, "M0"),
        (lambda: untied(gpt2), "M0"),
        (tied, "M1"),
        (gpt2, "M1"),
        (llama, "M1"),
        (by_data, "M2"),
        (by_transpose, "M2"),
        (OneName, "M3"),
        (lambda: Blocks(3), "M1 M5"),
        (lambda: Blocks(2), "M1 M5"),
        (albert, "M1 M5 M8"),
        (opt_350m, "M1 M8"),
        (lambda: TwoStacks(3), "M1"),
        (lambda: TwoStacks(2), "M0 M9"),
        (mt5_untied, "M0 M9"),
        (t5, "M1"),
        (bert, "M1"),
        (lambda: BiasedHead(False), "M1 M9"),
        (lambda: BiasedHead(True), "M1"),
        (by_part, "M2 M9"),
        (on_meta, "M1"),
    ],
)
def test_live(build: Callable[[], nn.Module], found: str) -> None:
    model = build()
    runs = not isinstance(model, TwoStacks | BiasedHead) and build not in (
        by_transpose, by_part, on_meta, t5, mt5_untied,
    )  # fmt: skip
    assert " ".join(inspect(model, input_ids=IDS if runs else None).mechanisms) == found


@pytest.mark.parametrize(
    ("config", "tensors", "found"),
    [
        (UNTIED, TWO, "M0"),
        (UNTIED, ONE, "M0"),
        (TIED, ONE, "M1"),
        (TIED, {HEAD: matrix()}, "M1"),
        (None, ONE, "M3"),
        (TIED, SAME, "M4"),
        (UNTIED, SAME, "M4"),
        (None, SAME, "M4"),
        (TIED, TWO, "M0"),
        ({**TIED, "model_type": "albert", "num_hidden_layers": 3}, ONE, "M1 M5"),
        ({**LLAMA, "model_type": "mobilellm", "share_embedding": True}, ONE, "M1 M6"),
        (
            {**LLAMA, "model_type": "mobilellm", "share_embedding": True, "layer_sharing": True},
            ONE,
            "M1 M5 M6",
        ),
        (
            None,
            {"embedding.word_embeddings.weight": matrix(), "word_embeddings_for_head.weight":
             matrix()},
            "M7",
        ),
        (
            {"model_type": "opt", "vocab_size": V, "hidden_size": 2 * D, "word_embed_proj_dim": D},
            {"model.decoder.embed_tokens.weight": matrix(), "model.decoder.project_in.weight":
             matrix(1, 2 * D)},
            "M1 M8",
        ),
        (
            {"model_type": "t5", "vocab_size": V, "d_model": D, "tie_word_embeddings": False},
            {"shared.weight": matrix(), "lm_head.weight": matrix(1)},
            "M0 M9",
        ),
        (
            {"model_type": "t5", "vocab_size": V, "d_model": D, "tie_word_embeddings": False},
            {"shared.weight": matrix(), "encoder.embed_tokens.weight": matrix(),
             "decoder.embed_tokens.weight": matrix(), "lm_head.weight": matrix(1)},
            "M0 M9",
        ),
        (
            {"model_type": "t5", "vocab_size": V, "d_model": D, "tie_word_embeddings": True},
            {"encoder.embed_tokens.weight": matrix(), "decoder.embed_tokens.weight": matrix(),
             "lm_head.weight": matrix()},
            "M4",
        ),
    ],
)  # fmt: skip
def test_in_a_file(
    config: Mapping[str, Any] | None, tensors: files.Tensors, found: str, tmp_path: Path
) -> None:
    assert " ".join(inspect(folder(tmp_path, config, tensors)).mechanisms) == found


@pytest.mark.parametrize(
    ("tensors", "found", "tied"),
    [
        ({"token_embd.weight": matrix()}, "M3", True),
        ({"token_embd.weight": matrix(), "output.weight": matrix(1)}, "M0", False),
        ({"token_embd.weight": matrix(), "output.weight": matrix()}, "M4", True),
    ],
)
def test_in_a_gguf_file(tensors: files.Tensors, found: str, tied: bool, tmp_path: Path) -> None:
    inspection = inspect(files.gguf_file(tmp_path / "m.gguf", tensors))
    assert (inspection.mechanisms, inspection.tied) == ((found,), tied)


def test_a_config_alone(tmp_path: Path) -> None:
    assert inspect(folder(tmp_path / "a", TIED)).mechanisms == ("M1",)
    assert inspect(folder(tmp_path / "b", UNTIED)).mechanisms == ("M0",)
    assert inspect(folder(tmp_path / "c", {"model_type": "unheard-of"})).mechanisms == ()


def test_every_mechanism_is_met_above() -> None:
    marks = (*test_live.pytestmark, *test_in_a_file.pytestmark)  # type: ignore[attr-defined]
    met = {code for mark in marks for case in mark.args[1] for code in str(case[-1]).split()}
    assert met == set(MECHANISMS)


def test_names_bound_to_the_matrix(tmp_path: Path) -> None:
    assert inspect(TwoStacks(3)).names == (
        "encoder.embed_tokens.weight",
        "decoder.embed_tokens.weight",
        "lm_head.weight",
    )
    assert inspect(folder(tmp_path / "a", TIED, SAME)).names == (TABLE, HEAD)
    noted = folder(tmp_path / "b", TIED, ONE, metadata={HEAD: TABLE})
    assert inspect(noted).names == (TABLE, HEAD)
