"""Figures: the only package that imports matplotlib.

A figure is drawn once and follows the page: its ink is the text colour of whatever surrounds it, so
that it reads in a light and in a dark page, and it carries an alternative text and the table of the
data it shows.
"""

from wtlib.plots.figure import Figure, canvas, styled

__all__ = ["Figure", "canvas", "styled"]
