"""Output for people: maps, plots, notebooks and the report.

from hidegl.showing import plot_map, write_report
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

PLACES = {
    **dict.fromkeys(("plot_borders", "plot_confidence", "plot_map", "plot_objective", "plot_tree"), "plots"),
    **dict.fromkeys(("described_settings", "write_report"), "report"),
}
"""The module of each public name. It is imported on demand, because plotting libraries take long to import."""

__all__ = sorted(PLACES)


def __getattr__(name: str) -> Any:
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"hidegl.showing.{PLACES[name]}"), name)
