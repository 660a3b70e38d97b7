"""The names of classes, or a text about each, as one more weak source: the rows that are most like them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.errors import UsageError, joined_names
from hidegl.basics.linalg import Matrix
from hidegl.embedding import TextEmbedder
from hidegl.files.opening import open_table
from hidegl.files.writing import DELIMITERS
from hidegl.intake.given_labels import GivenLabels
from hidegl.intake.input_options import split
from hidegl.intake.label_values import known
from hidegl.intake.notes import Notes
from hidegl.intake.weak_given import WeakGiven, in_words_of

SOURCE = "class names"
"""What the source is called."""

ROWS_PER_CLASS = 20
"""Each class gets so many rows, those of which its text is nearest by the largest margin. All rows would add little:
the nearest name of a row follows from the row, so what it teaches of other rows would only confirm itself.
"""

NAME_COLUMNS, TEXT_COLUMNS = ("class", "label", "name"), ("description", "text")


def with_class_names(
    weak: WeakGiven,
    given: GivenLabels,
    rows: Any,
    embedder: TextEmbedder,
    class_texts: Mapping[str, str],
    notes: Notes,
) -> WeakGiven:
    """The weak labels, and those of the rows that are most like the text of a class."""
    said = nearest_rows(rows, embedder, class_texts)
    n, found = int(np.sum(known(said))), {name for name in said.tolist() if name is not None}
    missing = [repr(name) for name in class_texts if name not in found]
    unlike = f"; none is like {joined_names(missing, 5)}" if missing else ""
    notes.note("classes", f"{len(class_texts):,} classes by name; {n:,} rows are most like one of them{unlike}")
    weak = replace(weak, class_names=list(class_texts))
    if not n:
        return weak
    with_names = in_words_of(given, replace(weak, sources={**weak.sources, SOURCE: said}))
    for note in with_names.notes[len(weak.notes) :]:
        notes.warn(note, "labels")
    return with_names


def read_class_texts(wanted: Any) -> dict[str, str]:
    """From names, separated by commas or as a list, a dict from names to texts, or a file with one class per line."""
    if isinstance(wanted, Mapping):
        found = {str(name): str(text or name) for name, text in wanted.items()}
    elif isinstance(wanted, str | Path) and Path(wanted).is_file():
        found = dict(class_lines(Path(wanted)))
    else:
        found = {str(name): readable(str(name)) for name in split(wanted) or ()}
    if len(found) < 2:
        raise UsageError(f"--classes must name two classes or more, got {len(found)}")
    return found


def class_lines(path: Path) -> list[tuple[str, str]]:
    """The name of each class and its text: a table with the columns class and description, or lines NAME: TEXT."""
    if path.suffix.lower() in DELIMITERS:
        table = open_table(path)
        names = {name.lower(): name for name in table.names}
        name = next((names[one] for one in NAME_COLUMNS if one in names), None)
        text = next((names[one] for one in TEXT_COLUMNS if one in names), None)
        if name is None:
            raise UsageError(f"--classes {path} must have a column named class, and may have one named description")
        own = [str(value) for value in table.column(name).to_pylist() if value is not None]
        texts = own if text is None else [str(value or "") for value in table.column(text).to_pylist()]
        return [(one, about(one, told)) for one, told in zip(own, texts, strict=False)]
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    parts = [line.partition(":") for line in lines if line]
    return [(name.strip(), about(name.strip(), told.strip())) for name, _, told in parts]


def about(name: str, text: str) -> str:
    """The text to compare rows with."""
    return f"{readable(name)}: {text}" if text and text != name else readable(name)


def readable(name: str) -> str:
    return name.replace("_", " ").replace("-", " ")


def nearest_rows(rows: Any, embedder: TextEmbedder, class_texts: Mapping[str, str]) -> NDArray[Any]:
    """The class of the rows (n,) that are most like its text; None of all others."""
    width = next(iter(embedder.views_.values()), None)  # the last layer knows most of topics
    X, V = (
        np.asarray(part, dtype=np.float64)[:, :width] for part in (rows, embedder.transform([*class_texts.values()]))
    )
    likeness = cosines(X - X.mean(axis=0), V - V.mean(axis=0))
    best, ordered = likeness.argmax(axis=1), np.sort(likeness, axis=1)
    margin = ordered[:, -1] - ordered[:, -2]
    said, n = np.full(len(X), None, dtype=object), min(ROWS_PER_CLASS, max(len(X) // (2 * len(V)), 1))
    for number, name in enumerate(class_texts):
        own = np.flatnonzero((best == number) & (margin > 0))
        said[own[np.argsort(-margin[own], kind="stable")[:n]]] = name
    return said


def cosines(X: Matrix, V: Matrix) -> Matrix:
    lengths = np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(V, axis=1)
    return X @ V.T / np.maximum(lengths, 1e-12)
