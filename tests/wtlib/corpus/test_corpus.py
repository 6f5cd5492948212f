"""The texts: what is in which part, under which rule, and what is refused."""

import re
from collections import Counter
from pathlib import Path

import pytest
import torch

from wtlib import corpus
from wtlib.corpus import END, UNKNOWN, Corpus
from wtlib.corpus.splitting import LONGEST, split
from wtlib.errors import WtlibError


def paragraphs(n: int = 400, length: int = 50) -> list[list[str]]:
    """Distinct paragraphs whose words' frequencies all differ in scale."""
    return [[f"w{(i * j) % 97}" for j in range(length - 1)] + [f"p{i}"] for i in range(n)]


def read(ids: torch.Tensor, found: Corpus) -> list[tuple[str, ...]]:
    """The whole paragraphs of a part, in words."""
    text = " ".join(found.vocabulary[i] for i in ids.tolist())
    return [tuple(p.split()) for p in text.split(END) if p.strip()]


@pytest.fixture(scope="module")
def king_james() -> Corpus:
    return corpus.king_james(vocab_size=1_000)


def test_king_james_is_the_pinned_text(king_james: Corpus) -> None:
    assert (len(king_james.train), king_james.vocab_size) == (60_000, 1_000)
    assert 10_000 <= len(king_james.test) <= 10_000 + LONGEST
    assert 10_000 <= len(king_james.valid) <= 10_000 + LONGEST
    assert king_james.vocabulary[:4] == (",", "the", "and", "of")
    assert "[" not in king_james.vocabulary
    assert king_james.vocabulary[-1] == UNKNOWN
    assert 0.05 < king_james.unknown_share < 0.2


def test_king_james_holds_the_published_number_of_words() -> None:
    whole = corpus.king_james(vocab_size=12_000, train_tokens=None)
    tokens = sum(
        int((part != whole.vocabulary.index(END)).sum())
        for part in (whole.train, whole.valid, whole.test)
    )
    # 915,638 under a rule that splits some marks otherwise; three repeated paragraphs are left out.
    assert tokens == pytest.approx(915_638, rel=1e-3)


def test_held_out_parts_do_not_depend_on_the_training_part(king_james: Corpus) -> None:
    smaller = corpus.king_james(vocab_size=900, train_tokens=30_000)
    assert len(smaller.train) == 30_000
    assert (len(smaller.valid), len(smaller.test)) == (len(king_james.valid), len(king_james.test))


def test_no_paragraph_is_in_two_parts() -> None:
    given = paragraphs()
    found = split("toy", given + given[:50], vocab_size=400)
    parts = [set(read(part, found)) for part in (found.train, found.valid, found.test)]
    # Rare words are unknown, so compare by what the split leaves: every paragraph once.
    total = sum(len(read(part, found)) for part in (found.train, found.valid, found.test))
    assert total == len(given)
    named = [{word for p in part for word in p if word.startswith("p")} for part in parts]
    assert named[0].isdisjoint(named[1] | named[2])


def test_the_vocabulary_holds_the_commonest_words_of_the_training_part() -> None:
    found = split("toy", paragraphs(), vocab_size=50)
    full = split("toy", paragraphs(), vocab_size=400)
    assert torch.equal(found.train == 49, full.train >= 49)  # the rest became unknown
    assert found.vocabulary[:49] == full.vocabulary[:49]
    counts = Counter(found.train.tolist())
    assert [counts[i] for i in range(50)] == found.counts.tolist()
    assert found.counts[:49].tolist() == sorted(found.counts[:49].tolist(), reverse=True)


def test_the_seed_decides_the_split() -> None:
    one, again, other = (split("toy", paragraphs(), vocab_size=50, seed=s) for s in (0, 0, 1))
    assert one.fingerprint == again.fingerprint
    assert one.fingerprint != other.fingerprint


