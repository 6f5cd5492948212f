"""The number check: nbval, plus tolerances declared cell by cell, plus the rules of a record.

* `compare`: numbers in printed text (pure functions);
* `outputs`: which texts of a cell's outputs are compared;
* `rules`: what a recorded notebook must look like before anything runs;
* `plugin`: the pytest plugin on top of nbval;
* `record`: `python -m tests.numbercheck.record NOTEBOOK…` re-records one edition.
"""
