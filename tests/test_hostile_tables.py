"""Tables that are damaged, far too large, or written by other programs: read as they are meant, or refused in words."""

from __future__ import annotations

import gzip
import json
import re
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from commands import hidegl
from hidegl import read_rows
from hidegl.basics.errors import OperationError
from hidegl.cli import main
from hidegl.files.opening import open_table

ROWS = 40
SIDES = ["left" if i < ROWS // 2 else "right" for i in range(ROWS)]


def table():
    numbers = [float(i * i % 17) + 40 * (i >= ROWS // 2) for i in range(ROWS)]
    return pa.table({"id": [f"r{i}" for i in range(ROWS)], "a": numbers, "side": SIDES})


# Arrow and Parquet


@pytest.mark.parametrize("offset", [-5, 2**31 - 1, 10**8])
@pytest.mark.parametrize("ending", ["feather", "arrow"])
def test_offsets_that_lead_out_of_the_file_are_refused(ending, offset, tmp_path):
    path = tmp_path / f"data.{ending}"
    if ending == "feather":
        pa.feather.write_feather(table(), path, compression="uncompressed")
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table().schema) as stream:
            stream.write_table(table())
    assert open_table(path).n_rows == ROWS
    content = bytearray(path.read_bytes())
    place = content.find(struct.pack("<4i", 0, 2, 4, 6)) + 40
    content[place : place + 4] = struct.pack("<i", offset)
    path.write_bytes(content)
    with pytest.raises(OperationError, match="cannot be read: it is damaged"):
        open_table(path)


def test_text_that_is_none_is_refused_where_it_is_read(tmp_path):
    path = tmp_path / "data.parquet"
    wrong = pa.StringArray.from_buffers(2, *pa.array([b"\xff\xfe", b"b"]).buffers()[1:])
    pq.write_table(pa.table({"id": wrong}), path)
    with pytest.raises(OperationError, match="cannot be read: it is damaged"):
        open_table(path).column("id")


@pytest.mark.parametrize("ending", ["arrow", "parquet"])
def test_texts_of_polars_are_texts(ending, tmp_path):
    views = table().set_column(2, "side", pa.array(SIDES, pa.string_view()))
    kinds = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 20, pa.uint32()), pa.array(["x", "y"], pa.string_view()))
    path = tmp_path / f"data.{ending}"
    if ending == "arrow":
        pa.feather.write_feather(views.append_column("kind", kinds), path)
    else:
        pq.write_table(views, path)
    found = open_table(path)
    assert found.column("side").to_pylist() == SIDES
    assert found.schema.field("side").type == pa.large_string()
    assert next(found.batches(["side"])).schema.field("side").type == pa.large_string()
    if ending == "arrow":
        assert found.column("kind").cast(pa.large_string()).to_pylist() == ["x", "y"] * 20


# Codes that look like numbers

CODES = {
    "zeros": lambda i: f"{i:05}",
    "long": lambda i: str(12345678901234567890 + i),
    "hex": lambda i: f"0x{i:x}",
    "plus": lambda i: f"+49{i}",
    "snowflake": lambda i: str(1234567890123456789 + i),
    "odd": lambda i: str(9007199254740993 + 2 * i),
    "late": lambda i: str(i) if i < ROWS - 1 else "007",
    "minus": lambda i: f"-0{i}",
}


def write_csv(path, columns, sep=","):
    lines = [columns, *zip(*columns.values(), strict=True)]
    path.write_text("".join(sep.join(map(str, line)) + "\n" for line in lines))


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_codes_come_out_as_they_were_given(ending, tmp_path):
    given = {name: [code(i) for i in range(ROWS)] for name, code in CODES.items()}
    numbers = {"a": table()["a"].to_pylist(), "b": [i % 7 for i in range(ROWS)], "side": SIDES}
    write_csv(tmp_path / "data.csv", {**given, **numbers})
    hidegl(f"label {tmp_path}/data.csv --labels side --columns a,b -o {tmp_path}/out.{ending} --effort quick --quiet")
    found = open_table(tmp_path / f"out.{ending}")
    for name, values in given.items():
        assert [str(value) for value in found.column(name).to_pylist()] == values, name
    assert pa.types.is_integer(found.schema.field("b").type)


