"""How ties go wrong in the field: public faults made again small, kinds of tie, operations."""

from wtlib.faults.kinds import KINDS
from wtlib.faults.operations import OPERATIONS
from wtlib.faults.public import FAULTS, Fault, Reproduced, reproduced

__all__ = ["FAULTS", "KINDS", "OPERATIONS", "Fault", "Reproduced", "reproduced"]
