"""What measures a claim: one function per quantity, named ``module.function`` in the ledger.

``arithmetic`` works on printed numbers, ``counts`` on configs and the census, ``models`` on the
observation of a model, ``optimizers`` on a toy, ``wild`` on the census as chapter 7 reads it,
``sharing`` on ALBERT's config and the records of chapter 5, ``regularization`` on printed tables
and the records of chapter 4, ``breaking`` on small models that chapter 6 breaks, ``layout`` on a
layer of PyTorch. Each returns a number, words, yes or no, or a list of these; none prints, and
nothing heavy is imported before a function that needs it runs.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from wtlib.errors import WtlibError
from wtlib.measures import (
    arithmetic,
    breaking,
    counts,
    layout,
    models,
    optimizers,
    regularization,
    sharing,
    wild,
)

_MODULES: dict[str, ModuleType] = {
    module.__name__.rpartition(".")[2]: module
    for module in (
        arithmetic,
        breaking,
        counts,
        layout,
        models,
        optimizers,
        regularization,
        sharing,
        wild,
    )
}


class MeasureError(WtlibError):
    """There is no such measure."""


def find(name: str) -> Callable[..., Any]:
    """Return the function of that name.

    Raises:
        MeasureError: there is none.
    """
    module_name, _, function_name = name.partition(".")
    module = _MODULES.get(module_name)
    if module is None or function_name not in module.MEASURES:
        known = ", ".join(f"{key}.{f}" for key, m in _MODULES.items() for f in sorted(m.MEASURES))
        raise MeasureError(f"no measure {name!r}; known are {known}")
    return module.MEASURES[function_name]


def takes_model(name: str) -> bool:
    """Return whether the function's first argument is the observation of a model."""
    return name.startswith("models.")
