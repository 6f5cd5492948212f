"""Silence at the source: a notebook's cell must not show a loader's bars and warnings."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No progress bar, log line or warning from transformers and its companions inside."""
    with warnings.catch_warnings(), hub_quiet():
        warnings.simplefilter("ignore")
        from transformers.utils import logging as chatter

        level, bars = chatter.get_verbosity(), chatter.is_progress_bar_enabled()
        chatter.set_verbosity_error()
        chatter.disable_progress_bar()
        try:
            yield
        finally:
            chatter.set_verbosity(level)
            if bars:
                chatter.enable_progress_bar()


@contextlib.contextmanager
def hub_quiet(*, bars: bool = False) -> Iterator[None]:
    """No log line from the hub's client inside, and no progress bar unless asked for."""
    with warnings.catch_warnings():
        # In a notebook without ipywidgets, tqdm warns on import that its bar will be plain.
        warnings.simplefilter("ignore")
        from huggingface_hub.utils.tqdm import (
            are_progress_bars_disabled,
            disable_progress_bars,
            enable_progress_bars,
        )

    logger = logging.getLogger("huggingface_hub")
    level, hide = logger.level, not bars and not are_progress_bars_disabled()
    logger.setLevel(logging.CRITICAL)
    if hide:
        disable_progress_bars()
    try:
        yield
    finally:
        logger.setLevel(level)
        if hide:
            enable_progress_bars()
