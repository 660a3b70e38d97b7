"""Encoders of columns: each learns parameters from a column and turns its values into numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hidegl.basics.archives import State
from hidegl.basics.stored import FINITE, Stored
from hidegl.embedding.amounts import amounts_in
from hidegl.embedding.cell_words import EMPTY_NAMES, EMPTY_WORDS, bare, without, yes_or_no
from hidegl.embedding.column_kinds import ANY_CASE, CASELESS, DAY_ORDERS, EPOCHS, MOST_LEVELS, YES_OR_NO, Kind
from hidegl.embedding.dates import dates_in
from hidegl.embedding.word_vectors import Words
from hidegl.files.column_types import holds_whole_floats
from hidegl.files.columns import is_text, spoken
from hidegl.structure.preparation import column_bounds

Numbers = NDArray[np.float64]

TEXT_COLUMNS = 30
"""The maximum number of columns that a text becomes."""

LEARNED_ROWS = 20_000
"""The approximate number of rows from which the median of a column is computed."""

DAY, YEAR = 86_400.0, 365.25 * 86_400.0

SHOWN_UNREAD = 2
"""The number of unreadable cells that are shown."""

LAST_SECOND = 1e13
"""The maximum distance from 1970, in seconds, of times with microseconds in 64 bits."""

LARGEST_NUMBER = 1e140
"""The maximum number, because squares of larger ones overflow in the estimators."""

FORMATS_OF_0_2 = {
    **dict.fromkeys(("%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y", "%d %b %Y"), "day first"),
    **dict.fromkeys(("%Y-%m-%d %H:%M:%S", "%Y/%m/%d", "%m/%d/%Y", "%Y%m%d"), "month first"),
}
"""The formats of dates in model files of version 0.2."""


class Unread(NamedTuple):
    """Unreadable cells: their number, and examples."""

    n: int
    examples: tuple[str, ...]


class Code(Protocol):
    """The encoder of one column."""

    kind: ClassVar[str]

    @property
    def parts(self) -> list[str]:
        """The name of each of its numbers; "" if there is only one."""

    @property
    def n_dimensions(self) -> int:
        """The number of degrees of freedom of its numbers."""

    @property
    def reach(self) -> tuple[float, float]:
        """The bounds of its numbers."""

    def numbers(self, column: pa.ChunkedArray) -> tuple[Numbers, int]:
        """Numbers (n, parts), and the number of cells that were empty and have been filled in."""

    def state(self) -> State: ...

    @classmethod
    def restored(cls, stored: Stored) -> Self: ...


@dataclass(frozen=True)
class NumberCode:
    """Numbers. Empty cells get the median, and outliers are clipped."""

    median: float
    low: float = -np.inf
    high: float = np.inf
    how: str = ""
    """The decimal sign and the unit of texts."""

    kind: ClassVar[str] = "number"
    n_dimensions: ClassVar[int] = 1

    @classmethod
    def learned(cls, column: pa.ChunkedArray, kind: Kind) -> Self:
        values = as_floats(column, kind.how)
        values = values[:: max(len(values) // LEARNED_ROWS, 1)]
        given = values[np.isfinite(values)]
        low, high = column_bounds(given[:, None])[:, 0] if len(given) else (-np.inf, np.inf)
        return cls(float(np.median(given)) if len(given) else 0.0, float(low), float(high), kind.how)

    @property
    def parts(self) -> list[str]:
        return [""]

    @property
    def reach(self) -> tuple[float, float]:
        low, high = (
            bound if np.isfinite(bound) else np.sign(bound) * LARGEST_NUMBER for bound in (self.low, self.high)
        )
        return min(low, self.median), max(high, self.median)

    def numbers(self, column: pa.ChunkedArray) -> tuple[Numbers, int]:
        values, filled = self.filled(column)
        return np.clip(values, self.low, self.high)[:, None], filled

    def values(self, column: pa.ChunkedArray) -> Numbers:
        return as_floats(column, self.how)

    def filled(self, column: pa.ChunkedArray) -> tuple[Numbers, int]:
        """The values, with the median in empty cells."""
        values = self.values(column)
        empty = ~np.isfinite(values)
        n_empty = int(np.sum(empty))
        return np.where(empty, self.median, values) if n_empty else values, n_empty

    def state(self) -> State:
        low, high = (None if np.isinf(bound) else bound for bound in (self.low, self.high))
        return {"median": self.median, "low": low, "high": high, "how": self.how}, {}

    @classmethod
    def restored(cls, stored: Stored) -> Self:
        low, high = (stored.optional_number(name, FINITE) for name in ("low", "high"))
        median, how = stored.number("median", FINITE), stored.optional_text("how")
        return cls(median, -np.inf if low is None else low, np.inf if high is None else high, how)


@dataclass(frozen=True)
class CategoryCode:
    """Categories, one-hot. Rare and new names have zeros only; an empty cell is a category, or the mean."""

    levels: tuple[str, ...]
    how: str = ""
    """How names are unified: words for yes and no, or upper and lower case."""

    shares: tuple[float, ...] = ()
    """The share of each level, which an empty cell becomes if it is no category of its own."""

    kind: ClassVar[str] = "category"
    reach: ClassVar[tuple[float, float]] = (0.0, 1.0)

    @classmethod
    def learned(cls, column: pa.ChunkedArray, kind: Kind) -> Self:
        counts: Counter[str] = Counter()
        spellings: dict[str, str] = {}
        for name, n in Counter(as_names(column)).most_common():
            key = known_as(name, kind.how)
            counts[spellings.setdefault(key, name if kind.how == ANY_CASE and key else key)] += n
        found = cls(tuple(sorted(name for name, _ in counts.most_common(MOST_LEVELS + 1))), kind.how)
        return found if "" in found.levels else found.with_shares(column)

    def with_shares(self, column: pa.ChunkedArray) -> Self:
        """The same, but an empty cell becomes the mean of the column."""
        code = replace(self, levels=tuple(level for level in self.levels if level), shares=())
        numbers = code.numbers(column)[0][~self.gaps(column)]
        return replace(code, shares=tuple((numbers.sum(axis=0) / max(len(numbers), 1)).tolist()))

    def gaps(self, column: pa.ChunkedArray) -> NDArray[np.bool_]:
        """Which cells are empty (n,)."""
        names = as_names(column)
        empty = {name for name in set(names) if not known_as(name, self.how)}
        return np.array([name in empty for name in names], dtype=bool)

    @property
    def parts(self) -> list[str]:
        return list(self.levels)

    @property
    def n_dimensions(self) -> int:
        return len(self.levels) - 1

    def numbers(self, column: pa.ChunkedArray) -> tuple[Numbers, int]:
        place = {level: number for number, level in enumerate(self.levels)}
        names = as_names(column)
        by_key = {known_as(level, self.how): number for level, number in place.items()}
        of_name = {name: place.get(name, by_key.get(known_as(name, self.how), -1)) for name in set(names)}
        places = np.array([of_name[name] for name in names], dtype=np.intp)
        numbers = (places[:, None] == np.arange(len(self.levels))).astype(np.float64)
        if self.shares:
            numbers[self.gaps(column)] = self.shares
        return numbers, 0

    def state(self) -> State:
        arrays = {"shares": np.array(self.shares)} if self.shares else {}
        return {"levels": list(self.levels), "how": self.how}, arrays

    @classmethod
    def restored(cls, stored: Stored) -> Self:
        how = stored.optional_text("how")
        if how not in ("", YES_OR_NO, ANY_CASE):
            raise ValueError(f"how must be {YES_OR_NO!r}, {ANY_CASE!r} or nothing, got {how!r}")
        levels = tuple(stored.names("levels"))
        shares = stored.array("shares", "numbers", str(len(levels)), "[0, 1]") if stored.has("shares") else np.empty(0)
        return cls(levels, how, tuple(shares.tolist()))


@dataclass(frozen=True)
class DateCode:
    """Times: the time since 1970, of the year, of the week, and of the day if there is one."""

    middle: float
    how: str
    has_times: bool
    kind: ClassVar[str] = "date"
    reach: ClassVar[tuple[float, float]] = (-2 * LAST_SECOND / YEAR, 2 * LAST_SECOND / YEAR)

    @classmethod
    def learned(cls, column: pa.ChunkedArray, kind: Kind) -> Self:
        seconds = as_seconds(column, kind.how)
        given = seconds[np.isfinite(seconds)]
        return cls(float(np.median(given)), kind.how, bool(np.any(given % DAY != 0)))

    @property
    def parts(self) -> list[str]:
        of_day = ["day sin", "day cos"] if self.has_times else []
        return ["time", "year sin", "year cos", "week sin", "week cos", *of_day]

    @property
    def n_dimensions(self) -> int:
        return len(self.parts)

    def values(self, column: pa.ChunkedArray) -> Numbers:
        return as_seconds(column, self.how)

    def numbers(self, column: pa.ChunkedArray) -> tuple[Numbers, int]:
        seconds = self.values(column)
        empty = ~np.isfinite(seconds)
        seconds = np.where(empty, self.middle, seconds)
        periods = [YEAR, 7 * DAY, *([DAY] if self.has_times else [])]
        angles = [2 * np.pi * seconds / period for period in periods]
        turning = [turn(angle) for angle in angles for turn in (np.sin, np.cos)]
        return np.stack([(seconds - self.middle) / YEAR, *turning], axis=1), int(np.sum(empty))

    def state(self) -> State:
        return {"middle": self.middle, "how": self.how, "has_times": self.has_times}, {}

    @classmethod
    def restored(cls, stored: Stored) -> Self:
        how = stored.one_of("how", ("", *EPOCHS, *DAY_ORDERS, *FORMATS_OF_0_2))
        middle = stored.number("middle", f"[-{LAST_SECOND}, {LAST_SECOND}]")
        return cls(middle, FORMATS_OF_0_2.get(how, how), stored.flag("has_times"))


@dataclass(frozen=True)
class TextCode:
    """Short texts, by TF-IDF of their words, reduced."""

    words: Words
    kind: ClassVar[str] = "text"
    reach: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    @classmethod
    def learned(cls, column: pa.ChunkedArray, _: Kind) -> Self:
        return cls(Words.learned(as_names(column), TEXT_COLUMNS))

    @property
    def parts(self) -> list[str]:
        return [str(number) for number in range(len(self.words.components))]

    @property
    def n_dimensions(self) -> int:
        return len(self.words.components)

    def numbers(self, column: pa.ChunkedArray) -> tuple[Numbers, int]:
        return self.words.embed(as_names(column)).astype(np.float64), 0

    def state(self) -> State:
        return {}, self.words.state()[1]

    @classmethod
    def restored(cls, stored: Stored) -> Self:
        return cls(Words.restored(stored))


CODES: dict[str, Any] = {code.kind: code for code in (NumberCode, CategoryCode, DateCode, TextCode)}


def as_floats(column: pa.ChunkedArray, how: str = "") -> Numbers:
    """The values of a column, with NaN for empty cells. Texts may be numbers in any spelling."""
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if is_text(kind):
        return checked(column, amounts_in(column, how), "numbers")
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        if pa.types.is_boolean(kind):
            column = pc.cast(column, pa.int8())
        elif not pa.types.is_decimal(kind):
            raise ValueError(f"it contains {spoken(kind)}, but had numbers when the model was made")
        column = pc.cast(column, pa.float64())
    return np.asarray(column.to_numpy(), dtype=np.float64)


def checked(column: pa.ChunkedArray, values: Numbers, what: str) -> Numbers:
    """The values of a column of texts; an error if no text has a value."""
    if len(values) and np.isnan(values).all() and len(without(bare(column.drop_null()), EMPTY_WORDS)):
        raise ValueError(f"it contains text, but had {what} when the model was made")
    return values


def unread_cells(column: pa.ChunkedArray, values: Numbers) -> Unread | None:
    """The unreadable cells of a column of texts; None if there are none."""
    if not is_text(column.type):
        return None
    texts = without(bare(pc.cast(column, pa.string()).filter(pa.array(np.isnan(values))).drop_null()), EMPTY_WORDS)
    return Unread(len(texts), tuple(pc.unique(texts).slice(0, SHOWN_UNREAD).to_pylist())) if len(texts) else None


def as_names(column: pa.ChunkedArray) -> list[str]:
    """Texts without surrounding spaces; whole numbers as texts, and "" for empty cells."""
    if holds_whole_floats(column):
        column = pc.cast(column, pa.int64(), safe=False)
    return [(value or "").strip() for value in pc.cast(column, pa.string()).to_pylist()]


def known_as(name: str, how: str) -> str:
    """The category of each cell of a column of names; "" for empty cells."""
    if name.lower() in EMPTY_NAMES:
        return ""
    if how == YES_OR_NO:
        return yes_or_no(name)
    return name.casefold() if how == ANY_CASE and len(name) >= CASELESS else name


def as_seconds(column: pa.ChunkedArray, how: str) -> Numbers:
    """Seconds since 1970, with NaN for empty cells. `how`: the unit of numbers, or the order of day and month."""
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        column, how = pc.cast(pc.cast(column, pa.timestamp("us"), safe=False), pa.int64()), "us"
    elif is_text(kind) and how not in EPOCHS:
        return checked(column, dates_in(column, how), "dates")
    elif how not in EPOCHS:
        raise ValueError(f"it contains {kind}, but had dates when the model was made")
    return as_floats(column) / {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[how]
