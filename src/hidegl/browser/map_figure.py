"""The map as Bokeh draws it: an empty figure, which the page fills and colours."""

from __future__ import annotations

from typing import Any

from bokeh.embed import json_item
from bokeh.models import ColumnDataSource, LassoSelectTool, PanTool, Range1d, WheelZoomTool

from hidegl.showing.bare_figures import bare_map


def map_figure() -> Any:
    """The figure as JSON. Its sources are empty: `edges`, `points` and `stars`."""
    plot = bare_map(
        sizing_mode="stretch_both",
        x_range=Range1d(-1, 1),
        y_range=Range1d(-1, 1),
        tools="",
        toolbar_location=None,
        min_border=0,
        lod_threshold=None,
    )
    lasso = LassoSelectTool(name="lasso", continuous=False)
    plot.add_tools(PanTool(name="pan"), WheelZoomTool(name="wheel"), lasso)
    plot.segment("x0", "y0", "x1", "y1", source=source("edges", "x0", "y0", "x1", "y1"), line_width=1, name="edges")
    points = source("points", "x", "y", "size", "colour", "shown")
    dots = plot.scatter(
        "x", "y", size="size", fill_color="colour", fill_alpha="shown", line_color=None, source=points, name="points"
    )
    lasso.renderers = [dots]
    plot.scatter(
        "x",
        "y",
        marker="star",
        size="size",
        fill_color="colour",
        line_width=1,
        fill_alpha="shown",
        line_alpha="shown",
        source=source("stars", "x", "y", "size", "colour", "shown"),
        name="stars",
    )
    return json_item(plot)


def source(name: str, *columns: str) -> ColumnDataSource:
    return ColumnDataSource({column: [] for column in columns}, name=f"{name} source")
