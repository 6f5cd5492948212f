"""The two gradient routes into the vocabulary matrix: through the head and through the table."""

from wtlib.routes.errors import RouteInputError, RouteNotFoundError
from wtlib.routes.measure import measure_routes
from wtlib.routes.results import Cosines, Decomposition, Route, Routes

__all__ = [
    "Cosines",
    "Decomposition",
    "Route",
    "RouteInputError",
    "RouteNotFoundError",
    "Routes",
    "measure_routes",
]
