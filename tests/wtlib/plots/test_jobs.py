import numpy as np
import pytest
import torch
from torch import nn

from tests.wtlib.tying.models import TinyLM, tied
from wtlib.counting import count_parameters
from wtlib.plots import jobs
from wtlib.tying import fingerprint

IDS = torch.randint(50, (1, 9), generator=torch.Generator().manual_seed(0))


def test_lookup_and_scores_tell_what_is_drawn() -> None:
    row = np.array([0.5, -0.25, 0.0])
    scores = np.arange(200.0)[::-1].copy()
    figure = jobs.lookup_and_scores(row, scores, " grass", [(" green", 199.0), (" red", 198.0)])
    assert figure.data.rows == (
        ("lookup", "smallest entry", "-0.250"),
        ("lookup", "median entry", "0.000"),
        ("lookup", "largest entry", "0.500"),
        ("head", "score of “green”", "199.00"),
        ("head", "score of “red”", "198.00"),
        ("head", "score at rank 4", "196.00"),
        ("head", "score at rank 100", "100.00"),
        ("head", "score at rank 200", "0.00"),
    )
    assert "200 rows" in figure.alt
    assert "fall from 199.00, for “green”" in figure.alt
    assert "green" in figure._repr_html_()


def test_ties_lead_where_the_toys_names_lead() -> None:
    storage, copies = TinyLM(), TinyLM()
    storage.lm_head.weight = nn.Parameter(storage.wte.weight.data)
    copies.lm_head.weight = nn.Parameter(copies.wte.weight.data.clone())
    toys = {"one": tied(), "storage": storage, "copies": copies}
    figure = jobs.ties({name: fingerprint(toy, IDS) for name, toy in toys.items()})
    names = "wte.weight, lm_head.weight"
    assert figure.data.rows == (
        ("one", names, "1", "1"),
        ("storage", names, "2", "1"),
        ("copies", names, "2", "2"),
    )
    assert "storage: 2 names, 2 Parameters, 1 piece of memory" in figure.alt


@pytest.mark.parametrize("model_type", ["gpt2", "llama"])
def test_shares_are_one_or_two_matrices_over_either_total(model_type: str) -> None:
    count = count_parameters({"model_type": model_type})
    figure = jobs.shares(count, "this model")
    one, tied_total, untied_total = count.vocabulary_matrix, count.if_tied, count.if_untied
    assert figure.data.rows == tuple(
        (name, str(matrices), f"{total:,}", f"{matrices * one / total:.2%}")
        for name, matrices, total in [
            ("one_of_tied", 1, tied_total),
            ("one_of_untied", 1, untied_total),
            ("two_of_untied", 2, untied_total),
            ("two_of_tied", 2, tied_total),
        ]
    )


def test_gpt2_s_shares_are_the_known_ones() -> None:
    figure = jobs.shares(count_parameters({"model_type": "gpt2"}), "GPT-2")
    assert [row[-1] for row in figure.data.rows[:3]] == ["31.02%", "23.67%", "47.35%"]
    assert "one_of_tied 31.0%" in figure.alt
