"""From text to ids: the word rule, the vocabulary rule, and the corpus that results."""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int64
from torch import Tensor

UNKNOWN = "<unk>"
END = "<eos>"
_WORD = re.compile(r"[\w’]+|[^\w\s]")


@dataclass(frozen=True, eq=False)
class Corpus:
    """A text as word ids, in a training, a validation and a test part.

    Ids are ranks: id 0 is the commonest word of the training part, and rarer words have larger
    ids; the last id is `UNKNOWN`, which stands for every word left out of the vocabulary.
    """

    name: str
    train: Int64[Tensor, " train"]
    valid: Int64[Tensor, " valid"]
    test: Int64[Tensor, " test"]
    """Empty where a text is split in two only."""
    vocabulary: tuple[str, ...]
    counts: Int64[Tensor, " V"]
    """How often each id occurs in the training part."""

    @property
    def vocab_size(self) -> int:
        """The number of ids, `UNKNOWN` included."""
        return len(self.vocabulary)

    @property
    def unknown_share(self) -> float:
        """The share of the test part (of the validation part, without one) that is `UNKNOWN`."""
        part = self.test if len(self.test) else self.valid
        return float((part == self.vocab_size - 1).double().mean())

    @property
    def fingerprint(self) -> str:
        """A hash of all ids and of the vocabulary: the same for the same text, rule and split."""
        digest = hashlib.sha256("\n".join(self.vocabulary).encode())
        for part in (self.train, self.valid, self.test):
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part.numpy().tobytes())
        return digest.hexdigest()


def words(text: str) -> list[str]:
    """Split a text into lower-case words and single punctuation marks."""
    return _WORD.findall(text.lower())


def ranked(tokens: Sequence[str]) -> list[tuple[str, int]]:
    """Return the distinct tokens but `UNKNOWN`, the commonest first, with their counts.

    Equal counts go by spelling, so that ids depend on nothing but the text.
    """
    frequency = Counter(tokens)
    frequency.pop(UNKNOWN, None)
    return sorted(frequency.items(), key=lambda item: (-item[1], item[0]))


def encode(
    name: str,
    kept: Sequence[str],
    *,
    train: Sequence[str],
    valid: Sequence[str],
    test: Sequence[str] = (),
) -> Corpus:
    """Return three parts as ids into the vocabulary of the `kept` words and `UNKNOWN`."""
    vocabulary = (*kept, UNKNOWN)
    index = {word: i for i, word in enumerate(vocabulary)}
    unknown = index[UNKNOWN]

    def ids(part: Sequence[str]) -> Int64[Tensor, " n"]:
        return torch.tensor([index.get(word, unknown) for word in part], dtype=torch.int64)

    train_ids = ids(train)
    return Corpus(
        name=name,
        train=train_ids,
        valid=ids(valid),
        test=ids(test),
        vocabulary=vocabulary,
        counts=torch.bincount(train_ids, minlength=len(vocabulary)),
    )
