"""The labels of weak sources that the user gives: columns, files, arrays, dicts and tables of probabilities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.errors import UsageError, joined_names
from hidegl.files.tables import Table
from hidegl.intake.given_labels import GivenLabels, as_objects, of_one_kind
from hidegl.intake.label_sources import SourceReader
from hidegl.intake.label_values import known
from hidegl.intake.weak_probabilities import in_words_of_classes, most_probable, probabilities_of
from hidegl.spreading.labels import plain_name
from hidegl.spreading.weak_labels import GuessedLabels

FEWEST_ROWS, MANY_LABELS = 3, 100
"""A name without a given label is not a class if a source with at least MANY_LABELS labels has it in fewer rows than
FEWEST_ROWS.
"""

SHOWN = 3


@dataclass
class WeakGiven:
    """The argument `weak` of `AutoHiDeGL.fit`, its places, and notes for the user."""

    sources: dict[str, Any] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    """The columns of the data with these labels."""

    notes: list[str] = field(default_factory=list)
    class_names: list[str] = field(default_factory=list)
    """The classes that the user named."""

    def of_rows(self, kept: NDArray[np.bool_]) -> WeakGiven:
        """The labels of a subset of the rows."""
        return replace(self, sources={name: of_some(said, kept) for name, said in self.sources.items()})

    def by_class(self) -> dict[str, NDArray[Any]]:
        """The most probable class of each row by each source, None for rows without a label. Matrices without names of
        classes are left out.
        """
        found = {name: most_probable(said) for name, said in self.sources.items()}
        plain = {name: said for name, said in self.sources.items() if getattr(said, "ndim", 0) == 1}
        guessed = {name: said for name, said in self.sources.items() if isinstance(said, GuessedLabels)}
        clear = {name: said.certain_labels for name, said in guessed.items()}
        return {**plain, **{name: said for name, said in found.items() if said is not None}, **clear}

    def counts(self) -> list[str]:
        """In words, the number of labels of each source."""
        return [f"{n_said(said):,} by {name!r}" for name, said in self.sources.items()]


def of_some(said: Any, kept: NDArray[np.bool_]) -> Any:
    return {name: column[kept] for name, column in said.items()} if isinstance(said, Mapping) else said[kept]


def n_said(said: Any) -> int:
    """The number of rows with a label or with probabilities."""
    if isinstance(said, Mapping):
        return int(np.sum(~np.isnan(np.column_stack([*said.values()])).any(axis=1)))
    if isinstance(said, GuessedLabels):
        return int(said.certain.sum())
    return int(np.sum(~np.isnan(said).any(axis=1) if said.ndim == 2 else known(said)))


def find_weak(table: Table, wanted: Any, id_column: str | None, encoding: str | None = None) -> WeakGiven:
    """Read sources from texts such as COLUMN, FILE or FILE:NAME, or from a dict from their names to columns, files,
    arrays, dicts or tables of probabilities.
    """
    reader, found = SourceReader(table, id_column, encoding, option="--weak"), WeakGiven()
    for name, place in named_places(table, wanted):
        if name in found.sources:
            raise UsageError(
                f": two sources are called {name!r}: name one of them with FILE:NAME", "same-names", "--weak"
            )
        probabilities = probabilities_of(reader, place)
        if probabilities is not None:
            found.sources[name] = probabilities
            continue
        read = reader.read(place)
        y = as_objects(read.y)
        if not known(y).any():
            raise UsageError(f"{place}: there is no label in {read.words}, only blanks", "no-labels", "--weak")
        found.sources[name] = y
        found.sources |= {f"{name}: {who}": said for who, said in read.disputed.items()}
        found.columns += read.columns
        found.notes += read.notes
    return found


def named_places(table: Table, wanted: Any) -> list[tuple[str, Any]]:
    """The name and the place of each source."""
    if isinstance(wanted, Mapping):
        return [(str(name), place) for name, place in wanted.items()]
    return [named_place(table, one) for one in wanted or ()]


def named_place(table: Table, text: str) -> tuple[str, str]:
    """The name of a source and its place, from COLUMN, FILE, COLUMN:NAME or FILE:NAME."""
    named = (*table.names, *table.answers, *table.proposals)
    if text in named or Path(text).exists():
        return (text if text in named else Path(text).stem), text
    place, colon, name = text.rpartition(":")
    return (name, place) if colon and name and place else (text, text)


def in_words_of(given: GivenLabels, weak: WeakGiven) -> WeakGiven:
    """The weak labels, and those of people who disagree, with the type and the spelling of the given labels. A name
    that differs from that of a given class in case, spaces or accents only is that class. A name without a given label
    that occurs in very few rows is left out.
    """
    tables = {name: in_words_of_classes(said, given.classes) for name, said in weak.sources.items()}
    weak = replace(weak, sources={**given.disputed, **tables})
    arrays = {name: said for name, said in weak.sources.items() if isinstance(said, np.ndarray) and said.ndim == 1}
    if not arrays:
        return weak
    own = [] if given.y is None else [as_objects(given.y)]
    parts = of_one_kind([*own, *arrays.values()])
    if own:
        given.y = parts[0]
    sources, notes = dict(weak.sources), list(weak.notes)
    spelling = spelling_of(given.classes, parts[len(own) :])
    for name, said in zip(arrays, parts[len(own) :], strict=True):
        sources[name], told = spelt_like(given.classes, spelling, said)
        notes += [f"{name!r}: {note}" for note in told]
    return replace(weak, sources=sources, notes=notes)


def spelling_of(classes: Sequence[Any], parts: Sequence[NDArray[Any]]) -> dict[str, str]:
    """The spelling of each plain name: that of a given class, or else the most frequent one."""
    counts = Counter(one for part in parts for one in part.tolist() if isinstance(one, str))
    found = {plain_name(one): one for one, _ in reversed(counts.most_common())}
    return found | {plain_name(one): one for one in classes if isinstance(one, str)}


def spelt_like(
    classes: Sequence[Any], spelling: Mapping[str, str], said: NDArray[Any]
) -> tuple[NDArray[Any], list[str]]:
    """Weak labels in the spelling of the classes, and notes about changes."""
    names = [spelling[plain_name(one)] if isinstance(one, str) else one for one in said.tolist()]
    spelt = np.full(len(said), None, dtype=object)
    spelt[:] = names
    changed = Counter((old, new) for old, new in zip(said, spelt, strict=True) if old != new)
    counts = Counter(one for one in spelt.tolist() if one is not None)
    rare = [one for one, n in counts.items() if n < FEWEST_ROWS and one not in classes]
    rare = rare if counts.total() >= MANY_LABELS else []
    spelt[[one in rare for one in spelt.tolist()]] = None
    notes = []
    if changed:
        pairs = ", ".join(f"{old!r} counts as {new!r}" for (old, new), _ in changed.most_common(SHOWN))
        notes.append(f"{pairs}{', …' if len(changed) > SHOWN else ''}, in {sum(changed.values()):,} rows")
    if rare:
        n = sum(counts[one] for one in rare)
        named, rows = joined_names([repr(one) for one in rare], SHOWN), "1 row is" if n == 1 else f"{n:,} rows are"
        notes.append(f"{named} in {rows} left out: too few rows for a class without a given label")
    return spelt, notes
