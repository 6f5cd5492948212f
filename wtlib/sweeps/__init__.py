"""Grids of independent training runs: run anywhere, recorded once, read back with their provenance.

`grid` makes a sweep, `run` runs what of it is not recorded yet, `load` reads the recorded sweeps
of the book, `means` and `paired_differences` summarise them.
"""

from wtlib.sweeps.grids import NAMES, Sweep, find, grid
from wtlib.sweeps.records import RECORDS, Record, RecordFile
from wtlib.sweeps.running import Progress, execute, run
from wtlib.sweeps.selection import Records, load
from wtlib.sweeps.settings import CorpusConfig, Run, RunConfig
from wtlib.sweeps.summaries import Group, PairedDifference, means, paired_differences

__all__ = [
    "NAMES",
    "RECORDS",
    "CorpusConfig",
    "Group",
    "PairedDifference",
    "Progress",
    "Record",
    "RecordFile",
    "Records",
    "Run",
    "RunConfig",
    "Sweep",
    "execute",
    "find",
    "grid",
    "load",
    "means",
    "paired_differences",
    "run",
]
