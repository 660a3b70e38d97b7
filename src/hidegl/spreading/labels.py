"""The user's y: which rows have a label, and which class it is."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from hidegl.basics.stored import Stored
from hidegl.basics.warnings import warn_user
from hidegl.rows.arrays import on_host
from hidegl.rows.reading import parts_of_column

UNLABELLED = -1

Part = tuple[NDArray[np.intp], NDArray[Any], int]
"""A part of y: the labelled rows, their labels, and the length of the part."""

BLANKS = (
    *("", "-1", "nan", "none", "null", "na", "n/a", "<na>", "unlabeled", "unlabelled", "unknown"),
    *("?", "??", "???", "skip", "skipped", "todo", "tbd"),
)
"""Texts that are rarely meant as the name of a class."""


@dataclass(frozen=True)
class Labels:
    """The sorted classes, the labelled rows, and the number of the class of each labelled row."""

    classes: NDArray[Any]
    rows: NDArray[np.intp]
    given: NDArray[np.intp]
    n_rows: int

    @classmethod
    def of(cls, classes: NDArray[Any], codes: NDArray[np.intp]) -> Labels:
        """Labels from the class numbers of all rows, where −1 means no label."""
        rows = np.flatnonzero(codes != UNLABELLED)
        return cls(classes, rows, codes[rows], len(codes))

    @classmethod
    def read(cls, y: Any, n_rows: int) -> Labels:
        """Make labels of the user's y. −1 among numbers, None, NaN and pandas' NA mean unlabelled. The one exception is
        a y of nothing but −1 and 1 with at least half of it 1: it labels all rows by two classes.
        """
        if isinstance(y, cls):
            return y
        if y is None:
            return cls.of(np.empty(0, dtype=np.intp), np.full(n_rows, UNLABELLED))
        if (parts := parts_of_column(y, labelled_part)) is not None:
            return cls.of_parts(parts, n_rows)
        values = column_or_1d(to_array(on_host(y)), warn=True)
        known = ~missing(values) if not plus_minus_one(values) else np.ones(len(values), dtype=bool)
        rows = np.flatnonzero(known)
        return cls.of_parts([(rows, values[rows], len(values))], n_rows)

    @classmethod
    def of_parts(cls, parts: list[Part], n_rows: int) -> Labels:
        """Join the labels of the parts of y."""
        lengths = [length for _, _, length in parts]
        if sum(lengths) != n_rows:
            raise ValueError(f"y must have one entry for each of the {n_rows} rows of X, got {sum(lengths)}")
        starts = np.cumsum([0, *lengths[:-1]])
        rows = np.concatenate([places + start for (places, _, _), start in zip(parts, starts, strict=True)])
        classes, given = np.unique(homogeneous(np.concatenate([values for _, values, _ in parts])), return_inverse=True)
        warn_of_hidden_blanks(classes)
        warn_of_names_alike(classes)
        return cls(classes, rows, given, n_rows)

    @property
    def counts(self) -> NDArray[np.intp]:
        """The number of labels of each class (c,)."""
        return np.bincount(self.given, minlength=len(self.classes))

    @property
    def can_be_judged(self) -> NDArray[np.bool_]:
        """Which labels can be predicted from the others (l,): those of classes with at least two labels."""
        return self.counts[self.given] > 1

    @property
    def n_judged(self) -> int:
        """The number of labels that can be predicted from the others."""
        return int(self.can_be_judged.sum())

    @classmethod
    def restored(cls, stored: Stored, *, of_every_class: bool = True) -> Labels:
        """Read from a file with the size n (rows); it defines the sizes c (classes) and l (labels)."""
        n, classes = stored.sizes["n"], stored.array("classes", "labels", "c")
        rows, given = stored.indices("labelled_rows", "l", n), stored.indices("labelled_codes", "l", len(classes))
        labels = cls(classes, rows, given, n)
        if not np.all(classes[1:] > classes[:-1]) or not np.all(rows[1:] > rows[:-1]):
            raise ValueError("labels must be in order")
        if of_every_class and not np.all(labels.counts):
            raise ValueError("labels must be one or more of each class")
        return labels

    def some(self, chosen: NDArray[np.bool_]) -> Labels:
        """A subset of the labels, with the same classes."""
        return replace(self, rows=self.rows[chosen], given=self.given[chosen])

    def of_classes(self, kept: NDArray[np.bool_]) -> Labels:
        """The labels of a subset of the classes, given as a mask (c,)."""
        chosen = kept[self.given]
        return Labels(self.classes[kept], self.rows[chosen], (np.cumsum(kept) - 1)[self.given[chosen]], self.n_rows)

    @property
    def of_present_classes(self) -> Labels:
        """The labels without classes that have none."""
        return self if np.all(self.counts) else self.of_classes(self.counts > 0)

    @property
    def any(self) -> bool:
        return len(self.classes) > 0

    @property
    def codes(self) -> NDArray[np.intp]:
        """The class number of each row, or −1 (n,)."""
        codes = np.full(self.n_rows, UNLABELLED)
        codes[self.rows] = self.given
        return codes

    @property
    def one_hot(self) -> NDArray[np.float64]:
        """Y_l (l, c)."""
        return np.eye(len(self.classes))[self.given]


def in_order_of(X: Any, y: Any) -> Any:
    """y in the order of the rows of X, by the index, if both have an index of pandas."""
    of_X: Any = getattr(X, "index", None)
    of_y: Any = getattr(y, "index", None)
    if not (hasattr(of_X, "equals") and hasattr(of_y, "equals")) or of_X.equals(of_y) or len(of_X) != len(of_y):
        return y
    if of_X.is_unique and of_y.is_unique and not len(of_X.difference(of_y)):
        return y.reindex(of_X)
    missing = of_X.difference(of_y)
    example = f", for example {missing.tolist()[0]!r}" if len(missing) else ""
    raise ValueError(
        f"y must have the index of X: {len(missing):,} labels of the index of X are not in that of y{example}; align "
        f"them, or give y.to_numpy() if its entries are in the order of the rows"
    )


def labelled_part(y: Any) -> Part:
    """The labelled rows of an array, their labels, and its length."""
    values = to_array(y)
    all_missing = values.dtype.kind == "f" and bool(np.all(np.isnan(values)))
    rows = np.flatnonzero(~missing(values)) if not all_missing else np.empty(0, dtype=np.intp)
    return rows, values[rows], len(values)


def to_array(y: Any) -> NDArray[Any]:
    """y as an array in which missing entries stay missing: numpy alone would make the text "None" or "nan" of them."""
    is_null = getattr(y, "isna", None) or getattr(y, "is_null", None)
    if is_null is not None and np.all(np.asarray(is_null())):  # an empty column of a pandas or polars frame
        return np.full(len(y), None)
    if isinstance(y, np.ma.MaskedArray):
        filled = y.data.astype(object)
        filled[np.ma.getmaskarray(y)] = None
        return filled
    array = np.asarray(y)
    if array.dtype.kind not in "biufUSOT":
        raise ValueError(f"y must contain whole numbers, booleans or strings, got {array.dtype}")
    return np.asarray(y, dtype=object) if array.dtype.kind in "UST" and not isinstance(y, np.ndarray) else array


def missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which entries mean that there is no label."""
    if values.dtype.kind == "O":
        return np.array([is_missing(value) for value in values], dtype=bool)
    if values.dtype.kind not in "iuf":
        return np.zeros(len(values), dtype=bool)
    if values.size and np.all(np.isnan(values)):
        raise ValueError("y must not be an array of NaN alone: for rows without labels leave y out, or use -1")
    return np.isnan(values) | (values == UNLABELLED)


