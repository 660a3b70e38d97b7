"""Several descriptions of the same rows, called views: ranges of the columns of X, each with a preparation of its own.

Layers of a network, or pixels and a network, describe the same row in different ways. Each view is prepared separately,
and the prepared views are one matrix again. A structure or a classifier uses the columns of one view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.archives import prefixed
from hidegl.basics.checks import check_count
from hidegl.basics.errors import RowsError
from hidegl.basics.stored import Stored
from hidegl.rows.arrays import cast, namespace
from hidegl.rows.base import Rows, column_range
from hidegl.rows.reading import joined_views
from hidegl.structure.preparation import DTYPES, Preparation, learn_preparation, prepare

MOST_VIEWS = 5
"""The maximum number of views. The number of pairs of experts grows with its square."""

Span = tuple[int, int]
"""The first column of a view, and the one after its last."""


@dataclass(frozen=True)
class LearnedView:
    """Held-out vectors of a view that was learned from labels: for each fold of the labels, vectors that were learned
    without it. Only these can show how good the view is.
    """

    rows: NDArray[np.intp]
    """The numbers of m rows: first those with a label, then others."""

    folds: NDArray[np.intp]
    """The fold of each row with a label (l,)."""

    vectors: NDArray[np.float32]
    """The vectors of the rows without the labels of each fold (f, m, d)."""

    @property
    def labelled(self) -> NDArray[np.intp]:
        """The numbers of the rows with a label (l,)."""
        return self.rows[: len(self.folds)]

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays for a file, by name."""
        return {"rows": self.rows, "folds": self.folds, "vectors": self.vectors}

    @classmethod
    def restored(cls, stored: Stored) -> Self:
        """Read from a file."""
        vectors = stored.array("vectors", "float32", "folds m width")
        rows = stored.array("rows", "whole numbers", "m", "[0, inf)")
        return cls(rows, stored.indices("folds", "l_learned", len(vectors)), vectors)


