"""Labels of several people for the same rows."""

import numpy as np
import pandas as pd
import pytest

import hidegl
from commands import hidegl as command
from commands import refused

NAMES = np.array(["w", "x", "y", "z"])


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 500)
    X = (2.2 * rng.normal(size=(4, 4)))[y] + 1.2 * rng.normal(size=(500, 4))
    right, lines = {"anna": 0.95, "ben": 0.7, "chris": 0.6}, []
    for row in range(100):
        for who in rng.choice(list(right), 2, replace=False):
            label = NAMES[y[row]] if rng.random() < right[who] else NAMES[(y[row] + rng.integers(1, 4)) % 4]
            lines.append((row, label, who))
    return X, NAMES[y], pd.DataFrame(lines, columns=["row", "label", "annotator"])


def test_disputed_rows_are_decided_by_how_often_each_is_right(data):
    X, truth, lines = data
    found = hidegl.label(X, lines, effort="quick")
    several = lines.groupby("row")["label"].nunique()
    disputed, agreed = several[several > 1].index.to_numpy(), several[several == 1].index.to_numpy()
    assert len(disputed) > 20
    assert np.mean(found.labels[disputed] == truth[disputed]) > 0.85
    own = lines.drop_duplicates("row").set_index("row")["label"]
    assert found.labels[agreed].tolist() == own[agreed].tolist()
    assert found.given.sum() == len(agreed)
    sources = {source.name: source for source in found.model.sources_}
    assert sources["anna"].accuracy > max(sources["ben"].accuracy, sources["chris"].accuracy) + 0.2
    assert f"{len(disputed)} rows have different labels by" in " ".join(note.text for note in found.notes)


def test_a_later_label_settles_a_dispute(data):
    X, truth, lines = data
    several = lines.groupby("row")["label"].nunique()
    disputed = several[several > 1].index.tolist()
    settled = {row: truth[row] for row in disputed[:10]}
    found = hidegl.label(X, [lines, settled], effort="quick")
    assert found.given[disputed[:10]].all()
    assert found.labels[disputed[:10]].tolist() == truth[disputed[:10]].tolist()


def test_one_person_has_one_label_for_a_row(data, tmp_path, monkeypatch, capsys):
    X, _, lines = data
    twice = pd.concat([lines, lines.iloc[:1].assign(label="q")])
    with refused("two-labels"):
        hidegl.label(X, twice)
    monkeypatch.chdir(tmp_path)
    np.save("X.npy", X)
    lines.to_csv("people.csv", index=False)
    command("label X.npy --labels people.csv --effort quick -o out.csv")
    assert "different labels by" in capsys.readouterr().err
