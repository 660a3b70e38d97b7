"""Dates as people write them: "31/12/2020", "Apr 04, 2020", "2020-04-04T10:30", "4. April 2020 6:15 PM".

The column decides whether the day or the month comes first: one "31/12/2020" is enough for all of its cells.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hidegl.embedding.cell_words import by_text

TIME = (
    r"(?:(?:T|,?\s+(?:at\s+)?)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?P<fraction>[.,]\d{1,9})?)?"
    r"\s*(?P<half>[AaPp]\.?[Mm]\.?)?\s*(?P<zone>Z|UTC|GMT|[-+]\d{2}:?\d{2})?)?"
)
WEEKDAY = r"(?:[^\W\d]{2,10}\.?,?\s+)?"
NAME = r"(?P<name>[^\W\d]{3,10})\.?"
ORDINAL = r"(?:st|nd|rd|th|\.)?"
FORMS = tuple(
    re.compile(form + TIME)
    for form in (
        r"(?P<year>\d{4})(?P<sign>[-/.])(?P<month>\d{1,2})(?P=sign)(?P<day>\d{1,2})",
        r"(?P<year>\d{4})[-/](?P<month>\d{1,2})",
        r"(?P<first>\d{1,2})(?P<sign>[-/.])(?P<other>\d{1,2})(?P=sign)(?P<year>\d{4}|\d{2})",
        rf"{WEEKDAY}(?P<day>\d{{1,2}}){ORDINAL}[-\s]*(?:de\s+)?{NAME},?[-\s]*(?:de\s+)?(?P<year>\d{{4}}|\d{{2}})",
        rf"{WEEKDAY}{NAME}[-\s]*(?P<day>\d{{1,2}}){ORDINAL},?[-\s]+(?P<year>\d{{4}})",
        rf"{NAME},?[-\s]+(?P<year>\d{{4}})",
        r"(?P<year>(?:19|20)\d{2})(?P<month>\d{2})(?P<day>\d{2})",
    )
)
MONTHS = (
    ("january", "januar", "janvier", "enero", "gennaio"),
    ("february", "februar", "février", "febrero", "febbraio"),
    ("march", "märz", "mrz", "mars", "marzo"),
    ("april", "avril", "abril"),
    ("may", "mai", "mayo", "maggio"),
    ("june", "juni", "juin", "junio", "giugno"),
    ("july", "juli", "juillet", "julio", "luglio"),
    ("august", "août", "agosto"),
    ("september", "septembre", "septiembre", "setiembre", "settembre"),
    ("october", "oktober", "octobre", "octubre", "ottobre"),
    ("november", "novembre", "noviembre"),
    ("december", "dezember", "décembre", "diciembre", "dicembre"),
)
"""The names of the months in English, German, French, Spanish and Italian, of which three letters are enough."""

CENTURY = 69
"""Years of two digits up to this one are after 2000."""

LONGEST = 48
EPOCH = datetime.datetime(1970, 1, 1)


class WrittenDate(NamedTuple):
    """The parts of a cell that is a date. If the order of day and month is unknown, `day` is the first number."""

    year: int
    month: int
    day: int
    seconds: float
    """The seconds since midnight, in universal time."""

    sign: str
    """The sign between day and month if their order is unknown; otherwise empty."""


def date_of(text: str) -> WrittenDate | None:
    """The parts of a date; None if the text is not one."""
    text = text.strip()
    if len(text) > LONGEST or not any(letter.isdigit() for letter in text):
        return None
    for form in FORMS:
        if (found := form.fullmatch(text)) is not None:
            parts = found.groupdict()
            year = full_year(parts["year"])
            if parts.get("first"):
                date = year, int(parts["other"]), int(parts["first"]), parts["sign"]
            elif parts.get("name"):
                month = month_of(parts["name"])
                if not month:
                    continue
                date = year, month, int(parts.get("day") or 1), ""
            else:
                date = year, int(parts["month"]), int(parts.get("day") or 1), ""
            seconds = seconds_of(parts)
            return None if seconds is None else WrittenDate(*date[:3], seconds, date[3])
    return None


def full_year(digits: str) -> int:
    year = int(digits)
    return year if len(digits) == 4 else year + (2000 if year <= CENTURY else 1900)


@cache
def month_of(name: str) -> int:
    """The number of a month by its name or the beginning of it; 0 if it is not one."""
    name = name.lower()
    numbers = (number for number, names in enumerate(MONTHS, 1) if any(known.startswith(name) for known in names))
    return next(numbers, 0)


def seconds_of(parts: dict[str, str | None]) -> float | None:
    """The time of the day in seconds; None for invalid times."""
    hour, minute, second = (int(parts.get(name) or 0) for name in ("hour", "minute", "second"))
    if half := parts.get("half"):
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half.lower().startswith("p") else 0)
    if hour > 24 or minute > 59 or second > 60:
        return None
    fraction = float((parts.get("fraction") or "0").replace(",", "."))
    zone = (parts.get("zone") or "").replace(":", "")
    offset = 0 if not zone[1:].isdigit() else (int(zone[1:3]) * 60 + int(zone[3:])) * (-60 if zone[0] == "-" else 60)
    return 3600 * hour + 60 * minute + second + fraction - offset


def day_comes_first(dates: Sequence[WrittenDate], default: str | None = None) -> bool:
    """Whether the first number is the day, by the dates of a column that are valid in one order only. If all are
    ambiguous, the default is used: "day first" or "month first". Without a default, the month comes first if the sign
    is a slash.
    """
    open_order = [date for date in dates if date.sign]
    says_day = sum(date.day > 12 for date in open_order)
    says_month = sum(date.month > 12 for date in open_order)
    if says_day != says_month:
        return says_day > says_month
    return default == "day first" if default else not any(date.sign == "/" for date in open_order)


def read_dates(texts: Sequence[str], default: str | None = None) -> tuple[NDArray[np.float64], str]:
    """Seconds since 1970, with NaN for cells that are not dates; and "day first" or "month first"."""
    cells = [date_of(text) for text in texts]
    day_first = day_comes_first([cell for cell in cells if cell is not None], default)
    seconds = [np.nan if cell is None else seconds_since_1970(cell, day_first=day_first) for cell in cells]
    return np.array(seconds, dtype=np.float64), "day first" if day_first else "month first"


def have_open_order(texts: Sequence[str]) -> bool:
    """Whether the order of day and month matters for some of these texts."""
    return any(date is not None and date.sign for date in map(date_of, texts))


def seconds_since_1970(date: WrittenDate, *, day_first: bool) -> float:
    """Seconds since 1970; NaN for invalid days."""
    month, day = (date.month, date.day) if day_first or not date.sign else (date.day, date.month)
    try:
        since = datetime.datetime(date.year, month, day) - EPOCH
    except ValueError:
        return np.nan
    return since.total_seconds() + date.seconds


def dates_in(column: pa.ChunkedArray, how: str) -> NDArray[np.float64]:
    """Seconds since 1970 of each cell of a column of texts, with NaN for empty cells."""
    return by_text(column, lambda texts: read_dates(texts, how)[0])
