"""The map and the curve of precision, drawn with Bokeh, and the script that puts them into the page."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.embed import json_item
from bokeh.models import ColumnDataSource, HoverTool, NumeralTickFormatter, Range1d, WheelZoomTool

from hidegl.showing.bare_figures import bare_figure, bare_map, bokeh_script, map_names_script

if TYPE_CHECKING:
    from hidegl.showing.report.contents import ReportContents

POINT_SIZES = (7.0, 20.0)
"""The range for the diameter of the point with the largest mass; with more points, it is smaller."""

MOST_GIVEN = 1000
"""The maximum number of given labels on the map; of more, a random sample is drawn."""

CURVE_POINTS = 200
"""The maximum number of points of a curve."""

MAP_TEXT = 90
"""The maximum number of characters of a row's text in a tooltip."""

TIP_STYLE = "max-width: 280px; white-space: normal; overflow-wrap: anywhere; font: 13px/1.4 system-ui, sans-serif"

TOOLTIP = (
    f'<div class="tip" style="{TIP_STYLE}"><b>@heading</b><br>@line<br>'
    '<span style="opacity: 0.65">@example</span><div>@text</div></div>'
)
"""Bokeh escapes the values of @names."""

FAINTEST = 0.2
"""The opacity of a point whose classes are equally probable."""


def page_script(contents: ReportContents) -> str:
    """The script of the page: Bokeh, the figures as JSON, and our own code. Safe inside a <script> element."""
    names = map_names_script().decode().replace("export function", "function")
    items = {"map": json_item(map_figure(contents))}
    if contents.decision is not None:
        items["acceptance"] = json_item(acceptance_figure(contents))
    data = json.dumps(items, separators=(",", ":")).replace("<", "\\u003c").replace("\u2028", "\\u2028")
    page = (files("hidegl.showing.report") / "page.js").read_text()
    return f"{bokeh_script()}\nconst FIGURES = {data};\n{names}\n{page}"


def map_figure(contents: ReportContents) -> Any:
    plot = empty_map()
    points = contents.map
    x, y = points.positions.T.round(4)
    plot.segment(
        x[points.heads], y[points.heads], x[points.tails], y[points.tails], line_width=1, line_alpha=0.55, name="edges"
    )
    shown = [add_points(plot, contents), add_given(plot, contents), add_suggested(plot, contents)]
    plot.add_tools(HoverTool(renderers=shown[::-1], tooltips=TOOLTIP, limit=1))
    return plot


def empty_map() -> Any:
    plot = bare_map(
        height=500,
        sizing_mode="stretch_width",
        match_aspect=True,
        tools="pan,box_zoom,zoom_in,zoom_out,reset,save",
        active_drag="pan",
        toolbar_location="above",
    )
    plot.add_tools(WheelZoomTool(modifiers={"ctrl": True}))
    return plot


def add_points(plot: Any, contents: ReportContents) -> Any:
    """Add a dot for each point, in the colour of its class: large for many rows, faint if its class is uncertain."""
    points, names, colours = contents.map, contents.class_names, np.array(contents.colours)
    x, y = points.positions.T.round(4)
    largest = np.clip(22 * np.sqrt(350 / len(x)), *POINT_SIZES)
    size = largest * (0.35 + 0.65 * np.sqrt(points.mass / max(points.mass.max(), 1e-12)))
    visible = FAINTEST + (1 - FAINTEST) * sureness(points.confidence, len(names))
    here = contents.point_rows
    source = ColumnDataSource(
        {
            "x": x,
            "y": y,
            "size": size.round(1),
            "alpha": visible.round(2),
            "code": points.codes,
            "colour": colours[points.codes],
            "heading": [names[code] for code in points.codes],
            "line": [
                f"{sure:.0%} sure · about {mass:,.0f} rows"
                for sure, mass in zip(points.confidence, points.mass, strict=True)
            ],
            "example": [f"row {row:,}" if row >= 0 else "" for row in here],
            "text": contents.rows.texts(np.maximum(here, 0), MAP_TEXT),
        }
    )
    dots = plot.scatter(
        "x", "y", size="size", fill_color="colour", fill_alpha="alpha", line_color=None, source=source, name="points"
    )
    dots.nonselection_glyph = None
    return dots