def test_a_long_paragraph_is_cut() -> None:
    found = split("toy", [[f"w{i % 511}" for i in range(20_499)]], vocab_size=513)
    assert {len(p) for p in read(found.test, found)} == {LONGEST}


def test_a_file_is_split_at_blank_lines_or_at_lines(tmp_path: Path) -> None:
    given = [" ".join(p) for p in paragraphs()]
    lines, blocks = tmp_path / "lines.txt", tmp_path / "blocks.txt"
    lines.write_text("\n".join(given), encoding="utf-8")
    blocks.write_text("\n \n\n".join(p.replace(" ", "\n", 3) for p in given), encoding="utf-8")
    from_lines = corpus.from_file(lines, vocab_size=50)
    from_blocks = corpus.from_file(blocks, vocab_size=50)
    assert from_lines.name == "lines.txt"
    assert torch.equal(from_lines.train, from_blocks.train)
    assert torch.equal(from_lines.train, split("", paragraphs(), vocab_size=50).train)


def test_penn_treebank_is_read_as_it_comes(tmp_path: Path) -> None:
    (tmp_path / "ptb.train.txt").write_text(" the <unk> sat \n the N cats \n")
    (tmp_path / "ptb.valid.txt").write_text(" the dog \n")
    (tmp_path / "ptb.test.txt").write_text(" the cats sat \n")
    found = corpus.penn_treebank(tmp_path)
    assert set(found.vocabulary) == {"the", "<unk>", "sat", "N", "cats", END}
    assert found.vocabulary[-1] == UNKNOWN
    assert read(found.train, found) == [("the", UNKNOWN, "sat"), ("the", "N", "cats")]
    assert read(found.valid, found) == [("the", UNKNOWN)]
    assert read(found.test, found) == [("the", "cats", "sat")]


def test_a_text_that_cannot_be_split() -> None:
    with pytest.raises(WtlibError, match=r"toy has 5,100 tokens .* at least 10,000 are needed"):
        split("toy", paragraphs(100) * 3, vocab_size=50)
    with pytest.raises(WtlibError, match=r"train_tokens=90000: toy has 16,3.. tokens to train on"):
        split("toy", paragraphs(), vocab_size=50, train_tokens=90_000)
    with pytest.raises(WtlibError, match=r"vocab_size=5000: .* toy has 4.. distinct tokens, so"):
        split("toy", paragraphs(), vocab_size=5_000)
    with pytest.raises(WtlibError, match="vocab_size=1: "):
        split("toy", paragraphs(), vocab_size=1)


def test_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "text.txt"
    with pytest.raises(WtlibError, match=re.escape(f"{path} cannot be read: No such file")):
        corpus.from_file(path)
    path.write_bytes("fünf".encode("latin-1"))
    with pytest.raises(WtlibError, match=r"text\.txt is not UTF-8: byte 0xfc at 1; save"):
        corpus.from_file(path)
    monkeypatch.setattr("wtlib.corpus.sources.LARGEST_FILE", 3)
    with pytest.raises(WtlibError, match=r"text\.txt is too large: 4 bytes, of at most 3"):
        corpus.from_file(path)
    with pytest.raises(WtlibError, match=r"ptb\.train\.txt cannot be read"):
        corpus.penn_treebank(tmp_path)


def test_a_package_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wtlib.corpus.sources._DISTRIBUTION", "no-such-distribution")
    with pytest.raises(WtlibError, match="king-james: the Python package no-such-distribution is"):
        corpus.king_james()


def test_the_text_that_comes_with_the_library_has_two_parts() -> None:
    found = corpus.load()
    assert len(found.test) == 0
    assert len(found.train) + len(found.valid) == len(corpus.words(corpus.text()))
    assert found.counts[:-1].min() >= 2
    with pytest.raises(WtlibError, match="min_count must be at least 1, not 0"):
        corpus.load(min_count=0)
    with pytest.raises(WtlibError, match=r"valid_fraction must lie between 0 and 1, not 1\.0"):
        corpus.load(valid_fraction=1.0)
