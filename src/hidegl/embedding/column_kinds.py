"""The kinds of the columns of a table, and which columns are left out, decided from names and values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hidegl.embedding.amounts import amounts_in, read_amounts
from hidegl.embedding.cell_words import EMPTY_NAMES, EMPTY_WORDS, are_yes_or_no, bare, is_yes_or_no, without
from hidegl.embedding.dates import read_dates
from hidegl.files.columns import is_numeric, is_text, spoken

ID_NAMES = ("id", "index", "idx", "row", "uuid", "guid", "key", "", "unnamed: 0")
ID_ENDINGS = re.compile(r"(?:^|[_\W])(?:id|uuid|guid)$|(?-i:[a-z]I[dD]$)", re.IGNORECASE)
NUMBERING = re.compile(r"(?:^|[_\W])(?:no|nr|num|number|serial|index|key)$", re.IGNORECASE)
CODES = re.compile(
    r"(?:^|[_\W])(?:zip|(?:zip|post|postal)[_ ]?code|postal|plz|phone|tel|fax|ssn|iban|isbn|ean|sku)(?:$|[_\W])",
    re.IGNORECASE,
)
TIMES = re.compile(r"(?:^|[_\W])(?:time|date|timestamp|ts|at|on|created|updated|modified)(?:$|[_\W])", re.IGNORECASE)

MOST_LEVELS = 40
"""The maximum number of different values of a category."""

NAMES_ROWS = 0.9
"""If this share of the rows have different short texts, the texts are names of the rows."""

FEWEST_WORDS = 3.0
"""The minimum mean number of words of a text; names have fewer."""

FLAGGED = 0.9
"""The maximum share of rows with the word of a flag: a column with one word or an empty cell."""

ENOUGH_ROWS = 20
"""The minimum number of rows for judging the order of numbers."""

EPOCHS = {"s": (5e8, 4e9), "ms": (5e11, 4e12), "us": (5e14, 4e15), "ns": (5e17, 4e18)}
"""The ranges of numbers that are times since 1970, by unit, for the years 1985 to 2096."""

UNDERSTOOD = 0.9
"""The minimum share of the cells with texts that are numbers (or dates), if a column contains numbers (or dates)."""

LOOKED_AT = 500
"""The number of different texts that are tried before all are."""

WANTED = ("number", "date", "category", "text")
"""The kinds that a person may give to a column."""

DAY_ORDERS = ("day first", "month first")
YES_OR_NO = "yes or no"
ANY_CASE = "upper and lower case alike"
CASELESS = 3
"""The minimum number of letters of names whose case is ignored; "a" and "A" may be two codes."""


class Kind(NamedTuple):
    """The kind of a column: number, category, date, text; or "" with the reason why it is left out."""

    name: str
    reason: str = ""
    how: str = ""
    """How cells are read. For dates: the unit of numbers, or the order of day and month in texts. For numbers in texts:
    the decimal sign and the unit. For categories: whether they are words for yes and no, or names whose case is
    ignored.
    """

    unread: tuple[str, ...] = ()
    """Unreadable cells of numbers or dates, such as "see below"."""


def given_kind(name: str, column: pa.ChunkedArray, wanted: str) -> Kind:
    """The kind that a person gives to a column. At least one of its cells must be of this kind."""
    texts = pc.cast(column, pa.string()) if is_text(column.type) else None
    if wanted in ("category", "text"):
        if pa.types.is_nested(column.type):
            raise ValueError(f"it contains {spoken(column.type)}")
        return Kind(wanted)
    if texts is None:
        found = kind_of_numbers("time", pc.cast(column, pa.float64(), safe=False)) if is_numeric(column.type) else None
        if wanted == "number" and found is not None:
            return Kind("number")
        if wanted == "date" and (pa.types.is_temporal(column.type) or (found is not None and found.name == "date")):
            return Kind("date", how=found.how if found is not None else "")
        raise ValueError(f"it contains {spoken(column.type)}")
    different = without(bare(texts.drop_null()), EMPTY_WORDS).unique().to_pylist()
    values, how = (read_dates if wanted == "date" else read_amounts)(different)
    unread = tuple(text for text, value in zip(different, values, strict=True) if np.isnan(value))
    if len(unread) == len(different):
        examples = f", for example {unread[0]!r}" if unread else ""
        raise ValueError(f"not one of its cells is a {wanted}{examples}")
    return Kind(wanted, how=how, unread=unread)


def kind_of(name: str, column: pa.ChunkedArray) -> Kind:
    kind = column.type
    if pa.types.is_null(kind) or column.null_count == len(column):
        return Kind("", "empty")
    if name.strip().lower() in ID_NAMES or ID_ENDINGS.search(name.strip()):
        return Kind("", "an id")
    if pa.types.is_boolean(kind):
        return Kind("", CONSTANT) if len(pc.unique(column.drop_null())) == 1 else Kind("number")
    if is_numeric(kind):
        return kind_of_numbers(name, pc.cast(column, pa.float64(), safe=False))
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return Kind("", CONSTANT) if len(pc.unique(column.drop_null())) == 1 else Kind("date")
    if is_text(kind):
        return kind_of_texts(name, pc.cast(column, pa.string()), are_names=pa.types.is_dictionary(kind))
    return Kind("", spoken(kind))


CONSTANT = "the same in every row"


def kind_of_numbers(name: str, column: pa.ChunkedArray) -> Kind:
    values = column.drop_null().to_numpy()
    values = values[np.isfinite(values)]
    if not len(values):
        return Kind("", "empty")
    low, high = values.min(), values.max()
    if low == high:
        return Kind("", CONSTANT)
    whole = bool(np.all(values == np.floor(values)))
    if whole and CODES.search(name):
        return Kind("category") if len(np.unique(values)) <= MOST_LEVELS else Kind("", "a code, not an amount")
    if whole and TIMES.search(name):
        for unit, (first, last) in EPOCHS.items():
            if low >= first and high <= last:
                return Kind("date", how=unit)
    if whole and len(values) == len(column) and len(values) >= ENOUGH_ROWS and (reason := numbers_rows(name, values)):
        return Kind("", reason)
    return Kind("number")


def numbers_rows(name: str, values: np.ndarray) -> str:
    """The reason why whole numbers are row numbers or ids; empty if they are neither."""
    steps = np.diff(values)
    if np.all(steps > 0):
        return "row numbers" if np.all(steps == steps[0]) else "a counter: it grows with every row"
    if len(np.unique(values)) == len(values):
        if values.max() - values.min() < 2 * len(values):
            return "row numbers in another order"
        if NUMBERING.search(name):
            return "it names the rows"
    return ""


def kind_of_texts(name: str, column: pa.ChunkedArray, *, are_names: bool = False) -> Kind:
    """The kind of a column of texts; if `are_names`, its type in the table is that of categories."""
    given = without(bare(column.drop_null()), EMPTY_NAMES)
    if not len(given):
        return Kind("", "empty")
    texts, times = pc.value_counts(given).flatten()
    counts = Counter(dict(zip(texts.to_pylist(), times.to_pylist(), strict=True)))
    if len(counts) == 1 and len(given) > FLAGGED * len(column):
        return Kind("", CONSTANT)
    if not are_names and (found := kind_of_written(name, column, counts)) is not None:
        return found
    if is_category(counts):
        return Kind("category", how=YES_OR_NO if are_mostly_yes_or_no(counts) else spelled(counts))
    if CODES.search(name):
        return Kind("", "a code")
    words = pc.mean(pc.add(pc.count_substring_regex(given, r"\s+"), 1)).as_py()
    if len(counts) > NAMES_ROWS * len(given) and words < FEWEST_WORDS:
        return Kind("", "it names the rows")
    return Kind("text")


def is_category(counts: Counter[str]) -> bool:
    """Whether names are few, or a few names fill most cells and the others occur once."""
    often = [n for n in counts.values() if n > 1]
    if len(counts) <= MOST_LEVELS:
        return bool(often) or len(counts) == 1
    return len(often) <= MOST_LEVELS and sum(often) >= UNDERSTOOD * counts.total()


def spelled(names: Iterable[str]) -> str:
    """Whether names occur in upper and lower case."""
    words = [name for name in names if len(name) >= CASELESS]
    return ANY_CASE if len({word.casefold() for word in words}) < len(words) else ""


def are_mostly_yes_or_no(counts: Counter[str]) -> bool:
    words = [name for name in counts if is_yes_or_no(name)]
    n_given = sum(n for name, n in counts.items() if name.lower() not in EMPTY_WORDS)
    return are_yes_or_no(words) and sum(counts[word] for word in words) >= UNDERSTOOD * n_given


def kind_of_written(name: str, column: pa.ChunkedArray, counts: Counter[str]) -> Kind | None:
    """The kind of texts that are numbers or dates, as people write them; None if they are neither."""
    cells = {text: n for text, n in counts.items() if text.lower() not in EMPTY_WORDS}
    texts, times = list(cells), np.array(list(cells.values()))
    if not len(texts):
        return None
    for read, kind in ((read_dates, "date"), (read_amounts, "number")):
        if not is_understood(read(texts[:LOOKED_AT])[0], times[:LOOKED_AT], UNDERSTOOD / 2):
            continue
        values, how = read(texts)
        if is_understood(values, times, UNDERSTOOD):
            unread = tuple(text for text, value in zip(texts, values, strict=True) if np.isnan(value))
            if kind == "number":
                numbers = pa.chunked_array([pa.array(amounts_in(column, how), from_pandas=True)])
                found = kind_of_numbers(name, numbers)
                return found._replace(how=how if found.name == "number" else found.how, unread=unread)
            return Kind("date", how=how, unread=unread)
    return None


def is_understood(values: NDArray[np.float64], times: NDArray[np.intp], share: float) -> bool:
    return bool(np.sum(times[np.isfinite(values)]) >= share * np.sum(times))
