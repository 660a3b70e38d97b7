"""Weak sources that come with data: columns, files, and what people see of them."""

import json

import numpy as np
import pandas as pd
import pytest

import hidegl
from commands import hidegl as command
from hidegl.basics.errors import UsageError

NAMES = np.array(["bill", "login", "refund"])


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table with the columns a to d, topic (12 labels), llm (right in 80 %) and truth."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = (2.4 * rng.normal(size=(3, 4)))[y] + rng.normal(size=(300, 4))
    said = np.where(rng.random(300) < 0.8, y, (y + 1) % 3)
    frame = pd.DataFrame(X, columns=list("abcd")).round(4)
    frame["topic"] = [NAMES[code] if row < 12 else None for row, code in enumerate(y)]
    frame["llm"] = NAMES[said]
    frame.loc[40:90, "llm"] = frame.loc[40:90, "llm"].str.upper()
    frame.loc[100, "llm"] = "As a language model, I cannot say"
    frame["truth"] = NAMES[y]
    monkeypatch.chdir(tmp_path)
    frame.to_csv("t.csv", index=False)
    return frame


def test_label_with_a_weak_column(table, capsys):
    command("label t.csv --labels topic --weak llm --without truth --effort quick --json")
    found = json.loads(capsys.readouterr().out)
    out = pd.read_csv("t.labelled.csv")
    assert np.mean(out["label"] == out["truth"]) > 0.93
    assert out["llm"].tolist() == table["llm"].tolist()
    (source,) = found["sources"]
    assert (source["name"], source["rows"], source["checked"]) == ("llm", 299, 12)
    assert abs(source["accuracy"] - 0.8) < 0.1
    assert source["used"]
    texts = " ".join(note["text"] for note in found["notes"])
    assert "'BILL' counts as 'bill'" in texts
    assert "'As a language model, I cannot say' in 1 row is left out" in texts
    learned = {column["column"]: column["why"] for column in found["columns"] if not column["learned"]}
    assert learned["llm"] == "a weak source"


def test_files_and_names_of_sources(table, capsys):
    some = table[["llm"]].rename(columns={"llm": "label"}).iloc[::3].assign(row=range(0, 300, 3))
    some[["row", "label"]].to_csv("rules.csv", index=False)
    command("label t.csv --labels topic --weak llm:gpt --weak rules.csv --without truth --effort quick --json")
    assert [source["name"] for source in json.loads(capsys.readouterr().out)["sources"]] == ["gpt", "rules"]
    command("label t.csv --labels topic --weak llm --weak rules.csv:llm -o b.csv", expected=2)
    assert "two sources are called 'llm'" in capsys.readouterr().err


def test_no_given_label_at_all(table, capsys):
    command("label t.csv --weak llm --without truth,topic --effort quick -o out.csv --accept .8")
    told = capsys.readouterr()
    assert "you gave no label" in told.err + told.out
    out = pd.read_csv("out.csv")
    accepted = out["label"].notna()
    assert accepted.mean() < 1 or np.mean(out["label"] == out["truth"]) > 0.9
    assert np.mean(out["label"][accepted] == out["truth"][accepted]) > 0.8 if accepted.any() else True
    assert not out["given"].any()


def test_a_model_made_from_sources_alone_is_saved_shown_and_predicts(table, capsys):
    command("label t.csv --weak llm --without truth,topic --effort quick -o out.csv --model m.hidegl --report r.html")
    command("predict m.hidegl t.csv -o p.csv")
    assert np.mean(pd.read_csv("p.csv")["label"] == table["truth"]) > 0.9
    capsys.readouterr()
    command("inspect m.hidegl --json")
    assert "right in about" in json.loads(capsys.readouterr().out)["weak source llm"]
    command("report m.hidegl t.csv -o again.html")
    command("suggest t.csv -n 3 --weak llm --without truth,topic")
    command("audit t.csv --weak llm --without truth,topic")


def test_several_people_may_be_one_weak_source(table):
    said = ["bill", "login", *table["truth"][1:5]]
    people = pd.DataFrame({"row": [0, 0, 1, 2, 3, 4], "label": said, "annotator": [*"abaabb"]})
    task = hidegl.read(table.drop(columns="truth"), "topic", weak={"crowd": people})
    assert list(task.weak.sources) == ["crowd", "crowd: a", "crowd: b"]
    assert task.weak.sources["crowd"][0] is None
    assert (task.weak.sources["crowd: a"][0], task.weak.sources["crowd: b"][0]) == ("bill", "login")


def test_audit_lists_sources_and_their_suspects(table, capsys):
    command("audit t.csv --labels topic --weak llm --without truth --json")
    (source,) = json.loads(capsys.readouterr().out)["sources"]
    rows = [one["row"] for one in source["doubtful"]]
    wrong = table["llm"].str.lower() != table["truth"]
    assert len(rows) == 20
    assert wrong[rows].mean() > 0.9


def test_python(table):
    frame = table.drop(columns="truth")
    found = hidegl.label(frame, "topic", weak={"llm": "llm"}, effort="quick")
    assert np.mean(found.labels == table["truth"]) > 0.93
    assert found.model.sources_[0].name == "llm"
    P = pd.DataFrame(np.eye(3)[[NAMES.tolist().index(name) for name in table["truth"]]], columns=NAMES)
    by_numbers = hidegl.label(frame.drop(columns="llm"), "topic", weak={"sure": 0.8 * P + 0.1}, effort="quick")
    assert np.mean(by_numbers.labels == table["truth"]) > 0.95
    assert hidegl.audit(frame, "topic", weak={"llm": "llm"})[0].row < 12


