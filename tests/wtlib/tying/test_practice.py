"""Kinds of fault from public reports, each rebuilt small; the comments name the reports."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import safetensors.numpy
import safetensors.torch
import torch
from accelerate import init_empty_weights
from torch import nn
from transformers import (
    BertConfig,
    BertForMaskedLM,
    GPT2LMHeadModel,
    MT5Config,
    MT5ForConditionalGeneration,
    T5Config,
    T5ForConditionalGeneration,
)

from tests.wtlib.tying import files
from tests.wtlib.tying.examples import flagged
from tests.wtlib.tying.files import BODY, HEAD, LLAMA, TABLE, D, V, folder, matrix
from tests.wtlib.tying.models import gpt2, llama
from wtlib.specimens.quiet import quiet
from wtlib.tying import Inspection, inspect
from wtlib.tying.cases import TwoEnds, tied

TIED, UNTIED = {**LLAMA, "tie_word_embeddings": True}, {**LLAMA, "tie_word_embeddings": False}
ONE, TWO, SAME = files.tied_tensors(), files.untied_tensors(), files.equal_tensors()


def bytes_of(found: Inspection) -> tuple[int, int]:
    assert found.bytes is not None
    return found.bytes.stored, found.bytes.needed


# safetensors#98: a tied model saves one name and, by save_model, notes the other.
def test_saved_by_transformers_and_by_save_model(tmp_path: Path) -> None:
    gpt2().save_pretrained(tmp_path / "pretrained")
    found = inspect(tmp_path / "pretrained")
    assert (found.tied, found.mechanisms, found.codes) == (True, ("M1",), ())
    safetensors.torch.save_model(tied(), str(tmp_path / "m.safetensors"))
    noted = inspect(tmp_path / "m.safetensors")
    assert noted.file is not None
    assert len(noted.file.aliases) == 1
    assert noted.tied
    assert noted.codes == ("alias-recorded",)


# transformers#33688, #42612, vllm#51665, mlx#566: flag and file disagree; three facts, apart.
@pytest.mark.parametrize(
    ("config", "tensors", "facts", "codes"),
    [
        (TIED, ONE, (True, False, None), ()),
        (TIED, SAME, (True, True, True), ("equal-copies",)),
        (TIED, TWO, (True, True, False), ("tied-flag-unequal-copies",)),
        (UNTIED, ONE, (False, False, None), ("head-random",)),
        (UNTIED, SAME, (False, True, True), ("untied-flag-equal-copies",)),
        (UNTIED, TWO, (False, True, False), ()),
    ],
)
def test_flag_presence_and_values_are_three_facts(
    config: dict[str, object],
    tensors: files.Tensors,
    facts: tuple[bool, bool, bool | None],
    codes: tuple[str, ...],
    tmp_path: Path,
) -> None:
    found = inspect(folder(tmp_path, config, tensors))
    assert found.config is not None
    assert found.file is not None
    assert (found.config.flag, found.file.head_present, found.file.equal) == facts
    assert found.codes == codes


# Megatron-Bridge#919, optimum#1326: a file with both copies is larger by V*d numbers.
def test_bytes_of_two_copies(tmp_path: Path) -> None:
    stored, needed = bytes_of(inspect(folder(tmp_path, TIED, SAME)))
    assert stored - needed == V * D * 4


# transformers#48238: a three-way tie whose shared.weight is absent.
def test_three_way_ties_are_a_group(tmp_path: Path) -> None:
    names = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", HEAD)
    config = {"model_type": "t5", "vocab_size": V, "d_model": D, "tie_word_embeddings": True}
    found = inspect(folder(tmp_path, config, {name: matrix() for name in names}))
    assert set(found.names) == set(names)
    assert found.parameters.unique == V * D


# candle#903, census trap 5: T5 v1.1 has a head of its own, whatever its class says.
def test_a_t5_with_its_own_head(tmp_path: Path) -> None:
    config = {"model_type": "t5", "vocab_size": V, "d_model": D, "tie_word_embeddings": False}
    tensors = {"shared.weight": matrix(), "lm_head.weight": matrix(1)}
    found = inspect(folder(tmp_path, config, tensors))
    assert found.config is not None
    assert (found.tied, found.config.flag, found.config.loader_flag) == (False, False, True)
    assert set(found.codes) == {"flag-overruled", "partial-tie"}
    assert found.parameters.unique == 2 * V * D


# Automodel#2941: candidates for a tie are no tie; the flag decides.
def test_candidates_are_not_a_tie() -> None:
    with quiet():
        model = llama()
    model.config.tie_word_embeddings = False
    model.lm_head.weight = nn.Parameter(model.lm_head.weight.detach().clone())
    assert inspect(model).tied is False
    assert inspect(model).exit_status == 0


# modalities#357, pytorch#188346, accelerate#3668, torchtune#616: what materialising leaves.
def materialised() -> nn.Module:
    with torch.device("meta"):
        model = tied()
    return model.to_empty(device="cpu")


def assigned() -> nn.Module:
    model = tied()
    model.load_state_dict({n: t.clone() for n, t in model.state_dict().items()}, assign=True)
    return model


def by_accelerate() -> nn.Module:
    with init_empty_weights():
        return tied()


@pytest.mark.parametrize("build", [materialised, assigned])
def test_a_tie_lost_on_the_way_into_memory(build: Callable[[], nn.Module]) -> None:
    found = inspect(flagged(build(), True))
    assert found.tied is False
    assert {"tie-broken", "tie-missing"} & set(found.codes)
    assert found.parameters.unique == 2 * V * D + D * D + D


def test_without_memory_only_identity_is_known() -> None:
    found = inspect(flagged(by_accelerate(), True))
    assert found.live is not None
    assert found.live.same_object is False
    assert (found.live.same_storage, found.live.equal_values, found.tied) == (None, None, None)
    assert found.codes == ("not-materialised",)


# transformers: set_input_embeddings breaks a tie, flipping the flag does not, resizing keeps it.
def test_what_transformers_operations_leave() -> None:
    replaced, flipped, resized = gpt2(), gpt2(), gpt2()
    replaced.set_input_embeddings(nn.Embedding(50, 8))
    assert inspect(replaced).codes == ("tie-missing",)
    replaced.tie_weights()
    assert "tie-missing" not in inspect(replaced).codes
    flipped.config.tie_word_embeddings = False
    assert inspect(flipped).codes == ("tied-against-flag",)
    resized.resize_token_embeddings(60, mean_resizing=False)
    assert inspect(resized).codes == ()


# transformers#9058, #851, skeletoken#108: resized in the wrong place; a bias left behind.
def bert() -> BertForMaskedLM:
    return BertForMaskedLM(
        BertConfig(
            vocab_size=V, hidden_size=4, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=8, pad_token_id=None,
        )
    )  # fmt: skip


def test_resizing_the_inner_model_leaves_the_bias() -> None:
    model = bert()
    model.bert.resize_token_embeddings(V + 3, mean_resizing=False)
    assert inspect(model).codes == ("bias-length", "bias-length")
    right = bert()
    right.resize_token_embeddings(V + 3, mean_resizing=False)
    assert inspect(right).codes == ()


def test_replacing_the_inner_table_leaves_the_head() -> None:
    model = bert()
    model.bert.embeddings.word_embeddings = nn.Embedding(V + 3, 4)
    assert {"rows-differ", "tie-missing", "vocab-size-differs"} == set(inspect(model).codes)


def test_a_bias_of_the_old_length() -> None:
    model = bert()
    model.cls.predictions.bias = nn.Parameter(torch.zeros(V - 1))
    assert "bias-length" in inspect(model).codes
    assert "partial-tie" in inspect(model).codes


# llama.cpp#5650: one matrix for both uses, in four bits. #12567, #13328: absent means tied.
def test_gguf_decides_by_its_own_keys(tmp_path: Path) -> None:
    wide = {"token_embd.weight": matrix(columns=32)}
    q4 = gguf.GGMLQuantizationType.Q4_0
    low = files.gguf_file(tmp_path / "a.gguf", wide, quantised={"token_embd.weight": q4})
    assert inspect(low).codes == ("low-bit-tied-matrix",)
    both = {**wide, "output.weight": matrix(columns=32)}
    apart = files.gguf_file(tmp_path / "b.gguf", both, quantised={"token_embd.weight": q4})
    found = inspect(apart)
    assert (found.tied, found.codes) == (None, ())


# AutoAWQ and transformers#31474, vllm#45543, auto-round#101: one side of a tie is quantised.
@pytest.mark.parametrize("packed", ["lm_head.qweight", "lm_head.weight_packed", "lm_head.scales"])
def test_a_quantised_side(packed: str, tmp_path: Path) -> None:
    tensors = {**ONE, packed: np.ones((V, 1), np.int32)}
    found = inspect(folder(tmp_path, TIED, tensors))
    assert "forms-differ" in found.codes
    assert "head-random" not in inspect(folder(tmp_path, UNTIED, tensors)).codes


# llm-compressor#2798, LlamaFactory#10813: a gather wrote a bit-identical head.
def test_a_bit_identical_head_under_a_wrapper(tmp_path: Path) -> None:
    found = inspect(folder(tmp_path, TIED, {f"module.{n}": t for n, t in SAME.items()}))
    assert found.codes == ("equal-copies",)


# peft#2777, unsloth#9331: two copies were trained, and merged under a flag that says tied.
def test_a_merged_adapter(tmp_path: Path) -> None:
    assert inspect(folder(tmp_path, TIED, TWO)).codes == ("tied-flag-unequal-copies",)


@pytest.mark.parametrize(
    ("tensors", "codes"),
    [
        ({HEAD: matrix()}, ("adapter-unties",)),
        ({TABLE: matrix(), HEAD: matrix(1)}, ("adapter-unties",)),
        ({TABLE: matrix(), HEAD: matrix()}, ()),
        ({"lm_head.lora_A.weight": matrix(rows=2)}, ("adapter-unties",)),
        ({BODY.replace(".weight", ".lora_A.weight"): matrix(rows=2)}, ()),
    ],
)
def test_an_adapter_of_a_tied_model(
    tensors: files.Tensors, codes: tuple[str, ...], tmp_path: Path
) -> None:
    def adapter(name: str, base: object) -> Inspection:
        target = folder(tmp_path / name, None, adapter_config={"base_model_name_or_path": base})
        prefixed = {f"base_model.model.{key}": tensor for key, tensor in tensors.items()}
        safetensors.numpy.save_file(prefixed, target / "adapter_model.safetensors")
        return inspect(target)

    found = adapter("a", str(folder(tmp_path / "tied", TIED)))
    assert (found.codes, found.tied, found.mechanisms) == (codes, True, ("M1",))
    assert adapter("b", str(folder(tmp_path / "untied", UNTIED))).codes == ()
    for unknown in ("no-such-owner/no-such-model", "not an id!", 1):
        assert adapter("c", unknown).codes == ()


# TransformerLens#671: matrices that are bare parameters, the head's stored as d by V.
def test_bare_parameters() -> None:
    model = nn.Module()
    model.embed, model.unembed = nn.Module(), nn.Module()
    model.embed.W_E = nn.Parameter(torch.randn(V, D) * 0.02)
    model.unembed.W_U = nn.Parameter(model.embed.W_E.detach().clone().t())
    found = inspect(model)
    assert found.live is not None
    assert (found.mechanisms, found.live.equal_values) == (("M0",), True)
    model.unembed.W_U = nn.Parameter(model.embed.W_E.t())
    assert inspect(model).mechanisms == ("M2",)


# onnx#3278: cross-layer sharing lost on unrolling.
def test_an_unrolled_block(tmp_path: Path) -> None:
    names = [BODY.replace("0", str(i)) for i in range(24)]
    found = inspect(folder(tmp_path, TIED, {TABLE: matrix(), **{n: matrix(1, D) for n in names}}))
    assert found.codes == ("equal-blocks",)
    assert "M5" in found.mechanisms
    stored, needed = bytes_of(found)
    assert stored - needed == 23 * D * D * 4


# pytorch#188346, entrenar#314, APOLLO#4, nanoGPT#268: optimizers that hold a matrix twice.
def test_an_optimizer_over_a_broken_tie() -> None:
    model = flagged(assigned(), True)
    found = inspect(model, optimizer=torch.optim.AdamW(model.parameters()))
    assert found.codes == ("tie-broken",)


def test_an_optimizer_that_lists_one_parameter_twice() -> None:
    model = tied()
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optimizer = torch.optim.AdamW([model.wte.weight, model.lm_head.weight])
    assert inspect(model, optimizer=optimizer).codes == ("optimizer-steps-twice",)


def test_a_tie_made_after_the_optimizer() -> None:
    model = TwoEnds()
    ends = [{"params": [model.wte.weight]}, {"params": [model.lm_head.weight]}]
    optimizer = torch.optim.AdamW(ends)
    model.wte.weight = nn.Parameter(model.wte.weight.detach().clone())
    model.lm_head.weight = model.wte.weight
    found = inspect(model, optimizer=optimizer)
    assert found.codes == ("optimizer-leaves-out",)
    assert "2 tensors the model no longer has" in found.findings[0].message


# pytorch#3121, transformers#26441: the default of nn.Embedding in a tied matrix.
def test_the_default_initialisation_is_too_large_for_a_head() -> None:
    model = TwoEnds()
    model.wte = nn.Embedding(500, D)
    model.lm_head = nn.Linear(D, 500, bias=False)
    assert "default-init" not in inspect(model).codes
    model.lm_head.weight = model.wte.weight
    assert "default-init" in inspect(model).codes
    nn.init.normal_(model.wte.weight, std=0.02)
    assert "default-init" not in inspect(model).codes


def test_t5_starts_at_one_and_scales_but_an_untied_head_does_not() -> None:
    config = T5Config(vocab_size=400, d_model=16, d_kv=2, d_ff=8, num_layers=1, num_heads=2)
    model = T5ForConditionalGeneration(config)
    assert inspect(model).codes == ()
    model.lm_head.weight = nn.Parameter(torch.randn(400, 16))
    assert "default-init" in inspect(model).codes


# outlines#236, DeepLearningExamples#1275: rows that no token uses, and tokens without a row.
@pytest.mark.parametrize("form", ["tokenizer.json", "unigram", "added", "vocab.json"])
def test_rows_and_tokens(form: str, tmp_path: Path) -> None:
    def with_tokens(path: Path, number: int) -> tuple[str, ...]:
        vocabulary = {f"t{i}": i for i in range(number)}
        contents: dict[str, dict[str, Any]] = {
            "tokenizer.json": {"tokenizer": {"model": {"vocab": vocabulary}}},
            "unigram": {"tokenizer": {"model": {"vocab": [[t, 0.0] for t in vocabulary]}}},
            "added": {"tokenizer": {"model": {"vocab": {}}, "added_tokens": [{"id": number - 1}]}},
            "vocab.json": {"vocab": vocabulary},
        }
        return inspect(folder(path, TIED, ONE, **contents[form])).codes

    assert with_tokens(tmp_path / "a", V - 2) == ("padded-rows",)
    assert with_tokens(tmp_path / "b", V) == ()
    assert with_tokens(tmp_path / "c", V + 1) == ("tokens-without-rows",)


def test_a_gguf_files_own_tokens(tmp_path: Path) -> None:
    path = files.gguf_file(tmp_path / "m.gguf", {"token_embd.weight": matrix()}, tokens=["a"] * 9)
    assert inspect(path).codes == ("padded-rows",)


def test_a_tokenizer_of_another_form_says_nothing(tmp_path: Path) -> None:
    assert inspect(folder(tmp_path, TIED, ONE, tokenizer={"model": []})).codes == ()


# transformers#11903: one tensor, one requires_grad.
def test_freezing_all_but_the_head_is_seen_on_both_names() -> None:
    model = gpt2().requires_grad_(False)
    model.lm_head.weight.requires_grad_(True)
    found = inspect(model)
    assert found.live is not None
    assert found.live.table is not None
    assert found.live.table.trainable


# mlx-examples#591: T5 scales its output when tied, and only then.
@pytest.mark.parametrize(("scale", "codes"), [(True, ["scale-contradicts-flag"]), (False, [])])
def test_t5s_scale(scale: bool, codes: list[str], tmp_path: Path) -> None:
    config = {"model_type": "t5", "tie_word_embeddings": False, "scale_decoder_outputs": scale}
    assert [*inspect(folder(tmp_path, config)).codes] == ["flag-overruled", *codes]


# census trap 5: transformers 5 overwrites T5's flag, and keeps what the file said as the scale.
def t5_with_its_own_head(make: Callable[..., Any], model: Callable[..., Any]) -> Any:
    config = make(
        vocab_size=V, d_model=D, d_kv=2, d_ff=8, num_layers=1, num_heads=2,
        tie_word_embeddings=False,
    )  # fmt: skip
    built: Any = model(config)
    built.lm_head.weight = nn.Parameter(built.lm_head.weight.detach() + 1)
    return built


def test_an_untied_t5_under_a_flag_that_its_class_forces(tmp_path: Path) -> None:
    t5 = t5_with_its_own_head(T5Config, T5ForConditionalGeneration)
    mt5 = t5_with_its_own_head(MT5Config, MT5ForConditionalGeneration)
    for model in (t5, mt5):
        found = inspect(model)
        assert found.exit_status == 0
        assert "flag-overruled" in found.codes
        assert found.tied is False
    found = inspect(t5)
    assert found.config is not None
    assert (found.config.flag, found.config.key) == (False, "scale_decoder_outputs")


@pytest.mark.parametrize("architecture", ["granite", "command-r"])
def test_scales_in_gguf_metadata(architecture: str, tmp_path: Path) -> None:
    one = {"token_embd.weight": matrix()}
    bare = files.gguf_file(tmp_path / "a.gguf", one, architecture)
    assert inspect(bare).codes == ("scale-missing",)
    whole = files.gguf_file(
        tmp_path / "b.gguf", one, architecture, logit_scale=0.1, embedding_scale=12.0
    )
    assert inspect(whole).codes == ()


# Not faults: a backbone and a classifier have no head; a vector of ones is no copy of another.
@pytest.mark.parametrize("architecture", ["LlamaModel", "LlamaForSequenceClassification"])
def test_no_head_is_missed_where_none_belongs(architecture: str, tmp_path: Path) -> None:
    config = {**UNTIED, "architectures": [architecture]}
    found = inspect(folder(tmp_path, config, ONE))
    assert (found.codes, found.tied) == ((), None)


def test_a_head_of_an_unheard_of_name_is_known_by_its_shape(tmp_path: Path) -> None:
    found = inspect(folder(tmp_path, UNTIED, {**ONE, "speak.weight": matrix(2)}))
    assert found.file is not None
    assert (found.file.heads, found.tied, found.codes) == (("speak.weight",), False, ())


def test_a_recurrences_decay_is_no_shared_block(tmp_path: Path) -> None:
    decay = {f"model.layers.{i}.A_log": matrix(9, D, 2) for i in range(3)}
    mixes = {f"model.layers.{i}.mix": matrix(8).reshape(1, 1, -1) for i in range(3)}
    large = {f"model.layers.{i}.w": matrix(i, 40 * D) for i in range(3)}
    assert inspect(folder(tmp_path, TIED, {TABLE: matrix(), **decay, **mixes, **large})).codes == ()


def test_masks_of_old_files_are_no_parameters(tmp_path: Path) -> None:
    gpt = {"model_type": "gpt2", "vocab_size": V, "n_embd": D}
    tensors = {
        "wte.weight": matrix(),
        "h.0.attn.bias": np.ones((1, 1, 8, 8), np.float32),
        "h.0.attn.masked_bias": np.array([-1e4], np.float32),
        "h.0.attn.c_attn.bias": matrix(3)[0],
    }
    found = inspect(folder(tmp_path, gpt, tensors))
    assert found.parameters.unique == V * D + D


def test_parameters_of_saved_models_are_those_of_the_live_ones(tmp_path: Path) -> None:
    models = {
        "gpt2": gpt2(),
        "llama": llama(),
        "bert": bert(),
        "t5": T5ForConditionalGeneration(
            T5Config(vocab_size=V, d_model=4, d_kv=2, d_ff=8, num_layers=1, num_heads=2)
        ),
    }
    for name, model in models.items():
        model.save_pretrained(tmp_path / name)
        stored, live = inspect(tmp_path / name), inspect(model)
        assert stored.parameters == live.parameters
        assert live.parameters.unique == sum(p.numel() for p in model.parameters())
        assert (stored.codes, live.codes) == ((), ())


def test_a_live_model_beside_its_own_checkpoint(tmp_path: Path) -> None:
    gpt2().save_pretrained(tmp_path)
    with quiet():
        model = GPT2LMHeadModel.from_pretrained(tmp_path)
    assert inspect(model, checkpoint=tmp_path).codes == ()
    model.lm_head.weight = nn.Parameter(model.lm_head.weight.detach() + 1)
    found = inspect(model, checkpoint=tmp_path)
    assert set(found.codes) == {"tie-missing", "live-and-file-disagree"}
