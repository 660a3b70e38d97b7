"""What is shown: a fitted model as people read it. Both estimators are such models."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hidegl.basics.linalg import Matrix
from hidegl.questions.audits import JudgedLabel
from hidegl.spreading.labelling import LabelledPoints
from hidegl.spreading.labels import Labels
from hidegl.spreading.stream import LabelStream
from hidegl.structure.structure import Structure


class ReadableModel(Protocol):
    """The public read interface of `HiDeGL` and `AutoHiDeGL`, which reports, plots and commands use alone."""

    n_features_in_: int

    @property
    def n_rows_(self) -> int: ...

    @property
    def classes_(self) -> NDArray[Any]: ...

    @property
    def given_labels_(self) -> Labels: ...

    @property
    def structures_(self) -> tuple[Structure, ...]: ...

    @property
    def settings_(self) -> dict[str, Any]: ...

    @property
    def transduction_(self) -> NDArray[Any]: ...

    def distributions_of(self, rows: ArrayLike) -> Matrix: ...

    def stream_labels(self, X: Any = None) -> LabelStream: ...

    def labelled_points(self) -> LabelledPoints: ...

    def suggest(self, n: int = 20) -> NDArray[np.intp]: ...

    def audit(self) -> list[JudgedLabel]: ...

    def summary(self) -> str: ...
