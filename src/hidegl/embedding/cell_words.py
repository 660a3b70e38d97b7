"""Words in the cells of a table that stand for nothing, or for yes and no."""

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
"""What stands for nothing in a column of numbers or dates."""

EMPTY_NAMES = ("", "na", "n/a", "n.a.", "#n/a", "#na", "<na>", "nan", "null", "(null)", "missing", "(missing)")
"""What stands for nothing among names too, where "none", "unknown" and "-" may be names like others."""

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
"""Single letters that are written in one column: "n" and "f" in one are the names of two things."""


def bare(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """The texts without surrounding space; a space that does not break a line is a space too."""
    return pc.utf8_trim_whitespace(pc.replace_substring(texts, "\u00a0", " "))


def by_text(column: pa.ChunkedArray, read: Callable[[list[str]], NDArray[np.float64]]) -> NDArray[np.float64]:
    """The numbers that a function makes of different texts, for each cell of a column; NaN for nothing."""
    encoded = bare(pc.cast(column, pa.string())).combine_chunks().dictionary_encode()
    values = np.append(read(encoded.dictionary.to_pylist()), np.nan)
    return values[pc.fill_null(encoded.indices, len(values) - 1).to_numpy(zero_copy_only=False)]


def without(texts: pa.ChunkedArray, words: tuple[str, ...]) -> pa.ChunkedArray:
    """The texts that are none of these words, in any case of letters."""
    return texts.filter(pc.invert(pc.is_in(pc.utf8_lower(texts), pa.array(words))))


def are_yes_or_no(names: Iterable[str]) -> bool:
    """Whether names are the words of one language for yes and no, with each of both."""
    words = {name.lower() for name in names}
    letters = {word for word in words if len(word) == 1 and word.isalpha()}
    return any(words & set(yes) and words & set(no) and words <= {*yes, *no} for yes, no in YES_AND_NO) and any(
        letters <= pair for pair in LETTERS
    )


def is_yes_or_no(name: str) -> bool:
    return yes_or_no(name.lower()) in ("yes", "no")


def yes_or_no(name: str) -> str:
    """The word "yes" or "no" for a word that means it; other names as they are."""
    word = name.lower()
    if any(word in yes for yes, _ in YES_AND_NO):
        return "yes"
    return "no" if any(word in no for _, no in YES_AND_NO) else name
