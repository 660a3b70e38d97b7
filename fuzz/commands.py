"""Mutated inputs of the command line: it works, or says in one line what is wrong. Nothing is left half-written."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

from fuzz.mutations import Rng, mutate, one_of, with_wrong_bytes, with_wrong_offsets
from hidegl.cli.running import run

CELLS = (
    *("", " ", "nan", "inf", "-inf", "1e400", "0x10", "1,5", "1;5", '"', '""', "'", "=1+1", "NULL", "true", "\t", "\r"),
    *("007", "+5", "-0", "12345678901234567890", "[" * 5000, '{"a":' * 5000),
    *("ünï", "日本", "\u202e", "x" * 5000, "1" * 400, "-1", "2024-01-01", "[1,2]", "[1", "{}", "\x00", "?"),
)
COMMANDS = (
    "label {data} --labels side -o out.csv --effort quick",
    "label {data} --labels side -o out.parquet --effort quick --report report.html --model new.hidegl",
    "label {data} --labels {labels} -o out.tsv --effort quick --accept 0.9",
    "suggest {data} -n 3 -o out.csv",
    "suggest {data} -n 3 --labels {labels} -o out.csv --id id",
    "audit {data} --labels side -o out.csv",
    "predict {model} {data} -o out.csv",
    "predict {model} {data} -o out.csv --accept 0.95",
    "inspect {model}",
    "label {data} --labels side --columns a,b -o out.csv --effort quick --safe-csv",
)
OPTIONS = (
    "--json",
    "--quiet",
    "--merge-names",
    "--without a",
    "--id id",
    "--text note",
    "--columns vector",
    "--seed -1",
)


def prepare(folder: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)).round(3) + np.repeat([[0], [4]], 20, axis=0)
    side = [("left", "right")[i // 20] if i % 5 == 0 else None for i in range(40)]
    columns = {"id": [f"r{i}" for i in range(40)], **dict(zip("abc", X.T, strict=True)), "side": side}
    table = pa.table({**columns, "note": [f"some words of row {i}" for i in range(40)]})
    sources = folder / "sources"
    sources.mkdir()
    for name, delimiter in (("data.csv", ","), ("data.tsv", "\t"), ("semicolons.csv", ";")):
        pa.csv.write_csv(table, sources / name, pa.csv.WriteOptions(delimiter=delimiter))
    pq.write_table(table, sources / "data.parquet")
    pq.write_table(pa.table({"vector": X.tolist(), "side": side}), sources / "vectors.parquet")
    pa.feather.write_feather(table, sources / "data.feather", compression="uncompressed")
    views = [table.column(name).cast(pa.string_view()) for name in ("id", "side", "note")]
    columns = dict(zip(("id", "a", "b", "c", "side", "note"), [views[0], *table.columns[1:4], *views[1:]], strict=True))
    with pa.OSFile(f"{sources}/data.arrow", "wb") as file, pa.ipc.new_stream(file, pa.table(columns).schema) as stream:
        stream.write_table(pa.table(columns))  # as polars writes it
    (sources / "data.jsonl").write_text("\n".join(map(json.dumps, table.to_pylist())))
    write_sheet(table, sources / "data.xlsx")
    np.save(sources / "data.npy", X)
    np.savez(sources / "data.npz", X=X, side=np.array([name or "" for name in side]))
    pa.csv.write_csv(pa.table({"row": [1, 2, 30, 31], "label": ["left", "left", "right", "right"]}), sources / "l.csv")
    with quiet():
        words = f"label {sources}/data.csv --labels side --columns a,b,c -o {sources}/out.csv --effort quick"
        run([*words.split(), "--model", f"{sources}/m.hidegl"])


def write_sheet(table: pa.Table, path: Path) -> None:
    book = openpyxl.Workbook()
    for line in [table.column_names, *zip(*table.to_pydict().values(), strict=True)]:
        book.active.append(line)
    book.save(path)


def with_far_cells(source: Path, path: Path, rng: Rng) -> None:
    """Some cells of a sheet are somewhere else, or something else."""
    book = openpyxl.load_workbook(source)
    for _ in range(int(rng.integers(1, 4))):
        row, column = (int(one_of(rng, [1, 2, most // 100, most])) for most in (1_048_576, 16_384))
        book.active.cell(row, column, one_of(rng, [1.5, "x", "", True, 10**20, "2024-01-01"]))
    book.save(path)


@contextlib.contextmanager
def quiet():
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield out, err


def with_wrong_cells(text: str, rng: Rng) -> str:
    """Cells and lines of a text file that are something else, missing or doubled."""
    lines = text.split("\n")
    for _ in range(int(rng.integers(1, 6))):
        at = int(rng.integers(len(lines)))
        cells = lines[at].split(",")
        place = int(rng.integers(len(cells)))
        way = int(rng.integers(8))
        if way < 4:
            cells[place] = one_of(rng, CELLS)
        elif way == 4:
            cells.insert(place, one_of(rng, CELLS))
        elif way == 5:
            del cells[place]
        lines[at : at + 1] = [",".join(cells)] * (0 if way == 6 else 2 if way == 7 else 1)
        lines = lines or [""]
    return "\n".join(lines)


def mutated(source: Path, folder: Path, rng: Rng) -> Path:
    path, way = folder / source.name, rng.random()
    if source.suffix == ".hidegl":
        mutate(source, path, rng)
    elif source.suffix == ".xlsx" and way < 0.6:
        with_far_cells(source, path, rng)
    elif source.suffix in (".feather", ".arrow") and way < 0.8:
        path.write_bytes(with_wrong_offsets(source.read_bytes(), rng))
    elif source.suffix in (".csv", ".tsv", ".jsonl") and way < 0.6:
        path.write_bytes(with_wrong_cells(source.read_text(), rng).encode(one_of(rng, ["utf8"] * 8 + ["utf16"])))
    elif source.suffix == ".parquet" and way < 0.4:
        table = pq.read_table(source)
        number = int(rng.integers(table.num_columns))
        kind = one_of(rng, [pa.string(), pa.float32(), pa.bool_(), pa.date32(), pa.null(), pa.binary()])
        column = pa.nulls(len(table), kind) if rng.random() < 0.5 else pa.array([one_of(rng, CELLS)] * len(table))
        pq.write_table(table.set_column(number, table.column_names[number], column), path)
    else:
        path.write_bytes(with_wrong_bytes(source.read_bytes(), rng))
    return path


def case(folder: Path, rng: Rng) -> str | None:
    place, sources = folder / "here", folder / "sources"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    command = one_of(rng, COMMANDS)
    data = one_of(rng, sorted(sources.glob("*data*")) + sorted(sources.glob("[sv]*")))
    files = {"data": data, "labels": sources / "l.csv", "model": sources / "m.hidegl"}
    wrong = one_of(rng, [name for name in files if f"{{{name}}}" in command])
    files[wrong] = mutated(files[wrong], place, rng)
    inputs = {path.name for path in place.iterdir()}
    words = [word.format(**files) for word in command.split()]
    if rng.random() < 0.2:
        words += one_of(rng, OPTIONS).split()
    os.chdir(place)
    with quiet() as (_, err):
        code = run([*words, "--no-cache"] if words[0] != "inspect" and rng.random() < 0.5 else words)
    said, left = err.getvalue(), {path.name for path in place.iterdir()} - inputs - {".hidegl_cache"}
    os.chdir(folder)
    return verdict(code, said, left, command)


def verdict(code: int, said: str, left: set[str], command: str) -> str | None:
    if "Traceback" in said or "HIDEGL_DEBUG" in said:
        return f"{command}: {said[-300:]}"
    if code not in (0, 1, 2):
        return f"{command}: the exit code is {code}"
    if code and not said.strip().splitlines()[-1].startswith("hidegl:"):
        return f"{command}: {said[-300:]!r} is no line for people"
    if code and left:
        return f"{command} failed and left {sorted(left)}"
    parts = [name for name in left if name.endswith(".part")]
    return f"{command} left {parts}" if parts else None
