"""Both readers on mutated files: a header or one clear error, quickly, in little memory."""

import io
import json
import struct
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from random import Random

import gguf
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.wtlib.tying.files import gguf_file, matrix
from wtlib.counting import FAMILIES
from wtlib.errors import WtlibError
from wtlib.tying import inspect
from wtlib.tying.checkpoint import HeaderError
from wtlib.tying.checkpoint.entries import Header
from wtlib.tying.checkpoint.gguf import read as read_gguf
from wtlib.tying.checkpoint.safetensors import read as read_safetensors

# Each example of Hypothesis is a seed of this many inputs, for its own work costs more than a read.
INPUTS = 25
MOST_MEMORY = 4 * 2**20  # bytes a read may hold at any moment, for inputs of a few kilobytes
SETTINGS = settings(
    max_examples=250,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
LONGEST = 2.0  # processor seconds that a read may take
Read = Callable[[io.BytesIO, int, str], Header]

SAFETENSORS = safetensors.numpy.save(
    {"wte.weight": matrix(), "lm_head.weight": matrix(1), "h.0.b": matrix(2)[0]}, {"format": "np"}
)
NUMBERS = (0, 1, 7, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**63, 2**64 - 1)
WORDS = (
    b"{", b"}", b"[", b"]", b'"', b",", b":", b"-1", b"1e9", b"NaN", b"null", b"true", b"\\u0000",
    b"99999999999999999999", b'"F32"', b'"__metadata__"', b"[" * 200, b'{"a":' * 200, b"\xff",
)  # fmt: skip
KEYS = ("dtype", "shape", "data_offsets", "x", "__metadata__")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = gguf_file(
        tmp_path_factory.mktemp("gguf") / "m.gguf",
        {"token_embd.weight": matrix(columns=32), "output.weight": matrix(1, columns=32)},
        tokens=["a", "bc", "def"],
        quantised={"token_embd.weight": gguf.GGMLQuantizationType.Q4_0},
    )
    return path.read_bytes()


def patch(random: Random) -> bytes:
    kind = random.randrange(4)
    if kind == 0:
        return random.randbytes(random.randint(1, 9))
    if kind == 1:
        return random.choice(WORDS)
    number = random.choice(NUMBERS)
    return struct.pack("<Q", number) if kind == 2 else struct.pack("<I", number & 0xFFFFFFFF)


def mutated(content: bytes, random: Random) -> bytes:
    """A file with one to four places overwritten, grown, shortened, cut off or repeated."""
    for _ in range(random.randint(1, 4)):
        # Headers stand at the start, and most of what can go wrong is there.
        at, new = int(random.random() ** 2 * len(content)), patch(random)
        content = {
            "overwrite": content[:at] + new + content[at + len(new) :],
            "insert": content[:at] + new + content[at:],
            "delete": content[:at] + content[at + len(new) :],
            "truncate": content[:at],
            "repeat": content[:at] + content[at // 2 :],
        }[random.choice(("overwrite", "overwrite", "insert", "delete", "truncate", "repeat"))]
    return content


def value(random: Random, depth: int = 0) -> object:
    """Any JSON, made of what a header is made of."""
    kind = random.randrange(8 if depth < 3 else 6)
    if kind == 7:
        return {random.choice(KEYS): value(random, depth + 1) for _ in range(random.randint(0, 4))}
    if kind == 6:
        return [value(random, depth + 1) for _ in range(random.randint(0, 4))]
    return (None, True, random.choice(NUMBERS), -random.choice(NUMBERS), random.random(),
            random.choice(("F32", "BF16", "I64", "F4", "")))[kind]  # fmt: skip


def check(read: Read, content: bytes) -> bool:
    """Whether the file is read: then its tensors lie in it, side by side; else one clear error."""
    message, header, start = "", None, time.process_time()
    tracemalloc.start()
    try:
        header = read(io.BytesIO(content), len(content), "fuzzed")
    except HeaderError as error:
        message = str(error)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MOST_MEMORY
    assert time.process_time() - start < LONGEST
    if header is None:
        assert message.startswith("fuzzed")
        assert len(message) < 10_000
        return False
    spans = sorted((entry.start, entry.start + entry.nbytes) for entry in header.entries.values())
    assert all(0 <= start <= end <= len(content) for start, end in spans)
    assert all(a[1] <= b[0] for a, b in pairwise(span for span in spans if span[0] < span[1]))
    return True


@SETTINGS
@given(st.integers(0, 2**64))
def test_mutated_safetensors_files(seed: int) -> None:
    random = Random(seed)
    for _ in range(INPUTS):
        check(read_safetensors, mutated(SAFETENSORS, random))


@SETTINGS
@given(st.integers(0, 2**64))
def test_mutated_gguf_files(model: bytes, seed: int) -> None:
    random = Random(seed)
    for _ in range(INPUTS):
        check(read_gguf, mutated(model, random))


@settings(SETTINGS, max_examples=50)
@given(st.integers(0, 2**64))
def test_safetensors_headers_of_any_json(seed: int) -> None:
    random = Random(seed)
    for _ in range(INPUTS):
        header = {str(name): value(random) for name in range(random.randint(0, 4))}
        content = json.dumps(header).encode()
        data = bytes(random.randint(0, 40))
        check(read_safetensors, struct.pack("<Q", len(content)) + content + data)


@settings(SETTINGS, max_examples=200)
@given(st.binary(max_size=200))
def test_any_bytes(content: bytes) -> None:
    for read in (read_safetensors, read_gguf):
        check(read, content)
        check(read, b"GGUF\x03\x00\x00\x00" + content)


CONFIG_KEYS = (
    "model_type", "tie_word_embeddings", "share_embedding", "weight_tying", "text_config",
    "vocab_size", "hidden_size", "n_embd", "d_model", "architectures", "scale_decoder_outputs",
    "num_hidden_layers", "layer_sharing", "embedding_size", "num_hidden_groups",
)  # fmt: skip


@settings(SETTINGS, max_examples=40)
@given(st.integers(0, 2**64))
def test_any_config(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    path = tmp_path / "config.json"
    for _ in range(INPUTS):
        config = {random.choice(CONFIG_KEYS): value(random) for _ in range(random.randint(0, 12))}
        config["model_type"] = random.choice((*FAMILIES, "llava", "gemma3", value(random)))
        path.write_text(json.dumps(config))
        with suppress(WtlibError):
            json.dumps(inspect(path).document(), allow_nan=False)


def test_the_unmutated_files_are_read(model: bytes) -> None:
    assert check(read_safetensors, SAFETENSORS)
    assert check(read_gguf, model)