def add_given(plot: Any, contents: ReportContents) -> Any:
    """Add a star for each given label, a little off its point so that several can be seen."""
    points, names, colours = contents.map, contents.class_names, np.array(contents.colours)
    rng = np.random.default_rng(0)
    shown = np.sort(rng.permutation(len(points.given_rows))[:MOST_GIVEN])
    at = points.positions[points.given_points[shown]] + rng.normal(0, 0.004, (len(shown), 2))
    rows, codes = points.given_rows[shown], points.given_codes[shown]
    stars = plot.scatter(
        at[:, 0].round(4),
        at[:, 1].round(4),
        marker="star",
        size=17 if len(shown) <= 60 else 13 if len(shown) <= 300 else 10,
        fill_color=colours[codes].tolist(),
        line_width=1.3 if len(shown) <= 300 else 0.8,
        name="given",
    )
    stars.data_source.data.update(
        {
            "code": codes,
            "heading": [names[code] for code in codes],
            "line": ["given label"] * len(rows),
            "example": [f"row {row:,}" for row in rows],
            "text": contents.rows.texts(rows, MAP_TEXT),
        }
    )
    return stars


def add_suggested(plot: Any, contents: ReportContents) -> Any:
    """Add rings around the points of the rows to label next."""
    rows = contents.suggested
    points = contents.model.labelled_points().structure.points_of(rows)
    at = contents.map.positions[points]
    rings = plot.scatter(
        at[:, 0], at[:, 1], size=19, fill_color=None, line_width=1.6, line_dash=[3, 2], name="suggested"
    )
    rings.data_source.data.update(
        {
            "code": contents.map.codes[points],
            "heading": ["Label next"] * len(rows),
            "line": [suggestion.reason for suggestion in contents.suggestions],
            "example": [f"row {row:,}" for row in rows],
            "text": contents.rows.texts(rows, MAP_TEXT),
        }
    )
    return rings


def sureness(confidence: np.ndarray, n_classes: int) -> np.ndarray:
    """Confidence scaled from 0 (all classes are equally probable) to 1 (certainty)."""
    guess = 1 / max(n_classes, 1)
    return np.clip((confidence - guess) / max(1 - guess, 1e-9), 0, 1)


def empty_chart(name: str, x_label: str, y_label: str, x_range: tuple[float, float]) -> Any:
    plot = bare_figure(
        height=240,
        sizing_mode="stretch_width",
        x_range=Range1d(*x_range),
        tools="",
        toolbar_location=None,
        x_axis_label=x_label,
        y_axis_label=y_label,
        name=name,
    )
    plot.xgrid.visible = False
    return plot


def acceptance_figure(contents: ReportContents) -> Any:
    """The expected precision of the most confident labels, by the share that is accepted."""
    shares, precisions = contents.model.acceptance_curve()
    some = np.unique(np.linspace(0, max(len(shares) - 1, 0), min(len(shares), CURVE_POINTS)).astype(np.intp))
    plot = empty_chart("acceptance", "share of labels that is accepted", "expected to be right", (0.0, 1.0))
    source = ColumnDataSource(
        {
            "share": shares[some],
            "precision": precisions[some],
            "line": [f"accept {share:.1%}" for share in shares[some]],
            "right": [f"{precision:.1%} right" for precision in precisions[some]],
        }
    )
    plot.line("share", "precision", source=source, line_width=2.5, name="curve")
    dots = plot.scatter("share", "precision", source=source, size=12, fill_alpha=0, line_alpha=0, name="curve dots")
    tip = f'<div class="tip" style="{TIP_STYLE}"><b>@line</b><br>@right</div>'
    plot.add_tools(HoverTool(renderers=[dots], tooltips=tip, limit=1))
    plot.y_range = Range1d(float(np.floor(10 * precisions.min(initial=0.9)) / 10), 1.0)
    plot.xaxis.formatter = plot.yaxis.formatter = NumeralTickFormatter(format="0 %")
    return plot
