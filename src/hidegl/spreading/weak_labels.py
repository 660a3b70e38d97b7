"""Labels of a source that is often wrong: a language model, rules, an annotator, the names of classes.

A source gives one class or class probabilities for some of the rows, or for all. It may lack classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.archives import Arrays
from hidegl.basics.linalg import Matrix
from hidegl.basics.stored import Stored
from hidegl.spreading.labels import Labels

MOST_SOURCES = 100
"""A file that claims to have more is damaged."""


@dataclass(frozen=True)
class GuessedLabels:
    """Labels, in the form of `fit`, that were guessed from the rows themselves, for example by names of classes."""

    labels: NDArray[Any]
    certain: NDArray[np.bool_]
    """The rows from whose labels something is learned about others (n,)."""

    @property
    def certain_labels(self) -> NDArray[Any]:
        """The labels of those rows, None of others (n,)."""
        found = np.full(len(self.labels), None, dtype=object)
        found[self.certain] = self.labels[self.certain]
        return found


@dataclass(frozen=True)
class WeakLabels:
    """The labels of one source: for each of its rows a class, or the probability of each of its classes."""

    name: str
    classes: NDArray[Any]
    """Its classes, sorted."""

    rows: NDArray[np.intp]
    codes: NDArray[np.intp] | None
    """The number of the class of each row (m,); None if there are probabilities."""

    P: Matrix | None = None
    """The probabilities (m, classes); None if there are classes."""

    certain: NDArray[np.bool_] | None = None
    """Which labels are used for learning about other rows, if labels were guessed from the rows (m,). Mistakes
    of such a source depend on the row. So similar rows do not average them out, and only given labels say how often it
    is right. None for any other source."""

    @classmethod
    def read(cls, name: str, values: Any, n_rows: int, classes: NDArray[Any] | None = None) -> WeakLabels:
        """Read labels as in `fit`, or probabilities: a data frame or dict with one column per class, or a matrix
        with one column for each of the sorted classes of the given labels. A row without numbers has no label.
        """
        if isinstance(values, cls):
            return values
        if isinstance(values, GuessedLabels):
            found = cls.read(name, values.labels, n_rows)
            return replace(found, certain=values.certain[found.rows])
        if isinstance(values, Mapping) or (hasattr(values, "columns") and hasattr(values, "to_numpy")):
            names = list(values) if isinstance(values, Mapping) else list(values.columns)
            columns = np.column_stack([np.asarray(values[one], dtype=np.float64) for one in names])
            return cls.of_probabilities(name, columns, np.array(names), n_rows)
        if getattr(values, "ndim", 1) == 2:
            if classes is None or values.shape[1] != len(classes):
                known = 0 if classes is None else len(classes)
                raise ValueError(
                    f"weak[{name!r}] must have one column for each of the {known} classes of y, got "
                    f"{values.shape[1]}: give a data frame whose columns are named like the classes"
                )
            return cls.of_probabilities(name, np.asarray(values, dtype=np.float64), classes, n_rows)
        try:
            labels = Labels.read(values, n_rows)
        except ValueError as error:
            raise ValueError(f"weak[{name!r}]: {error}") from None
        return cls(name, labels.classes, labels.rows, labels.given)

    @classmethod
    def of_probabilities(cls, name: str, P: Matrix, names: NDArray[Any], n_rows: int) -> WeakLabels:
        """Read probabilities (n, classes), which are NaN for rows without a label."""
        if len(P) != n_rows:
            raise ValueError(f"weak[{name!r}] must have one row for each of the {n_rows} rows of X, got {len(P)}")
        rows = np.flatnonzero(~np.isnan(P).any(axis=1))
        P = P[rows]
        if not np.all(np.isfinite(P)) or np.any(P < 0) or np.any(P.sum(axis=1) <= 0):
            raise ValueError(f"weak[{name!r}] must contain probabilities: numbers from 0 on, not all 0 in a row")
        order = np.argsort(names)
        return cls(name, names[order], rows, None, P[:, order] / P.sum(axis=1, keepdims=True))

    def votes(self, classes: NDArray[Any], places: NDArray[np.intp]) -> Matrix:
        """The labels at these indices as probabilities of these classes, which include its own (·, c)."""
        votes, columns = np.zeros((len(places), len(classes))), np.searchsorted(classes, self.classes)
        if self.codes is not None:
            votes[np.arange(len(places)), columns[self.codes[places]]] = 1
        else:
            assert self.P is not None
            votes[:, columns] = self.P[places]
        return votes

    def places_of(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """For each of these rows, the index of its label from this source; −1 if it has none."""
        if not len(self.rows):
            return np.full(len(rows), -1)
        places = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.where(self.rows[places] == rows, places, -1)

    @property
    def is_guessed(self) -> bool:
        return self.certain is not None

    @property
    def teaching_rows(self) -> NDArray[np.intp]:
        """The rows from whose labels something is learned about others."""
        return self.rows if self.certain is None else self.rows[self.certain]

    def on_rows(self, classes: NDArray[Any], rows: NDArray[np.intp]) -> Matrix:
        """The class probabilities that the source gives these rows (·, c); zeros for rows without a label."""
        places, votes = self.places_of(rows), np.zeros((len(rows), len(classes)))
        votes[places >= 0] = self.votes(classes, places[places >= 0])
        return votes

    def taught_by(self, classes: NDArray[Any], rows: NDArray[np.intp]) -> Matrix:
        """Its probabilities at these rows; zeros also for labels that are not used for learning."""
        votes = self.on_rows(classes, rows)
        votes[~np.isin(rows, self.teaching_rows)] = 0.0
        return votes

    # Files

    @property
    def arrays(self) -> Arrays:
        """The arrays for a file."""
        own: Arrays = {"classes": self.classes, "rows": self.rows}
        if self.certain is not None:
            own = {**own, "certain": self.certain.astype(np.float64)}
        return {**own, "codes": self.codes} if self.P is None else {**own, "P": self.P}  # type: ignore[dict-item]

    @classmethod
    def restored(cls, name: str, stored: Stored) -> WeakLabels:
        """Read from a file with the size n (rows)."""
        classes = stored.array("classes", "labels", "w")
        rows = stored.indices("rows", "m", stored.sizes["n"])
        if not np.all(classes[1:] > classes[:-1]) or not np.all(rows[1:] > rows[:-1]):
            raise ValueError("the classes and rows of a source must be in order")
        if stored.has("P"):
            return cls(name, classes, rows, None, stored.distributions("P", "m w"))
        guessed = stored.array("certain", "numbers", "m", "[0, 1]").astype(bool) if stored.has("certain") else None
        return cls(name, classes, rows, stored.indices("codes", "m", len(classes)), certain=guessed)


def read_sources(weak: Any, n_rows: int, classes: NDArray[Any]) -> tuple[WeakLabels, ...]:
    """The sources of a dict from names to labels or probabilities; `classes` are those of the given labels."""
    if weak is None:
        return ()
    if not isinstance(weak, Mapping) or not all(isinstance(name, str) and name for name in weak):
        raise ValueError(f"weak must be a dict from the name of each source to its labels, got {type(weak).__name__}")
    if len(weak) > MOST_SOURCES:
        raise ValueError(f"weak must have {MOST_SOURCES} sources or fewer, got {len(weak)}")
    found = [WeakLabels.read(name, values, n_rows, classes if len(classes) else None) for name, values in weak.items()]
    for source in found:
        if not len(source.rows):
            raise ValueError(f"weak[{source.name!r}] must contain one label or more, got none")
    return tuple(found)


def all_classes(labels: Labels, sources: Sequence[WeakLabels]) -> NDArray[Any]:
    """The classes of the given labels and of all sources, sorted."""
    own = [labels.classes] if labels.any else []
    for source in sources:
        if own and (source.classes.dtype.kind in "US") != (own[0].dtype.kind in "US"):
            kinds = [("names" if one.dtype.kind in "US" else "numbers") for one in (own[0], source.classes)]
            raise ValueError(
                f"weak[{source.name!r}] must contain labels of the same kind as the others, which are {kinds[0]}, got "
                f"{kinds[1]}"
            )
        own.append(source.classes)
    return np.unique(np.concatenate(own))
