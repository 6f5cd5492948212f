"""Markers: where they stand, and what remedies promise."""

import pytest
import torch

from wtlib import corpus, markers
from wtlib.errors import WtlibError

TEXT = corpus.load(min_count=50)


def test_a_marker_stands_before_each_occurrence() -> None:
    ids = torch.tensor([4, 2, 2, 7, 2])
    assert markers.marked(ids, word=2, marker=9).tolist() == [4, 9, 2, 9, 2, 7, 9, 2]


def test_a_mask_is_exact_and_a_label_is_honest() -> None:
    masked = markers.fit_marked(TEXT, "lord", "mask", steps=3)
    assert (masked.written, masked.padding) == (0, 0)
    label = markers.fit_marked(TEXT, "lord", "none", steps=3)
    assert label.written > 0
    assert label == markers.fit_marked(TEXT, "lord", "none", steps=3)


def test_unknown_word() -> None:
    with pytest.raises(WtlibError, match="'xyzzy' is not in the vocabulary of genesis-exodus"):
        markers.fit_marked(TEXT, "xyzzy", "none")


def test_unknown_remedy() -> None:
    with pytest.raises(WtlibError, match="remedy='prayer' is none of none, no label, bias, mask"):
        markers.fit_marked(TEXT, "lord", "prayer")
