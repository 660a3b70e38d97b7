"""Names or descriptions of classes as a weak source: rows that are most similar to them get weak labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.endings import READ, ending_of
from hidegl.basics.errors import UsageError, joined_names
from hidegl.basics.linalg import Matrix
from hidegl.embedding import TextEmbedder
from hidegl.files.opening import open_table
from hidegl.intake.given_labels import GivenLabels
from hidegl.intake.input_options import split
from hidegl.intake.name_groups import of_unit_length, scores_of_names
from hidegl.intake.notes import Notes
from hidegl.intake.weak_given import WeakGiven, in_words_of
from hidegl.spreading.weak_labels import GuessedLabels

SOURCE = "class names"
"""The name of the source."""

SHARE = 0.6
"""The share of the rows of each class with the largest margins to which weak labels are given. Those with smaller
margins are often wrong; a fixed number for each class would change the class sizes.
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
    """The weak labels, with those from the texts of the classes."""
    guessed = nearest_names(rows, embedder, class_texts)
    n, found = int(guessed.certain.sum()), set(guessed.labels.tolist())
    missing = [repr(name) for name in class_texts if name not in found]
    unlike = f"; no row is most like {joined_names(missing, 5)}" if missing else ""
    notes.note("classes", f"{len(class_texts):,} classes by name; {n:,} rows are clearly most like one of them{unlike}")
    weak = replace(weak, class_names=list(class_texts))
    with_names = in_words_of(given, replace(weak, sources={**weak.sources, SOURCE: guessed.labels}))
    for note in with_names.notes[len(weak.notes) :]:
        notes.warn(note, "labels")
    own = replace(guessed, labels=with_names.sources[SOURCE])
    return replace(with_names, sources={**with_names.sources, SOURCE: own})


def read_class_texts(wanted: Any) -> dict[str, str]:
    """The text of each class by its name: from names, separated by commas or as a list, a dict from names to texts, or
    a file with one class per line.
    """
    if isinstance(wanted, Mapping):
        found = {str(name): str(text or name) for name, text in wanted.items()}
    elif isinstance(wanted, str | Path) and Path(wanted).is_file():
        found = dict(class_lines(Path(wanted)))
    else:
        found = {str(name): readable(str(name)) for name in split(wanted) or ()}
    if len(found) < 2:
        raise UsageError(f"must name two classes or more, got {len(found)}", "wrong-value", "--classes")
    return found


def class_lines(path: Path) -> list[tuple[str, str]]:
    """The name of each class and its text: a table with the columns class and description, or lines NAME: TEXT."""
    if ending_of(path) in READ and ending_of(path) != ".txt":
        table = open_table(path)
        names = {name.lower(): name for name in table.names}
        name = next((names[one] for one in NAME_COLUMNS if one in names), None)
        text = next((names[one] for one in TEXT_COLUMNS if one in names), None)
        if name is None:
            raise UsageError(
                f"{path} must have a column named class, and may have one named description",
                "no-such-column",
                "--classes",
            )
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


def nearest_names(rows: Any, embedder: TextEmbedder, class_texts: Mapping[str, str]) -> GuessedLabels:
    """The class of each row by its text and by groups of rows around the texts, and which rows have a large margin."""
    width = next(iter(embedder.views_.values()), None)  # the last layer represents topics best
    X, V = (
        np.asarray(part, dtype=np.float64)[:, :width] for part in (rows, embedder.transform([*class_texts.values()]))
    )
    return by_margin(scores_of_names(of_unit_length(X), of_unit_length(V)), np.array([*class_texts], dtype=object))


def by_margin(scores: Matrix, names: NDArray[Any]) -> GuessedLabels:
    """The class with the largest score of each row. Of each class, rows with the largest margins are used."""
    best, ordered = scores.argmax(axis=1), np.sort(scores, axis=1)
    margin, certain = ordered[:, -1] - ordered[:, -2], np.zeros(len(scores), dtype=bool)
    for number in range(len(names)):
        own = np.flatnonzero((best == number) & (margin > 0))
        certain[own[np.argsort(-margin[own], kind="stable")[: int(np.ceil(SHARE * len(own)))]]] = True
    return GuessedLabels(names[best], certain)