@dataclass(frozen=True)
class ViewPreparations:
    """A preparation for each of several views."""

    names: tuple[str, ...]
    parts: tuple[Preparation, ...]
    learned: tuple[LearnedView | None, ...]
    """Held-out vectors of the views that were learned from labels; None for other views."""

    @property
    def views(self) -> dict[str, int]:
        """The number of columns of each view in X, by its name."""
        return {name: len(part.offset) for name, part in zip(self.names, self.parts, strict=True)}

    @property
    def spans(self) -> tuple[Span, ...]:
        """The columns of each view in prepared rows."""
        return spans_of([part.width for part in self.parts])

    @property
    def width(self) -> int:
        """The number of columns of prepared rows."""
        return self.spans[-1][1]

    @property
    def preprocess(self) -> str | None:
        """The scaling of the first view."""
        return self.parts[0].preprocess

    @property
    def dtype(self) -> str:
        """The precision of prepared rows, the same for all views."""
        return self.parts[0].dtype

    def of(self, rows: Rows) -> Rows:
        """The prepared rows, lazily."""
        return rows.map(prepare_views, self.parts)

    @property
    def values(self) -> dict[str, Any]:
        """The plain values for a file, by name."""
        return {"views": [{"name": name, **part.values} for name, part in zip(self.names, self.parts, strict=True)]}

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays for a file, by name."""
        arrays: dict[str, NDArray[Any]] = {}
        for number, (part, learned) in enumerate(zip(self.parts, self.learned, strict=True)):
            arrays |= prefixed(f"{number}.", part.arrays)
            arrays |= {} if learned is None else prefixed(f"{number}.learned.", learned.arrays)
        return arrays

    @classmethod
    def restored(cls, stored: Stored) -> Self:
        """Read from a file. It defines the sizes d (columns of X) and r (columns of prepared rows)."""
        names, parts, learned = [], [], []
        for number, values in enumerate(stored.several("views")):
            own = stored.part(str(number), values)
            for size in ("d", "r"):
                own.sizes.pop(size, None)
            names.append(own.text("name"))
            parts.append(Preparation.restored(own))
            learned.append(LearnedView.restored(own.part("learned", {})) if own.has("learned.rows") else None)
        if not 1 < len(parts) <= MOST_VIEWS or len(set(names)) < len(names) or len({p.dtype for p in parts}) > 1:
            raise ValueError("views must be several, with different names and the same precision")
        found = cls(tuple(names), tuple(parts), tuple(learned))
        n_columns = sum(len(part.offset) for part in parts)
        if stored.sizes.setdefault("d", n_columns) != n_columns:
            raise ValueError(f"views must have {stored.sizes['d']} columns together, got {n_columns}")
        stored.sizes["r"] = found.width
        return found


AnyPreparation = Preparation | ViewPreparations


def learn_views(
    rows: Rows,
    views: Mapping[str, int],
    learned: Mapping[str, LearnedView],
    *,
    preprocess: Mapping[str, str | None],
    rng: np.random.Generator,
) -> AnyPreparation:
    """The preparation of each view, given its number of columns and how it is scaled."""
    options: list[dict[str, Any]] = [
        {"preprocess": preprocess[name], "n_components": "auto", "rng": rng} for name in views
    ]
    if len(views) < 2:
        return learn_preparation(rows, **options[0])
    spans = spans_of(list(views.values()))
    parts = [learn_preparation(rows.seen(span), **own) for span, own in zip(spans, options, strict=True)]
    widest = DTYPES[max(DTYPES.index(part.dtype) for part in parts)]
    return ViewPreparations(
        tuple(views), tuple(replace(part, dtype=widest) for part in parts), tuple(map(learned.get, views))
    )


def restored_preparation(stored: Stored) -> AnyPreparation:
    """The preparation of one view or of several, from a file."""
    return (ViewPreparations if stored.has("0.offset") else Preparation).restored(stored)


def prepare_views(block: Any, parts: tuple[Preparation, ...]) -> Any:
    """A block of rows with all views prepared, side by side."""
    spans = spans_of([len(part.offset) for part in parts])
    views = [prepare(column_range(block, *span), part) for span, part in zip(spans, parts, strict=True)]
    xp = namespace(views[0])
    dtype = xp.result_type(*(view.dtype for view in views))
    return xp.concat([cast(view, dtype) for view in views], axis=1)


def are_outside(block: Any, parts: tuple[Preparation, ...]) -> Any:
    """Which rows of a block have a value outside the bounds of its column, in the views that have bounds."""
    block = block.toarray() if hasattr(block, "toarray") else block
    xp = namespace(block)
    found = xp.zeros(block.shape[0], dtype=xp.bool, device=block.device)
    for span, part in zip(spans_of([len(part.offset) for part in parts]), parts, strict=True):
        if part.bounds is not None:
            view = column_range(block, *span)
            low, high = (xp.asarray(bound, device=block.device) for bound in part.bounds)
            found = found | xp.any((view < low) | (view > high), axis=1)
    return found


def spans_of(widths: Sequence[int]) -> tuple[Span, ...]:
    """The ranges of columns of matrices of these widths, side by side."""
    return tuple(pairwise(accumulate(widths, initial=0)))


def joined_as_learned(X: Any, preparation: AnyPreparation) -> Any:
    """X as one matrix, with its views in the order of the fit."""
    if isinstance(X, Mapping) and isinstance(preparation, ViewPreparations):
        X = {str(name): part for name, part in X.items()}
        if set(X) != set(preparation.names):
            raise RowsError(f"must have the views {', '.join(preparation.names)}, got {', '.join(X)}", "views")
        X = {name: X[name] for name in preparation.names}
    X, widths = joined_views(X)
    expected = tuple(len(part.offset) for part in preparation.parts)
    if widths is not None and tuple(widths.values()) != expected:
        raise RowsError(
            f"must have views of {', '.join(map(str, expected))} columns as in fit, got "
            f"{', '.join(map(str, widths.values()))}",
            "views",
        )
    return X


def check_learned(learned: Mapping[str, LearnedView] | None, views: Mapping[str, int]) -> Mapping[str, LearnedView]:
    """Check the argument `learned`, by the names of views. None: no view was learned from labels."""
    learned = learned or {}
    unknown = [name for name in learned if name not in views]
    if unknown or (learned and len(views) < 2):
        raise ValueError(f"learned must name some of the views {', '.join(views)}, got {', '.join(learned)}")
    return learned


def check_views(views: Any, n_columns: int) -> dict[str, int]:
    """Check the parameter `views`: the number of columns of each view of X, by its name."""
    if views is not None and not isinstance(views, Mapping):
        raise ValueError(f"views must be a dict from names to numbers of columns, got {views!r}")
    if not views:
        return {"X": n_columns}
    if len(views) > MOST_VIEWS:
        raise ValueError(f"views must be at most {MOST_VIEWS}, got {len(views)}")
    for name, width in views.items():
        check_count(f"views[{name!r}]", width, 1)
    if sum(views.values()) != n_columns:
        raise ValueError(f"views must have the {n_columns:,} columns of X together, got {sum(views.values()):,}")
    return {str(name): int(width) for name, width in views.items()}
