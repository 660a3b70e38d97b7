"""Label mountains of vectors from a handful of labels: graph structure learning over high-dense points (HiDeGL)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hidegl._version import __version__

if TYPE_CHECKING:
    from hidegl.auto import AutoHiDeGL
    from hidegl.browser.notebook import studio
    from hidegl.estimator import HiDeGL
    from hidegl.files.reading import read_rows
    from hidegl.loading import load

__all__ = ["AutoHiDeGL", "HiDeGL", "__version__", "load", "read_rows", "studio"]

PLACES = {
    "AutoHiDeGL": "auto",
    "HiDeGL": "estimator",
    "load": "loading",
    "read_rows": "files.reading",
    "studio": "browser.notebook",
}
"""Where each public name is. It is imported when it is asked for: scikit-learn and numba take a second."""


def __getattr__(name: str) -> Any:
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"hidegl.{PLACES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return __all__
