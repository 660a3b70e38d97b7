"""The labels that the user gives, joined from all places: columns, files, Studio's file, arrays and dicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.errors import UsageError, joined_names
from hidegl.basics.option_names import command_name, option_name
from hidegl.files.own_files import FILE
from hidegl.files.tables import Table
from hidegl.intake.answered_records import only_answers
from hidegl.intake.label_names import label_column
from hidegl.intake.label_sources import LabelSource, Place, SourceReader
from hidegl.intake.label_values import known
from hidegl.spreading.labels import names_alike


@dataclass
class GivenLabels:
    """y for the estimators, its places, and notes for the user."""

    y: NDArray[Any] | None
    source: str
    """The places of labels, in words."""

    columns: list[str] = field(default_factory=list)
    """All columns with labels, from which nothing is learned."""

    notes: list[str] = field(default_factory=list)
    counts: str = ""
    """In words, the number of labels of each place."""

    places: list[Place] = field(default_factory=list)
    """The columns and files with these labels. The last one with a label for a row is used."""

    n_suggested: int = 0
    """The number of labels for rows that hidegl suggested."""

    disputed: dict[str, NDArray[Any]] = field(default_factory=dict)
    """The labels of each person, for rows with different labels of several people."""

    questions: list[str] = field(default_factory=list)
    """The questions that people answered, for records with answers."""

    @property
    def n_labels(self) -> int:
        return 0 if self.y is None else int(np.sum(known(self.y)))

    @property
    def classes(self) -> list[Any]:
        return [] if self.y is None else sorted(set(self.y[known(self.y)].tolist()), key=str)

    def require(self, what: str | None, source: object) -> None:
        """Raise an error unless there are labels of at least two classes, or none are needed."""
        if what is None:
            return
        if self.y is None:
            raise UsageError(
                f"no labels to {what} from: name their column or file with {option_name('labels')}; "
                f"{command_name('suggest', source)} says which rows to label first",
                "no-labels",
            )
        if self.n_labels == 0:
            raise UsageError(
                f"no labels yet in {self.source}, only blanks: fill in some; {command_name('suggest', source)} says "
                f"which rows help most",
                "no-labels",
            )
        if len(self.classes) == 1:
            more = "".join(f"; {note}" for note in self.notes)
            raise UsageError(
                f"all labels are {self.classes[0]!r}: give at least one label of another class{more}", "one-class"
            )


def find_labels(
    table: Table,
    wanted: Sequence[Any],
    id_column: str | None,
    *,
    merge_names: bool = False,
    encoding: str | None = None,
    folders: NDArray[Any] | None = None,
    others: Sequence[str] = (),
) -> GivenLabels:
    """The labels of columns, files, arrays and dicts together. If two of them differ, the later one is used. If none is
    named, a column named label, class, target or y is used. Names that differ in case, space or accents only can be
    merged into the most frequent of them.
    """
    reader = SourceReader(table, id_column, encoding, folders)
    default = label_column(table, others)
    if not wanted and only_answers(table, "the data") is not None:
        wanted = list(table.answers)
    sources = [reader.read(one) for one in wanted or ([] if default is None else [default])]
    if not sources:
        return GivenLabels(None, "")
    found = merged(with_earlier(sources, reader), table.n_rows)
    return merged_names(found) if merge_names else found


def with_earlier(sources: Sequence[LabelSource], reader: SourceReader) -> list[LabelSource]:
    """The sources. Before each file that hidegl wrote come the places of labels that it stores and the user did not
    name.
    """
    named_places = [source.place for source in sources if source.place is not None]
    every: list[LabelSource] = []
    for source in sources:
        for place in source.earlier:
            if not any(same_place(place, other) for other in named_places):
                every.append(reader.read_remembered(place, source))
                named_places.append(place)
        every.append(source)
    return every


def same_place(one: Place, other: Place) -> bool:
    """Whether two places of labels are the same. A file may have been moved, but not renamed."""
    if one[0] != other[0] or one[0] != FILE:
        return one == other
    return Path(one[1]).name == Path(other[1]).name


def merged(sources: list[LabelSource], n_rows: int) -> GivenLabels:
    """The labels of all sources. The last one with a label for a row is used, and labels that were removed in Studio
    are removed.
    """
    parts = of_one_kind([as_objects(source.y) for source in sources])
    y = np.full(n_rows, None, dtype=object)
    changed, removed = 0, 0
    for source, part in zip(sources, parts, strict=True):
        rows = np.flatnonzero(known(part))
        before = y[rows]
        changed += sum(old is not None and old != new for old, new in zip(before, part[rows].tolist(), strict=True))
        y[rows] = part[rows]
        removed += sum(y[row] is not None for row in source.removed)
        y[source.removed] = None
    counts = [f"{int(np.sum(known(source.y))):,} in {source.words}" for source in sources]
    counts += [f"{changed:,} changed"] * (changed > 0 or len(sources) > 1) + [f"{removed:,} removed"] * (removed > 0)
    n_suggested = sum(int(np.sum(known(source.y))) for source in sources if source.is_suggested)
    return GivenLabels(
        y,
        " and ".join(dict.fromkeys(source.words for source in sources)),
        list(dict.fromkeys(name for source in sources for name in source.columns)),
        [note for source in sources for note in source.notes],
        ", ".join(counts),
        [source.place for source in sources if source.place is not None],
        n_suggested,
        {name: labels for source in sources for name, labels in source.disputed.items()},
        list(dict.fromkeys(source.question for source in sources if source.question)),
    )


def as_objects(part: NDArray[Any]) -> NDArray[Any]:
    """Labels as objects, with None for rows without a label."""
    if part.dtype.kind == "O":
        return part
    y = part.astype(object)
    y[~known(part)] = None
    return y


def of_one_kind(parts: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """All labels as whole numbers if they are, even if a file stores them as texts; otherwise all as names."""
    every = {label for part in parts for label in part.tolist()} - {None}
    if len({isinstance(label, str) for label in every}) < 2:
        return parts
    kind = int if all(is_whole_number(str(label)) for label in every) else str
    return [np.array([None if label is None else kind(label) for label in part.tolist()], object) for part in parts]


def is_whole_number(name: str) -> bool:
    """Whether a name is a number exactly as it would be written."""
    digits = name.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and len(digits) < 16 and str(int(name)) == name


def merged_names(found: GivenLabels) -> GivenLabels:
    """Names that differ in case, space or accents only become the most frequent of them."""
    assert found.y is not None
    counts = Counter(name for name in found.y.tolist() if isinstance(name, str))
    for alike in names_alike(sorted(counts)):
        usual = max(alike, key=lambda name: counts[name])
        others = [name for name in alike if name != usual]
        places = [i for i, name in enumerate(found.y.tolist()) if name in others]
        found.y[places] = usual
        found.notes.append(f"{joined_names(others)} counts as {usual!r}, in {len(places):,} rows")
    return found
