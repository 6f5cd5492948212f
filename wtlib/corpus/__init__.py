"""The texts that the book's small language models are trained on, as word ids.

`king_james`, `from_file` and `penn_treebank` return a text in a training, a validation and a test
part; `load` returns the shorter text that comes with the library, in two parts.
"""

from wtlib.corpus.genesis import load, text
from wtlib.corpus.sources import from_file, king_james, penn_treebank
from wtlib.corpus.vocabulary import END, UNKNOWN, Corpus, words

__all__ = [
    "END",
    "UNKNOWN",
    "Corpus",
    "from_file",
    "king_james",
    "load",
    "penn_treebank",
    "text",
    "words",
]
