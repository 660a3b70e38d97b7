"""A folder of files as people have them, for the wrong uses that docs/command_line.md lists."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def make_files(folder: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)).round(3) + np.repeat([[0], [4]], 30, axis=0)
    names = ["left" if i < 30 else "right" for i in range(60)]
    few = [name if i % 10 == 0 else "" for i, name in enumerate(names)]

    def write(name, header, columns, **options):
        with (folder / name).open("w", newline="", **options) as file:
            lines = csv.writer(file)
            lines.writerow(header)
            lines.writerows(zip(*columns, strict=True))

    numbers = X.T.tolist()
    write("good.csv", ["a", "b", "c", "side"], [*numbers, few])
    write("blank.csv", ["a", "b", "c", "side"], [*numbers, [""] * 60])
    write("one_class.csv", ["a", "b", "side"], [*numbers[:2], ["left" if f else "" for f in few]])
    write("measured.csv", ["a", "b", "target"], [*numbers[:2], rng.random(60)])
    write("texts.csv", ["name", "comment"], [names, names])
    write("gaps.csv", ["a", "b", "side"], [["" if i == 7 else v for i, v in enumerate(numbers[0])], numbers[1], few])
    write("twice.csv", ["a", "a", "side"], [*numbers[:2], few])
    write("header_only.csv", ["a", "b", "side"], [[], [], []])
    write("many_classes.csv", ["a", "name"], [rng.normal(size=10_000).round(3), [f"n{i}" for i in range(10_000)]])
    write("labels_3.csv", ["label"], [["left", "right", "left"]])
    write("far_rows.csv", ["row", "label"], [[1, 99], ["left", "right"]])
    write("two_columns.csv", ["when", "who"], [["now"] * 60, ["me"] * 60])
    (folder / "ragged.csv").write_text("a,b,side\n1,2,left\n1,2\n")
    (folder / "latin1.csv").write_bytes("a,b,Größe\n1,2,ß\n".encode("latin1"))
    (folder / "empty.csv").write_text("")
    (folder / "table.xlsx").write_bytes(b"PK\x03\x04 not ours")
    (folder / "damaged.parquet").write_bytes(b"PAR1 this is not a table PAR1")
    (folder / "damaged.npy").write_bytes(b"\x93NUMPY\x01\x00")
    (folder / "damaged.npz").write_bytes(b"PK\x03\x04 and no more")
    (folder / "broken.hidegl").write_text("not a model")
    (folder / "taken.csv").write_text("somebody's work\n")
    (folder / "no_tables").mkdir()
    np.save(folder / "objects.npy", np.array([{"a": 1}], dtype=object))
    np.save(folder / "line.npy", np.arange(10.0))
    holed = X.copy()
    holed[4, 1] = np.nan
    np.save(folder / "holed.npy", holed)
    np.save(folder / "X.npy", X)
    np.save(folder / "y_short.npy", np.zeros(12, dtype=int))
    lists = [[1.0, 2.0], [1.0]] * 30
    pq.write_table(pa.table({"vector": lists, "side": few}), folder / "uneven.parquet")
