"""The inspector beside what people use today, on models whose ties are known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from torch import nn

from wtlib.errors import WtlibError
from wtlib.tying.cases import CASES, Case
from wtlib.tying.inspection import inspect

Groups = frozenset[frozenset[str]]


@dataclass(frozen=True)
class Compared:
    """One case: the truth, and what each tool says.

    ``accelerate`` is ``accelerate.utils.find_tied_parameters``, ``safetensors`` the detection that
    ``safetensors.torch.save_model`` relies on, ``num_parameters`` transformers' method of that
    name. Groups are sets of names that lead to shared memory; ``None`` where the tool raises.
    """

    case: str
    shared: Groups
    unique: int
    inspector: Groups
    accelerate: Groups
    safetensors: Groups | None
    inspector_unique: int | None
    num_parameters: int

    @property
    def right(self) -> dict[str, bool]:
        """Which tool's answer is the truth."""
        return {
            "inspector": self.inspector == self.shared and self.inspector_unique == self.unique,
            "accelerate": self.accelerate == self.shared,
            "safetensors": self.safetensors == self.shared,
            "num_parameters": self.num_parameters == self.unique,
        }


def comparison(cases: Iterable[Case] = CASES) -> tuple[Compared, ...]:
    """Ask each tool about each case.

    Raises:
        WtlibError: accelerate is not installed.
    """
    return tuple(_compared(case) for case in cases)


def _compared(case: Case) -> Compared:
    model = case.build()
    found = inspect(model)
    groups = found.live.groups if found.live is not None else ()
    return Compared(
        case=case.name,
        shared=case.shared,
        unique=case.unique,
        inspector=frozenset(frozenset(group.names) for group in groups),
        accelerate=_by_accelerate(model),
        safetensors=_by_safetensors(model),
        inspector_unique=found.parameters.unique,
        num_parameters=_by_transformers(model),
    )


def _by_accelerate(model: nn.Module) -> Groups:
    try:
        from accelerate.utils import find_tied_parameters
    except ImportError as error:
        raise WtlibError(
            "accelerate is not installed; install it at the version in requirements.txt"
        ) from error
    return frozenset(frozenset(group) for group in find_tied_parameters(model))


def _by_safetensors(model: nn.Module) -> Groups | None:
    from safetensors.torch import _find_shared_tensors

    try:
        found = _find_shared_tensors(model.state_dict())
    except RuntimeError:  # a view that is not contiguous
        return None
    return frozenset(frozenset(group) for group in found if len(group) > 1)


def _by_transformers(model: nn.Module) -> int:
    from transformers import PreTrainedModel

    # The method reads nothing but the module's own parameters.
    return int(PreTrainedModel.num_parameters(model))  # type: ignore[arg-type]
