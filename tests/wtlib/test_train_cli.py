import json
from pathlib import Path

import pytest

from wtlib import corpus
from wtlib.cli import main
from wtlib.training import FitConfig, LstmConfig, fit


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "own.txt"
    path.write_text("\n".join(corpus.text().splitlines()[:300]), encoding="utf-8")
    return path


def test_a_text_of_ones_own_gives_what_fit_gives(
    text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--vocab-size", "300", "--d-model", "8", "--max-epochs", "1", "--untied", "--json"]
    assert main(["train", "--text", str(text), *words]) == 0
    shown = json.loads(capsys.readouterr().out)
    own = corpus.from_file(text, vocab_size=300)
    config = LstmConfig(vocab_size=300, d_model=8, tie_word_embeddings=False)
    expected = fit(config, FitConfig(max_epochs=1), own, 0).metrics()
    assert not shown["tied"]
    assert shown["n_parameters"] == config.n_parameters
    assert shown["test_loss"] == pytest.approx(expected["test_loss"])


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"\xff\xfe\xfa", "UTF-8"), (b"one word", "own.txt"), (None, "cannot be read")],
)
def test_a_text_that_cannot_be_used_is_one_line_and_status_2(
    content: bytes | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own.txt"
    if content is not None:
        path.write_bytes(content)
    assert main(["train", "--text", str(path)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1
