"""Several people who label in Studio: names, different opinions, and rows of which somebody is unsure."""

import sqlite3
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hidegl
from hidegl.annotation.label_schema import VERSION
from hidegl.annotation.label_store import ANNOTATOR, LabelStore
from hidegl.annotation.row_keys import RowKeys
from hidegl.basics.errors import UsageError
from hidegl.browser.asking import ACTIONS, answer
from hidegl.files.opening import open_table
from hidegl.files.tables import MemoryTable
from studio import open_session, write_texts


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_texts(tmp_path / "t.csv")
    return tmp_path


def keys():
    return RowKeys.of(open_table(Path("t.csv")))


def act(store, who, action, *arguments, **options):
    token = ANNOTATOR.set(who)
    try:
        return getattr(store, action)(*arguments, **options)
    finally:
        ANNOTATOR.reset(token)


def opinions(store):
    names = {one.number: one.name for one in store.classes}
    return {row: {who: names[number] for who, number in own.items()} for row, own in store.disputed().items()}


def test_people_disagree_and_one_settles_it(folder):
    with LabelStore(Path("t.db"), keys()) as store:
        act(store, "anna", "label_named", [0, 1, 2], "car", "card")
        act(store, "ben", "label_named", [1], "sea", "card")
        act(store, "ben", "label_named", [2], "car", "card")
        assert opinions(store) == {1: {"anna": "car", "ben": "sea"}}
    with LabelStore(Path("t.db"), keys()) as store:
        assert opinions(store) == {1: {"anna": "car", "ben": "sea"}}
        act(store, "ben", "undo")
        act(store, "ben", "undo")
        assert opinions(store) == {}
        act(store, "ben", "redo")
        assert opinions(store) == {1: {"anna": "car", "ben": "sea"}}
        act(store, "anna", "label_named", [1], "fruit", "disputes")
        assert opinions(store) == {}
        assert len(store.labels()) == 3
        act(store, "ben", "label_named", [1], "sea", "card")
        assert opinions(store) == {}


def labels(store):
    names = {one.number: one.name for one in store.classes}
    return {row: names[given.label] for row, given in store.labels().items()}


def test_an_undo_takes_back_the_last_action_of_the_person_who_asks(folder):
    with LabelStore(Path("t.db"), keys()) as store:
        store.label_named([9], "car", "card")
        act(store, "anna", "label_named", [0, 1], "car", "card")
        act(store, "ben", "label_named", [1, 2], "sea", "card")
        assert store.history[0] == {"": "label of 1 row", "anna": "labels of 2 rows", "ben": "labels of 2 rows"}
        assert act(store, "anna", "undo").annotator == "anna"
        assert labels(store) == {1: "sea", 2: "sea", 9: "car"}
        assert act(store, "anna", "undo") is None
        act(store, "ben", "undo")
        assert labels(store) == {9: "car"}
        act(store, "anna", "redo")
        assert labels(store) == {0: "car", 1: "car", 9: "car"}
    with LabelStore(Path("t.db"), keys()) as store:
        assert labels(store) == {0: "car", 1: "car", 9: "car"}
        act(store, "ben", "redo")
        assert labels(store) == {0: "car", 1: "sea", 2: "sea", 9: "car"}
        assert opinions(store) == {1: {"anna": "car", "ben": "sea"}}


def test_an_action_that_others_build_on_stays(folder):
    with LabelStore(Path("t.db"), keys()) as store:
        act(store, "anna", "label_named", [0], "car", "card")
        act(store, "ben", "label_named", [1], "car", "card")
        with pytest.raises(UsageError, match="others have gone on with the classes that this action changed"):
            act(store, "anna", "undo")
        assert labels(store) == {0: "car", 1: "car"}
        act(store, "ben", "undo")
        act(store, "anna", "undo")
        assert labels(store) == {}


ACTIONS_OF_PEOPLE = st.tuples(
    st.sampled_from(["anna", "ben", ""]),
    st.sampled_from(["label", "label", "take", "merge", "rename", "delete", "undo", "undo", "redo", "skip"]),
    st.integers(0, 9),
    st.integers(1, 4),
)


