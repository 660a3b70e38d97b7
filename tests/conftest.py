from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from hidegl.datasets import draw_labels, hide_labels, make_three_moons

settings.register_profile("hidegl", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("hidegl")


@pytest.fixture
def moons():
    """Three-moon with three labels: X, y with −1, and the truth."""
    X, y = make_three_moons(600, random_state=0)
    return X, hide_labels(y, draw_labels(y, 3, seed=0)), y


@pytest.fixture(scope="session")
def real_data():
    """A function that reads one of the paper's sets by name; the test skips where they are absent."""

    def read(name):
        folder = os.environ.get("HIDEGL_DATA")
        if not folder:
            pytest.skip("needs the paper's data sets: set HIDEGL_DATA to their folder")
        with np.load(Path(folder) / f"{name}.npz") as file:
            return file["X"], file["y"]

    return read
