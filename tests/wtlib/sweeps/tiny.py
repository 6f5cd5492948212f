"""A sweep that takes seconds; as a program, it runs into a folder until it is done or killed.

python -m tests.wtlib.sweeps.tiny FOLDER
"""

import sys
from pathlib import Path

from wtlib import sweeps
from wtlib.errors import WtlibError
from wtlib.training import FitConfig, GptConfig, LstmConfig

BASE = sweeps.RunConfig(
    LstmConfig(vocab_size=60, d_model=8),
    FitConfig(max_epochs=2, batch_size=4, context=10, learning_rate=1e-2),
    sweeps.CorpusConfig(vocab_size=60, train_tokens=4_000),
)
GPT = sweeps.RunConfig(
    GptConfig(vocab_size=60, d_model=8, context=10, n_heads=2),
    FitConfig(max_epochs=1, batch_size=4, context=10),
    sweeps.CorpusConfig(vocab_size=60, train_tokens=1_000),
)
SWEEP = sweeps.grid(
    "tiny", BASE, seeds=range(3), axes={"dropout": (0.0, 0.5), "tie_word_embeddings": (True, False)}
)

if __name__ == "__main__":
    try:
        sweeps.run(SWEEP, Path(sys.argv[1]))
    except WtlibError as error:
        sys.exit(str(error))
