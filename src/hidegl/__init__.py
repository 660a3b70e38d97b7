"""Label mountains of vectors from a handful of labels: graph structure learning over high-dense points (HiDeGL)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hidegl._version import __version__

if TYPE_CHECKING:
    from hidegl.browser.notebook import studio
    from hidegl.estimators.auto import AutoHiDeGL
    from hidegl.estimators.hidegl import HiDeGL
    from hidegl.estimators.loading import load
    from hidegl.estimators.predictor import Predictor
    from hidegl.files.input_rows import read_rows
    from hidegl.intake.entrance import audit, label, read, suggest
    from hidegl.intake.labelled import Result
    from hidegl.intake.tasks import Task

__all__ = [
    "AutoHiDeGL",
    "HiDeGL",
    "Predictor",
    "Result",
    "Task",
    "__version__",
    "audit",
    "label",
    "load",
    "read",
    "read_rows",
    "studio",
    "suggest",
]

PLACES = {
    "AutoHiDeGL": "estimators.auto",
    "HiDeGL": "estimators.hidegl",
    "Predictor": "estimators.predictor",
    "Result": "intake.labelled",
    "Task": "intake.tasks",
    "audit": "intake.entrance",
    "label": "intake.entrance",
    "load": "estimators.loading",
    "read": "intake.entrance",
    "read_rows": "files.input_rows",
    "studio": "browser.notebook",
    "suggest": "intake.entrance",
}
"""The module of each public name. It is imported on demand, because scikit-learn and numba take a second."""


def __getattr__(name: str) -> Any:
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        found = globals()[name] = getattr(import_module(f"hidegl.{PLACES[name]}"), name)
    except ImportError as error:
        if error.name != "pyarrow":
            raise
        raise ImportError(f"hidegl.{name} needs pyarrow: pip install 'hidegl[files]'") from error
    return found


def __dir__() -> list[str]:
    return __all__
