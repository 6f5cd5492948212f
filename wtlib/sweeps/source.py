"""A hash of the code that determines a run's numbers."""

import ast
import hashlib
from functools import cache
from importlib import resources

_COMMON = (
    "corpus/sources.py",  # holds the pinned sha256 of the text
    "corpus/splitting.py",
    "corpus/vocabulary.py",
    "training/parts.py",
    "training/running.py",
    "training/settings.py",
)
SOURCES = {
    "lstm": (*_COMMON, "training/lstm.py"),
    "gpt": (*_COMMON, "training/gpt.py", "sharing.py"),
}
"""The modules behind each kind of model's numbers; checkpoints and progress bars change none."""
CHECKS = frozenset({"__post_init__", "at_least"})
"""Functions in them that refuse settings, and do nothing else."""


@cache
def code_hash(kind: str) -> str:
    """Return the first 16 hexadecimal digits of the sha256 of a kind's sources.

    What is hashed is the parsed source without what cannot change a number: layout, comments,
    docstrings, annotations, the refusal of bad settings, and the defaults of settings, which a
    record writes out. So a record outlives a better word, a stricter check and another default,
    and nothing else. The text that a run reads is part of it by the pinned hash of its file.
    """
    digest = hashlib.sha256()
    for name in SOURCES[kind]:
        source = (resources.files("wtlib") / name).read_text(encoding="utf-8")
        digest.update(f"{name}:{essence(source)}\n".encode())
    return digest.hexdigest()[:16]


def essence(source: str) -> str:
    """Return a module's syntax tree as text, without what cannot change a number.

    Empty fields are left out, so that Python versions with more fields in their trees agree.
    """
    return repr(_plain(ast.parse(source)))


def _plain(node: object) -> object:
    if isinstance(node, list):
        return [_plain(item) for item in node if not _changes_no_number(item)]
    if not isinstance(node, ast.AST):
        return node
    name = type(node).__name__
    left_out = {"annotation", "returns", "kind", "type_comment", "ctx"}
    if isinstance(node, ast.ClassDef):
        node.body = [item for item in node.body if not isinstance(item, ast.AnnAssign)]
    fields = {key: value for key, value in ast.iter_fields(node) if key not in left_out}
    kept = {key: _plain(value) for key, value in fields.items() if value not in (None, [])}
    # A value that is None, as against no value, is a constant's.
    return (name, *(kept.items() if kept else [("value", None)]))


def _changes_no_number(node: object) -> bool:
    match node:
        case ast.Expr(value=ast.Constant(value=str())):  # a docstring
            return True
        case ast.FunctionDef(name=name):
            return name in CHECKS
        case ast.If(body=[ast.Raise()], orelse=[]):
            return True
    return False
