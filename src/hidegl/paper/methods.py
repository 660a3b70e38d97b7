"""The methods that the paper compares with, and the grid over which each is tuned, by the reported accuracy."""

from __future__ import annotations

from itertools import product
from typing import Any

from hidegl.baselines import AGR, KNN, LGC, SGT, TVRF, LapRLS, MeasurePropagation, SQLoss

Setting = dict[str, Any]
Grid = dict[str, tuple[Any, ...]]

GRIDS: dict[str, Grid] = {
    "k-NN": {"n_neighbors": (1, 3, 5)},
    "SGT": {"n_neighbors": (10,), "n_eigenvectors": (80,), "c": (3.2e3, 1e5, 1e6)},
    "LapRLS": {"gamma_a": (1e-5,), "gamma_i": (1e2, 1e4, 1e6), "kernel_width": (0.1, 0.3)},
    "SQ-Loss-I": {"n_neighbors": (5, 10), "mu": (1e-3, 1e-2, 0.1), "nu": (1e-3,)},
    "MP": {"n_neighbors": (5, 10), "mu": (0.1, 1.0), "nu": (1e-2,), "tol": (0.1, 1e-3)},
    "LGC": {"n_neighbors": (5, 10, 20), "mu": (0.01, 0.1, 1.0)},
    "TVRF(1)": {"n_neighbors": (5, 10), "force": (0.1, 1.0, 10.0)},
    "TVRF(2)": {"n_neighbors": (5, 10), "force": (0.1, 1.0, 10.0)},
    "AGR(Gauss)": {"n_anchors": (100, 500, 1500), "n_nearest": (3, 6), "gamma": (0.01, 1.0)},
    "AGR(LAE)": {"n_anchors": (100, 500, 1500), "n_nearest": (3, 6), "gamma": (0.01, 1.0)},
}
"""The tuned parameters and their values. All other parameters have their defaults."""

ON_MNIST: dict[str, Grid] = {
    "LGC": {"n_neighbors": (10,), "mu": (0.01, 0.1, 1.0)},
    "TVRF(1)": {"n_neighbors": (10,), "force": (1.0, 10.0)},
    "TVRF(2)": {"n_neighbors": (10,), "force": (1.0, 10.0)},
    "AGR(Gauss)": {"n_anchors": (500, 1500), "n_nearest": (3,), "gamma": (0.01, 1.0)},
    "AGR(LAE)": {"n_anchors": (500, 1500), "n_nearest": (3,), "gamma": (0.01, 1.0)},
}
"""The same for MNIST, where a fit takes up to half a minute."""

ON_EMNIST: Grid = {"n_anchors": (500,), "n_nearest": (3,), "gamma": (0.01,)}
"""On EMNIST nothing is tuned: the paper's Table 5 uses 500 anchors, and a fit takes seconds."""

MODELS: dict[str, tuple[Any, Setting]] = {
    "k-NN": (KNN, {}),
    "SGT": (SGT, {}),
    "LapRLS": (LapRLS, {}),
    "SQ-Loss-I": (SQLoss, {"max_iter": 2000}),
    "MP": (MeasurePropagation, {"max_iter": 300}),
    "LGC": (LGC, {}),
    "TVRF(1)": (TVRF, {"edges": 1, "tol": 1e-2, "max_iter": 300}),
    "TVRF(2)": (TVRF, {"edges": 2, "tol": 1e-2, "max_iter": 300}),
    "AGR(Gauss)": (AGR, {"weights": "gauss"}),
    "AGR(LAE)": (AGR, {"weights": "lae"}),
}
"""The class of each method, and its fixed parameters."""

QUOTED_BY_THE_PAPER = ("k-NN", "SGT", "LapRLS", "SQ-Loss-I", "MP")
"""The paper quotes its numbers for these methods from Subramanya and Bilmes."""


def settings(grid: Grid) -> list[Setting]:
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def baseline_settings(name: str, method: str, *, quick: bool = False) -> list[Setting]:
    """The grid of a method on a data set. TVRF is slow with many classes, so it gets one graph on the larger sets."""
    if name == "emnist_digits":
        grid = ON_EMNIST
    elif name == "mnist":
        grid = ON_MNIST[method]
    else:
        fewer = {"n_neighbors": (10,)} if name in ("pendigits", "letter") and method.startswith("TVRF") else {}
        grid = {**GRIDS[method], **fewer}
    return settings({tuned: values[:1] for tuned, values in grid.items()} if quick else grid)
