"""What figures of Studio and of the report share: Bokeh's script, figures without decoration, and names on maps."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from bokeh.plotting import figure
from bokeh.resources import Resources


def bokeh_script() -> str:
    """Bokeh's own script, from the installed package."""
    return Resources("inline", minified=True, components=["bokeh"]).js_raw[0]


def map_names_script() -> bytes:
    """The JavaScript module that writes the names of classes on a map."""
    return (files("hidegl.showing") / "map_names.js").read_bytes()


def bare_figure(**options: Any) -> Any:
    """A figure without background, borders and outline."""
    return figure(background_fill_color=None, border_fill_color=None, outline_line_color=None, **options)


def bare_map(**options: Any) -> Any:
    """A figure of a map, which has no axes and no grid."""
    plot = bare_figure(name="map", **options)
    plot.axis.visible = False
    plot.grid.visible = False
    plot.toolbar.logo = None
    return plot
