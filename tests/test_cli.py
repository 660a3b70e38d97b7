"""The command line, as people use it and misuse it."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.json
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_digits

from commands import hidegl
from files_with_mistakes import make_files
from hidegl.basics.errors import OperationError
from hidegl.cli.outputs import InputColumns
from hidegl.cli.running import run
from hidegl.estimators.auto import EFFORTS

DOCS = Path(__file__).parent.parent / "docs" / "command_line.md"
FIRST_STEPS = DOCS.with_name("first_steps.md")


def commands(text):
    """The commands in ```console blocks, each with the lines that follow it."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output.strip()))
    return found


@pytest.fixture(scope="module")
def heaps():
    """Three heaps of rows in eight columns, and their class as a word."""
    y = np.sort(np.arange(300) % 3)
    X = 3 * np.eye(8)[y] + np.random.default_rng(0).normal(0, 0.7, (300, 8))
    return X.round(4), np.array(["left", "right", "above"])[y]


def some_labels(truth, step=25):
    return [name if i % step == 0 else None for i, name in enumerate(truth)]


def write_csv(path, columns, delimiter=",", header=True, decimal="."):
    with gzip.open(path, "wt") if str(path).endswith("gz") else Path(path).open("w", newline="") as file:
        lines = csv.writer(file, delimiter=delimiter)
        if header:
            lines.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            lines.writerow([str(v).replace(".", decimal) if isinstance(v, float) else v for v in row])


def columns_of(X, truth):
    return {
        "id": [f"r{i}" for i in range(len(X))],
        **{f"x{j}": X[:, j].tolist() for j in range(X.shape[1])},
        "kind": some_labels(truth),
    }


def read(path):
    if str(path).endswith("parquet"):
        return pq.read_table(path).to_pydict()
    if str(path).endswith("xlsx"):
        return pd.read_excel(path, engine="calamine").to_dict("list")
    if str(path).endswith("jsonl"):
        return pa.json.read_json(path).to_pydict()
    if str(path).endswith(("feather", "arrow")):
        return pa.feather.read_table(path).to_pydict()
    with Path(path).open() as file:
        delimiter = max(",;\t", key=file.readline().count)
    convert = pa.csv.ConvertOptions(decimal_point="," if delimiter == ";" else ".")
    options = pa.csv.ParseOptions(delimiter=delimiter)
    return pa.csv.read_csv(path, parse_options=options, convert_options=convert).to_pydict()


# Files


def save_npy(X, truth):
    np.save("data.npy", X)
    write_csv("labels.csv", {"row": list(range(0, 300, 25)), "label": truth[::25].tolist()})
    return "data.npy --labels labels.csv"


def save_npz(X, truth):
    np.savez("data.npz", X=X, kind=np.array([name or "" for name in some_labels(truth)]), other=np.zeros((2, 2, 2)))
    return "data.npz --labels kind"


def save_parquet(X, truth):
    pq.write_table(pa.table(columns_of(X, truth)), "data.parquet", row_group_size=64)
    return "data.parquet --labels kind"


def save_folder(X, truth):
    Path("data").mkdir()
    table = pa.table({"vector": X.tolist(), "kind": some_labels(truth), "text": ["some words"] * 300})
    for number, start in enumerate(range(0, 300, 120)):
        pq.write_table(table.slice(start, 120), f"data/part{number}.parquet")
    return "data --labels kind -o data.labelled.parquet"


def save_vectors_in_csv(X, truth):
    write_csv("data.csv", {"vector": [str(row) for row in X.tolist()], "kind": some_labels(truth)})
    return "data.csv --labels kind"


def saved_as(name, labels="kind", **options):
    def save(X, truth):
        write_csv(name, columns_of(X, truth), **options)
        return f"{name} --labels {labels}"

    return save


def save_jsonl(X, truth):
    columns = columns_of(X, truth)
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    Path("data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return "data.jsonl --labels kind"


def save_feather(X, truth):
    pa.feather.write_feather(pa.table(columns_of(X, truth)), "data.feather")
    return "data.feather --labels kind"


def save_arrow_stream(X, truth):
    table = pa.table(columns_of(X, truth))
    with pa.ipc.new_stream("data.arrow", table.schema) as writer:
        writer.write_table(table)
    return "data.arrow --labels kind"


def save_xlsx(X, truth):
    pd.DataFrame(columns_of(X, truth)).to_excel("data.xlsx", index=False)
    return "data.xlsx --labels kind"


def save_parts(X, truth):
    Path("parts").mkdir()
    for number, start in enumerate(range(0, 300, 120)):
        columns = {name: values[start : start + 120] for name, values in columns_of(X, truth).items()}
        write_csv(f"parts/{number}.csv", dict(reversed(columns.items())) if number else columns)
    return "'parts/*.csv' --labels kind -o data.labelled.csv"


def save_matrix_and_table(X, truth):
    np.save("data.npy", X)
    columns = columns_of(X, truth)
    write_csv("about.csv", {"id": columns["id"], "kind": columns["kind"]})
    return "data.npy --table about.csv --labels kind"


FORMATS = {
    "csv": saved_as("data.csv"),
    "tsv": saved_as("data.tsv", delimiter="\t"),
    "semicolons and decimal commas": saved_as("data.csv", delimiter=";", decimal=","),
    "gzip": saved_as("data.csv.gz"),
    "npy": save_npy,
    "npz": save_npz,
    "parquet": save_parquet,
    "folder": save_folder,
    "vectors in csv": save_vectors_in_csv,
    "jsonl": save_jsonl,
    "feather": save_feather,
    "arrow stream": save_arrow_stream,
    "xlsx": save_xlsx,
    "several files": save_parts,
    "a matrix and a table": save_matrix_and_table,
}


@pytest.mark.parametrize("save", FORMATS.values(), ids=FORMATS)
def test_every_format_is_read_and_every_row_comes_back_in_order(save, heaps, folder):
    X, truth = heaps
    hidegl(f"label {save(X, truth)} --effort quick --quiet")
    (out,) = folder.glob("data.labelled.*")
    found = read(out)
    assert np.mean(np.array(found["label"]) == truth) > 0.97
    assert np.flatnonzero(found["given"]).tolist() == list(range(0, 300, 25))
    assert min(found["confidence"]) >= 0
    assert max(found["confidence"]) <= 1
    if "id" in found:
        assert found["id"] == [f"r{i}" for i in range(300)]
    if "x3" in found:
        np.testing.assert_allclose(found["x3"], X[:, 3])
    assert not list(folder.glob(".*"))  # nothing temporary is left


def test_standard_input_is_read_by_its_content(heaps, folder, monkeypatch):
    X, truth = heaps
    for save in (saved_as("data.csv"), save_parquet, save_jsonl, save_feather, save_xlsx, save_npz):
        name = save(X, truth).split()[0]
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path(name).read_bytes())))
        hidegl("label - --labels kind --effort quick -q -f -o out.csv")
        assert np.mean(np.array(read("out.csv")["label"]) == truth) > 0.97
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a;b;kind\n1,5;2;left\n2,5;1;right\n" * 20)))
    hidegl("label - --labels kind --effort quick -q")
    assert (
        (folder / "stdin.labelled.csv")
        .read_text()
        .startswith("a;b;kind;label;confidence;given;unseen\n1,5;2;left;left;1")
    )


def test_other_encodings_are_read_when_named(heaps, folder):
    X, truth = heaps
    columns = columns_of(X, truth)
    columns["kind"] = [name and {"left": "grün", "right": "blau"}.get(name, name) for name in columns["kind"]]
    write_csv("data.csv", columns)
    text = Path("data.csv").read_text()
    for encoding in ("latin1", "cp1252", "utf-16", "utf-8"):
        Path("data.csv").write_bytes(text.encode(encoding))
        hidegl(f"label data.csv --labels kind --effort quick -q -f --encoding {encoding}")
        assert "grün" in set(read("data.labelled.csv")["label"])


def test_five_thousand_columns_are_read_in_seconds(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 5000)).round(2) + np.repeat([[0.0], [1.0]], 15, axis=0)
    columns = {f"column {j}": X[:, j].tolist() for j in range(5000)}
    write_csv("wide.csv", {**columns, "kind": ["" if i % 5 else "ab"[i // 15] for i in range(30)]})
    hidegl("label wide.csv --labels kind --effort quick -q")
    assert read("wide.labelled.csv")["label"] == ["a"] * 15 + ["b"] * 15


def test_labels_by_id_by_order_and_as_an_array(heaps, folder, capsys):
    X, truth = heaps
    columns = columns_of(X, truth)
    del columns["kind"]
    write_csv("data.csv", columns)
    order = np.random.default_rng(0).permutation(300)[:30]
    write_csv("by_id.csv", {"id": [f"r{i}" for i in order], "label": truth[order].tolist()})
    write_csv("in_order.csv", {"label": some_labels(truth)})
    np.save("array.npy", np.array([name or "" for name in some_labels(truth)]))
    for labels in ("by_id.csv --id id", "in_order.csv", "array.npy"):
        hidegl(f"label data.csv --labels {labels} --effort quick -q -f -o out.csv")
        assert np.mean(np.array(read("out.csv")["label"]) == truth) > 0.97
    capsys.readouterr()


def test_what_was_taken_and_left_out_is_said(heaps, folder, capsys):
    X, truth = heaps
    columns = columns_of(X, truth)
    columns |= {"note": ["some text"] * 300, "nr": list(range(300)), "day": ["2024-01-02"] * 300}
    columns["kind"] = [name or "unknown" for name in columns["kind"]]
    write_csv("data.csv", columns)
    hidegl("label data.csv --labels kind --effort quick --without x7")
    said = " ".join(capsys.readouterr().err.split())
    assert "data.csv: 300 rows; learning from 7 columns of numbers (x0, x1, …, x6)" in said
    for words in (
        *("x7 (excluded by --without)", "kind (the label)", "note, day (the same in every row)"),
        *("nr (row numbers)", "id (an id)"),
    ):
        assert words in said
    assert "'unknown' is read as no label, in 288 rows" in said


def test_a_file_without_names_and_labels_as_numbers(heaps, folder, capsys):
    X, truth = heaps
    codes = (truth == "left").astype(int) + 1
    labels = [code if i % 25 == 0 else "" for i, code in enumerate(codes)]
    write_csv("data.csv", {f"x{j}": X[:, j].tolist() for j in range(8)} | {"code": labels}, header=False)
    hidegl("label data.csv --labels column_8 --effort quick")
    assert "there is no header line: the columns are named column_0" in capsys.readouterr().err
    assert np.mean(np.array(read("data.labelled.csv")["label"]) == codes) > 0.97


def test_the_column_named_label_is_found_and_left_as_it_is(heaps, folder, capsys):
    X, truth = heaps
    columns = columns_of(X, truth)
    columns["Label"] = columns.pop("kind")
    write_csv("data.csv", columns)
    hidegl("label data.csv --effort quick -o out.parquet")
    found = read("out.parquet")
    assert found["Label"] == [name or "" for name in columns["Label"]]
    assert list(found)[-4:] == ["hidegl_label", "hidegl_confidence", "hidegl_given", "hidegl_unseen"]
    assert np.mean(np.array(found["hidegl_label"]) == truth) > 0.97
    assert "the data has a column 'Label' already: results are in hidegl_label" in capsys.readouterr().err


# Commands


def test_the_loop_of_the_first_steps(folder, capsys, monkeypatch):
    monkeypatch.setitem(EFFORTS, "default", EFFORTS["quick"])
    X, truth = load_digits(return_X_y=True)
    table = {f"pixel_{j}": X[:, j].astype(int).tolist() for j in range(64)}
    write_csv("digits.csv", {name: values[:1500] for name, values in table.items()})
    write_csv("new.csv", {name: values[1500:] for name, values in reversed(table.items())})  # columns in another order
    loop = [command for command, _ in commands(FIRST_STEPS.read_text()) if command.startswith("hidegl")]
    assert [command.split()[1] for command in loop] == ["suggest", "label", "label", "audit", "predict"]
    for command in loop:
        hidegl(command.removeprefix("hidegl "))
        if command.startswith("hidegl suggest"):
            rows = read("to_label.csv")
            assert len(rows["sheet_row"]) == 20
            suggested = np.array(rows["sheet_row"]) - 2
            write_csv("to_label.csv", {"row": suggested, "label": truth[suggested]})
    assert np.mean(np.array(read("labelled.csv")["label"]) == truth[:1500]) > 0.9
    assert np.mean(np.array(read("predicted.csv")["label"]) == truth[1500:]) > 0.9
    assert Path("report.html").stat().st_size < 3e6
    hidegl("inspect digits.hidegl")
    said = capsys.readouterr()
    assert "AutoHiDeGL" in said.out
    assert "10 more labels would gain about" in said.err
    assert "labels could not be checked: isolated" in said.err  # they were chosen to be


def rows_of(lines):
    """The rows in a file for people, counted from 0."""
    return np.array(lines["sheet_row"]) - 2


def test_suggestions_go_on_from_the_labels_and_remember_them(heaps, folder, capsys):
    X, truth = heaps
    columns = columns_of(X, truth)
    del columns["kind"]
    columns["text"] = [f"the row number {i}" for i in range(300)]
    write_csv("data.csv", columns)
    hidegl("suggest data.csv -n 6 -o first.csv")
    first = pa.csv.read_csv("first.csv").to_pydict()
    assert first["text"] == [f"the row number {row}" for row in rows_of(first)]
    assert "the row number" in capsys.readouterr().out
    first["label"] = truth[rows_of(first)].tolist()
    write_csv("first.csv", first)
    hidegl("suggest data.csv -n 4 --labels first.csv -o second.csv")
    second = pa.csv.read_csv("second.csv").to_pydict()
    assert len({*rows_of(first), *rows_of(second)}) == 10
    second["label"] = truth[rows_of(second)].tolist()
    write_csv("second.csv", second)
    capsys.readouterr()
    hidegl("label data.csv --labels second.csv --effort quick -o out.csv")
    assert "10: 6 in first.csv, 4 in second.csv, 0 changed" in capsys.readouterr().err


def test_an_audit_names_the_wrong_label(heaps, folder, capsys):
    X, truth = heaps
    columns = columns_of(X, truth)
    columns["kind"] = some_labels(truth, step=6)
    columns["kind"][12] = "right"
    write_csv("data.csv", columns)
    hidegl("audit data.csv --labels kind -o audit.csv --json")
    answer = json.loads(capsys.readouterr().out)
    assert answer["doubtful"] == 1
    assert {name: value for name, value in answer["labels"][0].items() if name not in columns or name == "id"} | {
        "suspicion": 1
    } == {
        "row": 12,
        "id": "r12",
        "given": "right",
        "proposed": "left",
        "suspicion": 1,
        "judged": True,
    }
    assert read("audit.csv")["sheet_row"][0] == 14


def test_predict_fills_in_what_is_empty_and_says_so(heaps, folder, capsys):
    X, truth = heaps
    columns = columns_of(X, truth)
    write_csv("data.csv", columns)
    hidegl("label data.csv --labels kind --effort quick --model data.hidegl")
    columns["x2"] = ["", *columns["x2"][1:]]
    write_csv("new.csv", dict(reversed(columns.items())))
    capsys.readouterr()
    hidegl("predict data.hidegl new.csv")
    assert "1 empty cell: x2 (1)" in capsys.readouterr().err
    assert np.mean(np.array(read("new.predicted.csv")["label"]) == truth) > 0.97


def test_a_report_that_cannot_be_made_is_refused_before_learning(heaps, folder, capsys, monkeypatch):
    X, truth = heaps
    write_csv("data.csv", {**{f"x{j}": X[:, j] for j in range(8)}, "kind": some_labels(truth)})
    monkeypatch.setitem(sys.modules, "bokeh", None)
    hidegl("label data.csv --labels kind --report report.html", expected=2)
    error = capsys.readouterr().err
    assert error.startswith(
        "hidegl: --report report.html: the report needs more packages: pip install 'hidegl[report]'"
    )


def test_a_text_that_is_not_utf_8_inside_a_parquet_file_is_told(heaps, folder, capsys):
    """Its header is right, so that the error comes late."""
    X, truth = heaps
    notes = pa.array([f"a note on the row {row}" for row in range(300)])
    columns = {**{f"x{j}": X[:, j] for j in range(8)}, "note": notes, "kind": some_labels(truth)}
    pq.write_table(pa.table(columns), "data.parquet", compression="none", use_dictionary=False)
    content = Path("data.parquet").read_bytes()
    Path("data.parquet").write_bytes(content.replace(b"a note on the row 9", b"a n\xf3te on the row 9"))
    hidegl("label data.parquet --labels kind --effort quick", expected=1)
    assert "hidegl: data.parquet cannot be read: it is damaged" in capsys.readouterr().err
    assert [path.name for path in Path().iterdir()] == ["data.parquet"]


def test_columns_that_end_before_others_are_told():
    columns = InputColumns(iter([pa.table({"note": ["a", "b", "c"]})]))
    assert columns.next(2)["note"].to_pylist() == ["a", "b"]
    with pytest.raises(OperationError, match="fewer rows than others"):
        columns.next(2)


def test_a_report_is_made_from_a_saved_model(heaps, folder, capsys):
    X, truth = heaps
    columns = columns_of(X, truth)
    write_csv("data.csv", {**columns, "note": [f"a note about {i}" for i in range(300)]})
    hidegl("label data.csv --labels kind --columns x0,x1,x2,x3 --effort quick --model data.hidegl --report both.html")
    hidegl("report data.hidegl")
    assert "a note about" not in (folder / "data.html").read_text()
    hidegl("report data.hidegl data.csv -o shown.html")
    suggested = []
    for name in ("both.html", "shown.html"):
        page = re.sub("<h2>Columns.*?</section>", "", (folder / name).read_text(), flags=re.DOTALL)
        suggested.append(re.findall(r"a note about \d+", page.partition("Label these rows next")[2]))
    assert suggested[0] == suggested[1] != []


def test_json_is_all_that_is_printed(heaps, folder, capsys):
    X, truth = heaps
    write_csv("data.csv", columns_of(X, truth))
    hidegl("label data.csv --labels kind --effort quick --json --model m.hidegl")
    said = capsys.readouterr()
    answer = json.loads(said.out)
    assert said.err == ""
    assert answer["rows"] == 300
    assert answer["labels"] == 12
    assert [c["label"] for c in answer["classes"]] == ["above", "left", "right"]
    assert sum(c["rows"] for c in answer["classes"]) == 300
    hidegl("predict m.hidegl data.csv --json")
    assert json.loads(capsys.readouterr().out)["output"] == "data.predicted.csv"
    hidegl("inspect m.hidegl --json")
    assert json.loads(capsys.readouterr().out)["classes"] == ["above", "left", "right"]


@pytest.mark.parametrize("save", [save_parquet, save_folder, save_npy])
def test_rows_that_do_not_fit_into_memory_are_read_from_disk(save, heaps, folder, capsys, monkeypatch):
    X, truth = heaps
    monkeypatch.setattr("hidegl.basics.memory.ROWS_SHARE", 1e15)  # as if there were hardly any memory
    monkeypatch.setattr("hidegl.rows.local.KEPT_BYTES", 0)
    hidegl(f"label {save(X, truth)} --report report.html --model m.hidegl")
    (out,) = folder.glob("data.labelled.*")
    assert np.mean(np.array(read(out)["label"]) == truth) > 0.97
    capsys.readouterr()
    hidegl("inspect m.hidegl --json")
    assert json.loads(capsys.readouterr().out)["kind"] == "AutoHiDeGL"


def test_the_demo_runs(folder, capsys):
    hidegl("demo digits")
    said = capsys.readouterr().out
    shares = [float(share) for share in re.findall(r"([\d.]+)% of the labels", said)]
    assert len(shares) == 2
    assert min(shares) > 85
    hidegl("demo digits", expected=2)


def test_it_runs_as_a_module_and_tells_its_version():
    done = subprocess.run([sys.executable, "-m", "hidegl", "--version"], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"hidegl \d+\.\d+\.\d+\n", done.stdout)


def test_the_shell_completes_commands():
    environment = {**os.environ, "_HIDEGL_COMPLETE": "complete_bash", "COMP_WORDS": "hidegl la", "COMP_CWORD": "1"}
    command = [sys.executable, "-c", "from hidegl.cli import main; main()"]
    assert "label" in subprocess.run(command, env=environment, capture_output=True, text=True).stdout.split()


def test_help_has_examples(capsys):
    for command in ("label", "suggest", "audit", "predict", "inspect", "demo"):
        hidegl(f"{command} --help")
        assert f"hidegl {command}" in " ".join(capsys.readouterr().out.split())


# What goes wrong


def wrong_uses():
    _, _, section = DOCS.read_text().partition("## When something is wrong")
    return commands(section)


def test_many_wrong_uses_are_listed():
    assert len(wrong_uses()) >= 75


@pytest.mark.parametrize(("command", "line"), wrong_uses(), ids=[command for command, _ in wrong_uses()])
def test_a_wrong_use_prints_its_line_and_leaves_nothing(command, line, folder, capsys, monkeypatch):
    make_files(folder)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr("sys.dont_write_bytecode", True)  # of modules in the folder
    if "photos.hidegl" in command:
        hidegl("label photos --labels folders -o x.csv --model photos.hidegl --embedder pixels --effort quick --quiet")
    if "good.hidegl" in command:
        hidegl("label good.csv --labels side -o x.csv --model good.hidegl --effort quick --quiet")
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    code = run(shlex.split(command)[1:])
    said = capsys.readouterr()
    assert code in (1, 2)
    assert [text for text in said.err.splitlines() if text.startswith("hidegl:")] == [line]
    assert "Traceback" not in said.err
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


@pytest.mark.parametrize("command", ["lable x", "label", "label x.csv --label y", "suggest x.csv -n many"])
def test_what_is_no_command_gets_one_line(command, capsys):
    hidegl(command, expected=2)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert re.match(r"hidegl: .*; see `hidegl.* --help`", lines[0])


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "no space left on the disk for data.labelled.csv: free"),
        (PermissionError(errno.EACCES, "Permission denied"), "cannot write data.labelled.csv: Permission denied"),
        (KeyboardInterrupt(), "interrupted, nothing was left half-written"),
    ],
)
def test_a_broken_off_writing_leaves_no_file(error, line, heaps, folder, capsys, monkeypatch):
    X, truth = heaps
    write_csv("data.csv", columns_of(X, truth))

    def broken(*_):
        raise error

    monkeypatch.setattr("hidegl.intake.results.label_columns", broken)
    code = 130 if isinstance(error, KeyboardInterrupt) else 1
    hidegl("label data.csv --labels kind --effort quick", expected=code)
    assert line in " ".join(capsys.readouterr().err.split())
    assert [path.name for path in folder.iterdir()] == ["data.csv"]


def test_a_signal_ends_it_cleanly(folder):
    """SIGTERM while a fit runs: one line, exit code 130, and no file."""
    np.save("data.npy", np.random.default_rng(0).normal(size=(50, 3)))
    script = (
        "import os, signal, sys, time; from hidegl import AutoHiDeGL; from hidegl.cli.running import run; "
        "AutoHiDeGL.fit = lambda *_, **__: (os.kill(os.getpid(), signal.SIGTERM), time.sleep(60)); "
        "sys.exit(run(['suggest', 'data.npy', '-n', '5', '--json']))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 130
    assert done.stderr == "hidegl: interrupted, nothing was left half-written\n"
    assert [path.name for path in folder.iterdir()] == ["data.npy"]


# How far to trust the labels


def mixed_heaps(n=600):
    """Three heaps that overlap, so that some rows are unsure."""
    y = np.arange(n) % 3
    X = 2 * np.eye(8)[y] + np.random.default_rng(0).normal(0, 0.8, (n, 8))
    return X.round(4), np.array(["left", "right", "above"])[y]


def read_csv(path):
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def test_accepted_labels_are_kept_and_the_others_listed_for_review(folder, capsys):
    X, truth = mixed_heaps()
    columns = columns_of(X, truth)
    write_csv("data.csv", columns)
    hidegl("label data.csv --labels kind --effort quick --accept 0.8 --model m.hidegl --json")
    answer = json.loads(capsys.readouterr().out)
    labelled, review = read_csv("data.labelled.csv"), read_csv("data.review.csv")
    blank = [i for i, row in enumerate(labelled) if row["label"] == ""]
    assert [int(row["sheet_row"]) - 2 for row in review] == blank
    assert answer["accepted"]["rows"] == len(X) - len(blank) - answer["labels"]
    assert 0 < len(blank) < len(X) - answer["labels"]
    for row in review:
        assert labelled[int(row["sheet_row"]) - 2]["confidence"] == row["confidence"]
        assert row["id"] == f"r{int(row['sheet_row']) - 2}"
        assert row["likely"] != row["second"]
        assert float(row["confidence"]) >= float(row["second_confidence"])
        assert row["label"] == ""
    kept = [i for i in range(len(X)) if i not in blank]
    right = np.mean([labelled[i]["label"] == truth[i] for i in kept])
    assert right > np.mean([review[i]["likely"] == truth[row] for i, row in enumerate(blank)])
    low, high = answer["expected_accuracy"]["low"], answer["expected_accuracy"]["high"]
    assert low <= answer["mean_confidence"] <= high
    # a person fills in the file, and gives it back
    write_csv("data.review.csv", {**{k: [r[k] for r in review] for k in review[0]}, "label": truth[blank].tolist()})
    hidegl("label data.csv --labels data.review.csv --effort quick -q -o again.csv")
    assert [read_csv("again.csv")[i]["label"] for i in blank] == truth[blank].tolist()
    # new rows
    hidegl("predict m.hidegl data.csv --accept 0.8 -o predicted.csv --force")
    said = capsys.readouterr().err
    assert re.search(r"accepted +\d+ labels \(\d+ %\), of which about [89]\d(\.\d)? % are right", said)
    predicted = read_csv("predicted.csv")
    assert 0 < sum(row["label"] == "" for row in predicted) < len(X)


def test_a_share_that_cannot_be_accepted(heaps, folder, capsys):
    X, truth = heaps
    write_csv("data.csv", columns_of(X, truth))
    for wrong in ("0", "95", "-1"):
        hidegl(f"label data.csv --labels kind --accept {wrong}", expected=2)
        assert "--accept must be a share above 0 and at most 1, such as 0.95 or 95%, got" in capsys.readouterr().err
    hidegl("label data.csv --labels kind --effort quick --accept 1")
    assert "accepted  none: no label is that certain" in capsys.readouterr().err
    assert len(read_csv("data.review.csv")) == len(X) - 12
    hidegl("label data.csv --labels kind --effort quick --accept 1 -o other.csv")
    Path("other.csv").unlink()
    hidegl("label data.csv --labels kind --effort quick --accept 1 -o other.csv", expected=2)
    assert "other.review.csv exists already" in capsys.readouterr().err


def test_a_class_without_a_label_is_told(folder, capsys):
    rng = np.random.default_rng(0)
    y = np.arange(800) % 4
    X = (6 * np.eye(8)[y] + rng.normal(0, 0.7, (800, 8))).round(4)
    names = np.array(["left", "right", "above", "nowhere"])[y]
    given_rows = rng.permutation(np.flatnonzero(y != 3))[:40]
    columns = columns_of(X, names) | {"kind": [name if i in given_rows else None for i, name in enumerate(names)]}
    write_csv("data.csv", columns)
    hidegl("label data.csv --labels kind --effort quick")
    said = capsys.readouterr().err
    assert re.search(
        r"\d+ rows form a group without any label, for example row \d+, 'r\d+'; most of them are now", said
    )
    hidegl("label data.csv --labels kind --effort quick --json --force")
    (group,) = json.loads(capsys.readouterr().out)["unfamiliar"]
    assert group["rows"] == pytest.approx(200, abs=10)
    assert set(y[group["examples"]]) == {3}


def test_spellings_of_one_class(heaps, folder, capsys):
    X, truth = heaps
    columns = columns_of(X, truth)
    columns["kind"][0], columns["kind"][25], columns["kind"][150] = "Left", "?", "skip"
    write_csv("data.csv", columns)
    hidegl("label data.csv --labels kind --effort quick")
    said = " ".join(capsys.readouterr().err.split())
    assert "y has 'Left' and 'left' as different classes: if they are one, give them one name (on the" in said
    assert "'?' is read as no label, in 1 rows" in said
    assert "'skip' is read as no label, in 1 rows" in said
    hidegl("label data.csv --labels kind --effort quick --merge-names --force --json")
    found = capsys.readouterr()
    assert [line["label"] for line in json.loads(found.out)["classes"]] == ["above", "left", "right"]
    for command in ("audit", "suggest -n 3"):
        hidegl(f"{command} data.csv --labels kind --merge-names --force")
        assert "Left counts as 'left', in 1 rows" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(("key", "option"), [("row", ""), ("id", "--id id")])
def test_two_labels_of_one_row_must_agree(key, option, heaps, folder, capsys):
    X, truth = heaps
    write_csv("data.csv", {"id": range(300), **{f"x{j}": X[:, j] for j in range(8)}})
    given = [f"{row},{truth[row]}" for row in range(0, 300, 25)]
    Path("labels.csv").write_text("\n".join([f"{key},label", *given, given[0], "25,"]))
    hidegl(f"label data.csv --labels labels.csv {option} --effort quick -o out.csv")
    assert "12 in labels.csv" in capsys.readouterr().err
    Path("labels.csv").write_text("\n".join([f"{key},label", *given, "25,above"]))
    hidegl(f"label data.csv --labels labels.csv {option} --effort quick -f", 2)
    assert f"labels.csv has two labels for {key} 25: 'left' and 'above'" in capsys.readouterr().err