def test_numbers_stay_numbers(tmp_path):
    cells = {"a": ["0", "10", "-0"], "b": ["0.5", "00.5", "1e3"], "c": ["1.0", "", "2.0"], "d": ["2024-01-05", "", ""]}
    write_csv(tmp_path / "data.csv", cells)
    kinds = [str(field.type) for field in open_table(tmp_path / "data.csv").schema]
    assert kinds == ["int64", "double", "double", "date32[day]"]
    write_csv(tmp_path / "codes.csv", {"a": ["007", "7"], "b": [1.5, 2.5]})
    assert read_rows(tmp_path / "codes.csv").collect()[:].tolist() == [[7, 1.5], [7, 2.5]]


@pytest.mark.parametrize(
    "names", [("007", "7"), ("01", "02"), ("12345678901234567890", "12345678901234567891"), ("+1", "+2"), ("0x1", "1")]
)
def test_labels_come_out_as_they_were_given(names, tmp_path):
    side = [names[i // (ROWS // 2)] if i % 4 == 0 else "" for i in range(ROWS)]
    write_csv(tmp_path / "data.csv", {"a": table()["a"].to_pylist(), "side": side})
    hidegl(f"label {tmp_path}/data.csv --labels side -o {tmp_path}/out.csv --effort quick --quiet")
    found = open_table(tmp_path / "out.csv").column("label").to_pylist()
    assert list(map(str, found)) == [names[i // (ROWS // 2)] for i in range(ROWS)]


def test_labels_of_64_bits_come_out_as_they_were_given(tmp_path):
    names = (2**63 + 1, 2**64 - 1)
    side = pa.array([names[i // (ROWS // 2)] for i in range(ROWS)], pa.uint64())
    pq.write_table(table().set_column(2, "side", side), tmp_path / "data.parquet")
    hidegl(f"label {tmp_path}/data.parquet --labels side -o {tmp_path}/out.jsonl --effort quick --quiet")
    assert set(open_table(tmp_path / "out.jsonl").column("label").to_pylist()) == set(map(str, names))


def test_labels_that_are_not_exact_are_refused_and_minus_one_is_mentioned(tmp_path, capsys):
    path = tmp_path / "data.jsonl"
    lines = [{"a": i * i % 17 + 40 * (i >= 20), "side": 10**19 + (i >= 20)} for i in range(ROWS)]
    path.write_text("\n".join(map(json.dumps, lines)))
    hidegl(f"label {path} --labels side --effort quick", 2)
    assert "more than 15 digits, which are not exact: write them as text" in capsys.readouterr().err
    write_csv(
        tmp_path / "data.csv", {"a": [i * i % 17 + 40 * (i >= 20) for i in range(ROWS)], "side": [-1, 0, 1, 1] * 10}
    )
    hidegl(f"label {tmp_path}/data.csv --labels side --effort quick")
    assert "-1 is read as no label, in 10 rows" in capsys.readouterr().err
    write_csv(tmp_path / "data.csv", {"a": [i * i % 17 for i in range(ROWS)], "side": [-1, 1] * 20})
    hidegl(f"label {tmp_path}/data.csv --labels side --effort quick -f", 2)
    assert "of another class; -1 is read as no label, in 20 rows" in " ".join(capsys.readouterr().err.split())


def test_a_model_of_numbers_takes_numbers_that_are_written_as_codes(tmp_path):
    numbers = [i * i % 17 + 40 * (i >= 20) for i in range(ROWS)]
    write_csv(tmp_path / "data.csv", {"a": numbers, "kind": ["x", "y"] * 20, "side": SIDES})
    hidegl(f"label {tmp_path}/data.csv --labels side -o {tmp_path}/o.csv --model {tmp_path}/m.hidegl --effort quick -q")
    write_csv(tmp_path / "new.csv", {"a": [f"{number:03}" for number in numbers], "kind": ["x", "y"] * 20})
    hidegl(f"predict {tmp_path}/m.hidegl {tmp_path}/new.csv -o {tmp_path}/new.out.csv --quiet")
    assert open_table(tmp_path / "new.out.csv").column("label").to_pylist() == SIDES


# Nested too deep, and cells too far


@pytest.mark.parametrize(
    "text",
    [
        '{"a":' + "[" * 100_000 + "]" * 100_000 + "}\n",
        '{"a":' * 50_000 + "1" + "}" * 50_000 + "\n",
        '{"a":' + "[\n" * 300 + "]" * 300 + "}\n",
        '{"a":1}' + "]" * 500 + "\n" + '{"a":"' + "]" * 500 + '\\"\\\\","b":' + "[" * 300 + "]" * 300 + "}\n",
        '{"a":"\n{"a":' + "[" * 300,
    ],
)
def test_json_that_is_nested_too_deep_is_refused(text, tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text(text)
    with pytest.raises(OperationError, match="nested more than 200 deep"):
        open_table(path)


def test_brackets_in_texts_and_in_many_lists_are_no_depth(tmp_path, monkeypatch):
    monkeypatch.setattr("hidegl.files.documents.AT_ONCE", 7)
    path = tmp_path / "data.jsonl"
    lines = [{"a": '"[{\\' * 200, "b": [[1], [2]] * 200} for _ in range(3)]
    path.write_text("\n".join(map(json.dumps, lines)))
    assert open_table(path).column("a").to_pylist() == [line["a"] for line in lines]


def write_sheet(path, rows, with_places=True):
    book = openpyxl.Workbook()
    for row, column, value in rows:
        book.active.cell(row, column, value)
    book.save(path)
    if with_places:
        return
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, re.sub(rb'<c r="\w+"', b"<c", content) if "sheet" in name else content)


@pytest.mark.parametrize("with_places", [True, False])
def test_a_sheet_with_far_cells_is_refused_before_it_is_read(with_places, tmp_path):
    path = tmp_path / "data.xlsx"
    write_sheet(path, [*((1, column, f"c{column}") for column in range(1, 16_001)), (1_048_576, 1, 3)], with_places)
    with pytest.raises(OperationError, match="1,048,576 rows and 16,000 columns up to its farthest cells"):
        open_table(path)


def test_a_sheet_that_is_nearly_empty_is_refused(tmp_path):
    write_sheet(tmp_path / "data.xlsx", [(1, 1, "a"), (1, 100, "b"), (1_048_576, 1, 3)])
    with pytest.raises(OperationError, match="with 3 cells that are not empty"):
        open_table(tmp_path / "data.xlsx")


def test_far_cells_that_are_only_formatted_do_not_matter(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["a", "side"])
    book.active.append([1.5, "left"])
    book.active.cell(1_048_576, 16_000).fill = openpyxl.styles.PatternFill("solid", "FF0000")
    book.create_sheet("other").cell(1_048_576, 1, 3)
    book.save(tmp_path / "data.xlsx")
    assert open_table(tmp_path / "data.xlsx").table.to_pylist() == [{"a": 1.5, "side": "left"}]


# What a format cannot hold

OTHERS = {
    "struct": pa.array([{"x": i} for i in range(ROWS)]),
    "map": pa.array([[("k", i)] for i in range(ROWS)], pa.map_(pa.string(), pa.int64())),
    "bytes": pa.array([bytes([i, 255]) for i in range(ROWS)]),
    "words": pa.array([["a", "b"]] * ROWS),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_no_cell_can_hold_is_left_out_of_csv_with_a_note(name, tmp_path, capsys):
    pq.write_table(table().append_column(name, OTHERS[name]), tmp_path / "data.parquet")
    for ending, kept in (("csv", False), ("parquet", True), ("jsonl", True)):
        hidegl(f"label {tmp_path}/data.parquet --labels side -o {tmp_path}/out.{ending} --effort quick")
        said = " ".join(capsys.readouterr().err.split())
        assert (f"out.csv is written without '{name}'" in said) is not kept
        out = tmp_path / f"out.{ending}"
        names = json.loads(out.read_text().splitlines()[0]) if ending == "jsonl" else open_table(out).names
        assert (name in names) is kept


def test_dates_that_python_does_not_know_are_written(tmp_path):
    far = pa.array([2**62 + i for i in range(ROWS)], pa.int64()).cast(pa.timestamp("us"))
    pq.write_table(table().append_column("when", far), tmp_path / "data.parquet")
    hidegl(f"label {tmp_path}/data.parquet --labels side --columns a -o {tmp_path}/out.jsonl --effort quick --quiet")
    assert open_table(tmp_path / "out.jsonl").n_rows == ROWS


def test_what_cannot_be_written_is_said(tmp_path, capsys):
    wrong = pa.array(range(ROWS), pa.int64()).cast(pa.timestamp("us", "Nowhere/At all"))
    pq.write_table(table().append_column("when", wrong), tmp_path / "data.parquet")
    hidegl(f"label {tmp_path}/data.parquet --labels side --columns a -o {tmp_path}/out.csv --effort quick", 1)
    assert "out.csv does not support all columns" in capsys.readouterr().err


# Words of the user


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_lines_may_be_long(ending, tmp_path):
    texts = ["r" * 5_000_000, "short"]
    path = tmp_path / f"data.{ending}"
    if ending == "csv":
        write_csv(path, {"id": texts, "code": ["001", "002"]})
    else:
        path.write_text("\n".join(json.dumps({"id": text, "code": "001"}) for text in texts))
    found = open_table(path)
    assert found.column("id").to_pylist() == texts
    assert found.column("code")[0].as_py() == "001"


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_line_that_is_too_long_is_said(ending, tmp_path, monkeypatch):
    for module in ("basics.errors", "files.csv", "files.documents"):
        monkeypatch.setattr(f"hidegl.{module}.LONGEST_LINE", 1 << 21)
    (tmp_path / f"data.{ending}").write_text("a,b\n1,x\n" + '{"a":"' + "r" * 5_000_000 + '"}\n')
    with pytest.raises(OperationError, match="has a line of more than 2 GB"):
        open_table(tmp_path / f"data.{ending}")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("header.csv", b"id,a,side", "header.csv has no rows"),
        ("empty.csv.gz", gzip.compress(b"", mtime=0), "empty.csv.gz is empty"),
        ("flat.npy", None, "flat.npy: the matrix has rows, but no columns"),
        ("lists.parquet", None, "the vectors in the column 'v' are empty"),
    ],
)
def test_what_holds_nothing_is_said(name, content, said, folder, capsys):
    if content is not None:
        Path(name).write_bytes(content)
    elif name == "flat.npy":
        np.save(name, np.zeros((ROWS, 0)))
    else:
        pq.write_table(table().append_column("v", pa.array([[]] * ROWS, pa.list_(pa.float64()))), name)
    hidegl(f"label {name} {'--labels side' if name == 'lists.parquet' else ''}", 2)
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("error", [pa.ArrowMemoryError("malloc of size 5 failed"), MemoryError("X needs 5 GB")])
def test_memory_is_spoken_of_in_words_of_the_user(error, folder, capsys, monkeypatch):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("hidegl.files.opening.read_csv", fail)
    Path("data.csv").write_text("a\n1\n")
    hidegl("label data.csv", 1)
    said = capsys.readouterr().err
    assert ("X needs 5 GB" in said) if type(error) is MemoryError else ("there is not enough memory" in said)
    assert "malloc" not in said


# Memory


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(12, "Cannot allocate memory"),
        pa.ArrowMemoryError("malloc of size 128 failed"),
        RuntimeError("std::bad_alloc"),
        ImportError("libx.so: failed to map segment from shared object"),
    ],
)
def test_a_lack_of_memory_is_never_taken_for_damage(error, tmp_path, monkeypatch, capsys):
    (tmp_path / "data.csv").write_text("a,side\n1,x\n2,y\n")

    def fails(*_, **__):
        raise ValueError("a reader failed") from error

    monkeypatch.setattr("hidegl.files.opening.read_csv", fails)
    hidegl(f"label {tmp_path / 'data.csv'} --labels side", 1)
    said = capsys.readouterr().err
    assert "there is not enough memory" in said
    assert "damaged" not in said


@pytest.mark.parametrize("error", [MemoryError(), ImportError("libx.so: failed to map segment from shared object")])
def test_a_lack_of_memory_while_starting_is_one_line(error, monkeypatch):
    def fails():
        raise error

    monkeypatch.setattr("hidegl.cli.command_runner", fails)
    with pytest.raises(SystemExit, match=r"^hidegl: there is not enough memory: close other programs$"):
        main()


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
@pytest.mark.parametrize("room", [700e6, 1.2e9, 1.7e9])
def test_a_limit_of_memory_is_not_taken_for_damage(room, tmp_path):
    (tmp_path / "data.csv").write_text("a,side\n" + "".join(f"{i % 7}.5,{'xy'[i % 2]}\n" for i in range(200)))
    limited = (
        f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({room:.0f}, {room:.0f}));"
        "import sys; sys.argv = ['hidegl', 'label', 'data.csv', '--labels', 'side', '-f'];"
        "from hidegl.cli import main; main()"
    )
    ended = subprocess.run([sys.executable, "-c", limited], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert "damaged" not in ended.stderr
    assert ended.returncode != 2
    if ended.returncode == 1:
        assert "not enough memory" in ended.stderr