def is_missing(value: Any) -> bool:
    """None, NaN, pandas' NA and NaT, and −1 among numbers."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, int | float | np.number) and bool(value != value or value == UNLABELLED)


def plus_minus_one(values: NDArray[Any]) -> bool:
    """Whether y labels all rows by the classes −1 and 1: it has no other values, and at least half of it is 1."""
    if values.dtype.kind not in "iuf" and not all(isinstance(value, int | float) for value in values):
        return False
    if not np.all((values == 1) | (values == -1)):
        return False
    if not 0.5 <= np.mean(values == 1) < 1:
        return False
    warn_user("y has no values but -1 and 1, at least half of them 1: read as two classes, with no row unlabelled")
    return True


def warn_of_hidden_blanks(classes: NDArray[Any]) -> None:
    """Warn of classes such as "nan": they probably were missing entries that became text."""
    blanks = [str(label) for label in classes if isinstance(label, str) and is_blank(label)]
    if blanks:
        named = " and ".join(map(repr, blanks))
        warn_user(f"y has {named} as a class: if it means that there is no label, write None instead")


def is_blank(text: str) -> bool:
    return text.strip().lower() in BLANKS


def warn_of_names_alike(classes: NDArray[Any]) -> None:
    """Warn of classes that differ in spelling only, because they count as different."""
    for alike in names_alike(classes)[:3]:
        named = " and ".join(map(repr, alike))
        warn_user(
            f"y has {named} as different classes: if they are one, give them one name (on the command line, with "
            f"--merge-names)"
        )


def names_alike(names: Iterable[Any]) -> list[list[str]]:
    """The groups of two or more names that differ in case, spaces or accents only."""
    groups: dict[str, list[str]] = {}
    for name in names:
        if isinstance(name, str):
            groups.setdefault(plain_name(name), []).append(str(name))
    return [group for group in groups.values() if len(group) > 1]


def plain_name(name: str) -> str:
    """A name in lower case, without accents of Latin letters, and with single spaces."""
    kept: list[str] = []
    for letter in unicodedata.normalize("NFD", " ".join(name.casefold().split())):
        accent = unicodedata.combining(letter) and kept and "LATIN" in unicodedata.name(kept[-1], "")
        kept += [] if accent else [letter]
    return "".join(kept)


def homogeneous(values: NDArray[Any]) -> NDArray[Any]:
    """The labels as an array of one kind: strings, booleans or whole numbers."""
    if values.dtype.kind == "O" and len(values):
        if all(isinstance(value, str) for value in values):
            return values.astype(str)
        kinds = sorted({type(value).__name__ for value in values})
        values = np.array(values.tolist())
        if values.dtype.kind not in "biuf":
            raise ValueError(f"y must contain labels of one kind, strings or whole numbers, got {' and '.join(kinds)}")
    if values.dtype.kind == "f":
        if not np.all(np.isfinite(values)):
            raise ValueError("y must contain finite labels, got inf")
        if not np.all(values == np.round(values)):
            broken = values[values != np.round(values)][0]
            raise ValueError(f"Unknown label type: y must contain whole numbers or strings, got {broken}")
    return values


def share_right(predicted: Any, y: Any, sample_weight: Any) -> float:
    """The accuracy on the rows that have a label in y."""
    predicted = np.asarray(on_host(predicted))
    labels = Labels.read(y, len(predicted))
    known = labels.rows
    if not labels.any:
        raise ValueError("y must contain at least one label to compare with")
    weights = None if sample_weight is None else np.asarray(sample_weight)[known]
    return float(np.average(predicted[known] == labels.classes[labels.given], weights=weights))
