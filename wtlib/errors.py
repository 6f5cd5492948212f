"""The root of the library's own errors."""


class WtlibError(ValueError):
    """A request the library cannot answer: says what was wrong, the value, and what to do."""
