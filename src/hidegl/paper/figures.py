"""The paper's figures, and an overview of all cells, from stored numbers, without fitting."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hidegl.datasets import DATA_SETS
from hidegl.paper.cells import Cell, PaperComparison
from hidegl.paper.quoted import TABLES
from hidegl.paper.sensitivity import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, PINK = INKS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
"""The colours of Okabe and Ito: on white, colour-blind people can distinguish them."""

GREY = "0.55"
WIDTH = 7.2
"""Inches: the width of a page with two columns."""

LEAST_SPAN = 2
"""The minimum range of an axis in percent, so that differences of 0.01 do not look large."""

STYLE: Any = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "figure.dpi": 100,
    "savefig.facecolor": "white",
    "svg.hashsalt": "hidegl",
    "svg.fonttype": "path",
}


def draw(path: Path, drawing: Any, *arguments: Any) -> None:
    """Save the figure of `drawing(*arguments)`. The same numbers give the same bytes."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'hidegl[plots]'") from error
    with mpl.rc_context(STYLE):
        figure: Figure = drawing(*arguments)
        metadata = {"Date": None, "Creator": None} if path.suffix == ".svg" else {"Software": None}
        temporary = path.with_name(f".{path.name}")
        figure.savefig(temporary, dpi=200, metadata=metadata, format=path.suffix[1:])
        temporary.replace(path)


def panels(rows: int, columns: int, height: float, **options: Any) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots(rows, columns, **options)


# All cells


def overview(found: list[PaperComparison]) -> Figure:
    """One panel per data set: accuracy against the number of labels, the paper's and ours."""
    figure, axes = panels(3, 3, 6.6)
    names = [name for table in TABLES.values() for name in table]
    for ax, name in zip(axes.flat, names, strict=True):
        own = [comparison for comparison in found if comparison.name == name]
        places = np.arange(len(own))
        ax.plot(
            places, [c.paper for c in own], color=GREY, marker="s", ms=4, lw=1.2, label="paper, best variant, tuned"
        )
        for series, colour, marker, style, title in (
            ([c.others for c in own], GREEN, "^", ":", "ours: best other method, tuned"),
            ([c.oracle for c in own], BLUE, "o", "-", "ours: best variant of HiDeGL, tuned"),
            ([c.honest for c in own], ORANGE, "D", "-", "ours: AutoHiDeGL(), nothing tuned"),
        ):
            accuracy_line(ax, series, colour, marker, style, title)
        ax.set_xticks(places, [str(c.n_labels) for c in own])
        ax.set_title(DATA_SETS[name].title, loc="left")
        ax.margins(x=0.08, y=0.12)
        low, high = ax.get_ylim()
        ax.set_ylim(min(low, high - LEAST_SPAN), high)
    for ax in axes[-1]:
        ax.set_xlabel("labels")
    for ax in axes[:, 0]:
        ax.set_ylabel("accuracy, %")
    handles, titles = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, titles, loc="outside lower center", ncols=2)
    return figure


def accuracy_line(ax: Axes, cells: list[Cell | None], colour: str, marker: str, style: str, title: str) -> None:
    places = [place for place, cell in enumerate(cells) if cell is not None]
    means = [cell.mean for cell in cells if cell is not None]
    ax.plot(places, means, color=colour, marker=marker, ms=3.5, lw=1.2, ls=style, label=title)


# Figure 1


FIGURE1_PANELS = (
    "(a) three-moon data",
    "(b) 10-NN graph",
    "(c) 10-NN affinities",
    "(d) Z of HiDeGL",
    "(e) anchors, by k-means",
    "(f) high-dense points, tree",
    "(g) Z of AGR(LAE)",
    "(h) Z of AGR(Gauss)",
)


