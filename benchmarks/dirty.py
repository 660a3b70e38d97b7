"""Clean tables written as people write them: money, percentages, units, decimal commas, dates in words, and rubbish.

The number of a column gives its style. A number is written as one of `STYLES`, yes and no in several spellings, names
with stray spaces. One cell in twenty is replaced: in columns of numbers by a word for nothing or by
rubbish such as "see note", in others by an unmistakable word for nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hidegl.embedding.cell_words import is_yes_or_no, yes_or_no
from hidegl.embedding.column_kinds import Kind

REPLACED = 0.05
EMPTY = ("n/a", "NA", "", "null", "missing", "#N/A")
EMPTY_NUMBERS = (*EMPTY, "-", "unknown", "?", "none", "not available")
RUBBISH = ("see note", "error 17", "ask Tom", "approx.", "12 or so")
SPELLINGS = {"yes": ("Yes", "yes", "Y", "TRUE"), "no": ("No", "no", "N", "FALSE")}


def grouped(text: str, separator: str, decimal: str) -> str:
    """The digits of a number with separators of thousands."""
    whole, point, fraction = text.removeprefix("-").partition(".")
    sign = "-" if text.startswith("-") else ""
    return f"{sign}{int(whole):,}".replace(",", separator) + (decimal + fraction if point else "")


def money(text: str) -> str:
    amount = grouped(text, ",", ".")
    return f"-${amount[1:]}" if amount.startswith("-") else f"${amount}"


STYLES: tuple[Callable[[str], str], ...] = (
    money,
    lambda text: grouped(text, ".", ",") + " €",
    lambda text: text.replace(".", ","),
    lambda text: f"{text} %",
    lambda text: f"{text} kg",
    lambda text: grouped(text, " ", "."),
    lambda text: f" {text}cm",
    lambda text: f"({text[1:]})" if text.startswith("-") else text,
)


def dirty_table(texts: pa.Table, kinds: dict[str, Kind], seed: int = 0) -> pa.Table:
    """The table, whose cells are texts, with every column of these kinds written anew."""
    columns = dict(zip(texts.column_names, texts.columns, strict=True))
    for number, (name, kind) in enumerate(kinds.items()):
        columns[name] = pa.array(dirty_column(columns[name].to_pylist(), kind, number, seed))
    return pa.table(columns)


def replaced(n_cells: int, number: int, seed: int = 0) -> NDArray[np.bool_]:
    """Which cells of a column are replaced."""
    return np.random.default_rng([seed, number]).random(n_cells) < REPLACED


def dirty_column(cells: list[str], kind: Kind, number: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng([seed, number, 1])
    style = STYLES[number % len(STYLES)] if kind.name == "number" and all(map(is_plain, cells)) else str
    if kind.name == "number" and number % 2:  # half of the columns have no rubbish but words for nothing
        others: tuple[str, ...] = EMPTY_NUMBERS
    else:
        others = (*EMPTY_NUMBERS, *RUBBISH) if kind.name == "number" else EMPTY
    written = []
    for cell, is_replaced in zip(cells, replaced(len(cells), number, seed), strict=True):
        if is_replaced:
            written.append(str(rng.choice(others)))
        elif kind.name == "number":
            written.append(style(cell) if cell else cell)
        elif kind.how and is_yes_or_no(cell):
            written.append(str(rng.choice(SPELLINGS[yes_or_no(cell)])))
        else:
            written.append(f" {cell} " if rng.random() < 0.1 else cell)
    return written


def is_plain(text: str) -> bool:
    return text.removeprefix("-").replace(".", "", 1).isdecimal() or not text
