"""Counts against published values and against the arithmetic they stand for."""

import copy
import subprocess
import sys

import pytest

from wtlib import census
from wtlib.counting import (
    Memory,
    count_parameters,
    encoder_parameters,
    handbook_estimate,
    saving_fraction,
)

GPT2 = {"model_type": "gpt2"}


@pytest.mark.parametrize(
    ("d_model", "layers", "tied", "untied"),
    [
        (768, 12, 124_439_808, 163_037_184),
        (1024, 24, 354_823_168, 406_286_336),
        (1280, 36, 774_030_080, 838_359_040),
        (1600, 48, 1_557_611_200, 1_638_022_400),
    ],
)
def test_gpt2_sizes(d_model: int, layers: int, tied: int, untied: int) -> None:
    count = count_parameters(
        {"model_type": "gpt2", "n_embd": d_model, "n_layer": layers, "n_head": 4}
    )
    assert (count.total, count.if_tied, count.if_untied) == (tied, tied, untied)
    assert count.total == (
        50257 * d_model + 1024 * d_model + layers * (12 * d_model**2 + 13 * d_model) + 2 * d_model
    )


@pytest.mark.parametrize(
    ("model_id", "published"),
    [
        ("Qwen/Qwen3-0.6B", 596_049_920),
        ("Qwen/Qwen3-1.7B", 1_720_574_976),
        ("Qwen/Qwen3-4B", 4_022_468_096),
        ("meta-llama/Meta-Llama-3-70B", 70_553_706_496),
        ("HuggingFaceTB/SmolLM2-135M", 134_515_008),
        ("xai-org/grok-1", 315_684_820_992),
    ],
)
def test_published_totals(model_id: str, published: int) -> None:
    assert count_parameters(census.find(model_id).config()).total == published


@pytest.mark.parametrize(
    ("model_id", "multiple"),
    [
        ("gpt2", 12.00),
        ("Llama-3.2-1B", 14.50),
        ("Qwen3-0.6B", 15.00),
        ("Llama-3.1-8B", 13.00),
        ("Qwen3-8B", 11.50),
        ("SmolLM2-135M", 10.67),
    ],
)
def test_matrices_of_a_block_as_a_multiple_of_d_squared(model_id: str, multiple: float) -> None:
    count = count_parameters(census.find(model_id).config())
    assert round(count.block.matrices / count.d_model**2, 2) == multiple


def test_gpt2_block_by_concern() -> None:
    block, d = count_parameters(GPT2).block, 768
    assert block.attention == 4 * d**2 + 4 * d
    assert block.mlp == 8 * d**2 + 5 * d
    assert block.norms == 4 * d
    assert block.matrices == 12 * d**2
    assert block.biases == 11 * d  # nine of the matrices', two of the LayerNorms' shifts
    assert block.total == 12 * d**2 + 13 * d


def test_gpt2_outside_the_blocks() -> None:
    count = count_parameters(GPT2)
    assert count.vocabulary_matrix == count.saving == 38_597_376
    assert count.positions == 786_432
    assert count.blocks + count.final_norm == 85_056_000
    assert count.body == count.if_tied - count.vocabulary_matrix
    assert (count.layers, count.head_bias, dict(count.other)) == (12, 0, {})


def test_four_shares_of_gpt2() -> None:
    shares = count_parameters(GPT2).shares
    assert shares.one_of_tied == 38_597_376 / 124_439_808
    assert shares.one_of_untied == 38_597_376 / 163_037_184
    assert shares.two_of_untied == 2 * 38_597_376 / 163_037_184
    assert shares.two_of_tied == 2 * 38_597_376 / 124_439_808
    assert [round(100 * s, 2) for s in (shares.one_of_tied, shares.one_of_untied)] == [31.02, 23.67]
    assert round(100 * shares.two_of_untied, 2) == 47.35


