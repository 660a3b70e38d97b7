"""Data to try the methods on, and ways of drawing labels."""

from hidegl.datasets.draws import draw_labels, hide_labels
from hidegl.datasets.moons import make_three_moons

__all__ = ["draw_labels", "hide_labels", "make_three_moons"]
