"""Labels of new rows anywhere: a small callable that travels to other processes and machines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from hidegl.basics.archives import State
from hidegl.basics.errors import joined_names
from hidegl.embedding.embedder_state import restored_embedder
from hidegl.embedding.raw import is_frame, names_of
from hidegl.estimators.loading import MODELS, load
from hidegl.estimators.model import Model
from hidegl.files.models import restored_model, saved_state
from hidegl.rows.arrays import library
from hidegl.rows.local import LocalRows
from hidegl.rows.reading import finite


class Predictor:
    """A callable that labels batches of new rows, to be sent to other processes and machines.

    It contains the parts of a fitted model that predictions need, and no rows. So it is small, and can be pickled: for
    Ray Data, Spark, Dask or a pool of processes. Its labels are those of the model's `predict`.

    Parameters
    ----------
    model : HiDeGL, AutoHiDeGL, str or path
        A fitted model, or the file of one.
    columns : str or list of str, default=None
        The columns with the vectors: one column of vectors, or several of numbers. None: the columns
        of the fit, if the model knows their names; otherwise the only column of vectors, or all columns.
    outputs : tuple of two str, default=("label", "confidence")
        The names of the columns that are added to a batch with columns.
    embedder : str, default=None
        The name of the embedder in the file, which has to be given if that is a function, as in `hidegl.load`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes.

    Examples
    --------
    >>> import pickle
    >>> from hidegl import HiDeGL, Predictor
    >>> from hidegl.datasets import draw_labels, hide_labels, make_three_moons
    >>> X, y = make_three_moons(random_state=0)
    >>> model = HiDeGL(100, random_state=0).fit(X, hide_labels(y, draw_labels(y, 6, seed=0, kind="balanced")))
    >>> predict = pickle.loads(pickle.dumps(Predictor(model)))
    >>> bool((predict(X[:10]) == model.predict(X[:10])).all())
    True
    """

    def __init__(
        self,
        model: Model | str | os.PathLike[str],
        *,
        columns: str | Sequence[str] | None = None,
        outputs: tuple[str, str] = ("label", "confidence"),
        embedder: str | None = None,
    ) -> None:
        if isinstance(model, str | os.PathLike):
            model = load(model, embedder=embedder)
        if not isinstance(model, Model):
            raise TypeError(f"model must be a fitted HiDeGL or AutoHiDeGL, or the path of one, got {model!r}")
        check_is_fitted(model)
        if not model.given_labels_.any:
            raise NotFittedError("no label was given to fit, so there is nothing to predict: give some to relabel(y)")
        if len(outputs) != 2 or len(set(outputs)) < 2:
            raise ValueError(f"outputs must be two different names, got {outputs!r}")
        self._state: State = saved_state(model, model.state(with_rows=False))
        self._columns = [columns] if isinstance(columns, str) else columns
        self._outputs, self._embedder = tuple(outputs), embedder

    def __call__(self, batch: Any) -> Any:
        """The labels of an array of rows; or a batch with columns, and with labels and confidences added to it.

        Batches with columns are pandas data frames, Arrow tables and record batches, and dicts of arrays. If the model
        has an embedder, they have the columns of texts or numbers that it takes.
        """
        named = isinstance(batch, dict) or is_frame(batch)
        labels, confidences = self._labelled(self._vectors(batch) if named else batch, n_rows_of(batch))
        if not named:
            return labels
        taken = [name for name in self._outputs if name in column_names(batch)]
        if taken:
            raise ValueError(f"the batch has a column {taken[0]!r} already: give other names as outputs=(…, …)")
        return with_columns(batch, dict(zip(self._outputs, (labels, confidences), strict=True)))

    @property
    def classes_(self) -> NDArray[Any]:
        return self._state[1]["classes"]

    def __repr__(self) -> str:
        size = sum(array.nbytes for array in self._state[1].values()) / 1e6
        return f"Predictor({self._state[0]['model']} with {len(self.classes_)} classes, {size:.1f} MB)"

    def __getstate__(self) -> dict[str, Any]:
        """The state without the model, which each process builds for its first batch."""
        return {name: value for name, value in self.__dict__.items() if name != "_model"}

    @cached_property
    def _model(self) -> Any:
        header, arrays = self._state
        model = restored_model(self._state, MODELS)
        if "embedder" not in header:
            return model
        return model.with_embedder(restored_embedder(header, arrays, "the predictor", self._embedder))

    def _labelled(self, X: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """The labels of rows and their confidences."""
        if not n_rows:  # frameworks send such batches to see which columns come back
            return self.classes_[:0], np.empty(0, np.float32)
        numbers = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf"
        with self._model.stream_labels(LocalRows(X).map(finite) if numbers else X) as stream:
            blocks = list(stream)
        return (
            np.concatenate([block.labels for block in blocks]),
            np.concatenate([block.confidence for block in blocks]),
        )

    def _vectors(self, batch: Any) -> Any:
        """The vectors in a batch with columns; the batch as a table, if the model has an embedder for that."""
        if "embedder" in self._state[0] and self._columns is None:
            return batch if is_frame(batch) else as_table(batch)
        names, of_fit = column_names(batch), self._state[1].get("feature_names", np.empty(0)).tolist()
        lacking = [name for name in self._columns or () if name not in names]
        if lacking:
            raise ValueError(f"the batch has no column {lacking[0]!r}: it has {joined_names(names)}")
        wanted = list(self._columns or (of_fit if of_fit and set(of_fit) <= set(names) else names))
        if not n_rows_of(batch):
            return batch
        parts = {name: column_values(batch, name) for name in wanted}
        if self._columns is None and wanted == names:
            vectors = [name for name, part in parts.items() if part.ndim == 2]
            parts = {name: parts[name] for name in vectors} if len(vectors) == 1 else parts
        return np.column_stack(list(parts.values()))


def column_names(batch: Any) -> list[str]:
    """The names of the columns of a batch."""
    return list(batch) if isinstance(batch, dict) else names_of(batch)


def n_rows_of(batch: Any) -> int:
    """The number of rows of a batch of any form."""
    return len(next(iter(batch.values()), ())) if isinstance(batch, dict) else int(np.shape(batch)[0])


def column_values(batch: Any, name: str) -> NDArray[Any]:
    """A column of a batch: one number per row (b,), or one vector (b, d)."""
    column = batch[name]
    if library(column) == "pyarrow":
        import pyarrow as pa

        from hidegl.files.columns import is_vector, vectors

        chunked = pa.chunked_array([column]) if isinstance(column, pa.Array) else column
        return vectors(name, chunked) if is_vector(chunked.type) else chunked.to_numpy()
    values = np.asarray(column)
    return np.stack(values.tolist()) if values.dtype.kind == "O" and np.ndim(values[0]) else values


def as_table(batch: dict[str, Any]) -> Any:
    """A dict of columns as an Arrow table."""
    import pyarrow as pa

    return pa.table({name: list(column) for name, column in batch.items()})


def with_columns(batch: Any, columns: dict[str, NDArray[Any]]) -> Any:
    """The batch with more columns, in its own form."""
    if isinstance(batch, dict):
        return {**batch, **columns}
    if library(batch) != "pyarrow":
        return batch.assign(**columns)
    import pyarrow as pa

    for name, column in columns.items():
        values = pa.array(column.tolist() if column.dtype.kind == "U" else column)
        batch = batch.append_column(name, values)
    return batch
