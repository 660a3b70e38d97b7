"""Requests of the page: the fields of a JSON object are checked and passed to the session."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from hidegl.annotation.label_events import checked_name, tidy_name
from hidegl.annotation.label_store import ANNOTATOR
from hidegl.basics.errors import UsageError
from hidegl.browser.session import Session
from hidegl.questions.acceptance import check_precision

SOURCES = ("card", "map", "doubts", "review", "unfamiliar", "search", "disputes")
COLOUR = re.compile("#[0-9a-f]{6}")
LONGEST_SEARCH, LONGEST_PERSON = 200, 40

Fields = dict[str, Any]


# Fields


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether a value is a whole number that JSON and numpy represent exactly."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53


def whole(fields: Fields, name: str) -> int:
    value = fields.get(name)
    if not is_whole(value):
        raise UsageError(f"{name} must be a whole number", "wrong-value")
    return value


def wholes(fields: Fields, name: str) -> list[int]:
    value = fields.get(name)
    if not isinstance(value, list) or not all(map(is_whole, value)):
        raise UsageError(f"{name} must be a list of whole numbers", "wrong-value")
    return value


def text(fields: Fields, name: str, longest: int = 1000) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or len(value) > longest:
        raise UsageError(f"{name} must be a text of at most {longest} characters", "wrong-value")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{name} must be a text of complete characters", "wrong-value") from error
    return value


def source(fields: Fields) -> str:
    value = fields.get("source", "card")
    if value not in SOURCES:
        raise UsageError(f"source must be one of {', '.join(SOURCES)}", "wrong-value")
    return value


def precision(fields: Fields) -> float:
    try:
        return check_precision(fields.get("precision"))
    except ValueError as error:
        raise UsageError(str(error), "wrong-value") from error


def rows(session: Session, fields: Fields) -> list[int]:
    """Rows by number; or all rows without a label at given points of the map, or with given words, except rows in
    `without`.
    """
    if "points" not in fields and "words" not in fields:
        return wholes(fields, "rows")
    kept = {*session.store.labels(), *(wholes(fields, "without") if "without" in fields else ())}
    return [row for row in found_rows(session, fields).tolist() if row not in kept]


# Questions


def listed(session: Session, fields: Fields) -> Any:
    """A page of rows: by number, at points of the map, or with given words."""
    start = whole(fields, "start") if "start" in fields else 0
    return session.rows.listed(found_rows(session, fields), max(start, 0))


def found_rows(session: Session, fields: Fields) -> NDArray[np.intp]:
    if "words" in fields:
        return session.contents.search(text(fields, "words", LONGEST_SEARCH))
    if "points" in fields:
        return session.rows.rows_of_points(wholes(fields, "points"), around=fields.get("around") is True)
    found = wholes(fields, "rows")
    if any(not 0 <= row < session.store.n_rows for row in found):
        raise UsageError("there is no such row", "no-such-row")
    return np.array(found, dtype=np.intp)


# Changes


def label(session: Session, fields: Fields) -> Any:
    """Give rows a class by its number or its name, or remove their labels."""
    if isinstance(fields.get("labels"), dict):
        pairs = fields["labels"].items()
        if not all(key.isascii() and key.isdecimal() and len(key) < 16 and is_whole(value) for key, value in pairs):
            raise UsageError("labels must be numbers of classes by numbers of rows", "wrong-value")
        return session.label_each({int(key): value for key, value in pairs}, source(fields))
    chosen = rows(session, fields)
    if "name" in fields:
        return session.label_named(chosen, text(fields, "name"), source(fields))
    number = None if fields.get("class") is None else whole(fields, "class")
    return session.label(chosen, number, source(fields))


def skip(session: Session, fields: Fields) -> Any:
    row, is_unsure = whole(fields, "row"), fields.get("unsure") is True
    return session.change(lambda store: store.skip(row, unsure=is_unsure))


def change_class(session: Session, fields: Fields) -> Any:
    """Change the name, colour or key of a class; without a number, create a class."""
    changed: dict[str, str | None] = {}
    if "name" in fields:
        changed["name"] = text(fields, "name")
    if "colour" in fields:
        if not COLOUR.fullmatch(text(fields, "colour")):
            raise UsageError("colour must be like #3b7dd8", "wrong-value")
        changed["colour"] = fields["colour"]
    if "key" in fields:
        key = text(fields, "key", 1).lower()
        if key and not re.fullmatch("[a-z0-9]", key):
            raise UsageError("a key is a letter or a digit", "wrong-value")
        if key in ("s", "u", "n"):
            raise UsageError(f"{key.upper()} has a meaning already: choose another key", "wrong-value")
        changed["key"] = key or None
    if "number" not in fields:
        return session.change(lambda store: store.new_class(changed.get("name") or ""))
    number = whole(fields, "number")
    return session.change(lambda store: store.change_class(number, **changed))


def merge(session: Session, fields: Fields) -> Any:
    number, into = whole(fields, "number"), whole(fields, "into")
    return session.change(lambda store: store.merge(number, into))


def delete(session: Session, fields: Fields) -> Any:
    number = whole(fields, "number")
    return session.change(lambda store: store.delete(number))


def export(session: Session, fields: Fields) -> Any:
    accept = precision(fields) if fields.get("precision") is not None else None
    return session.export(text(fields, "kind", 20), accept, replace=fields.get("replace") is True)


def files(session: Session, fields: Fields) -> Any:
    """The folder and the names of the files that an export would write."""
    return session.files(precision(fields) if fields.get("precision") is not None else None)


def answer(ask: Callable[[Session, Fields], Any], session: Session, fields: Fields) -> Any:
    """The answer to a request, whose field `by` may have the name of the person."""
    name = tidy_name(text(fields, "by", LONGEST_PERSON)) if "by" in fields else ""
    token = ANNOTATOR.set(checked_name(name, "your name") if name else "")
    try:
        return ask(session, fields)
    finally:
        ANNOTATOR.reset(token)


ACTIONS: dict[str, Callable[[Session, Fields], Any]] = {
    "state": lambda session, _: session.state(),
    "cards": lambda session, _: {"cards": session.rows.cards()},
    "card": lambda session, fields: {"card": session.rows.card(whole(fields, "row"))},
    "rows": listed,
    "doubts": lambda session, _: {"doubts": session.rows.doubts()},
    "unsure": lambda session, fields: session.rows.unsure(precision(fields)),
    "disputes": lambda session, _: {"disputes": session.rows.disputes()},
    "groups": lambda session, _: {"groups": session.rows.groups()},
    "label": label,
    "skip": skip,
    "undo": lambda session, _: session.change(lambda store: store.undo()),
    "redo": lambda session, _: session.change(lambda store: store.redo()),
    "class": change_class,
    "merge": merge,
    "delete": delete,
    "export": export,
    "files": files,
}
