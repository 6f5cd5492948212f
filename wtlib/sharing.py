"""Cross-layer sharing: which layers of a stack use which stored block.

A scheme is a function from layer to block, and a plan is that function for each of a layer's two
sublayers, attention and MLP. A scheme is named by a string:

- ``none``: every layer has a block of its own;
- ``all``: one block for every layer (ALBERT, arXiv:1909.11942);
- ``groups-k``: k adjacent layers share a block (SEQUENCE of Takase & Kiyono, arXiv:2104.06022);
- ``cycle-k``: the stack of distinct blocks is passed k times (their CYCLE);
- ``reverse-cycle-k``: the same, the last pass in reverse order (their CYCLE (REV));
- ``ends-apart``: the first and the last layer have blocks of their own, those between share one.

So ``groups-k``, ``cycle-k`` and ``reverse-cycle-k`` store the same number of blocks, the depth
divided by k. A scheme shares whole blocks; followed by ``:attention`` or ``:mlp`` it shares that
sublayer only, and the other one is every layer's own. ``attention-only`` and ``mlp-only`` stand
for ``all:attention`` and ``all:mlp``.
"""

import re
from dataclasses import dataclass
from itertools import chain

from wtlib.errors import WtlibError

WHOLE = ("none", "all", "ends-apart")
REPEATED = ("groups", "cycle", "reverse-cycle")
SUBLAYERS = ("attention", "mlp")
_SHORT_NAMES = {"attention-only": "all:attention", "mlp-only": "all:mlp"}
_REPEATED = re.compile(rf"({'|'.join(REPEATED)})-([1-9][0-9]*)")


@dataclass(frozen=True)
class Plan:
    """For each layer of a stack, the index of the attention and of the MLP that it uses."""

    attention: tuple[int, ...]
    mlp: tuple[int, ...]

    @property
    def layers(self) -> int:
        """Layers executed."""
        return len(self.attention)

    @property
    def stored_attentions(self) -> int:
        """Distinct attention sublayers, which is what has parameters."""
        return len(set(self.attention))

    @property
    def stored_mlps(self) -> int:
        """Distinct MLP sublayers, which is what has parameters."""
        return len(set(self.mlp))

    def parameters(self, attention: int, mlp: int) -> int:
        """Return the stack's parameters, given those of one attention and one MLP sublayer."""
        return self.stored_attentions * attention + self.stored_mlps * mlp


def plan(sharing: str, n_layers: int) -> Plan:
    """Return which sublayers each of `n_layers` layers uses under a scheme.

    Raises:
        WtlibError: if the scheme is unknown, or repeats its blocks a number of times that does not
            divide the depth.
    """
    scheme, colon, sublayer = _SHORT_NAMES.get(sharing, sharing).partition(":")
    if colon and sublayer not in SUBLAYERS:
        raise WtlibError(
            f"sharing={sharing!r}: after the colon stands {' or '.join(SUBLAYERS)}, "
            f"not {sublayer!r}"
        )
    shared = blocks(scheme, n_layers)
    own = blocks("none", n_layers)
    return Plan(
        attention=own if sublayer == "mlp" else shared,
        mlp=own if sublayer == "attention" else shared,
    )


def blocks(scheme: str, n_layers: int) -> tuple[int, ...]:
    """Return the index of the block that each layer uses; a new block has the next free index.

    >>> blocks("groups-2", 6), blocks("cycle-2", 6), blocks("reverse-cycle-2", 6)
    ((0, 0, 1, 1, 2, 2), (0, 1, 2, 0, 1, 2), (0, 1, 2, 2, 1, 0))

    Raises:
        WtlibError: as `plan`.
    """
    if n_layers < 1:
        raise WtlibError(f"n_layers={n_layers}: a stack has at least one layer")
    layers = range(n_layers)
    if scheme == "none":
        return tuple(layers)
    if scheme == "all":
        return (0,) * n_layers
    if scheme == "ends-apart":
        return tuple(0 if i == 0 else 1 if i < n_layers - 1 else min(2, i) for i in layers)
    match = _REPEATED.fullmatch(scheme)
    if match is None:
        known = (*WHOLE, *(f"{name}-k" for name in REPEATED), *_SHORT_NAMES)
        raise WtlibError(f"sharing={scheme!r} is no scheme; there are {', '.join(known)}")
    name, uses = match[1], int(match[2])
    if n_layers % uses:
        raise WtlibError(
            f"sharing={scheme!r}: {uses} does not divide the depth, n_layers={n_layers}"
        )
    stored = n_layers // uses
    if name == "groups":
        return tuple(i // uses for i in layers)
    passes = [range(stored)] * uses
    if name == "reverse-cycle" and uses > 1:
        passes[-1] = passes[-1][::-1]
    return tuple(chain.from_iterable(passes))
