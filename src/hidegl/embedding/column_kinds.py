"""What a column of a table holds, and whether rows can be told apart by it: decided from its name and its values."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
"""A text with at most this number of different values is a category."""

NAMES_ROWS = 0.9
"""A short text that differs in this share of the rows names them."""

FEWEST_WORDS = 3.0
"""On average, a text has this number of words; a name has fewer."""

FLAGGED = 0.5
"""A word that stands in at most this share of the rows, and nothing in the others, is a flag."""

ENOUGH_ROWS = 20
"""With fewer rows, nothing can be said about the order of numbers."""

EPOCHS = {"s": (5e8, 4e9), "ms": (5e11, 4e12), "us": (5e14, 4e15), "ns": (5e17, 4e18)}
"""Where numbers are times since 1970, of the years 1985 to 2096, by their unit."""

DATE_FORMATS = ("%Y-%m-%d %H:%M:%S", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%d %b %Y", "%Y%m%d")


class Kind(NamedTuple):
    """What a column is: number, category, date, text; or "" with the reason why nothing is learned from it."""

    name: str
    reason: str = ""
    how: str = ""
    """Dates: the unit of numbers, or the format of texts."""


def kind_of(name: str, column: pa.ChunkedArray) -> Kind:
    kind = column.type
    if pa.types.is_null(kind) or column.null_count == len(column):
        return Kind("", "empty")
    if name.strip().lower() in ID_NAMES or ID_ENDINGS.search(name.strip()):
        return Kind("", "an id")
    if pa.types.is_boolean(kind):
        return Kind("", CONSTANT) if is_constant(column) else Kind("number")
    if is_numeric(kind):
        return kind_of_numbers(name, pc.cast(column, pa.float64(), safe=False))
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return Kind("", CONSTANT) if is_constant(column) else Kind("date")
    if is_text(kind):
        return kind_of_texts(name, pc.cast(column, pa.string()))
    return Kind("", spoken(kind))


CONSTANT = "the same in every row"


def is_constant(column: pa.ChunkedArray) -> bool:
    """Whether all given values are equal, and nothing is missing: then rows do not differ."""
    return not column.null_count and len(pc.unique(column)) == 1


def kind_of_numbers(name: str, column: pa.ChunkedArray) -> Kind:
    values = column.drop_null().to_numpy()
    values = values[np.isfinite(values)]
    if not len(values):
        return Kind("", "empty")
    low, high = values.min(), values.max()
    if low == high and len(values) == len(column):
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
    """Why whole numbers count or name the rows; empty if they do not."""
    steps = np.diff(values)
    if np.all(steps > 0):
        return "row numbers" if np.all(steps == steps[0]) else "a counter: it grows with every row"
    if len(np.unique(values)) == len(values):
        if values.max() - values.min() < 2 * len(values):
            return "row numbers in another order"
        if NUMBERING.search(name):
            return "it names the rows"
    return ""


def kind_of_texts(name: str, column: pa.ChunkedArray) -> Kind:
    given = pc.utf8_trim_whitespace(column.drop_null())
    given = given.filter(pc.not_equal(given, ""))
    if not len(given):
        return Kind("", "empty")
    n_levels = len(pc.unique(given))
    if n_levels == 1 and len(given) > FLAGGED * len(column):
        return Kind("", CONSTANT)
    if found := date_format(given):
        return Kind("date", how=found)
    if n_levels <= MOST_LEVELS and (n_levels < len(given) or n_levels == 1):
        return Kind("category")
    if CODES.search(name):
        return Kind("", "a code")
    words = pc.mean(pc.add(pc.count_substring_regex(given, r"\s+"), 1)).as_py()
    if n_levels > NAMES_ROWS * len(given) and words < FEWEST_WORDS:
        return Kind("", "it names the rows")
    return Kind("text")


def date_format(given: pa.ChunkedArray) -> str:
    """The format in which every text is a date; empty if there is none."""
    if not pc.all(pc.match_substring_regex(given.slice(0, 100), r"\d.*\d")).as_py():
        return ""
    for form in DATE_FORMATS:
        for some in (given.slice(0, 100), given):
            if pc.strptime(some, form, "s", error_is_null=True).null_count:
                break
        else:
            return form
    return ""
