"""Pictures for people (extra: plots)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hidegl.labels import Labels
from hidegl.preparation import unit_rows
from hidegl.tree import edges

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hidegl.estimator import HiDeGL

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
"""Okabe and Ito's colours, which the colour-blind can tell apart."""


def plot_tree(
    model: HiDeGL,
    X: Any,
    y: ArrayLike | None = None,
    *,
    columns: tuple[int, int] = (0, 1),
    ax: Axes | None = None,
) -> Axes:
    """The rows of a fit in two of their columns, coloured by label, with the high-dense points and their tree.

    The given labels, if `y` holds them, are drawn as stars. Where the fit scaled rows to length 1, so does the picture.
    """
    ax = ax or new_figure()[1]
    X = unit_rows(np.asarray(X, dtype=np.float64)) if model.settings_["preprocess"] == "unit" else np.asarray(X)
    across, up = columns
    classes = list(model.classes_)
    colours = np.array([PALETTE[classes.index(label) % len(PALETTE)] for label in model.transduction_])
    ax.scatter(X[:, across], X[:, up], s=9, c=colours, alpha=0.35, linewidths=0)

    points = model.points_
    heads, tails = edges(model.tree_)
    for i, j in zip(heads, tails, strict=True):
        ax.plot(points[[i, j], across], points[[i, j], up], color="0.25", lw=1.1, zorder=2)
    ax.scatter(points[:, across], points[:, up], s=16, color="0.1", zorder=3, label="high-dense points and their tree")

    if y is not None:
        given = Labels.read(y, len(X)).rows
        ax.scatter(
            X[given, across],
            X[given, up],
            marker="*",
            s=260,
            c=colours[given],
            edgecolors="black",
            zorder=4,
            label="given labels",
        )
    ax.set_aspect("equal")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_xlabel(column_name(model, across))
    ax.set_ylabel(column_name(model, up))
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, frameon=False)
    return ax


def column_name(model: HiDeGL, column: int) -> str:
    names = getattr(model, "feature_names_in_", None)
    return f"column {column}" if names is None else str(names[column])


def new_figure() -> tuple[Figure, Axes]:
    """A figure with one set of axes, which needs no screen."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'hidegl[plots]'") from error
    figure = Figure(figsize=(8, 5), layout="constrained")
    return figure, figure.add_subplot()
