"""The text, its words and its vocabulary."""

from collections import Counter

import pytest
import torch

from wtlib import corpus
from wtlib.errors import WtlibError


def test_the_text_begins_and_ends_where_its_books_do() -> None:
    text = corpus.text()
    assert text.startswith("In the beginning God created the heaven and the earth.")
    assert text.rstrip().endswith("throughout all their journeys.")
    assert "[" not in text


def test_words_are_lower_case_and_punctuation_stands_alone() -> None:
    assert corpus.words("Am I my brother’s keeper?") == [
        *("am", "i", "my", "brother’s", "keeper"),
        "?",
    ]


def test_ids_read_back_are_the_text() -> None:
    loaded = corpus.load(min_count=1, valid_fraction=0.1)
    tokens = corpus.words(corpus.text())
    read_back = [loaded.vocabulary[i] for i in loaded.train.tolist()]
    assert read_back == tokens[: len(read_back)]
    assert len(loaded.train) + len(loaded.valid) == len(tokens)


def test_ids_are_ranks_and_the_rest_is_unknown() -> None:
    loaded = corpus.load(min_count=3)
    split = len(loaded.train)
    frequency = Counter(corpus.words(corpus.text())[:split])
    known = loaded.counts[:-1]
    assert torch.equal(known, known.sort(descending=True).values)
    assert known.min() == 3
    assert loaded.vocabulary[-1] == corpus.UNKNOWN
    assert loaded.counts[-1] == sum(n for n in frequency.values() if n < 3)
    assert loaded.vocab_size == 1 + sum(n >= 3 for n in frequency.values())


def test_a_vocabulary_of_words_that_never_occur_is_refused() -> None:
    with pytest.raises(WtlibError, match="min_count must be at least 1, not 0"):
        corpus.load(min_count=0)


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1])
def test_a_split_that_leaves_a_part_empty_is_refused(fraction: float) -> None:
    with pytest.raises(WtlibError, match="valid_fraction must lie between 0 and 1"):
        corpus.load(valid_fraction=fraction)
