"""From whatever people have to rows and labels in Python, and predictions of raw rows."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from PIL import Image

import hidegl
from commands import hidegl as command
from commands import refused
from hidegl.embedding import TableEncoder, TextEmbedder
from hidegl.intake.sources import Source
from studio import open_session, wait_for

N = 90
TOPICS = ("fruit", "car", "sea")
SENTENCES = (
    "apple pear plum cherry {i} on a tree with leaves",
    "engine wheel brake {i} on the road with petrol",
    "wave fish ship {i} in salt water under the wind",
)
TEXTS = [SENTENCES[i % 3].format(i=i) for i in range(N)]
TRUTH = np.array([TOPICS[i % 3] for i in range(N)])
FEW = {row: str(TRUTH[row]) for row in range(0, N, 7)}
QUICK = {"embedder": "words", "effort": "quick"}


def rows():
    """Three heaps in six columns."""
    return (3 * np.eye(6)[np.arange(N) % 3] + np.random.default_rng(0).normal(0, 0.5, (N, 6))).round(4)


def frame():
    """Numbers with gaps, a category and a column of labels."""
    X = rows()
    columns = {f"x{j}": X[:, j] for j in range(3)}
    columns["x0"][5] = np.nan
    topic = [FEW.get(i) for i in range(N)]
    return pd.DataFrame({**columns, "colour": [("red", "blue", "red")[i % 3] for i in range(N)], "topic": topic})


def images():
    rng = np.random.default_rng(0)
    return [Image.fromarray((rng.integers(0, 60, (8, 8)) + 80 * (i % 3)).astype(np.uint8)) for i in range(N)]


def as_files(folder):
    for number, image in enumerate(images()):
        image.save(folder / f"{number:03}.png")
    return sorted(folder.glob("*.png"))


def as_csv(folder):
    frame().to_csv(folder / "data.csv", index=False)
    return folder / "data.csv"


def as_parts(folder):
    for number in range(2):
        frame()[45 * number : 45 * (number + 1)].to_csv(folder / f"part{number}.csv", index=False)
    return [str(folder / "part0.csv"), str(folder / "part1.csv")]


TAKEN = {
    "a path": (as_csv, "topic", {}),
    "several paths": (as_parts, "topic", {}),
    "a data frame of pandas": (lambda _: frame(), "topic", {}),
    "a data frame of polars": (lambda _: pl.from_pandas(frame()), "topic", {}),
    "a table of pyarrow": (lambda _: pa.Table.from_pandas(frame()), "topic", {}),
    "a list of texts": (lambda _: list(TEXTS), FEW, {"embedder": "words"}),
    "a column of texts": (lambda _: pd.Series(TEXTS), FEW, {"embedder": "words"}),
    "a list of paths of images": (as_files, FEW, {"embedder": "pixels", "cache": False}),
    "a list of Pillow images": (lambda _: images(), FEW, {"embedder": "pixels"}),
    "an array": (lambda _: rows(), [FEW.get(i) for i in range(N)], {}),
}


@pytest.mark.parametrize("name", TAKEN)
def test_label_takes_whatever_people_have(name, tmp_path, capsys):
    make, labels, options = TAKEN[name]
    result = hidegl.label(make(tmp_path), labels, effort="quick", accept=0.9, **options)
    assert (result.labels == TRUTH).mean() > 0.9
    assert np.flatnonzero(result.given).tolist() == list(FEW)
    assert len(result.confidence) == len(result.accepted) == N
    assert np.isfinite(result.confidence).all()
    assert result.notes[0].about in ("read", "embedded", "filled in")
    whole, review = result.to_frame(), result.review()
    assert len(whole) == N
    assert len(review) == N - result.accepted.sum()
    kind = {"a data frame of polars": pl.DataFrame, "a table of pyarrow": pa.Table}.get(name, pd.DataFrame)
    assert isinstance(whole, kind)
    assert isinstance(review, kind)
    assert capsys.readouterr() == ("", "")


def test_the_guide_lists_what_is_taken():
    page = (Path(__file__).parent.parent / "docs" / "python.md").read_text()
    assert all(f"| {name} |" in page for name in TAKEN)


def test_python_command_line_and_studio_agree(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    as_csv(tmp_path)
    result = hidegl.label("data.csv", "topic", effort="quick")
    command("label data.csv --labels topic --effort quick")
    said = " ".join(capsys.readouterr().err.split())
    written = pd.read_csv("data.labelled.csv")
    assert written.label.tolist() == result.labels.tolist()
    np.testing.assert_allclose(written.confidence, result.confidence, atol=1e-4)
    own = result.to_frame().drop(columns="topic")  # whose blanks are NaN in one, and None in the other
    pd.testing.assert_frame_equal(own, written.drop(columns="topic"), check_dtype=False, atol=1e-4)
    assert all(note.text in said for note in result.notes)

    session = open_session(tmp_path / "data.csv", labels="topic")
    session.start()
    wait_for(lambda: session.learner.now.is_best and session.learner.now.trust is not None)
    session.export("csv", None, replace=True)
    session.stop()
    pd.testing.assert_frame_equal(pd.read_csv("data.labelled.csv"), written)


def test_a_task_says_what_was_decided(tmp_path):
    data = frame().assign(customer=[f"c{i:04}" for i in range(N)], version=1)
    task = hidegl.read(data, "topic")
    assert task.left_out == {"topic": "the label", "customer": "it names the rows", "version": "the same in every row"}
    assert isinstance(task.embedder, TableEncoder)
    assert {row: name for row, name in enumerate(task.y) if name is not None} == FEW
    assert "1 empty cell: x0 (1)" in str(task.notes)
    assert hidegl.label(task, effort="quick").labels.shape == (N,)
    assert hidegl.label(task, {0: "a", 1: "b"}, effort="quick").model.classes_.tolist() == ["a", "b"]
    assert repr(task) == "Task(the data frame: 90 rows from 4 columns: 3 numbers, 1 category, 13 labels)"


def test_labels_from_several_places_add_up():
    data = frame()
    task = hidegl.read(data, ["topic", {0: "sea", 1: "car"}, [None] * 89 + ["fruit"]])
    assert {row: task.y[row] for row in (0, 1, 7, 89)} == {0: "sea", 1: "car", 7: "car", 89: "fruit"}
    assert "15: 13 in the column 'topic', 2 in labels, 1 in labels, 1 changed" in str(task.notes)
    by_id = hidegl.read(data.assign(key=[f"k{i}" for i in range(N)]), {"k3": "fruit", "k4": "car"}, id="key")
    assert {row: name for row, name in enumerate(by_id.y) if name is not None} == {3: "fruit", 4: "car"}


def test_a_reviewed_frame_is_given_back_with_the_labels():
    first = hidegl.label(frame(), "topic", accept=0.9999, effort="quick")
    review = first.review()
    assert review.columns[-2:].tolist() == ["label", "hidegl"]
    review["label"] = TRUTH[review["row"]]
    shuffled = frame().iloc[::-1].reset_index(drop=True)
    task = hidegl.read(shuffled, ["topic", review])
    assert task.labels.n_labels == N
    assert (task.y == TRUTH[::-1]).all()


def test_suggest_and_audit():
    suggested = hidegl.suggest(TEXTS, 5, embedder="words")
    assert len({one.row for one in suggested}) == 5
    wrong = {**FEW, 7: "sea"}
    audited = hidegl.audit(TEXTS, wrong, embedder="words")
    assert audited[0].row == 7
    assert audited[0].proposed == "car"


def test_images_that_cannot_be_read_keep_their_place(tmp_path):
    paths = as_files(tmp_path)
    paths[4].write_text("<html>")
    result = hidegl.label(paths, FEW, embedder="pixels", effort="quick", cache=False)
    assert (result.labels[4], result.confidence[4], result.accepted[4]) == (None, 0, False)
    others = np.arange(N) != 4
    assert (result.labels[others] == TRUTH[others]).all()
    assert 4 not in {one.row for one in hidegl.suggest(paths, 60, embedder="pixels", cache=False)}


def test_columns_of_the_user_are_not_touched():
    own = frame().assign(label=["mine"] * N, confidence="high", given=7)
    whole = hidegl.label(own, "topic", effort="quick").to_frame()
    pd.testing.assert_frame_equal(whole[own.columns], own)
    assert whole.columns[-4:].tolist() == ["hidegl_label", "hidegl_confidence", "hidegl_given", "hidegl_unseen"]
    again = hidegl.label(whole, "topic", effort="quick")
    assert again.to_frame().columns.tolist() == whole.columns.tolist()
    assert not any(name.startswith("hidegl") for name in again.task.columns.features)


# Raw rows for a model


@pytest.mark.parametrize("saved", [False, True])
def test_a_model_of_texts_predicts_texts(saved, tmp_path):
    model = hidegl.label(TEXTS, FEW, **QUICK).model
    if saved:
        model.save(tmp_path / "m.hidegl")
        model = hidegl.load(tmp_path / "m.hidegl")
        model.save(tmp_path / "again.hidegl")
        model = hidegl.load(tmp_path / "again.hidegl")
    new = ["cherry on a tree", "petrol and a brake", "a ship under the wind"]
    assert model.predict(new).tolist() == list(TOPICS)
    assert model.predict(pd.Series(new)).tolist() == list(TOPICS)
    assert model.predict(np.array(new)).tolist() == list(TOPICS)
    assert model.predict(pd.DataFrame({"text": new})).tolist() == list(TOPICS)
    vectors = (model.embedder_.opened() if saved else model.embedder_).transform(new)
    assert model.predict(vectors).tolist() == list(TOPICS)
    assert model.predict_proba(new).shape == (3, 3)


def test_a_model_of_a_frame_predicts_frames(tmp_path):
    data = frame()
    hidegl.label(data, "topic", effort="quick").model.save(tmp_path / "m.hidegl")
    model = hidegl.load(tmp_path / "m.hidegl")
    assert (model.predict(data[["colour", "x2", "x1", "x0"]]) == TRUTH).all()
    assert (model.predict(pl.from_pandas(data)) == TRUTH).all()
    with pytest.raises(ValueError, match="colour"):
        model.predict(data.drop(columns="colour"))


def test_a_model_of_images_predicts_images(tmp_path):
    hidegl.label(images(), FEW, embedder="pixels", effort="quick").model.save(tmp_path / "m.hidegl")
    model = hidegl.load(tmp_path / "m.hidegl")
    assert (model.predict(images()) == TRUTH).all()
    assert (model.predict(as_files(tmp_path)) == TRUTH).all()


def one_function(texts):
    return [[len(text), text.count("a")] for text in texts]


def test_loading_runs_no_function_that_a_file_names(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    name = "test_intake:one_function"
    X = TextEmbedder(name).fit(TEXTS)
    y = [FEW.get(i) for i in range(N)]
    hidegl.AutoHiDeGL("quick").fit(X.transform(TEXTS), y).save(tmp_path / "m.hidegl", embedder=X)
    with pytest.raises(ValueError, match=r"raw rows cannot be predicted.*if you trust it, name it again"):
        hidegl.load(tmp_path / "m.hidegl").predict(TEXTS)
    assert hidegl.load(tmp_path / "m.hidegl", embedder=name).predict(TEXTS).shape == (N,)


def test_another_fit_forgets_the_embedder():
    model = hidegl.label(TEXTS, FEW, **QUICK).model
    model.fit(rows(), [FEW.get(i) for i in range(N)])
    assert model.embedder_ is None


# What columns hold, and notes


def test_python_says_what_columns_hold():
    given = frame().assign(code=[100 + i % 5 for i in range(N)])
    assert hidegl.read(given).columns.kinds["code"].name == "number"
    task = hidegl.read(given, kinds={"code": "category"})
    assert task.columns.kinds["code"].name == "category"
    assert {fact["column"]: fact["kind"] for fact in task.column_facts}["code"] == "category"


def test_notes_have_codes_in_python_too(folder):
    texts = [TEXTS[0], TEXTS[0].upper(), *TEXTS[2:]]
    result = hidegl.label(texts, {0: "fruit", 1: "car", 5: "sea"}, **QUICK)
    codes = {note.code: note.text for note in result.notes}
    assert codes["two-labels"].startswith("1 text has different labels in different rows")
    result.report("report.html")
    assert "1 text has different labels" in Path("report.html").read_text()
    task = hidegl.read(texts, {0: "fruit", 5: "sea"}, embedder="words")
    assert "two-labels" not in {note.code for note in task.notes}
    again = hidegl.label(task, {0: "fruit", 1: "car", 5: "sea"}, effort="quick")
    assert "two-labels" in {note.code for note in again.notes}


# What goes wrong


@pytest.mark.parametrize("kind", [list, pd.Series, np.array])
def test_an_estimator_names_what_takes_texts(kind):
    with pytest.raises(ValueError, match=r"hidegl\.label\(texts, labels\) takes texts, and hidegl.*TextEmbedder"):
        hidegl.AutoHiDeGL().fit(kind(TEXTS))


def test_an_estimator_names_what_takes_gaps_and_categories():
    X = rows()
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN or infinity, the first in row 3: hidegl\.embedding\.TableEncoder"):
        hidegl.AutoHiDeGL().fit(X)
    with pytest.raises(ValueError, match=r"'colour'.*hidegl\.label takes the data frame.*TableEncoder"):
        hidegl.HiDeGL().fit(frame()[["x1", "colour"]])


WRONG = [
    (lambda: hidegl.label(TEXTS), "no-labels", None),
    (lambda: hidegl.label(frame(), "topics"), "no-such-column", "labels"),
    (lambda: hidegl.read(frame(), columns=["z"]), "no-such-column", "columns"),
    (lambda: hidegl.read(frame(), kinds={"x0": "money"}), "wrong-value", "kinds"),
    (lambda: hidegl.read(frame(), kinds={"nr": "number"}), "no-such-column", "kinds"),
    (lambda: hidegl.read(frame(), id="nr"), "no-such-column", "id"),
    (lambda: hidegl.read(rows(), [1, 2, 3]), "wrong-shape", "labels"),
    (lambda: hidegl.read(rows(), {99: "a"}), "no-such-row", "labels"),
    (lambda: hidegl.read(42), "wrong-shape", None),
    (lambda: hidegl.read([]), "wrong-shape", None),
    (lambda: hidegl.read("nowhere.csv"), "no-such-file", None),
    (lambda: hidegl.label(hidegl.read(rows()), text="a"), "conflict", None),
]


@pytest.mark.parametrize(("use", "code", "about"), WRONG)
def test_a_wrong_use_is_named_as_in_python(use, code, about):
    with refused(code) as caught:
        use()
    assert caught.value.about == about
    assert isinstance(caught.value, ValueError)
    assert "--" not in str(caught.value)


def test_options_have_other_names_on_the_command_line(folder, capsys):
    frame().to_csv("t.csv", index=False)
    with refused("no-such-column", "kinds"):
        hidegl.read("t.csv", kinds={"nr": "number"})
    command("label t.csv --as nr=number", expected=2)
    assert "--as: there is no column 'nr'" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"no labels to learn from.* with labels; `hidegl\.suggest` says"):
        hidegl.label(rows())
    command("label t.csv --columns x0 --without topic", expected=2)
    assert "with --labels; `hidegl suggest t.csv` says" in capsys.readouterr().err


def test_an_error_about_standard_input_does_not_name_its_copy(monkeypatch, folder):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a,a\n1,2\n")))
    with refused("same-names", "standard input"):
        Source.of([Path("-")]).open()


def test_numbers_out_of_range_are_named_as_in_python():
    with pytest.raises(ValueError, match="accept must be"):
        hidegl.label(TEXTS, FEW, accept=2)
    with pytest.raises(ValueError, match="n must be"):
        hidegl.suggest(TEXTS, 0, embedder="words")


def test_labels_can_be_added_to_a_model():
    model = hidegl.label(TEXTS, FEW, **QUICK).model
    model.add_labels({0: "car", 1: "car", 7: None})
    given = dict(zip(model.given_labels_.rows.tolist(), model.classes_[model.given_labels_.given], strict=True))
    assert given == {row: name for row, name in FEW.items() if row != 7} | {0: "car", 1: "car"}
    with pytest.raises(ValueError, match="row"):
        model.add_labels({N: "car"})


def test_the_report_is_written(tmp_path):
    hidegl.label(frame(), "topic", effort="quick").report(tmp_path / "report.html")
    assert "the data frame" in (tmp_path / "report.html").read_text()
    assert json.dumps(hidegl.label(frame(), "topic", effort="quick").labels.tolist())
