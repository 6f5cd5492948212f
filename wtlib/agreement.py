"""Do two sets of gradients point the same way? The mean cosine, and what it can be held against.

Three yardsticks for the same mean: its own spread over rows, the spread that directions drawn at
random would have, and the mean when rows are paired with other rows' partners.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from wtlib.errors import WtlibError


@dataclass(frozen=True, eq=False)
class Agreement:
    """The cosines between paired rows, with three ways to judge their mean."""

    cosines: Float64[Tensor, " n"]
    dimension: int
    interval: tuple[float, float]
    """Bootstrap percentile interval of the mean: rows drawn with replacement."""
    shuffled_means: Float64[Tensor, " shuffles"]
    """The mean cosine under random pairings of the same rows."""
    unpaired: Float64[Tensor, " pairs"]
    """The cosines of every row with every other row's partner: all that a shuffle draws from."""

    @property
    def count(self) -> int:
        """The number of pairs."""
        return self.cosines.numel()

    @property
    def mean(self) -> float:
        """The mean cosine."""
        return float(self.cosines.mean())

    @property
    def sd(self) -> float:
        """The sample standard deviation of the cosines."""
        return float(self.cosines.std())

    @property
    def negative_share(self) -> float:
        """The share of pairs whose cosine is below zero."""
        return float((self.cosines < 0).double().mean())

    @property
    def standard_error(self) -> float:
        """The standard error of the mean, from the measured spread: `sd / sqrt(n)`."""
        return self.sd / math.sqrt(self.count)

    @property
    def isotropic_sd(self) -> float:
        """The standard deviation of the cosine of independent random directions: `1 / sqrt(d)`."""
        return 1 / math.sqrt(self.dimension)

    @property
    def isotropic_standard_error(self) -> float:
        """The standard error of the mean if directions were random: `1 / sqrt(n d)`."""
        return self.isotropic_sd / math.sqrt(self.count)

    @property
    def shuffled_tail(self) -> float:
        """The share of random pairings whose mean lies at least as far from their centre."""
        centre = self.shuffled_means.mean()
        further = (self.shuffled_means - centre).abs() >= abs(self.mean - centre)
        return float((further.sum() + 1) / (further.numel() + 1))


def agreement(
    first: Float[Tensor, "n d"],
    second: Float[Tensor, "_ _"],
    *,
    confidence: float = 0.95,
    resamples: int = 4000,
    seed: int = 0,
) -> Agreement:
    """Measure how far paired rows of two gradients point the same way.

    The bootstrap and the shuffling treat rows as exchangeable. Rows of one text share its hidden
    states and its errors, so the interval is at best a lower bound on the doubt.

    Raises:
        WtlibError: if the shapes differ, there are fewer than two rows, a row is zero and has no
            direction, or `confidence` is not between zero and one.
    """
    if first.shape != second.shape:
        raise WtlibError(
            f"the rows must come in pairs: {tuple(first.shape)} against {tuple(second.shape)}"
        )
    n, d = first.shape
    if n < 2:
        raise WtlibError(f"a spread needs at least two rows, not {n}")
    if not 0 < confidence < 1:
        raise WtlibError(f"confidence must lie between 0 and 1, not {confidence}")
    norms = torch.stack([first.double().norm(dim=1), second.double().norm(dim=1)])
    if not bool((norms > 0).all()):
        zero = int((norms == 0).any(0).nonzero()[0])
        raise WtlibError(f"row {zero} is zero and has no direction: leave out rows not touched")
    every_pair = (first.double() / norms[0, :, None]) @ (second.double() / norms[1, :, None]).T
    cosines = every_pair.diagonal().clone()

    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(n, (resamples, n), generator=generator)
    tail = (1 - confidence) / 2
    low, high = cosines[drawn].mean(1).quantile(torch.tensor([tail, 1 - tail]).double())
    rows = torch.arange(n)
    shuffled = [
        every_pair[rows, torch.randperm(n, generator=generator)].mean() for _ in range(resamples)
    ]
    return Agreement(
        cosines=cosines,
        dimension=d,
        interval=(float(low), float(high)),
        shuffled_means=torch.stack(shuffled),
        unpaired=every_pair[~torch.eye(n, dtype=torch.bool)],
    )
