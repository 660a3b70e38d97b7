"""§4.2: the three-moon data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state


def make_three_moons(
    n_rows: int = 1500, *, n_features: int = 100, noise: float = 0.14, random_state: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Three half circles in the plane with equally many rows, with zeros up to `n_features` columns, and noise on all.

    One is the upper half of a circle around (1.5, 0.4) with radius 1.5; two are the lower halves of unit circles around
    (0, 0) and (3, 0). Rows are sorted by class.
    """
    random = check_random_state(random_state)
    centres, radii, signs = np.array([(1.5, 0.4), (0.0, 0.0), (3.0, 0.0)]), (1.5, 1.0, 1.0), (1, -1, -1)
    y = np.sort(np.arange(n_rows) % 3)
    angles = random.uniform(0, np.pi, n_rows)
    X = np.zeros((n_rows, n_features))
    for moon, (centre, radius, sign) in enumerate(zip(centres, radii, signs, strict=True)):
        rows = y == moon
        circle = np.column_stack([np.cos(angles[rows]), sign * np.sin(angles[rows])])
        X[rows, :2] = centre + radius * circle
    return X + random.normal(0, noise, X.shape), y