def test_weak_labels_are_whole_numbers_where_given_ones_are():
    y, text = [0, 1, 0, 1, None, None, None, None], ["0", "1", "0", "1", "0", "1", "0", "1"]
    X = np.array([[code, code] for code in (0, 1, 0, 1, 0, 1, 0, 1)], float)
    found = hidegl.label(X, y, weak={"llm": text}, effort="quick")
    assert found.labels.tolist() == [0, 1, 0, 1, 0, 1, 0, 1]


def test_names_differ_without_given_labels_too(table):
    task = hidegl.read(table.drop(columns=["truth", "topic"]), weak={"llm": "llm"})
    assert sorted({name for name in task.weak.sources["llm"] if name}) == NAMES.tolist()


@pytest.mark.parametrize(
    ("weak", "message"),
    [
        ({"llm": "lllm"}, "weak lllm: there is no such column and no such file: did you mean 'llm'"),
        ({"llm": ["a"]}, "weak has 1 labels, but the data has 300 rows"),
        ({"llm": [None] * 300}, "there is no label in labels, only blanks"),
    ],
)
def test_errors(table, weak, message):
    with pytest.raises(UsageError, match=message):
        hidegl.label(table, "topic", weak=weak)


# Probabilities


@pytest.fixture
def numbers(table):
    """probabilities.csv for every second row, by row number, with classes in capitals."""
    truth = [NAMES.tolist().index(name) for name in table["truth"]]
    P = 0.6 * np.eye(3)[truth] + 0.4 * np.random.default_rng(3).dirichlet(np.ones(3), len(truth))
    frame = pd.DataFrame(P.round(3), columns=[name.upper() for name in NAMES])
    frame.insert(0, "row", range(len(frame)))
    frame = frame.iloc[::2]
    frame.to_csv("probabilities.csv", index=False)
    return frame


def test_a_file_with_a_probability_for_each_class(table, numbers, capsys):
    command("label t.csv --labels topic --weak probabilities.csv:lm --without truth,llm --effort quick --json")
    found = json.loads(capsys.readouterr().out)
    (source,) = found["sources"]
    assert (source["name"], source["rows"]) == ("lm", 150)
    out = pd.read_csv("t.labelled.csv")
    assert np.mean(out["label"] == out["truth"]) > 0.93
    assert set(out["label"]) == set(NAMES)
    in_python = hidegl.label(table.drop(columns=["truth", "llm"]), "topic", weak={"lm": numbers}, effort="quick")
    assert np.array_equal(in_python.labels, out["label"])
    task = hidegl.read(table.drop(columns=["truth", "llm"]), "topic", weak={"lm": numbers})
    assert "150 by 'lm'" in [note.text for note in task.notes]
    best = task.weak.by_class()["lm"]
    assert best[1] is None
    assert best[0] == NAMES[numbers.iloc[0, 1:].to_numpy(float).argmax()]


def test_probabilities_of_digits_are_those_of_numbers():
    y = [0, 1, 0, 1, None, None, None, None]
    P = pd.DataFrame({"0": [1.0, 0] * 4, "1": [0, 1.0] * 4})
    found = hidegl.label(np.array([[code, code] for code in (0, 1) * 4], float), y, weak={"lm": P}, effort="quick")
    assert found.labels.tolist() == [0, 1] * 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.assign(BILL=-1.0), "line 2 must have a probability from 0 on for each class"),
        (lambda frame: frame.assign(row=range(400, 550)), "there is no row 400"),
        (lambda frame: frame.assign(BILL=0, LOGIN=0, REFUND=0), "and not 0 for all, got BILL 0, LOGIN 0"),
        (lambda frame: frame.assign(LOGIN="x"), "must have a column named label"),
    ],
)
def test_wrong_probabilities_end_in_one_line(change, message, table, numbers, capsys):
    change(numbers).to_csv("wrong.csv", index=False)
    command("label t.csv --labels topic --weak wrong.csv --without truth,llm -o x.csv", expected=2)
    assert message in " ".join(capsys.readouterr().err.split())


def test_wrong_probabilities_in_python(table):
    frame = table.drop(columns=["truth", "llm"])
    with pytest.raises(UsageError, match="the column 'bill' has 2 probabilities, but the data has 300 rows"):
        hidegl.label(frame, "topic", weak={"lm": {"bill": [0.5, 1], "login": [0.5, 0]}})


def test_suggestions_name_what_sources_say(table, capsys):
    command("suggest t.csv -n 4 --labels topic --weak llm --without truth --json")
    listed = json.loads(capsys.readouterr().out)["rows"]
    asked = pd.read_csv("t.to_label.csv")
    for one, why in zip(listed, asked["why"], strict=True):
        assert one["why"].endswith(f"; llm: {table['llm'].str.lower()[one['row']]}")
        assert why.endswith(f"; llm: {table['llm'].str.lower()[one['row']]}")


def test_an_audit_has_the_doubtful_labels_of_each_source_to_correct(table, capsys):
    command("audit t.csv --labels topic --weak llm --without truth -o audit.csv")
    lines = pd.read_csv("audit.csv")
    own = lines[lines["source"] == "llm"]
    assert lines["source"].isna().sum() == 12
    assert 10 < len(own) <= 20
    assert np.mean(own["given"].str.lower().to_numpy() != table["truth"][own["sheet_row"] - 2].to_numpy()) > 0.9
    lines["label"] = np.where(lines["source"] == "llm", table["truth"][lines["sheet_row"] - 2], None)
    lines.to_csv("audit.csv", index=False)
    task = hidegl.read("t.csv", "audit.csv", weak={"llm": "llm"}, without="truth")
    assert task.labels.n_labels == 12 + len(set(own["sheet_row"]) - set(range(2, 14)))
