"""The decision guide: every branch decides somewhere, on evidence that exists."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from wtlib import census, claims
from wtlib.advice import BRANCHES, LARGE_SAVING, PURPOSES, SMALL_SAVING, Advice, advise, report
from wtlib.counting import count_parameters
from wtlib.errors import WtlibError

ROOT = Path(__file__).parents[2]
CAUSAL = [model for model in census.load() if model.kind == "causal"]

# Mixtures of experts and a state-space model, whose bodies are not near 12·d² a layer.
OTHER_BLOCKS = {
    *("mixtral", "gpt_oss", "qwen3_moe", "deepseek_v2", "deepseek_v3", "grok-1 (JAX)", "mamba")
}

# For each branch a case that it decides, and what it must recommend.
DECIDED: dict[str, tuple[str, tuple[int, int, int], dict[str, Any]]] = {
    "trained-weights": ("keep", (50_257, 768, 12), {"purpose": "checkpoint", "tokens": 1000}),
    "memory-limit": ("tie", (32_000, 8192, 80), {"purpose": "device"}),
    "transfer": ("untie", (50_257, 768, 12), {"purpose": "transfer"}),
    "one-vocabulary": ("tie", (32_000, 8192, 80), {"purpose": "translation"}),
    "two-devices": ("untie", (151_936, 4096, 36), {"purpose": "pipeline"}),
    "scarce-data": ("tie", (32_000, 8192, 80), {"tokens": 10**9}),
    "large-saving": ("tie", (50_257, 768, 12), {"tokens": 10**12}),
    "small-saving": ("untie", (32_000, 8192, 80), {"tokens": 10**12}),
    "middle": ("either", (128_256, 4096, 32), {}),
}


def test_every_branch_has_a_case() -> None:
    assert list(DECIDED) == [branch.code for branch in BRANCHES]


@pytest.mark.parametrize("code", DECIDED)
def test_each_branch_decides(code: str) -> None:
    word, shape, more = DECIDED[code]
    found = advise(*shape, **more)
    assert (found.decided_by, found.recommendation) == (code, word)
    order = [branch.code for branch in BRANCHES]
    places = [order.index(reason.branch.code) for reason in found.reasons]
    assert places == sorted(places)
    assert found.uncertain
    assert found.next_steps


@pytest.mark.parametrize("purpose", PURPOSES)
def test_every_purpose_is_answered_for_every_shape(purpose: str) -> None:
    for model in CAUSAL:
        found = advise(model.vocab_size, model.hidden_size, model.layers, purpose=purpose)
        codes = [reason.branch.code for reason in found.reasons]
        assert len({"large-saving", "small-saving", "middle"} & set(codes)) == 1
        assert report(found).startswith(found.recommendation.upper())


def test_a_pipeline_with_a_large_matrix_falls_through() -> None:
    found = advise(50_257, 768, 12, purpose="pipeline")
    assert found.decided_by == "large-saving"


def test_tokens_decide_by_the_untied_total() -> None:
    sizes = (32_000, 8192, 80)
    untied = advise(*sizes).if_untied
    assert advise(*sizes, tokens=untied - 1).decided_by == "scarce-data"
    assert advise(*sizes, tokens=untied).decided_by == "small-saving"


def test_counts_are_those_of_blocks_of_twelve_squares() -> None:
    V, d, L = 50_257, 768, 12
    found = advise(V, d, L)
    assert found.if_tied == V * d + 12 * L * d * d
    assert found.if_untied == 2 * V * d + 12 * L * d * d
    assert found.vocabulary_matrix == V * d
    assert found.saving == pytest.approx(V * d / found.if_untied)
    assert found.layers_bought == pytest.approx(V / (12 * d))
    assert found.saved_bytes == (2 * V * d, 16 * V * d)
    low, high = found.saving_range
    assert low < found.saving < high


def test_the_saving_range_holds_nine_in_ten_dense_transformers() -> None:
    inside = []
    for model in CAUSAL:
        count = count_parameters(model.config())
        if model.model_type not in OTHER_BLOCKS:
            low, high = advise(model.vocab_size, model.hidden_size, model.layers).saving_range
            inside.append(low <= count.shares.one_of_untied <= high)
    assert len(inside) > 130
    assert sum(inside) / len(inside) > 0.9


def test_neighbours_are_counted_from_the_census() -> None:
    found = advise(128_256, 4096, 32)
    near = [
        model.tie_word_embeddings
        for model in CAUSAL
        if found.saving / 1.5
        <= 1 - model.total_if_tied / model.total_if_untied
        <= found.saving * 1.5
    ]
    assert (found.neighbours.models, found.neighbours.tied) == (len(near), sum(near))


def test_practice_is_what_the_reasons_say_of_it() -> None:
    def tied_between(low: float, high: float) -> float:
        inside = [
            model.tie_word_embeddings
            for model in CAUSAL
            if low <= 1 - model.total_if_tied / model.total_if_untied < high
        ]
        return sum(inside) / len(inside)

    assert tied_between(LARGE_SAVING, 1) > 0.7  # "most … with such a saving tie"
    assert 0.45 < tied_between(SMALL_SAVING, LARGE_SAVING) < 0.55  # "about evenly"


def test_the_evidence_exists() -> None:
    bibliography = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    keys = set(re.findall(r"^@\w+\{([^,]+),", bibliography, re.MULTILINE))
    for branch in BRANCHES:
        assert set(branch.sources) <= keys, branch.code
        for name in branch.claims:
            claims.find(name)
        if branch.evidence == "experiments":
            assert branch.sources, branch.code


def test_a_saving_near_a_line_is_said_to_be_uncertain() -> None:
    near = advise(151_936, 2560, 36)
    assert any("crosses the line at 10%" in note for note in near.uncertain)
    far = advise(50_257, 768, 12)
    assert not any("crosses" in note for note in far.uncertain)


def test_unknown_data_is_said_to_be_uncertain() -> None:
    def says_so(found: Advice) -> bool:
        return any("was not said" in note for note in found.uncertain)

    assert says_so(advise(50_257, 768, 12))
    assert not says_so(advise(50_257, 768, 12, tokens=10**12))
    assert not says_so(advise(50_257, 768, 12, purpose="checkpoint"))


@pytest.mark.parametrize("tokens", [0, -5, True])
def test_tokens_are_a_number(tokens: Any) -> None:
    with pytest.raises(
        WtlibError, match=r"tokens is .*; give a whole number, at least 1, or leave"
    ):
        advise(50_257, 768, 12, tokens=tokens)


def test_an_unknown_purpose() -> None:
    with pytest.raises(WtlibError, match="no purpose 'fun'; choose one of: pretraining, device"):
        advise(50_257, 768, 12, purpose="fun")


@pytest.mark.parametrize(
    ("sizes", "name"),
    [((0, 768, 12), "vocab_size"), ((9, -1, 2), "d_model"), ((9, 9, 0), "n_layers")],
)
def test_sizes_are_positive(sizes: tuple[int, int, int], name: str) -> None:
    with pytest.raises(WtlibError, match=f"{name} is .*; it must be a whole number, at least 1"):
        advise(*sizes)


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys; from wtlib import advice, census_page, model_card, thresholds; "
        "advice.advise(50257, 768, 12); "
        "print([m for m in ('torch', 'transformers', 'matplotlib') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
