"""Three separate facts about one model: what its config says, its file holds, and it does live."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

FlagSource = Literal["top level", "nested text config", "family's own key", "class default"]
Sharing = Literal["one Parameter", "two Parameters, one storage", "overlapping views"]
Role = Literal["vocabulary", "bias", "other"]


@dataclass(frozen=True)
class ConfigFacts:
    """What a config says about the tie.

    ``flag`` is the config's own word, ``source`` and ``key`` where it stands. ``loader_flag`` is
    what transformers' config class makes of the same file; ``None`` for families it does not know;
    ``forced`` that the class sets it whatever the file says.
    ``disagreements`` are pairs of keys that contradict each other, in words. ``missing_scales`` are
    multipliers the family needs and the config lacks, ``wrong_scale`` one that contradicts the
    flag. ``stored_layers`` is below ``layers`` where blocks are shared. ``expects_head`` is false
    for an architecture without logits over a vocabulary: a backbone, a classifier.
    """

    model_type: str | None
    flag: bool | None
    source: FlagSource | None
    key: str | None
    loader_flag: bool | None
    forced: bool
    invalid: str | None
    disagreements: tuple[str, ...]
    vocab_size: int | None
    d_model: int | None
    missing_scales: tuple[str, ...]
    wrong_scale: str | None
    layers: int | None
    stored_layers: int | None
    expects_head: bool


@dataclass(frozen=True)
class StoredMatrix:
    """One tensor of a file: its name, its dtype in the format's words, its row-major shape."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int

    @property
    def numel(self) -> int:
        """Numbers in it."""
        return math.prod(self.shape)

    @property
    def rows(self) -> int:
        """Tokens it has a row for."""
        return self.shape[0] if self.shape else 0


@dataclass(frozen=True)
class FileFacts:
    """What a checkpoint's files hold.

    ``tables`` and ``heads`` are all tensors with a name of that role, the first of each being
    ``table`` and ``head``. ``equal`` compares those two: ``None`` when one is missing or their
    forms cannot be compared. ``equal_names`` are all names in the vocabulary that hold the table's
    values. ``aliases`` are names left out of the file and recorded in its metadata. ``copies`` are
    other groups of equal matrices. ``packed`` are ends whose weights a quantiser has packed.
    ``adapted`` are ends that an ``adapter`` changes. ``tokens`` is the tokenizer's largest id plus
    one.
    """

    format: Literal["safetensors", "gguf"]
    files: tuple[str, ...]
    tensors: int
    tables: tuple[str, ...]
    heads: tuple[str, ...]
    packed: tuple[str, ...]
    projections: tuple[str, ...]
    table: StoredMatrix | None
    head: StoredMatrix | None
    equal: bool | None
    first_different_row: int | None
    equal_names: tuple[str, ...]
    aliases: Mapping[str, str]
    biases: Mapping[str, int]
    equal_biases: tuple[str, ...]
    copies: tuple[tuple[str, ...], ...]
    identical_last_rows: int
    tokens: int | None
    missing_scales: tuple[str, ...]
    replicas: tuple[str, ...]
    repeated: tuple[str, ...]
    absent: tuple[str, ...]
    numbers: int | None
    bytes_stored: int
    bytes_repeated: int
    adapter: bool
    adapted: tuple[str, ...]

    @property
    def head_present(self) -> bool:
        """Whether the file has a matrix of the head's own."""
        return self.head is not None


@dataclass(frozen=True)
class Group:
    """Names in a live model that lead to shared memory, and how.

    Names of one Parameter, Parameters over the same elements, or views that share some elements.
    """

    names: tuple[str, ...]
    sharing: Sharing
    role: Role
    shape: tuple[int, ...]


@dataclass(frozen=True)
class End:
    """One end of a live model: the name and the properties of its weight.

    ``default_init`` says that its numbers look like N(0, 1), which is how ``nn.Embedding`` starts.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    device: str
    trainable: bool
    default_init: bool | None

    @property
    def numel(self) -> int:
        """Numbers in it."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Lookup:
    """How the table is looked up: the options of ``nn.Embedding`` that mean more under a tie."""

    padding_idx: int | None
    max_norm: float | None
    sparse: bool


@dataclass(frozen=True)
class Pass:
    """What one forward pass showed.

    ``scores_with_table`` says whether the table itself was multiplied with hidden states, and
    ``calls`` how often each module that ran more than once was called.
    """

    scores_with_table: bool
    calls: Mapping[str, int]


@dataclass(frozen=True)
class OptimizerFacts:
    """How an optimizer holds a model's matrices, by name.

    ``repeated``: one Parameter listed more than once in one group. ``in_two_groups``: one memory
    listed in several groups. ``stepped_twice``: several Parameters over one memory, each stepped.
    ``left_out``: trainable vocabulary matrices it does not hold, while it holds ``strangers``,
    tensors that the model no longer has.
    """

    repeated: tuple[str, ...] = ()
    in_two_groups: tuple[str, ...] = ()
    stepped_twice: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    strangers: int = 0


@dataclass(frozen=True)
class LiveFacts:
    """What a live model does. ``None`` means that a fact cannot be known (pointer 0) or asked.

    ``same_storage``, ``same_shape`` and ``same_stride`` compare the table's tensor with the head's,
    ``equal_values`` entry by entry. ``parameters`` is what ``parameters()`` counts, ``unique`` the
    numbers in distinct memory, ``bytes`` theirs. ``on_meta`` are parameters without memory.
    ``adapted`` are copies that an adapter trains in place of one end.
    """

    table: End | None
    head: End | None
    same_object: bool | None
    same_storage: bool | None
    same_shape: bool | None
    same_stride: bool | None
    equal_values: bool | None
    groups: tuple[Group, ...]
    shared_modules: tuple[tuple[str, ...], ...]
    biases: Mapping[str, int]
    lookup: Lookup | None
    adapted: tuple[str, ...]
    on_meta: tuple[str, ...]
    parameters: int
    unique: int
    bytes: int
    forward: Pass | None = None
    optimizer: OptimizerFacts | None = None