def figure1(stored: dict[str, NDArray[Any]]) -> Figure:
    """Eight panels: data, neighbour graph and its affinities, points, anchors, and three matrices Z."""
    figure, axes = panels(2, 4, 4.1)
    X, y = stored["X"], stored["y"]
    colours = np.array(INKS)[y]

    def rows_behind(ax: Axes) -> None:
        ax.scatter(X[:, 0], X[:, 1], s=1.5, c=colours, alpha=0.25, linewidths=0, rasterized=True)

    def lines(ax: Axes, places: NDArray[Any], pairs: NDArray[Any], **options: Any) -> None:
        from matplotlib.collections import LineCollection

        ax.add_collection(LineCollection(list(places[pairs]), **options), autolim=True)

    for ax, title in zip(axes.flat, FIGURE1_PANELS, strict=True):
        ax.set_title(title, loc="left", fontsize=8)
        ax.grid(False)
        ax.set_box_aspect(1)
    a, b, c, d, e, f, g, h = axes.flat
    a.scatter(X[:, 0], X[:, 1], s=2.5, c=colours, linewidths=0, rasterized=True)
    rows_behind(b)
    lines(b, X, stored["neighbours"], colors="0.35", linewidths=0.12, alpha=0.3, rasterized=True)
    for ax, places in ((e, stored["anchors"]), (f, stored["points"])):
        rows_behind(ax)
        ax.scatter(places[:, 0], places[:, 1], s=6, color="0.1", linewidths=0, zorder=3)
    lines(f, stored["points"], stored["tree"], colors="0.1", linewidths=0.7)
    for ax in (a, b, e, f):
        ax.set_xlim(*bounds(X[:, 0]))
        ax.set_ylim(*bounds(X[:, 1]))
        ax.set_xlabel("column 0", labelpad=1)
    a.set_ylabel("column 1", labelpad=1)
    e.set_ylabel("column 1", labelpad=1)
    image(c, stored["affinities"], "row", "row")
    for ax, Z, of in ((d, "Z_hidegl", "point"), (g, "Z_lae", "anchor"), (h, "Z_gauss", "anchor")):
        image(ax, stored[Z], of, "row")
    return figure


def bounds(values: NDArray[Any]) -> tuple[float, float]:
    margin = 0.05 * np.ptp(values)
    return values.min() - margin, values.max() + margin


def image(ax: Axes, matrix: NDArray[Any], across: str, down: str) -> None:
    """Draw a sparse matrix: larger entries are darker; the square root makes small entries visible."""
    ink = np.sqrt(matrix / matrix.max())
    ax.imshow(ink, cmap="Greys", aspect="auto", interpolation="none", vmin=0, vmax=1)
    ax.set_xlabel(across, labelpad=1)
    ax.set_ylabel(down, labelpad=1)
    ax.set_xticks([])
    ax.set_yticks([])


# Figure 2

NAMES = {"lambda1": "λ1", "width": "σ / automatic σ", "alpha": "α", "eta": "η"}


def figure2(found: dict[str, dict[int, Curve]]) -> Figure:
    """Four panels: accuracy against one parameter, with one line and a band of one standard deviation per l."""
    figure, axes = panels(2, 2, 5.0, sharey=True)
    markers = "osD^"
    for ax, (parameter, by_count) in zip(axes.flat, found.items(), strict=True):
        for colour, marker, (n_labels, curve) in zip(
            (BLUE, ORANGE, GREEN, PINK), markers, by_count.items(), strict=False
        ):
            means, stds = np.array(curve.means), np.array(curve.stds)
            ax.plot(curve.values, means, color=colour, marker=marker, ms=3.5, lw=1.2, label=f"l = {n_labels}")
            ax.fill_between(curve.values, means - stds, np.minimum(means + stds, 100), color=colour, alpha=0.15, lw=0)
        if parameter != "alpha":
            ax.set_xscale("log")
            ax.minorticks_off()
        ax.set_xticks(curve.values, [f"{value:g}" for value in curve.values])
        ax.set_xlabel(NAMES[parameter])
    for ax in axes[:, 0]:
        ax.set_ylabel("accuracy, %")
    handles, titles = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, titles, loc="outside lower center", ncols=4)
    return figure
