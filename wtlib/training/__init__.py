"""Small language models, and two ways of training them.

`fit` trains an LSTM or a GPT on a corpus from start to early stop and returns what came out;
`train` pauses after every backward pass, so that whoever drives it can look at gradients.
"""

from wtlib.training.fitting import build, fit
from wtlib.training.gpt import Gpt, GptConfig
from wtlib.training.lstm import Lstm, LstmConfig
from wtlib.training.results import Divergence, Epoch, Fit, perplexity
from wtlib.training.settings import FitConfig
from wtlib.training.stepping import (
    LanguageModel,
    ModelConfig,
    Step,
    batches,
    cross_entropy,
    evaluate,
    train,
)

__all__ = [
    "Divergence",
    "Epoch",
    "Fit",
    "FitConfig",
    "Gpt",
    "GptConfig",
    "LanguageModel",
    "Lstm",
    "LstmConfig",
    "ModelConfig",
    "Step",
    "batches",
    "build",
    "cross_entropy",
    "evaluate",
    "fit",
    "perplexity",
    "train",
]
