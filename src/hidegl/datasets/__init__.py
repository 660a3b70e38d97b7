"""Data sets, and draws of labels."""

from hidegl.datasets.draws import accuracy, draw_labels, hide_labels
from hidegl.datasets.moons import make_three_moons
from hidegl.datasets.registry import DATA_SETS, load_data_set, load_shifted_digits, official_draws

__all__ = [
    "DATA_SETS",
    "accuracy",
    "draw_labels",
    "hide_labels",
    "load_data_set",
    "load_shifted_digits",
    "make_three_moons",
    "official_draws",
]
