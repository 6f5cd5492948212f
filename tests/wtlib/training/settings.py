"""What several tests train: a text small enough for seconds, and settings that stop early."""

import random

import torch

from wtlib.corpus import Corpus
from wtlib.corpus.splitting import split
from wtlib.training import FitConfig, GptConfig, LstmConfig

VOCAB_SIZE = 60


def a_corpus() -> Corpus:
    """Sentences from a small random grammar: each word has four possible successors."""
    draw = random.Random(0)
    follow = {i: draw.sample(range(100), 4) for i in range(100)}
    paragraphs = []
    for i in range(400):
        word = i % 100
        paragraph = []
        for _ in range(30):
            paragraph.append(f"w{word}")
            word = draw.choice(follow[word])
        paragraphs.append(paragraph)
    return split("toy", paragraphs, vocab_size=VOCAB_SIZE)


LSTM = LstmConfig(vocab_size=VOCAB_SIZE, d_model=16)
GPT = GptConfig(vocab_size=VOCAB_SIZE, d_model=16, n_heads=2, context=20)
FIT = FitConfig(learning_rate=0.02, batch_size=20, context=20, max_epochs=3)


def ids(*shape: int, below: int = VOCAB_SIZE) -> torch.Tensor:
    """Random token ids, the same every time."""
    return torch.randint(below, shape, generator=torch.Generator().manual_seed(0))
