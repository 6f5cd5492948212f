"""The run-time type checker of the tests: beartype, taking an int where a float is asked for.

That is how PEP 484 and mypy read `float`; beartype alone would refuse `f(1)`.
"""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
