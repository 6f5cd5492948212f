"""`python -m wtlib train`: train one small LSTM, tied or untied, on a text."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

NAME = "train"
HELP = "train a small LSTM, tied or untied, on the book's text or on your own"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    text = parser.add_mutually_exclusive_group()
    text.add_argument(
        "--text", metavar="FILE", help="a plain text in UTF-8 (default: the King James version)"
    )
    text.add_argument("--penn-treebank", metavar="FOLDER", help="the folder with ptb.train.txt")
    parser.add_argument("--vocab-size", type=int, default=1000, help="words kept (default 1000)")
    parser.add_argument("--d-model", type=int, default=64, help="width (default 64)")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--untied", action="store_true", help="give the head its own matrix")
    parser.add_argument("--max-epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Train until validation stops improving; print sizes, losses and perplexities."""
    from wtlib import corpus
    from wtlib.paths import expanded
    from wtlib.training import FitConfig, LstmConfig, fit

    if args.penn_treebank is not None:
        text = corpus.penn_treebank(expanded(args.penn_treebank))
    elif args.text is not None:
        text = corpus.from_file(Path(expanded(args.text)), vocab_size=args.vocab_size)
    else:
        text = corpus.king_james(vocab_size=args.vocab_size, train_tokens=40_000)
    model = LstmConfig(
        vocab_size=text.vocab_size,
        d_model=args.d_model,
        dropout=args.dropout,
        tie_word_embeddings=not args.untied,
    )
    found = fit(model, FitConfig(max_epochs=args.max_epochs), text, args.seed, progress=True)
    metrics = {"text": text.name, "tied": not args.untied, "seed": args.seed, **found.metrics()}
    if args.json:
        print(json.dumps(metrics, indent=2))
    else:
        for name, value in metrics.items():
            print(f"{name}: {f'{value:.3f}' if isinstance(value, float) else value}")
    return 0