def test_memory_of_gpt2() -> None:
    memory = count_parameters(GPT2).memory
    assert (memory.fp32, memory.bf16) == (497_759_232, 248_879_616)
    assert memory.adam_fp32 == memory.adam_mixed == 16 * 124_439_808
    assert sum(memory.adam_mixed_parts.values()) == memory.adam_mixed
    assert Memory(count_parameters(GPT2).if_untied).fp32 == 4 * 163_037_184


def test_the_tie_changes_parameters_and_no_flops() -> None:
    tied = count_parameters(GPT2)
    untied = count_parameters({**GPT2, "tie_word_embeddings": False})
    assert tied.flops == untied.flops
    assert tied.total < untied.total
    assert tied.flops.blocks == 169_869_312
    assert tied.flops.head == 77_194_752
    assert round(tied.flops.head_share, 2) == 0.31


def test_shared_blocks_are_stored_once_and_run_at_every_layer() -> None:
    shared = count_parameters({"model_type": "albert", "num_hidden_groups": 1})
    apart = count_parameters({"model_type": "albert", "num_hidden_groups": 12})
    assert apart.blocks == 12 * shared.blocks
    assert apart.flops == shared.flops
    assert apart.layers == shared.layers == 12


def test_mobilellm_reads_its_own_keys() -> None:
    config = census.find("facebook/MobileLLM-125M-layer-share").config()
    assert (config["share_embedding"], config["tie_word_embeddings"]) == (True, False)
    count = count_parameters(config)
    assert (count.tied, count.layers, count.stacks[0].stored) == (True, 60, 30)
    assert count.total == 124_635_456


def test_albert_as_the_paper_counts_it() -> None:
    base = {
        "model_type": "albert",
        "hidden_size": 768,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
    }
    assert encoder_parameters(base) == 11_683_584


def test_a_count_can_be_copied_and_kept_in_a_set() -> None:
    count = count_parameters({"model_type": "opt", "word_embed_proj_dim": 512})
    assert copy.deepcopy(count) == count
    assert len({count, copy.deepcopy(count)}) == 1


def test_absent_flag_means_what_the_family_means() -> None:
    assert count_parameters({"model_type": "gemma"}).tied
    assert not count_parameters({"model_type": "llama"}).tied


@pytest.mark.parametrize(
    ("vocab_size", "d_model", "layers", "saving", "percent"),
    [
        (50257, 768, 12, 38_597_376, 23.80),
        (50257, 1024, 24, 51_463_168, 12.71),
        (50257, 1280, 36, 64_328_960, 7.69),
        (50257, 1600, 48, 80_411_200, 4.92),
        (128_000, 1024, 24, 131_072_000, 23.23),
    ],
)
def test_handbook_estimate(
    vocab_size: int, d_model: int, layers: int, saving: int, percent: float
) -> None:
    estimate = handbook_estimate(vocab_size, d_model, layers)
    assert estimate.saving == saving == estimate.if_untied - estimate.if_tied
    assert round(100 * estimate.saving_fraction, 2) == percent


def test_handbook_estimate_leaves_biases_positions_and_final_norm_out() -> None:
    estimate, exact = handbook_estimate(50257, 768, 12), count_parameters(GPT2)
    assert estimate.blocks == 84_971_520
    assert exact.if_tied - estimate.if_tied == 12 * 9 * 768 + 2 * 768 + exact.positions


def test_saving_fraction_is_the_exact_share() -> None:
    count = count_parameters(GPT2)
    assert saving_fraction(50257, 768, count.body) == count.shares.one_of_untied


def test_saving_fraction_rises_with_the_vocabulary_to_one_half() -> None:
    fractions = [saving_fraction(10.0**power, 768, 85e6) for power in range(1, 13)]
    assert fractions == sorted(fractions)
    assert fractions[-1] == pytest.approx(0.5, rel=1e-6)
    assert saving_fraction(1, 1, 0) == 0.5


def test_import_needs_neither_torch_nor_transformers_nor_matplotlib() -> None:
    code = (
        "import sys, wtlib.counting, wtlib.census;"
        "print(sorted({'torch', 'transformers', 'matplotlib', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