@given(st.lists(ACTIONS_OF_PEOPLE, max_size=25))
def test_whatever_people_undo_the_file_has_the_same_result(tmp_path_factory, actions):
    path = tmp_path_factory.mktemp("store") / "x.db"
    rows = RowKeys.of(MemoryTable(pa.table({"a": np.arange(10.0)})))
    with LabelStore(path, rows) as store:
        for who, kind, row, number in actions:
            arguments = {
                "label": ("label_named", [row, 9 - row], f"class {number}", "card"),
                "take": ("label", [row], None, "card"),
                "merge": ("merge", row, number),
                "delete": ("delete", number),
                "skip": ("skip", row),
            }.get(kind, (kind,))
            with suppress(UsageError):
                if kind == "rename":
                    act(store, who, "change_class", number, name=f"class {row}")
                else:
                    act(store, who, *arguments)
        known = store.classes, store.skipped(), store.history, labels(store), opinions(store)
    with LabelStore(path, rows) as again:
        assert (again.classes, again.skipped(), again.history, labels(again), opinions(again)) == known


def test_a_person_who_changes_a_label_does_not_disagree(folder):
    with LabelStore(Path("t.db"), keys()) as store:
        act(store, "anna", "label_named", [0], "car", "card")
        act(store, "anna", "label_named", [0], "sea", "card")
        store.label_named([0], "fruit", "card")
        assert opinions(store) == {}
        act(store, "anna", "label_named", [1], "car", "card")
        act(store, "ben", "label_named", [1], "cars", "card")
        numbers = {one.name: one.number for one in store.classes}
        store.merge(numbers["cars"], numbers["car"])
        assert opinions(store) == {}


def test_unsure_is_no_class(folder):
    with LabelStore(Path("t.db"), keys()) as store:
        store.skip(3)
        store.skip(4, unsure=True)
        assert store.skipped(unsure=True) == {4}
    with LabelStore(Path("t.db"), keys()) as store:
        assert (store.skipped(), store.skipped(unsure=True)) == ({3, 4}, {4})
        store.label_named([4], "car", "disputes")
        assert store.skipped(unsure=True) == set()
        store.undo()
        assert store.skipped(unsure=True) == {4}


def test_people_of_studios_file_are_weighed_where_they_disagree(folder):
    with LabelStore(Path("t.db"), keys()) as store:
        for row in range(12):
            act(store, "anna", "label_named", [row], ["fruit", "car", "sea"][row % 3], "card")
        for row in range(6):
            act(store, "ben", "label_named", [row], ["fruit", "car", "sea"][(row + (row > 3)) % 3], "card")
    task = hidegl.read("t.csv", "t.db", text="text", embedder="words", cache=False)
    assert task.labels.n_labels == 10
    assert {who: int(np.sum(said != None)) for who, said in task.labels.disputed.items()} == {"anna": 2, "ben": 2}  # noqa: E711
    assert "2 rows have different labels by anna, ben" in str(task.notes)


def test_a_file_without_people_goes_on(folder):
    with LabelStore(Path("t.db"), keys()) as store:
        store.label_named([3], "car", "card")
        result = "DROP VIEW labels; DROP TABLE all_labels; DROP TABLE classes"
        store._file.executescript(f"{result}; DROP TABLE annotators; PRAGMA user_version = 2;")
    assert hidegl.read("t.csv", "t.db", embedder="words").labels.n_labels == 1
    with LabelStore(Path("t.db"), keys()) as store:
        act(store, "anna", "label_named", [3], "sea", "card")
        assert opinions(store) == {}
    file = sqlite3.connect("t.db")
    assert file.execute("PRAGMA user_version").fetchone() == (VERSION,)
    assert file.execute("SELECT name FROM annotators").fetchall() == [("anna",)]


def test_the_page_sends_a_name_and_gets_what_is_unclear(folder):
    session = open_session(folder / "t.csv", embedder="words")
    try:
        ask = {name: lambda fields, does=does: answer(does, session, fields) for name, does in ACTIONS.items()}
        ask["label"]({"rows": [5], "name": "sea", "by": "  anna "})
        ask["label"]({"rows": [5], "name": "car", "by": "ben"})
        state = ask["skip"]({"row": 7, "unsure": True, "by": "ben"})
        assert state["disputes"] == 2
        numbers = {one["name"]: one["number"] for one in state["classes"]}
        first, second = ask["disputes"]({})["disputes"]
        assert (first["row"], first["opinions"]) == (5, [["anna", numbers["sea"]], ["ben", numbers["car"]]])
        assert (second["row"], second["opinions"]) == (7, [])
        ask["label"]({"rows": [5], "class": numbers["sea"], "source": "disputes", "by": "anna"})
        assert [one["row"] for one in ask["disputes"]({})["disputes"]] == [7]
        assert ask["label"]({"rows": [7], "name": "other / junk", "source": "disputes"})["disputes"] == 0
        for wrong in (3, "x" * 41, "a\u200bb"):
            with pytest.raises(UsageError):
                ask["state"]({"by": wrong})
        assert ANNOTATOR.get() == ""
    finally:
        session.stop()
