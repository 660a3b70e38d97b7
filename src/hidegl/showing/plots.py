"""Plots for notebooks (extra: plots)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError

from hidegl.showing.colours import class_colours
from hidegl.showing.maps import borders, point_map
from hidegl.showing.tallies import N_BINS, tally_of
from hidegl.spreading.labels import Labels
from hidegl.structure.preparation import unit_rows
from hidegl.structure.tree import edges

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hidegl.estimators.model import Model

MOST_IN_LEGEND = 20
"""With more classes than this, there is no legend: it would be larger than the plot."""


def plot_tree(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    columns: tuple[int, int] = (0, 1),
    ax: Axes | None = None,
) -> Axes:
    """Plot the rows of a fit in two of their columns, coloured by label, with the high-dense points and their tree.

    If `y` is given, its labels are drawn as stars. If the fit scaled rows to length 1, so does the plot.
    """
    ax = ax or new_figure()[1]
    X = unit_rows(np.asarray(X, dtype=np.float64)) if model.settings_["preprocess"] == "unit" else np.asarray(X)
    across, up = columns
    colours = np.array(class_colours(len(model.classes_)))[np.searchsorted(model.classes_, model.transduction_)]
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


def plot_map(model: Model, *, ax: Axes | None = None) -> Axes:
    """Plot the high-dense points, laid out by their tree: coloured by class, sized by mass, faint if uncertain.

    Given labels are stars.
    """
    ax = ax or new_figure()[1]
    points, colours = point_map(model), class_colours(max(len(model.classes_), 1))
    x, y = points.positions.T
    ends = points.positions[np.column_stack([points.heads, points.tails])]
    ax.add_collection(line_collection(ends, colors="0.75", linewidths=0.7, zorder=1))
    sizes = 6 + 60 * points.mass / max(points.mass.max(), 1e-12)
    for code in np.unique(points.codes):
        here = points.codes == code
        colour = colours[code] if code >= 0 else "0.5"
        alpha = 0.25 + 0.75 * points.confidence[here] if code >= 0 else 0.8
        name = str(model.classes_[code]) if code >= 0 else "points"
        ax.scatter(x[here], y[here], s=sizes[here], color=colour, alpha=alpha, linewidths=0, zorder=2)
        ax.scatter([], [], s=40, color=colour, label=name)
    if len(points.given_rows):
        at = points.positions[points.given_points]
        style: dict[str, Any] = {"marker": "*", "s": 130, "edgecolors": "black", "linewidths": 0.8, "zorder": 3}
        ax.scatter(at[:, 0], at[:, 1], c=[colours[code] for code in points.given_codes], **style)
        ax.scatter([], [], c="white", label="given label", **style)
    ax.set_aspect("equal")
    ax.set_axis_off()
    if len(model.classes_) <= MOST_IN_LEGEND:
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return ax


def plot_confidence(model: Model, *, ax: Axes | None = None) -> Axes:
    """Plot a histogram of the confidence of the predicted labels, stacked by class."""
    ax = ax or new_figure()[1]
    tally = tally_of(model)
    bins = np.linspace(0, 1, N_BINS + 1)
    below = np.zeros(N_BINS)
    for name, colour, counts in zip(model.classes_, class_colours(len(tally.classes)), tally.histogram, strict=True):
        ax.bar(bins[:-1], counts, width=1 / N_BINS, bottom=below, align="edge", color=colour, label=str(name))
        below = below + counts
    ax.set_xlim(bins[max(int(np.argmax(below > 0)) - 1, 0)], 1)
    ax.set_xlabel("confidence")
    ax.set_ylabel("rows")
    ax.spines[["top", "right"]].set_visible(False)
    if len(model.classes_) <= MOST_IN_LEGEND:
        ax.legend(loc="upper left", frameon=False)
    return ax


def plot_objective(model: Model, *, ax: Axes | None = None) -> Axes:
    """Plot the remaining gain of the objective at each iteration, one line per set of points."""
    ax = ax or new_figure()[1]
    for structure in model.structures_:
        objective = structure.record.objective
        left = objective[-1] - objective[:-1]
        if len(left):
            ax.plot(np.arange(len(left)), left, marker="o", ms=3, lw=1.2, label=f"{structure.n_points:,} points")
    ax.set_yscale("log")
    ax.set_xlabel("iteration")
    ax.set_ylabel("remaining gain of the objective")
    ax.spines[["top", "right"]].set_visible(False)
    if ax.lines:
        ax.legend(frameon=False)
    return ax


def plot_borders(model: Model, *, n: int = 12, ax: Axes | None = None) -> Axes:
    """Plot the weakest borders: the pairs of classes that the tree joins, by the number of undecided rows."""
    ax = ax or new_figure()[1]
    if not model.given_labels_.any:
        raise NotFittedError("no label was given to fit, so there are no classes and no borders: call relabel(y)")
    found = borders(point_map(model))[:n][::-1]
    names = [" · ".join(str(model.classes_[code]) for code in border.codes) for border in found]
    ax.barh(names, [border.n_rows for border in found], color="0.88", label="rows at the border")
    ax.barh(names, [border.undecided for border in found], color=class_colours(1)[0], label="undecided")
    ax.set_xlabel("rows")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="lower right", frameon=False)
    return ax


def column_name(model: Any, column: int) -> str:
    names = getattr(model, "feature_names_in_", None)
    return f"column {column}" if names is None else str(names[column])


def new_figure() -> tuple[Figure, Axes]:
    """A figure with one set of axes. A notebook shows it; without a screen, it can be saved to a file."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'hidegl[plots]'") from error
    figure, ax = plt.subplots(figsize=(8, 5), layout="constrained")
    return figure, ax


def line_collection(segments: Any, **options: Any) -> Any:
    from matplotlib.collections import LineCollection

    return LineCollection(segments, **options)
