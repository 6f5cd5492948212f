"""Paragraphs into training, validation and test parts, without leakage."""

import random
from collections.abc import Iterable, Sequence
from itertools import chain

from wtlib.corpus.vocabulary import END, Corpus, encode, ranked
from wtlib.errors import WtlibError

LONGEST = 1_000
"""Tokens; longer paragraphs are cut into pieces of at most this, so that none fills a part."""
SHORTEST_TEXT = 10_000
"""Tokens below which a held-out part would be too small to tell two models apart."""
HELD_OUT_SHARE = 0.1
HELD_OUT_MOST = 10_000
"""Tokens; validation and test each get this share of the text, but at most so many."""


def split(
    name: str,
    paragraphs: Iterable[Sequence[str]],
    *,
    vocab_size: int,
    train_tokens: int | None = None,
    seed: int = 0,
) -> Corpus:
    """Return tokenised paragraphs, shuffled, as a corpus of three parts.

    A paragraph that repeats an earlier one word by word is left out, so that no part holds what
    another was trained on. What is left is shuffled with `seed` and dealt out whole: first to the
    test, then to the validation part, then to the training part, which is cut at `train_tokens`
    (None: it takes all). So the held-out parts do not depend on the size of the training part.
    Each paragraph ends with the token `END`.

    The vocabulary has `vocab_size` ids: the ``vocab_size - 1`` commonest tokens of the training
    part, and `UNKNOWN` for all others.

    Raises:
        WtlibError: if the text is too short to split, or has fewer tokens or types than asked for.
    """
    pieces = [(*piece, END) for piece in dict.fromkeys(chain.from_iterable(map(_cut, paragraphs)))]
    total = sum(map(len, pieces))
    if total < SHORTEST_TEXT:
        raise WtlibError(
            f"{name} has {total:,} tokens once repeated paragraphs are left out; "
            f"at least {SHORTEST_TEXT:,} are needed to train, validate and test"
        )
    random.Random(seed).shuffle(pieces)
    held_out = min(HELD_OUT_MOST, round(HELD_OUT_SHARE * total))
    remaining = iter(pieces)
    test = _take(remaining, held_out)
    valid = _take(remaining, held_out)
    train = list(chain.from_iterable(remaining))
    if train_tokens is not None:
        if not 0 < train_tokens <= len(train):
            raise WtlibError(
                f"train_tokens={train_tokens}: {name} has {len(train):,} tokens to train on"
            )
        train = train[:train_tokens]
    types = ranked(train)
    if not 2 <= vocab_size <= len(types) + 1:
        raise WtlibError(
            f"vocab_size={vocab_size}: the training part of {name} has {len(types):,} distinct "
            f"tokens, so choose between 2 and {len(types) + 1:,}"
        )
    kept = [word for word, _ in types[: vocab_size - 1]]
    return encode(name, kept, train=train, valid=valid, test=test)


def _cut(paragraph: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(paragraph[i : i + LONGEST]) for i in range(0, len(paragraph), LONGEST)]


def _take(pieces: Iterable[tuple[str, ...]], tokens: int) -> list[str]:
    """Take whole pieces until there are at least so many tokens."""
    taken: list[str] = []
    for piece in pieces:
        taken.extend(piece)
        if len(taken) >= tokens:
            break
    return taken
