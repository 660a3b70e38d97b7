"""Labels in rounds: from files, columns and Studio's file together, on rows that come, go and move. None is lost."""

from __future__ import annotations

import csv
import itertools
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hidegl
from commands import hidegl as command
from commands import refused
from hidegl.annotation.label_store import LabelStore
from hidegl.annotation.row_keys import RowKeys
from hidegl.basics.errors import UsageError
from hidegl.cli.screen import Screen
from hidegl.files.opening import open_table
from hidegl.intake.input_options import InputOptions
from hidegl.intake.sources import Source
from hidegl.intake.tasks import Task

N, PER_ROUND, ROUNDS = 600, 40, 5
CLASSES = np.array([f"kind {number}" for number in range(12)])


def truth_and_columns():
    """Twelve heaps that overlap."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 12, N)
    X = (2 * rng.normal(size=(12, 10))[truth] + 1.5 * rng.normal(size=(N, 10))).round(4)
    return CLASSES[truth], {f"x{j}": X[:, j] for j in range(10)}


def fill_in(path, truth, at_most=PER_ROUND):
    """As a person does, in a spreadsheet: the label in some lines, the other lines deleted, the rest sorted anew."""
    lines = pd.read_csv(path)
    some = lines.sample(min(at_most, len(lines)), random_state=len(lines))
    some["label"] = truth[some["sheet_row"] - 2]
    some.to_csv(path, index=False)
    return len(some)


def labels_in(name):
    table = pd.read_csv(name)
    given = table.columns[-2]
    return int(table[given].sum()), table


@pytest.mark.parametrize("question", ["review", "suggest"])
def test_five_rounds_by_files_alone(question, folder, capsys):
    truth, columns = truth_and_columns()
    first = [name if i < PER_ROUND else None for i, name in enumerate(truth)]
    pd.DataFrame({**columns, "topic": first}).to_csv("t.csv", index=False)
    labels, counts, right = "topic", [], []
    for number in range(ROUNDS):
        accept = "--accept .999" if question == "review" else ""
        command(f"label t.csv --labels {labels} {accept} --effort quick --force")
        n, table = labels_in("t.labelled.csv")
        counts.append(n)
        found = table["label"] if question == "suggest" else hidegl.label("t.csv", labels, effort="quick").labels
        right.append(np.mean(found == truth))
        assert table["topic"].notna().sum() == PER_ROUND
        if question == "suggest":
            command(f"suggest t.csv --labels {labels} -n {PER_ROUND} --force")
        stem = {"review": "t.review", "suggest": "t.to_label"}[question]
        labels = stem + (f"_{number + 1}.csv" if number else ".csv")
        assert fill_in(labels, truth) == PER_ROUND
    assert counts == [PER_ROUND * (number + 1) for number in range(ROUNDS)]
    assert right[-1] > right[0] + 0.03
    assert len(list(folder.glob(f"{stem}*.csv"))) == ROUNDS
    capsys.readouterr()
    command(f"label t.csv --labels {labels} --effort quick --force")
    said = " ".join(capsys.readouterr().err.split())
    assert "240: 40 in the column 'topic', 40 in " in said
    assert "0 changed" in said


def test_five_rounds_by_studios_file(folder):
    truth, columns = truth_and_columns()
    pd.DataFrame(columns).to_csv("t.csv", index=False)
    counts, right = [], []
    for number in range(ROUNDS):
        with LabelStore(Path("t.csv.labels.db"), RowKeys.of(open_table(Path("t.csv")))) as store:
            rows = range(PER_ROUND * number, PER_ROUND * (number + 1))
            for row in rows:
                store.label_named([row], truth[row], "card")
        result = hidegl.label("t.csv", "t.csv.labels.db", effort="quick")
        counts.append(int(result.given.sum()))
        right.append(np.mean(result.labels == truth))
    assert counts == [PER_ROUND * (number + 1) for number in range(ROUNDS)]
    assert right[-1] > right[0] + 0.03


# Ways to mix where labels are

KINDS = {"kept": "column", "by_row.csv": "rows", "by_id.csv": "ids", "in_order.csv": "order", "t.db": "database"}
WAYS = [*itertools.permutations(KINDS, 2), *itertools.permutations(list(KINDS)[:4], 3)][:42]


@pytest.fixture
def mixed(folder):
    """A table with ids, and five places of labels: each has ten rows of its own, and rows 0 and 1, differently."""
    table = {"id": [f"r{i}" for i in range(80)], "x": np.arange(80) % 7, "z": (np.arange(80) * 13) % 11}
    labels = {}
    for number, name in enumerate(KINDS):
        rows = [0, 1, *range(10 + 10 * number, 20 + 10 * number)]
        labels[name] = {row: f"{name} {row % 2}" for row in rows}
    table["kept"] = [labels["kept"].get(i) for i in range(80)]
    pd.DataFrame(table).to_csv("t.csv", index=False)
    by_row = labels["by_row.csv"]
    pd.DataFrame({"row": list(by_row), "label": list(by_row.values())}).to_csv("by_row.csv", index=False)
    by_id = labels["by_id.csv"]
    pd.DataFrame({"id": [f"r{i}" for i in by_id], "label": list(by_id.values())}).to_csv("by_id.csv", index=False)
    pd.DataFrame({"label": [labels["in_order.csv"].get(i) for i in range(80)]}).to_csv("in_order.csv", index=False)
    with LabelStore(Path("t.db"), RowKeys.of(open_table(Path("t.csv")), "id")) as store:
        for row, name in labels["t.db"].items():
            store.label_named([row], name, "card")
    return labels


@pytest.mark.parametrize("way", WAYS, ids=[" + ".join(way) for way in WAYS])
def test_places_of_labels_add_up_and_the_later_one_wins(way, mixed):
    expected = {}
    for name in way:
        expected |= mixed[name]
    options = InputOptions(list(way), "id")
    task = Task.read(Source.of([Path("t.csv")]), Screen(quiet=True).notes, options)
    assert {row: name for row, name in enumerate(task.y) if name is not None} == expected
    counts = next(note.text for note in task.notes if note.about == "labels")
    assert counts.startswith(f"{len(expected)}: 12 in ")
    assert f"{2 * (len(way) - 1)} changed" in counts


def test_at_least_thirty_ways():
    assert len(WAYS) >= 30


def test_numbers_and_names_of_numbers_are_the_same_classes(folder):
    pd.DataFrame({"x": np.arange(20) * 7 % 5, "digit": [3, 4] + [None] * 18}).to_csv("t.csv", index=False)
    Path("more.csv").write_text("row,label\n5,3\n6,4\n")
    assert [one for one in hidegl.read("t.csv", ["digit", "more.csv"]).y if one is not None] == [3, 4, 3, 4]
    Path("more.csv").write_text("row,label\n5,3\n6,four\n")
    found = hidegl.read("t.csv", ["digit", "more.csv"]).y
    assert [one for one in found if one is not None] == ["3", "4", "3", "four"]


def test_a_label_that_was_taken_away_in_studio_stays_away(mixed):
    with LabelStore(Path("t.db"), RowKeys.of(open_table(Path("t.csv")), "id")) as store:
        store.label([1], None, "card")
    task = hidegl.read("t.csv", ["by_row.csv", "t.db"], id="id")
    assert task.y[1] is None
    assert "1 changed, 1 removed" in str(task.notes)


def test_answers_of_a_file_whose_other_labels_are_lost_are_not_used_alone(mixed, capsys):
    command("suggest t.csv --id id --labels by_row.csv -n 5 -o ask.csv")
    lines = pd.read_csv("ask.csv").assign(label="new")
    lines.to_csv("ask.csv", index=False)
    Path("by_row.csv").rename("moved.csv")
    command("label t.csv --id id --labels ask.csv", expected=2)
    said = capsys.readouterr().err
    assert "ask.csv continues from the labels in by_row.csv, which no longer exists" in said
    command("label t.csv --id id --labels kept --labels moved.csv --labels ask.csv", expected=2)
    Path("moved.csv").rename("by_row.csv")
    task = hidegl.read("t.csv", ["ask.csv", "kept"], id="id")
    assert "12 in by_row.csv, 5 in ask.csv, 12 in the column 'kept'" in str(task.notes)
    lines.drop(columns="hidegl").to_csv("ask.csv", index=False)
    assert hidegl.read("t.csv", "ask.csv").labels.n_labels == 5


def test_a_file_that_somebody_filled_in_is_never_replaced(mixed, capsys):
    command("suggest t.csv --labels kept -n 5")
    pd.read_csv("t.to_label.csv").assign(label="new").to_csv("t.to_label.csv", index=False)
    before = Path("t.to_label.csv").read_bytes()
    command("suggest t.csv --labels kept -n 5 -o t.to_label.csv --force", expected=2)
    assert "t.to_label.csv contains 5 labels that somebody filled in" in capsys.readouterr().err
    command("label t.csv --labels kept --effort quick -o t.to_label.csv --force", expected=2)
    command("suggest t.csv --labels kept -n 5 --force")
    assert Path("t.to_label.csv").read_bytes() == before
    assert pd.read_csv("t.to_label_2.csv").label.isna().all()


def test_an_audit_that_was_corrected_adds_to_the_labels(mixed, capsys):
    command("audit t.csv --id id --labels by_row.csv -o audit.csv")
    lines = pd.read_csv("audit.csv")
    lines["label"] = lines["label"].astype(object)
    lines.loc[lines["sheet_row"] == 27, "label"] = "corrected"
    lines.to_csv("audit.csv", index=False)
    y = hidegl.read("t.csv", "audit.csv", id="id").y
    assert {row: name for row, name in enumerate(y) if name is not None} == mixed["by_row.csv"] | {25: "corrected"}


def test_two_files_put_together_keep_every_answer(mixed, capsys):
    """Written before and after the table changed, so that a row number stands for two rows."""
    command("suggest t.csv --id id --labels by_row.csv -n 6 -o one.csv")
    table = pd.read_csv("t.csv").iloc[::-1]
    table.to_csv("t.csv", index=False)
    command("suggest t.csv --id id --labels kept -n 80 -o two.csv", expected=2)
    command("suggest t.csv --id id --labels kept -n 68 -o two.csv")
    one, two = pd.read_csv("one.csv").assign(label="early"), pd.read_csv("two.csv").assign(label="late")
    two = two[~two["id"].isin(one["id"])]
    assert set(one["sheet_row"]) & set(two["sheet_row"])
    pd.concat([one, two]).to_csv("both.csv", index=False)
    y = hidegl.read("t.csv", "both.csv", id="id").y
    found = dict(zip(table["id"], y, strict=True))
    assert all(found[name] == "early" for name in one["id"])
    assert all(found[name] == "late" for name in two["id"])
    capsys.readouterr()


# Columns of the user


@pytest.mark.parametrize(
    "own", [{"label": "mine"}, {"Confidence": "high"}, {"given": True, "unseen": 0.5}, {"sheet_row": 7}]
)
def test_columns_of_the_user_come_back_as_they_were(own, folder, capsys):
    truth, columns = truth_and_columns()
    topic = [name if i < PER_ROUND else "" for i, name in enumerate(truth)]
    pd.DataFrame({**columns, "topic": topic, **own}).to_csv("t.csv", index=False)
    command("label t.csv --labels topic --effort quick --accept .9 --model m.hidegl")
    before, after, review = pd.read_csv("t.csv"), pd.read_csv("t.labelled.csv"), pd.read_csv("t.review.csv")
    pd.testing.assert_frame_equal(after[before.columns], before)
    prefix = "" if "sheet_row" in own else "hidegl_"
    assert after.columns[-4:].tolist() == [f"{prefix}{name}" for name in ("label", "confidence", "given", "unseen")]
    (name,) = [
        column for column in review.columns if re.fullmatch(r"(hidegl_)?sheet_row", column) and column not in own
    ]
    assert review[list(own)].equals(before.loc[review[name] - 2, list(own)].reset_index(drop=True))
    fill = review.columns[-2]
    review[fill] = truth[review[name] - 2]
    review.to_csv("t.review.csv", index=False)
    task = hidegl.read("t.csv", "t.review.csv")
    assert task.labels.n_labels == PER_ROUND + len(review)
    assert (task.y[review[name] - 2] == truth[review[name] - 2]).all()
    command("label t.labelled.csv --labels topic --effort quick --accept .9 -o again.csv")
    pd.testing.assert_frame_equal(pd.read_csv("again.csv"), pd.read_csv("t.labelled.csv"), atol=1e-4, check_exact=False)
    command("predict m.hidegl t.csv -o predicted.csv")
    predicted = pd.read_csv("predicted.csv")
    pd.testing.assert_frame_equal(predicted[before.columns], before)


def test_columns_named_like_a_result_are_the_users_unless_they_hold_one(folder, capsys):
    """A confidence of its own, next to what somebody else labelled."""
    truth, columns = truth_and_columns()
    others = {"label": "guess", "confidence": np.linspace(0, 1, N), "given": [i % 2 == 0 for i in range(N)]}
    topic = [name if i < PER_ROUND else "" for i, name in enumerate(truth)]
    pd.DataFrame({**columns, "topic": topic, **others}).to_csv("t.csv", index=False)
    command("label t.csv --labels topic --effort quick")
    assert "results are in hidegl_label" in capsys.readouterr().err
    found = pd.read_csv("t.labelled.csv")
    assert found.label.eq("guess").all()
    assert found.hidegl_given.sum() == PER_ROUND


# Rows that come, go and move


def edited(table, rng, new):
    """The table after one of the edits that people make."""
    kind = rng.choice(["append", "remove", "reorder", "change"])
    if kind == "append":
        more = pd.DataFrame(
            {"id": [f"new {next(new)}" for _ in range(3)], "text": "a new row", "x": rng.normal(size=3)}
        )
        return pd.concat([table, more], ignore_index=True)
    if kind == "remove":
        return table.drop(index=rng.choice(len(table), 2, replace=False)).reset_index(drop=True)
    if kind == "reorder":
        return table.iloc[rng.permutation(len(table))].reset_index(drop=True)
    table = table.copy()
    table.loc[rng.integers(len(table)), "text"] = f"changed {next(new)}"
    return table


@pytest.mark.parametrize("id_column", [None, "id"])
def test_after_a_hundred_edits_every_label_is_on_its_row_or_gone(id_column, folder):
    rng, new = np.random.default_rng(0), itertools.count()
    table = pd.DataFrame({"id": [f"r{i}" for i in range(60)], "text": [f"text {i}" for i in range(60)]})
    table["x"] = rng.normal(size=60).round(6)
    expected = {f"r{i}": f"class {i % 3}" for i in range(0, 60, 2)}
    table.to_csv("t.csv", index=False)

    def keys():
        rows = open_table(Path("t.csv"))
        return RowKeys.of(rows, id_column)

    with LabelStore(Path("t.db"), keys()) as store:
        for row in range(0, 60, 2):
            store.label_named([row], expected[f"r{row}"], "card")
    pd.DataFrame({"row": range(60), **table}).to_csv("unused.csv", index=False)
    command("suggest t.csv -n 60 -o ask.csv" + (" --id id" if id_column else " --columns x"))
    lines = pd.read_csv("ask.csv")
    original = table["id"].tolist()
    lines["label"] = [expected.get(original[row]) for row in lines["sheet_row"] - 2]
    lines.to_csv("ask.csv", index=False)
    changed = set()
    for _ in range(100):
        before = table
        table = edited(table, rng, new)
        if len(table) < 8:
            break
        merged = before.merge(table, on="id", suffixes=("", "_now"))
        changed |= set(merged.loc[merged["text"] != merged["text_now"], "id"])
        table.to_csv("t.csv", index=False)
        try:
            with LabelStore(Path("t.db"), keys()) as store:
                classes = {one.number: one.name for one in store.classes}
                found = {row: classes[given.label] for row, given in store.labels().items()}
                said = store.changes
        except UsageError:  # all labels are gone
            break
        ids = table["id"].tolist()
        there = set(ids) if id_column else set(ids) - changed
        assert {ids[row]: name for row, name in found.items()} == {k: v for k, v in expected.items() if k in there}
        before_ids = set(before["id"])
        lost = [k for k in expected if k in before_ids and (k not in there)]
        if lost and not (set(lost) <= changed - set(merged.loc[merged["text"] != merged["text_now"], "id"])):
            assert said is not None
        source = hidegl.read("t.csv", "ask.csv", id=id_column, columns=["x"])
        assert {ids[row]: name for row, name in enumerate(source.y) if name is not None} == {
            k: v for k, v in expected.items() if k in there
        }


def test_an_output_is_read_by_content_when_rows_have_moved(folder, capsys):
    truth, columns = truth_and_columns()
    topic = [name if i < PER_ROUND else "" for i, name in enumerate(truth)]
    table = pd.DataFrame({**columns, "topic": topic})
    table.to_csv("t.csv", index=False)
    command("label t.csv --labels topic --effort quick")
    table.drop(columns="topic").iloc[::-1][:-5].to_csv("t.csv", index=False)
    task = hidegl.read("t.csv", "t.labelled.csv")
    assert task.labels.n_labels == PER_ROUND - 5
    assert (task.y[-(PER_ROUND - 5) :] == truth[5:PER_ROUND][::-1]).all()
    assert "5 labelled rows are no longer in the data" in str(task.notes)


def test_a_file_of_version_0_2_goes_on_and_follows_its_rows_from_then(folder):
    Path("t.csv").write_text("a,b\n" + "".join(f"{i},{i * 7 % 5}\n" for i in range(20)))
    table = open_table(Path("t.csv"))
    with LabelStore(Path("t.db"), RowKeys.of(table)) as store:
        store.label_named([3], "x", "card")
        store._file.executescript(
            "DROP TABLE row_keys; DROP TABLE annotators; DELETE FROM facts WHERE name = 'key_columns'; "
            "DROP VIEW labels; DROP TABLE all_labels; DROP TABLE classes; PRAGMA user_version = 1"
        )
    Path("other.csv").write_text("a,b\n" + "".join(f"{i},{i * 7 % 5}\n" for i in reversed(range(20))))
    moved = RowKeys.of(open_table(Path("other.csv")))
    with refused("other-table"):
        LabelStore(Path("t.db"), moved)
    assert hidegl.read("t.csv", "t.db").labels.n_labels == 1
    LabelStore(Path("t.db"), RowKeys.of(table)).close()
    with LabelStore(Path("t.db"), moved) as store:
        assert set(store.labels()) == {16}


def test_equal_rows_share_their_labels_out(folder):
    with Path("t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["a", "b"], *[[1, 2]] * 3, *[[3, 4]] * 3])
    with LabelStore(Path("t.db"), RowKeys.of(open_table(Path("t.csv")))) as store:
        store.label_named([1], "x", "card")
        store.label_named([2], "y", "card")
    Path("t.csv").write_text("a,b\n3,4\n1,2\n1,2\n")
    with LabelStore(Path("t.db"), RowKeys.of(open_table(Path("t.csv")))) as store:
        assert sorted(store.labels()) == [1, 2]
