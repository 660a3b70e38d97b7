"""Models as files: one npz archive of plain arrays, with a JSON text among them. No pickle, so nothing runs on load."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hidegl._version import __version__
from hidegl.basics.archives import PARAMETER, State, read_archive, write_archive
from hidegl.files.first_format import upgraded

PLAIN = (str, bool, int, float, np.generic, type(None))
"""What goes into the JSON text."""

MODELS: dict[str, type[SavedModel]] = {}


class SavedModel(ABC):
    """A fitted estimator that goes to a file and back. Subclasses say what their state is: plain values and arrays."""

    def __init_subclass__(cls, saved_as: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if saved_as is not None:
            MODELS[saved_as] = cls

    @abstractmethod
    def __hidegl_state__(self) -> State: ...

    @abstractmethod
    def __set_hidegl_state__(self, state: State) -> None: ...

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, which `hidegl.load` reads. It holds no code and no rows of X."""
        check_is_fitted(self)
        values, arrays = self.__hidegl_state__()
        parameters: dict[str, Any] = {}
        for name, value in self.get_params(deep=False).items():  # type: ignore[attr-defined]
            if isinstance(value, np.random.RandomState) or callable(value):
                parameters[name] = None
            elif isinstance(value, os.PathLike):
                parameters[name] = os.fspath(value)
            elif name == "device":
                parameters[name] = str(value)
            elif isinstance(value, PLAIN):
                parameters[name] = value
            else:
                arrays[f"{PARAMETER}{name}"] = np.asarray(value)
        header = {"model": type(self).__name__, "version": __version__, "parameters": parameters, "values": values}
        write_archive(path, header, arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote: it predicts, relabels and shows its attributes as before."""
    header, arrays = read_archive(path)
    if header.get("model") not in MODELS:
        known = ", ".join(sorted(MODELS))
        raise ValueError(
            f"{os.fspath(path)} holds a model of the class {header.get('model')!r}, this process knows {known}"
        )
    try:
        parameters = {name.removeprefix(PARAMETER): arrays[name] for name in arrays if name.startswith(PARAMETER)}
        model = MODELS[header["model"]](**header["parameters"], **parameters)
        state = header["values"], arrays
        model.__set_hidegl_state__(upgraded(*state) if header["format"] == 1 else state)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ValueError(f"{os.fspath(path)} does not hold a whole hidegl model: {error}") from error
    return model
