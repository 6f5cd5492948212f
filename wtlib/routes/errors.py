"""Errors of the routes: what you passed, and what the model does not let us see."""

from wtlib.errors import WtlibError


class RouteInputError(WtlibError):
    """The token ids, labels, mask or options cannot be measured."""


class RouteNotFoundError(WtlibError):
    """A route into the vocabulary matrix cannot be followed in this model."""
