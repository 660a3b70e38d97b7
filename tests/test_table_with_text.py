"""Tables with a text: its sentences are views of their own, next to the text with the other columns."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hidegl
from commands import hidegl as command
from hidegl import AutoHiDeGL, Predictor
from hidegl.embedding.table_with_text import JOINED, TEXT
from hidegl.files.tables import MemoryTable
from hidegl.intake.chosen_columns import choose_columns

N = 240
OPENINGS = ("the engine of this car", "a choir and a violin", "soup with fresh bread")


@pytest.fixture
def table():
    """Half of what the class depends on is in the text, and the other half is in the columns."""
    rng = np.random.default_rng(0)
    topic, urgent = rng.integers(0, 3, N), rng.integers(0, 2, N)
    return pd.DataFrame(
        {
            "note": [f"{OPENINGS[t]} number {i} was mentioned" for i, t in enumerate(topic)],
            "hours": np.round(rng.normal(2 + 20 * urgent, 2), 1),
            "desk": np.where(urgent == 1, "north", "south"),
            "kind": [f"{t}{u}" for t, u in zip(topic, urgent, strict=True)],
        }
    )


def few(table, n=60):
    return {row: table["kind"][row] for row in range(n)}


def test_a_text_and_columns_are_learned_from_together(table):
    X = table.drop(columns="kind")
    result = hidegl.label(X, few(table), embedder="words", effort="quick")
    assert str(result.task.columns) == "3 columns: 1 number, 1 category, 1 text"
    assert list(result.model.views_) == [TEXT, JOINED]
    right = np.mean(result.labels[60:] == table["kind"][60:])
    alone = hidegl.label(X, few(table), text="note", embedder="words", effort="quick")
    assert right > 0.95 > 0.7 > np.mean(alone.labels[60:] == table["kind"][60:])


def test_a_text_next_to_nothing_else_is_taken_alone(table):
    task = hidegl.read(table[["note", "kind"]], "kind", embedder="words")
    assert str(task.columns) == "the text in 'note'"
    several = hidegl.read(table.assign(id=range(N)), "kind", embedder="words", without=["hours", "desk"])
    assert str(several.columns) == "the text in 'note'"


def test_a_model_of_text_and_columns_predicts_raw_rows(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = table.drop(columns="kind")
    result = hidegl.label(X, few(table), embedder="words", effort="quick")
    result.model.save("notes.hidegl")
    again = hidegl.load("notes.hidegl")
    expected = result.model.predict_proba(X)
    np.testing.assert_allclose(again.predict_proba(X[["desk", "note", "hours"]]), expected)
    assert Predictor("notes.hidegl")(X)["label"].tolist() == again.predict(X).tolist()
    with pytest.raises(ValueError, match="hours"):
        again.predict(X[["note", "desk"]])


def test_the_command_line_labels_predicts_and_reports_text_and_columns(table, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table.assign(kind=table["kind"].where(table.index < 60)).to_csv("notes.csv", index=False)
    asked = "--labels kind --embedder words --effort quick --model m.hidegl --report r.html"
    command(f"label notes.csv {asked}")
    said = capsys.readouterr().err
    assert "learning from 3 columns: 1 number, 1 category, 1 text" in said
    assert "240 texts by words" in said
    assert "views" in said
    assert "the engine of this car" in Path("r.html").read_text()
    table.head(3).drop(columns="kind").to_csv("new.csv", index=False)
    command("predict m.hidegl new.csv --json")
    facts = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [(one["column"], one["kind"]) for one in facts["columns"]] == [
        ("note", "text"),
        ("hours", "number"),
        ("desk", "category"),
    ]
    assert pd.read_csv("new.predicted.csv", dtype=str)["label"].tolist() == table["kind"][:3].tolist()
    command("inspect m.hidegl")
    assert "text and columns" in " ".join(capsys.readouterr().out.split())


def test_numbers_next_to_a_text_count_whatever_their_units(table):
    X = table[["note", "hours"]].assign(hours=table["hours"] * 1e6)
    result = hidegl.label(X, few(table), embedder="words", effort="quick")
    assert np.mean(result.labels[60:] == table["kind"][60:]) > 0.95


def test_preprocess_of_views_is_checked_and_kept(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 5)) + 6 * (np.arange(60) % 2)[:, None]
    y = np.where(np.arange(60) < 10, np.arange(60) % 2, -1)
    views = {"a": 3, "b": 2}
    model = AutoHiDeGL("quick", views=views, preprocess={"b": "mixed"}, random_state=0).fit(X, y)
    model.save(tmp_path / "m.hidegl")
    assert hidegl.load(tmp_path / "m.hidegl").preprocess == {"b": "mixed"}
    with pytest.raises(ValueError, match=r"preprocess\['b'\] must be"):
        AutoHiDeGL("quick", views=views, preprocess={"b": "best"}).fit(X, y)


def test_the_longest_sentences_are_the_text_and_other_texts_are_columns():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "title": [f"about the word {i}" for i in range(90)],
            "body": [f"this is a longer text about the number {i} and more" for i in range(90)],
            "size": rng.normal(size=90),
        }
    )
    import pyarrow as pa

    found = choose_columns(
        MemoryTable(pa.Table.from_pandas(frame)), wanted=None, without=[], id_column=None, label_columns=()
    )
    assert (found.text, found.others) == ("body", ["title", "size"])
