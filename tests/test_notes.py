"""Words and warnings that reach people: notes with codes, exit codes, and what is said about new rows and odd input."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from commands import hidegl, refused
from hidegl import AutoHiDeGL, HiDeGL
from hidegl import label as hidegl_label
from hidegl import read as hidegl_read
from hidegl import suggest as hidegl_suggest
from hidegl.basics.coded_texts import CodedText, code_of
from marks import on_unix


def heaps(n=120):
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 1], n // 3)
    return 6 * np.eye(4)[truth] + rng.normal(size=(n, 4)), truth


@pytest.fixture
def table(folder):
    X, truth = heaps()
    frame = pd.DataFrame(X.round(3), columns=list("abcd"))
    frame["side"] = [("left" if t == 0 else "right") if i % 4 == 0 else "" for i, t in enumerate(truth)]
    frame.to_csv("data.csv", index=False)
    return frame


def answered(capsys, command):
    hidegl(f"{command} --json")
    return json.loads(capsys.readouterr().out)


def test_the_majority_stands_beside_the_expected_accuracy(table, capsys):
    hidegl("label data.csv --labels side --effort quick --report report.html")
    said = " ".join(capsys.readouterr().err.split())
    assert "always 'right' would be right in 6" in said
    assert "always “right” would be right in 6" in Path("report.html").read_text()
    found = answered(capsys, "label data.csv --labels side --effort quick -f")
    assert found["majority"]["label"] == "right"
    assert found["majority"]["share"] == pytest.approx(2 / 3, abs=0.05)
    X, truth = heaps()
    model = AutoHiDeGL("quick", random_state=0).fit(X, np.where(np.arange(len(X)) % 4 == 0, truth, -1))
    assert float(model.expected_accuracy_) == model.expected_accuracy_.mean
    assert type(model.majority_.label) is int
    assert str(model.majority_) in model.summary()


def test_notes_have_codes_in_json_and_are_in_the_report(table, capsys):
    cells = table["a"].astype(object)
    cells[[5, 6]] = "see below"
    table.assign(a=cells).to_csv("dirty.csv", index=False)
    found = answered(capsys, "label dirty.csv --labels side --effort quick --report report.html")
    note = {
        "code": "not-understood",
        "text": "a: 2 cells are not understood as numbers, such as 'see below'; they count as empty",
    }
    assert note in found["notes"]
    page = Path("report.html").read_text()
    assert "2 cells are not understood as numbers" in page
    assert "4 of 5 columns are learned from" in page
    assert code_of(CodedText("text", "a-code")) == "a-code"
    assert code_of("text") == "note"


def test_predict_says_which_rows_are_unlike_those_it_knows(table, capsys):
    hidegl("label data.csv --labels side --effort quick --model m.hidegl --quiet")
    new = table[list("abcd")].head(8).astype(object)
    new.loc[2] = ["n/a", "", "-", "unknown"]
    new.loc[3] = ["$1,000,000", *new.loc[3][1:]]
    new.to_csv("new.csv", index=False)
    found = answered(capsys, "predict m.hidegl new.csv")
    assert found["empty_rows"] == 1
    codes = {note["code"]: note["text"] for note in found["notes"]}
    assert codes["empty-rows"].startswith("1 row is empty in all columns of the fit")
    assert codes["outside"] == "a: 1 cell is far outside the range that the model has learned from"
    written = pd.read_csv("new.predicted.csv")
    assert list(written.columns) == [*"abcd", "label", "confidence", "unseen", "familiarity"]
    assert written.familiarity[2] == 0
    assert (written.familiarity.drop([2, 3]) > 0).all()


def test_predictions_replace_earlier_ones(table):
    hidegl("label data.csv --labels side --effort quick --model m.hidegl --quiet")
    table[list("abcd")].head(30).to_csv("new.csv", index=False)
    hidegl("predict m.hidegl new.csv -o once.csv --quiet")
    hidegl("predict m.hidegl once.csv -o twice.csv --quiet")
    assert Path("once.csv").read_text() == Path("twice.csv").read_text()
    pd.read_csv("once.csv").assign(familiarity="near").to_csv("own.csv", index=False)
    hidegl("predict m.hidegl own.csv -o new.csv -f --quiet")
    ours = [f"hidegl_{name}" for name in ("label", "confidence", "unseen", "familiarity")]
    assert list(pd.read_csv("new.csv").columns) == [*pd.read_csv("once.csv").columns, *ours]


def test_predict_says_which_rows_of_a_matrix_are_far_away(folder, capsys):
    X, truth = heaps()
    np.save("X.npy", X)
    np.save("y.npy", np.where(np.arange(len(X)) % 4 == 0, truth, -1))
    hidegl("label X.npy --labels y.npy --effort quick --model m.hidegl --quiet")
    np.save("far.npy", np.concatenate([X[:8], 1e30 * X[:2]]))
    notes = answered(capsys, "predict m.hidegl far.npy")["notes"]
    assert {
        "code": "outside",
        "text": "2 rows have values far outside the range that the model has learned from",
    } in notes


def test_rows_in_which_nothing_is_labelled_are_unfamiliar(folder, capsys):
    X, truth = heaps()
    apart = np.concatenate([X, X[:40] @ np.diag([0, 0, 1, 1]) + [0, 0, 0, 25]])
    names = [("left" if t == 0 else "right") if i % 4 == 0 else "" for i, t in enumerate(truth)] + [""] * 40
    pd.DataFrame(apart.round(3), columns=list("abcd")).assign(side=names).to_csv("data.csv", index=False)
    hidegl("label data.csv --labels side --effort quick --model m.hidegl --quiet")
    pd.DataFrame(apart[120:130].round(3), columns=list("abcd")).to_csv("new.csv", index=False)
    found = answered(capsys, "predict m.hidegl new.csv")
    assert found["unfamiliar_rows"] == 10
    assert "10 of 10 rows are unlike every labelled row" in " ".join(note["text"] for note in found["notes"])


def test_a_text_with_two_labels_is_mentioned(folder, capsys):
    texts = [f"the {['cat', 'dog'][i % 2]} number {i} in the garden" for i in range(40)]
    texts[10], texts[21] = texts[0], "The DOG number 1  in the garden"
    with Path("texts.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [["text", "label"], *([text, "ab"[i % 2] if i < 20 or i == 21 else ""] for i, text in enumerate(texts))]
        )
    command = "label texts.csv --embedder words --effort quick"
    assert "two-labels" not in {note["code"] for note in answered(capsys, command)["notes"]}
    lines = Path("texts.csv").read_text().replace(f"{texts[21]},b", f"{texts[21]},c")
    Path("texts.csv").write_text(lines)
    note = next(note for note in answered(capsys, f"{command} -f")["notes"] if note["code"] == "two-labels")
    assert note["text"].startswith("1 text has different labels in different rows, such as 'the dog number 1 in the")
    assert note["text"].endswith(": 'b' and 'c'")


def test_a_share_may_be_written_in_percent(table, capsys):
    shares = [answered(capsys, f"label data.csv --labels side --effort quick -f --accept {a}") for a in ("0.9", "90%")]
    assert shares[0]["accepted"] == shares[1]["accepted"]
    hidegl("label data.csv --labels side -f --accept many", 2)
    assert "'many' is not a share, such as 0.95 or 95%" in capsys.readouterr().err


@on_unix
@pytest.mark.parametrize("command", ["inspect data.csv --json", "suggest data.csv -n 50 -f"])
def test_a_reader_that_needs_no_more_is_no_error(table, command):
    line = f"{sys.executable} -m hidegl {command} 2> said | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
    assert "Traceback" not in Path("said").read_text()
    assert "Exception" not in Path("said").read_text()


@pytest.mark.parametrize("make", [lambda: AutoHiDeGL("quick", random_state=0), lambda: HiDeGL(20, random_state=0)])
def test_labels_follow_the_index_of_the_rows(make):
    X, truth = heaps()
    y = pd.Series(np.where(np.arange(len(X)) % 4 == 0, truth, -1))
    frame = pd.DataFrame(X)
    expected = make().fit(frame, y).transduction_
    np.testing.assert_array_equal(make().fit(frame, y.sample(frac=1, random_state=0)).transduction_, expected)
    np.testing.assert_array_equal(make().fit(frame, y.to_numpy()).transduction_, expected)
    with pytest.raises(
        ValueError, match="y must have the index of X: 20 labels of the index of X are not in that of y"
    ):
        make().fit(frame, y.set_axis(range(20, len(X) + 20)))


def test_labels_of_python_follow_the_index_of_a_data_frame():
    X, truth = heaps()
    frame, y = pd.DataFrame(X, columns=list("abcd")), pd.Series(np.where(truth == 0, "left", "right"))
    expected = hidegl_label(frame, y.where(y.index % 4 == 0)).labels
    shuffled = y.where(y.index % 4 == 0).sample(frac=1, random_state=0)
    np.testing.assert_array_equal(hidegl_label(frame, shuffled).labels, expected)
    np.testing.assert_array_equal(hidegl_label(frame, shuffled.dropna()).labels, expected)
    with refused("not-in-data"):
        hidegl_label(frame, y.set_axis(range(20, len(X) + 20)))


def test_files_for_people_count_rows_as_a_spreadsheet(table, capsys):
    table.to_json("data.jsonl", orient="records", lines=True)
    hidegl("suggest data.csv --labels side -n 3 -o ask.csv")
    hidegl("suggest data.jsonl --labels side -n 3 -o ask_lines.csv")
    assert "(from" in capsys.readouterr().out
    sheet, lines = pd.read_csv("ask.csv"), pd.read_csv("ask_lines.csv")
    np.testing.assert_array_equal(sheet["sheet_row"], lines["row"] + 2)
    pd.DataFrame({"sheet_row": [2, 3, 62, 63], "side": ["left", "left", "right", "right"]}).to_csv(
        "four.csv", index=False
    )
    labels = hidegl_read("data.csv", "four.csv").y
    assert np.flatnonzero(labels != np.array(None)).tolist() == [0, 1, 60, 61]


def test_labels_that_hidegl_chose_make_the_estimate_low(table, capsys):
    hidegl("suggest data.csv --without side -n 12 -o ask.csv")
    ask = pd.read_csv("ask.csv")
    ask["label"] = heaps()[1][ask["sheet_row"] - 2]
    ask.to_csv("ask.csv", index=False)
    capsys.readouterr()
    hidegl("label data.csv --without side --labels ask.csv --effort quick --json --report r.html")
    facts = json.loads(capsys.readouterr().out.splitlines()[-1])
    expected = facts["expected_accuracy"]
    assert expected["high"] == 1
    assert f"({100 * expected['low'] // 1:.0f} to 100 %)" in Path("r.html").read_text()
    assert "more may be right than that" in str(facts["notes"])
    hidegl("label data.csv --labels side --effort quick -f")
    assert "more may be right" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("label https://example.org/a.csv", "https://example.org/a.csv is an address, and hidegl reads files"),
        ("label s3://bucket/a.csv", "s3://bucket/a.csv is an address, and hidegl reads files: download it first"),
        ("label data.csv --labels http://example.org/a.csv", "http://example.org/a.csv is an address"),
        ("suggest data.csv -n 0", "hidegl: -n 0: ask for one row or more"),
        ("studio data.csv --port 80000", "--port must be 0 (any that is free) to 65,535, got 80,000"),
        ("label data.csv --labels a", "--labels a contains "),
        ("label named.csv --labels name", "--labels name: 120 of 120 rows have a name that no other row has"),
        (
            "label named.csv --text name --labels side --embedder openai",
            "'openai' is a service, and hidegl sends no",
        ),
    ],
)
def test_wrong_uses_end_with_the_right_line(table, capsys, arguments, line):
    table.assign(name=[f"ticket number {i} of somebody" for i in range(120)]).to_csv("named.csv", index=False)
    with pytest.raises(AssertionError):
        hidegl(arguments)
    said = " ".join(capsys.readouterr().err.split())
    assert line.replace("--labels a contains ", "the column 'a' contains") in said


def test_entries_that_are_no_numbers_are_refused_in_words():
    X, truth = heaps()
    y = np.where(np.arange(len(X)) % 4 == 0, truth, -1)
    model = AutoHiDeGL("quick")
    with refused("masked"):
        model.fit(np.ma.masked_array(X, np.arange(X.size).reshape(X.shape) < 3), y)
    model.fit(np.ma.masked_array(X, False), y)
    with refused("numbers"):
        model.fit(np.full((len(X), 2), np.datetime64("2020-01-01")), y)
    frame = pd.DataFrame(X).round().astype("Int64")
    model.fit(frame, y)
    frame.iloc[3, 2] = pd.NA
    with refused("gaps"):
        model.fit(frame, y)


def test_data_frames_whose_columns_are_numbers_are_refused_in_words():
    with pytest.raises(ValueError, match=r"must have texts as names: data.rename\(columns=str\)"):
        hidegl_label(pd.DataFrame(heaps()[0]), heaps()[1])


def test_values_in_messages_are_short_and_plain():
    X, truth = heaps()
    y = np.where(np.arange(len(X)) % 4 == 0, truth, -1)
    with pytest.raises(ValueError, match=r"it differs in 1, 9$"):
        AutoHiDeGL("quick", class_prior={np.int64(0): 0.5, np.int64(9): 0.5}).fit(X, y)
    with pytest.raises(TypeError, match=r"got an array of the shape \(120,\): only 120 rows have no label$"):
        hidegl_suggest(X, y)
    with pytest.raises(ValueError, match=r"n_points must be .*got -3"):
        HiDeGL(np.int64(-3)).fit(X, y)


def test_what_is_said_of_labels_is_plain_python():
    X, truth = heaps()
    model = AutoHiDeGL("quick", random_state=0).fit(X, np.where(np.arange(len(X)) % 4 == 0, truth, -1))
    for said in (model.audit()[0], model.suggestions(1)[0], model.majority_):
        assert "np." not in repr(said)


def test_rows_of_tables_without_a_text_are_shown_by_their_columns(table, capsys):
    hidegl("suggest data.csv --labels side -n 3")
    shown = capsys.readouterr().out
    assert {*"abc"} <= {*shown.split()}
    written = pd.read_csv("data.to_label.csv")
    assert [name for name in written.columns if name in table.columns] == list(table.drop(columns="side").columns)
    hidegl("label data.csv --labels side --effort quick --report r.html --quiet")
    assert '<th class="own">c</th>' in Path("r.html").read_text()
