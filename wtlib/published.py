"""Series of numbers that others published and that are too long for rows of the ledger."""

import csv
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True)
class GradientNorms:
    """Norms of the two routes at one step of a published training run."""

    step: int
    table: float
    """Norm of the table's contribution, the long route."""
    head: float
    """Norm of the head's contribution, the short route."""

    @property
    def ratio(self) -> float:
        """The head's norm over the table's."""
        return self.head / self.table


def olmo_gradient_norms() -> tuple[GradientNorms, ...]:
    """Return the norms that a tied OLMo 1B had in its first steps, at some of them.

    Source: Lopardo et al., arXiv:2603.26663, repository ``AntonioLopardo/weight-tying-bias``,
    ``experiments/5_gradient_flow/OLMo-1B-tied-no-scale-10000/gradient_provenance.csv``, columns
    ``embedding_grad_l2_norm`` and ``output_proj_grad_l2_norm``, rounded to five decimals.
    """
    source = resources.files("wtlib") / "data" / "olmo-gradient-norms.csv"
    rows = csv.DictReader(source.read_text(encoding="utf-8").splitlines())
    return tuple(
        GradientNorms(int(row["step"]), float(row["table_norm"]), float(row["head_norm"]))
        for row in rows
    )
