"""The kinds of columns of a table, and columns of numbers or vectors as one matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hidegl.basics.errors import UsageError, joined_names
from hidegl.basics.option_names import option_name
from hidegl.files.tables import Table


def spoken(kind: pa.DataType) -> str:
    types = pa.types
    if is_text(kind):
        return "text"
    if types.is_temporal(kind):
        return "dates"
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return f"lists of {spoken(kind.value_type)}"
    if types.is_struct(kind) or types.is_map(kind):
        return "structures"
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return "bytes"
    return "nothing" if types.is_null(kind) else f"{kind}"


def is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def is_numeric(kind: pa.DataType) -> bool:
    types = pa.types
    return types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)


def is_vector(kind: pa.DataType) -> bool:
    types = pa.types
    lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return lists and is_numeric(kind.value_type)


def fits_into_cell(kind: pa.DataType) -> bool:
    """Whether text files can represent such values: lists, structures and bytes are excluded."""
    types = pa.types
    kind = kind.value_type if types.is_dictionary(kind) else kind
    bytes_of_any_kind = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    return not (types.is_nested(kind) or bytes_of_any_kind or types.is_interval(kind))


def holds_vectors_as_text(column: pa.ChunkedArray) -> bool:
    """Whether a column of text contains vectors as pandas writes them to CSV: "[0.1, 0.2, …]"."""
    first = column.drop_null().slice(0, 1).to_pylist()
    return bool(first) and len(parsed_vector(first[0])) > 1


def parsed_vector(text: str) -> NDArray[np.float64]:
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return np.empty(0)
    try:
        return np.array(text[1:-1].replace(",", " ").split(), dtype=np.float64)
    except ValueError:
        return np.empty(0)


def vectors(name: str, column: pa.ChunkedArray) -> NDArray[Any]:
    """A matrix from a column of lists, or of lists as text."""
    if column.null_count:
        raise UsageError(
            f"the column {name!r} has no vector in {column.null_count:,} rows: fill them in, or drop these rows", "gaps"
        )
    if is_text(column.type):
        parts = [parsed_vector(text) for text in column.to_pylist()]
        widths = {len(part) for part in parts}
        if len(widths) == 1 and widths != {0}:
            return np.array(parts, dtype=np.float32)
    else:
        widths = set(pc.unique(pc.list_value_length(column)).to_pylist())
        if len(widths) == 1 and widths != {0}:
            flat = pa.concat_arrays([chunk.flatten() for chunk in column.chunks])
            return flat.to_numpy(zero_copy_only=False).reshape(len(column), widths.pop())
    if widths == {0}:
        raise UsageError(
            f"the vectors in the column {name!r} are empty: name other columns with {option_name('columns')}",
            "wrong-shape",
        )
    raise UsageError(
        f"the vectors in the column {name!r} have different lengths: {joined_names(sorted(widths))}", "wrong-shape"
    )


def width(table: Table, name: str) -> int:
    kind = table.schema.field(name).type
    if pa.types.is_fixed_size_list(kind):
        return kind.list_size
    first = table.first_rows(name)[0].as_py()
    return len(parsed_vector(first) if isinstance(first, str) else first or ())


def finite_matrix(X: NDArray[Any]) -> NDArray[Any]:
    if X.dtype.kind == "f" and not np.isfinite(X.sum(dtype=np.float64)):
        broken = np.flatnonzero(~np.isfinite(X).all(axis=1))
        if len(broken):
            raise UsageError(
                f"{len(broken):,} rows contain NaN or infinity, the first is {broken[0]}: fill them in, or drop them",
                "gaps",
            )
    return X


def stacked(table: Table, names: list[str]) -> NDArray[Any]:
    """A matrix from columns of numbers. Empty or infinite cells raise an error with the code "gaps"."""
    gaps: dict[str, int] = {}
    parts = []
    for name in names:
        column = table.column(name)
        if pa.types.is_decimal(column.type):
            column = pc.cast(column, pa.float64())
        values = column.to_numpy()
        empty = column.null_count or (values.dtype.kind == "f" and int(np.sum(~np.isfinite(values))))
        if empty:
            gaps[name] = int(empty)
        parts.append(values)
    if gaps:
        counts = joined_names((f"{name} ({n:,} {'row' if n == 1 else 'rows'})" for name, n in gaps.items()), 4)
        raise UsageError(
            f"some cells are empty or not finite, in {counts}: fill them in, or leave such columns out", "gaps"
        )
    dtype = np.result_type(*{part.dtype for part in parts})
    if dtype.kind == "i" and dtype.itemsize > 4:
        dtype = np.dtype(np.float64)
    return np.stack(parts, axis=1, dtype=dtype, casting="unsafe")


@dataclass
class NamedNumbers:
    """A matrix in memory with column names; `LocalRows` reads it."""

    values: NDArray[Any]
    names: list[str]

    def __post_init__(self) -> None:
        self.shape, self.dtype = self.values.shape, self.values.dtype

    def __getitem__(self, index: Any) -> NDArray[Any]:
        return self.values[index]
