"""How alike the blocks of a trained model are: by what they compute, and by what swapping costs."""

from wtlib.similarity.alignment import cka_matrix, linear_cka, stream
from wtlib.similarity.recorded import ReplacementMap, passage, record, replacement_map
from wtlib.similarity.replacing import Place, loss_with, replaced, replacements

__all__ = [
    "Place",
    "ReplacementMap",
    "cka_matrix",
    "linear_cka",
    "loss_with",
    "passage",
    "record",
    "replaced",
    "replacement_map",
    "replacements",
    "stream",
]
