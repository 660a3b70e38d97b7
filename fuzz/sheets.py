"""Excel files whose parts are damaged, and dates in all the ways in which people write them."""

from __future__ import annotations

import datetime
import io
import re
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa

from fuzz.mutations import Rng, one_of, with_wrong_bytes
from hidegl.basics.archives import DamagedFileError
from hidegl.basics.errors import OperationError, UsageError
from hidegl.embedding import TableEncoder
from hidegl.embedding.column_kinds import kind_of
from hidegl.embedding.dates import dates_in
from hidegl.files.opening import open_table

EPOCH = datetime.date(1970, 1, 1)
ENGLISH = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
FORMS = (
    lambda d: f"{d:%Y-%m-%d}",
    lambda d: f"{d.day}/{d.month}/{d.year}",
    lambda d: f"{d:%d/%m/%Y}",
    lambda d: f"{d:%m/%d/%Y}",
    lambda d: f"{d:%d.%m.%Y}",
    lambda d: f"{d:%d-%m-%y}",
    lambda d: f"{ENGLISH[d.month - 1]} {d:%d, %Y}",
    lambda d: f"{d.day} {ENGLISH[d.month - 1]} {d.year}",
    lambda d: f"{d.day}. {ENGLISH[d.month - 1]}. {d.year}",
    lambda d: f"{d:%Y/%m/%d}",
    lambda d: f"{d:%Y-%m-%d}T00:00:00Z",
    lambda d: f"{d:%Y-%m-%d} 00:00",
    lambda d: f"{d:%m/%d/%Y} 12:00 AM",
)
EMPTY = ("", "n/a", "NA", "-", "unknown", "none", "?")
RUBBISH = (
    "31/31/2020",
    "soon",
    "2020-13-45",
    "99.99.9999",
    "x" * 60,
    "12:61",
    "Smarch 3, 2020",
    "٣/٤/٢٠٢٠",
    "1e400",
    "0/0/0",
    "\ud7ff",
)
NUMBERS = (
    "1e999",
    "-1e999",
    "nan",
    "",
    "99999999999",
    "-5",
    "2958466",
    "0.0000001",
    "x",
    "1.5e5",
    "9" * 400,
    "60",
    "61",
)


def prepare(folder: Path) -> None:
    book = openpyxl.Workbook()
    hidden, sheet = book.active, book.create_sheet("tickets")
    hidden.title, hidden.sheet_state = "notes", "hidden"
    hidden.append(["not", "this"])
    sheet.append(["day", "moment", "price", "paid", "text", "share", "length"])
    for i in range(40):
        day = datetime.date(2020, 1, 1) + datetime.timedelta(days=17 * i)
        moment = datetime.datetime(2021, 3, 4, i % 24, 30)
        sheet.append([day, moment, i * 1.25, i % 2 == 0, f"ticket {i}", i / 40, datetime.timedelta(minutes=i)])
    book.save(folder / "base.xlsx")


def case(folder: Path, rng: Rng) -> str | None:
    return judge_dates(rng) if rng.random() < 0.5 else judge_book(folder, rng)


# Books


def judge_book(folder: Path, rng: Rng) -> str | None:
    path = folder / "here.xlsx"
    damage(folder / "base.xlsx", path, rng)
    try:
        table = open_table(path)
        table.take(np.arange(min(3, table.n_rows)), table.names)
        whole = table.take(np.arange(table.n_rows), table.names)
    except (UsageError, OperationError, DamagedFileError) as error:
        line = str(error)
        return None if "\n" not in line and str(path) in line else f"refused by {line!r}"
    except zipfile.BadZipFile:
        return "refused by zipfile"
    return judge_columns(whole)


def damage(source: Path, path: Path, rng: Rng) -> None:
    with zipfile.ZipFile(source) as book:
        parts = {part.filename: book.read(part) for part in book.infolist()}
    for _ in range(int(rng.integers(1, 4))):
        name = one_of(rng, sorted(parts)) if rng.random() < 0.4 else "xl/worksheets/sheet2.xml"
        if name in parts:
            parts[name] = damaged_part(parts[name], rng)
            if rng.random() < 0.05:
                del parts[name]
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as book:
        for name, part in parts.items():
            book.writestr(name, part)
    path.write_bytes(with_wrong_bytes(content.getvalue(), rng) if rng.random() < 0.15 else content.getvalue())


def damaged_part(part: bytes, rng: Rng) -> bytes:
    """Another value, type, style or place of a cell; or wrong bytes."""
    way = rng.random()
    if way < 0.2:
        return with_wrong_bytes(part, rng)
    pattern, others = one_of(
        rng,
        [
            (rb"<v>[^<]*</v>", [f"<v>{number}</v>".encode() for number in NUMBERS]),
            (rb' t="\w+"', [b' t="d"', b' t="s"', b' t="b"', b' t="e"', b' t="str"', b' t="n"', b""]),
            (rb' s="\d+"', [b' s="0"', b' s="1"', b' s="2"', b' s="99999"', b' s="-1"', b""]),
            (
                rb' r="[A-Z]+\d+"',
                [b' r="A1"', b' r="ZZZZ1"', b' r="A0"', b' r="B99999999999"', b' r="7"', b"", b' r="C3"'],
            ),
            (
                rb'formatCode="[^"]*"',
                [b'formatCode="yyyy"', b'formatCode="[h]:mm"', b'formatCode="@"', b'formatCode=""'],
            ),
            (rb'state="\w+"', [b'state="visible"', b'state="veryHidden"', b'state="?"']),
        ],
    )
    places = [found.span() for found in re.finditer(pattern, part)]
    for start, end in (
        sorted({one_of(rng, places) for _ in range(int(rng.integers(1, 4)))}, reverse=True) if places else ()
    ):
        part = part[:start] + one_of(rng, others) + part[end:]
    return part


def judge_columns(table: Any) -> str | None:
    """Kinds are found, and what is learned from is finite."""
    for name in table.column_names:
        kind_of(name, table.column(name))
    with suppress(ValueError):  # nothing is left to learn from, in words
        encoder = TableEncoder().fit(table)
        if not np.isfinite(encoder.transform(table)).all():
            return "columns became numbers that are not finite"
    return None


# Dates


def judge_dates(rng: Rng) -> str | None:
    days = rng.integers(1, 23_000, size=60)
    dates = [EPOCH + datetime.timedelta(days=int(day)) for day in days]
    form = one_of(rng, FORMS)
    cells: list[str | None] = [form(date) for date in dates]
    wrong = rng.choice(60, size=int(rng.integers(0, 5)), replace=False)
    for row in wrong.tolist():
        cells[row] = one_of(rng, [None, *EMPTY, *RUBBISH])
    column = pa.chunked_array([pa.array(cells, pa.string())])
    kind = kind_of("when", column)
    if kind.name != "date":
        return f"{cells[:3]} with {[cells[row] for row in wrong]} are {kind}"
    read = dates_in(column, kind.how)
    right = np.delete(np.arange(60), wrong)
    seconds = 86_400.0 * days[right]
    if form is FORMS[5]:  # years of two digits are in one of two centuries
        seconds = np.where(days[right] >= (datetime.date(2070, 1, 1) - EPOCH).days, read[right], seconds)
    if not np.array_equal(read[right], seconds):
        first = right[read[right] != seconds][0]
        return f"{cells[first]!r} was read as {read[first] / 86_400} days, not {days[first]} ({kind})"
    return judge_columns(pa.table({"when": column, "x": np.arange(60.0)}))
