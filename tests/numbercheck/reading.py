"""Read a notebook's file, or say that it is none."""

import nbformat
from nbformat import NotebookNode


class NotReadableError(ValueError):
    """The file holds no valid notebook."""


def parse(content: bytes) -> NotebookNode:
    """Return the notebook in format 4.

    Raises:
        NotReadableError: it is no notebook, or not a valid one.
    """
    try:
        notebook = nbformat.reads(content.decode(), as_version=4)
        nbformat.validate(notebook)
    except Exception as error:  # whatever a malformed file provokes
        raise NotReadableError(f"not a readable notebook: {error}") from error
    return notebook
