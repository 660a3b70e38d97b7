"""Labels to a file, a block at a time: what is written takes the place of the old file only when it is whole."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.archives import replacing

Part = tuple[NDArray[Any], NDArray[np.float32], NDArray[np.bool_]]
"""Labels, confidences, and which labels were given, of some rows."""


class LabelledBlocks(NamedTuple):
    """What is known of some rows: class probabilities a block at a time, the given labels (or −1), and the classes."""

    blocks: Generator[NDArray[Any]]
    codes: NDArray[Any]
    classes: NDArray[Any]


BLOCKS_A_GROUP = 128
"""How many blocks make a row group of a Parquet file."""

NAMES = ("label", "confidence", "given")


def write_labels(
    path: str | os.PathLike[str], blocks: Generator[NDArray[Any]], codes: NDArray[Any], classes: NDArray[Any]
) -> None:
    """Write what the blocks of class probabilities say, with the given labels (`codes` ≥ 0) as they were given."""
    path = Path(path)
    if path.suffix not in WRITERS:
        raise ValueError(f"path must end in {', '.join(WRITERS)}, got {path}")
    with closing(blocks), replacing(path) as file:  # an error must not leave threads behind
        WRITERS[path.suffix](file, parts(blocks, codes, classes), len(codes), classes)


def parts(blocks: Iterator[NDArray[Any]], codes: NDArray[Any], classes: NDArray[Any]) -> Iterator[Part]:
    start = 0
    for P in blocks:
        known = codes[start : start + len(P)]
        given = known >= 0
        best = np.where(given, known, P.argmax(axis=1))
        confidence = np.where(given, 1, P.max(axis=1)).astype(np.float32)
        yield classes[best], confidence, given
        start += len(P)


def write_csv(file: IO[bytes], parts: Iterator[Part], n_rows: int, classes: NDArray[Any]) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    lines = csv.writer(text)
    lines.writerow(NAMES)
    for labels, confidence, given in parts:
        columns = labels.tolist(), (f"{value:.4f}" for value in confidence), given.astype(int).tolist()
        lines.writerows(zip(*columns, strict=True))
    text.detach()


def write_npy(file: IO[bytes], parts: Iterator[Part], n_rows: int, classes: NDArray[Any]) -> None:
    if classes.dtype.hasobject:
        classes = classes.astype(str)
    dtype = np.dtype([("label", classes.dtype), ("confidence", np.float32), ("given", np.bool_)])
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (n_rows,)}
    np.lib.format.write_array_header_1_0(file, header)
    for part in parts:
        rows = np.empty(len(part[0]), dtype)
        for name, column in zip(NAMES, part, strict=True):
            rows[name] = column
        file.write(rows.tobytes())


def write_parquet(file: IO[bytes], parts: Iterator[Part], n_rows: int, classes: NDArray[Any]) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install 'hidegl[files]'") from error
    label = pa.array(classes).type
    schema = pa.schema([("label", label), ("confidence", pa.float32()), ("given", pa.bool_())])
    with pq.ParquetWriter(file, schema) as writer:
        while some := list(islice(parts, BLOCKS_A_GROUP)):
            columns = [np.concatenate(column) for column in zip(*some, strict=True)]
            writer.write_table(pa.table(columns, schema=schema))


WRITERS: dict[str, Callable[[IO[bytes], Iterator[Part], int, NDArray[Any]], None]] = {
    ".csv": write_csv,
    ".parquet": write_parquet,
    ".npy": write_npy,
}
