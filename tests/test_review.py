"""`hidegl review`: rounds of answers without naming any file."""

import json

import numpy as np
import pandas as pd

from commands import hidegl as command

NAMES = np.array(["w", "x", "y"])


def make(folder):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = (2 * rng.normal(size=(3, 4)))[y] + 1.3 * rng.normal(size=(300, 4))
    frame = pd.DataFrame(X, columns=list("abcd")).round(3)
    frame["topic"] = [NAMES[code] if row < 12 else None for row, code in enumerate(y)]
    frame.to_csv(folder / "t.csv", index=False)
    return NAMES[y]


def fill_in(path, truth, n=10):
    lines = pd.read_csv(path)
    lines["label"] = lines["label"].astype(object)
    lines.loc[: n - 1, "label"] = truth[lines["sheet_row"].to_numpy()[:n] - 2]
    lines.to_csv(path, index=False)


def test_rounds_add_up_without_naming_a_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    truth = make(tmp_path)
    command("label t.csv --labels topic --accept .95 --effort quick")
    for number, name in enumerate(["t.review.csv", "t.review_2.csv", "t.review_3.csv"], start=1):
        fill_in(tmp_path / name, truth)
        capsys.readouterr()
        command("review t.csv --effort quick --json")
        found = json.loads(capsys.readouterr().out)
        assert found["labels"] == 12 + 10 * number
        assert (tmp_path / f"t.review_{number + 1}.csv").exists()
    out = pd.read_csv("t.labelled.csv")
    given = out["given"].to_numpy()
    assert (out["label"].to_numpy()[given] == truth[given]).all()


def test_suggested_rows_and_audits_are_folded_in_too(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    truth = make(tmp_path)
    command("suggest t.csv --labels topic -n 10")
    fill_in(tmp_path / "t.to_label.csv", truth)
    capsys.readouterr()
    command("review t.csv --effort quick --json")
    assert json.loads(capsys.readouterr().out)["labels"] == 22


def test_no_answers_are_an_error_that_says_what_to_do(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    make(tmp_path)
    command("review t.csv", expected=2)
    assert "no file next to t.csv has answers: fill in the column 'label'" in capsys.readouterr().err
    command("label t.csv --labels topic --accept .95 --effort quick")
    command("review t.csv", expected=2)
