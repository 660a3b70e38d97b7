"""Figure 1: the graphs of LGC, AGR and HiDeGL on three-moon, as arrays to draw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.baselines import AGR, knn_graph
from hidegl.basics.whole_files import replacing
from hidegl.datasets import draw_labels, hide_labels
from hidegl.estimators.hidegl import HiDeGL
from hidegl.paper.problems import problem
from hidegl.structure.tree import edges

N_POINTS, N_NEIGHBOURS = 100, 10
PIXELS = 300
"""The number of pixels for the rows of a matrix."""


def figure1_arrays(quick: bool) -> dict[str, NDArray[Any]]:
    """Arrays of three fits on raw rows, as many points as anchors; rows are sorted by class and along the moon."""
    data = problem("three-moon", quick)
    order = np.lexsort((data.X[:, 0], data.y))
    X, y = data.X[order], data.y[order]
    raw: dict[str, Any] = {"preprocess": None, "n_components": None, "random_state": 0}
    labels = hide_labels(y, draw_labels(y, data.n_classes, seed=0))
    W = knn_graph(X, N_NEIGHBOURS).tocoo()
    upper = W.row < W.col
    model = HiDeGL(N_POINTS, **raw).fit(X)
    gauss, lae = (AGR(N_POINTS, weights=weights, **raw).fit(X, labels) for weights in ("gauss", "lae"))
    side = min(PIXELS, len(X))
    places = np.arange(len(X)) * side // len(X)
    affinities = np.zeros((side, side))
    np.add.at(affinities, (places[W.row], places[W.col]), W.data)
    return {
        "X": X[:, :2],
        "y": y,
        "neighbours": np.column_stack([W.row[upper], W.col[upper]]),
        "affinities": affinities,
        "points": model.points_[:, :2],
        "tree": np.column_stack(edges(model.tree_)),
        "anchors": gauss.anchors_[:, :2],
        "Z_hidegl": in_order(model.assignments_.toarray()),
        "Z_lae": in_order(lae.assign(X).dense),
        "Z_gauss": in_order(gauss.assign(X).dense),
    }


def in_order(Z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Z with its columns sorted by the position of their rows; rows that share a pixel are reduced to their maximum."""
    place = np.arange(len(Z)) @ Z / np.maximum(Z.sum(axis=0), 1e-12)
    starts = np.arange(min(PIXELS, len(Z))) * len(Z) // min(PIXELS, len(Z))
    return np.maximum.reduceat(Z[:, np.argsort(place)], starts, axis=0)


def save_figure1(path: Path, quick: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays: Any = {name: compact(array) for name, array in figure1_arrays(quick).items()}
    with replacing(path) as file:
        np.savez_compressed(file, **arrays)


def compact(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(np.float16 if array.dtype.kind == "f" else np.int16)
