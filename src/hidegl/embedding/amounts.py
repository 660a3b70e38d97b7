"""Numbers as people write them: "$1,004.86", "17,70", "12 %", "1 250 kg", "(3.5)", "66k", "2:05:30".

A cell is a sign or parentheses, a currency, digits with a decimal sign and separators of thousands, and a unit. The
column decides whether point or comma is the decimal sign: it is the comma in "1.004,86" and "17,7", and the point in
"0.5" and "1,004.86". A column has one unit. Cells with another unit have no value: 5 g are not 5 kg. A time such as
"2:05:30" is a number of seconds, and "2:05" one of minutes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hidegl.embedding.cell_words import by_text

CURRENCIES = r"[$€£¥₹₽₩₺₪฿¢]|US\$|USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|CZK|BRL|R\$|Rs\.?|kr\.?|Fr\.?|zł"
MINUS = "\u2212\u2013-"
SPACES = " '\u2019\u202f\u2009"
"""Signs that separate thousands, in addition to point and comma."""

NO_UNIT = r"\s\d().,;:+!?\"'=<>#|\\_-"
AMOUNT = re.compile(
    rf"(?P<open>\()?(?P<sign>[+{MINUS}]?)\s*(?P<currency>{CURRENCIES})?\s*(?P<inner>[+{MINUS}]?)"
    rf"(?P<digits>\d[\d.,{SPACES}]*|[.,]\d+)(?P<power>[eE][-+]?\d+)?"
    rf"\s*(?P<unit>[^{NO_UNIT}]{{1,15}})?(?P<close>\))?"
)
GROUPS = re.compile(rf"\d{{1,3}}(?:[{SPACES}]\d{{3}})+(?:[.,]\d*)?")
TIME = re.compile(r"(\d{1,4}):([0-5]\d)(?::([0-5]\d)(?:[.,]\d+)?)?")
THOUSANDS = {"k": 1e3, "K": 1e3, "M": 1e6, "Mio": 1e6, "mio": 1e6, "mln": 1e6, "bn": 1e9, "Mrd": 1e9}
"""Words for thousands and millions. The letter m is a metre."""

SAME_UNITS = {"eur": "€", "usd": "$", "us$": "$", "gbp": "£", "jpy": "¥", "inr": "₹", "percent": "%", "pct": "%"}
ORDINALS = ("st", "nd", "rd", "th")
CODE = re.compile(r"[-+]?0[0-9xX]|\+\d{7,}|\d{16,}$")
"""Amounts have no leading zeros, so digits after one are a code, and so are phone numbers and 16 digits."""

LONGEST = 40
"""The maximum length of a number."""


class Amount(NamedTuple):
    """The parts of a number, before its points and commas are interpreted."""

    digits: str
    power: str
    is_negative: bool
    unit: str
    times: float = 1.0
    """The factor, such as 1,000 in "66k"."""


def amount_of(text: str, *, codes: bool = False) -> Amount | None:
    """The parts of a number; None if the text is not one. With `codes`, 007 is the number 7."""
    text = text.strip()
    if (time := TIME.fullmatch(text)) is not None:
        first, second, third = (int(part or 0) for part in time.groups())
        return Amount(str((first * 60 + second) * (60 if time[3] else 1) + third), "", is_negative=False, unit=":")
    found = AMOUNT.fullmatch(text) if len(text) <= LONGEST else None
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    if not codes and CODE.match(text):
        return None
    currency, unit = found["currency"] or "", (found["unit"] or "").strip()
    times = THOUSANDS.get(unit, 1.0)
    unit = "" if unit in THOUSANDS else unit
    if (currency and unit) or (found["sign"] and found["inner"]) or unit.lower() in ORDINALS:
        return None
    digits = found["digits"].strip()
    if any(space in digits for space in SPACES) and not GROUPS.fullmatch(digits):
        return None
    digits = digits.translate(dict.fromkeys(map(ord, SPACES)))
    is_negative = bool(found["open"]) or (found["sign"] or found["inner"] or "+") in MINUS
    unit = currency or unit
    return Amount(digits, found["power"] or "", is_negative, SAME_UNITS.get(unit.lower(), unit), times)


def decimal_of(cells: Sequence[str], default: str = ".") -> str:
    """The decimal sign of a column; the default if its digits are ambiguous."""
    votes: Counter[str] = Counter()
    for digits in cells:
        point, comma = digits.rfind("."), digits.rfind(",")
        if point >= 0 and comma >= 0:
            votes["." if point > comma else ","] += 1
        elif point >= 0 or comma >= 0:
            sign, other = (".", ",") if point >= 0 else (",", ".")
            if digits.count(sign) > 1:
                votes[other] += 1
            elif not re.fullmatch(rf"[1-9]\d{{0,2}}\{sign}\d{{3}}", digits):  # 1,234 may be either
                votes[sign] += 1
    return default if votes["."] == votes[","] else max(votes, key=lambda sign: votes[sign])


def number_of(amount: Amount, decimal: str) -> float:
    """The value of a cell; NaN if its points and commas contradict the decimal sign."""
    separator = "," if decimal == "." else "."
    whole, _, fraction = amount.digits.partition(decimal)
    if separator in whole and not re.fullmatch(rf"\d{{1,3}}(?:\{separator}\d{{2,3}})*\{separator}\d{{3}}", whole):
        return np.nan  # 2,80,676 are 280,676 rupees
    if separator in fraction or decimal in fraction:
        return np.nan
    value = float(f"{whole.replace(separator, '') or '0'}.{fraction or '0'}{amount.power}") * amount.times
    return -value if amount.is_negative else value


def unit_of(amounts: Sequence[Amount]) -> str:
    """The most frequent unit, as it is written most often. A word is a unit only in at least half of the cells: 2, 3, 4
    and "5more" have none.
    """
    spelled = Counter(amount.unit for amount in amounts if amount.unit)
    units: Counter[str] = Counter()
    for unit, n in spelled.items():
        units[unit.lower()] += n
    most, n = max(units.items(), key=lambda found: found[1], default=("", 0))
    unit = max((unit for unit in spelled if unit.lower() == most), key=lambda unit: spelled[unit], default="")
    return "" if any(letter.isalpha() for letter in unit) and 2 * n < len(amounts) else unit


def read_amounts(texts: Sequence[str], how: str = "", *, codes: bool = False) -> tuple[NDArray[np.float64], str]:
    """The values of different texts of a column, with NaN for texts that are not numbers; and their format: the decimal
    sign, and the unit of most cells with one, such as ".$". If a format is given, its decimal sign is used only if the
    texts are ambiguous.
    """
    cells = [amount_of(text, codes=codes) for text in texts]
    amounts = [cell for cell in cells if cell is not None]
    decimal = decimal_of([amount.digits for amount in amounts], how[:1] or ".")
    unit = how[1:] if how else unit_of(amounts)
    values = [
        np.nan if cell is None or cell.unit.lower() not in ("", unit.lower()) else number_of(cell, decimal)
        for cell in cells
    ]
    found = np.array(values, dtype=np.float64)
    return np.where(np.isfinite(found), found, np.nan), decimal + unit


def amounts_in(column: pa.ChunkedArray, how: str) -> NDArray[np.float64]:
    """The value of each cell of a column of texts that are numbers, with NaN for empty cells."""
    return by_text(column, lambda texts: read_amounts(texts, how, codes=True)[0])
