"""Words in the cells of a table that mean an empty cell, or yes and no."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

EMPTY_WORDS = (
    *("", "na", "n/a", "n.a.", "n.a", "#n/a", "#na", "<na>", "nan", "null", "(null)", "#null!", "\\n", "nil", "none"),
    *("-", "--", "---", "–", "—", ".", "..", "...", "?", "??", "???", "*", "/"),
    *("missing", "(missing)", "unknown", "(unknown)", "unk", "not known", "not available", "not applicable"),
    *("not specified", "not given", "not provided", "no data", "no answer", "no value", "no info", "undefined"),
    *("blank", "(blank)", "empty", "(empty)", "nd", "n.d.", "n/d", "tbd", "tba", "todo", "pending", "refused"),
    *("#value!", "#ref!", "#div/0!", "#name?", "#num!", "error", "err", "invalid", "inf", "-inf"),
    *(
        "unbekannt",
        "k.a.",
        "k. a.",
        "keine angabe",
        "fehlt",
        "inconnu",
        "inconnue",
        "desconocido",
        "s/d",
        "sconosciuto",
    ),
)
"""Words that mean an empty cell in a column of numbers or dates."""

EMPTY_NAMES = ("", "na", "n/a", "n.a.", "#n/a", "#na", "<na>", "nan", "null", "(null)", "missing", "(missing)")
"""Words that mean an empty cell among names too; there, "none", "unknown" and "-" may be names."""

YES_AND_NO = (
    (("yes", "y", "true", "t", "1"), ("no", "n", "false", "f", "0")),
    (("on",), ("off",)),
    (("ja", "j", "wahr"), ("nein", "n", "falsch")),
    (("oui", "o", "vrai"), ("non", "n", "faux")),
    (("sí", "sì", "si", "s", "verdadero", "vero"), ("no", "n", "falso")),
    (("sim", "s", "verdadeiro"), ("não", "nao", "n", "falso")),
)
"""Words for yes and no, by language."""

LETTERS = tuple(map(set, ("yn", "tf", "jn", "on", "sn")))
"""Pairs of single letters for yes and no. A column with letters of several pairs has other names."""


def bare(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """The texts without surrounding spaces, including no-break spaces."""
    return pc.utf8_trim_whitespace(pc.replace_substring(texts, "\u00a0", " "))


def by_text(column: pa.ChunkedArray, read: Callable[[list[str]], NDArray[np.float64]]) -> NDArray[np.float64]:
    """The result of a function of the different texts, for each cell of a column; NaN for empty cells."""
    encoded = bare(pc.cast(column, pa.string())).combine_chunks().dictionary_encode()
    values = np.append(read(encoded.dictionary.to_pylist()), np.nan)
    return values[pc.fill_null(encoded.indices, len(values) - 1).to_numpy(zero_copy_only=False)]


def without(texts: pa.ChunkedArray, words: tuple[str, ...]) -> pa.ChunkedArray:
    """The texts without these words, in upper or lower case."""
    return texts.filter(pc.invert(pc.is_in(pc.utf8_lower(texts), pa.array(words))))


def are_yes_or_no(names: Iterable[str]) -> bool:
    """Whether names are the words of one language for yes and no, and both occur."""
    words = {name.lower() for name in names}
    letters = {word for word in words if len(word) == 1 and word.isalpha()}
    return any(words & set(yes) and words & set(no) and words <= {*yes, *no} for yes, no in YES_AND_NO) and any(
        letters <= pair for pair in LETTERS
    )


def is_yes_or_no(name: str) -> bool:
    return yes_or_no(name.lower()) in ("yes", "no")


def yes_or_no(name: str) -> str:
    """The word "yes" or "no" for words that mean it; other names do not change."""
    word = name.lower()
    if any(word in yes for yes, _ in YES_AND_NO):
        return "yes"
    return "no" if any(word in no for _, no in YES_AND_NO) else name
