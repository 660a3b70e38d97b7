"""A folder of files as people have them, for the wrong uses that docs/command_line.md lists."""

from __future__ import annotations

import csv
import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image


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
    make_more_files(folder, X, few)


def make_more_files(folder: Path, X: np.ndarray, few: list[str]) -> None:
    """Tables of other formats, images, and what can be wrong with them."""
    lines = [f'{{"a": {a}, "b": {b}}}' for a, b in X[:, :2]]
    (folder / "report.pdf").write_bytes(b"%PDF-1.7")
    (folder / "broken.jsonl").write_text("\n".join([*lines, '{"a": 1,']))
    (folder / "changing.jsonl").write_text("\n".join([*lines, '{"a": "many"}']))
    (folder / "deep.jsonl").write_text('{"a": ' + "[" * 1000 + "]" * 1000 + "}")
    (folder / "two_labels.csv").write_text("row,label\n1,left\n1,right\n40,right\n")
    (folder / "no_newline.csv").write_text("a,b,side")
    np.save(folder / "no_columns.npy", np.zeros((60, 0)))
    (folder / "damaged.feather").write_bytes(b"ARROW1\0\0 and no more")
    (folder / "more.csv").write_text("a,b\n1,2\n")
    (folder / "mixed_encodings.csv").write_bytes(
        b"a,b,side\n" + b"1,2,left\n" * 9000 + "1,2,gr\xfcn\n".encode("latin1")
    )
    (folder / "short_table.csv").write_text("id,text\n1,one\n2,two\n")
    numbers = "".join(f"{i},7,{label}\n" for i, label in enumerate(few))
    (folder / "only_ids.csv").write_text(f"customer_id,version,side\n{numbers}")
    notes = "".join(f"a note about the thing {i},{label}\n" for i, label in enumerate(few))
    (folder / "notes.csv").write_text(f"note,topic\n{notes}")
    (folder / "no_words.csv").write_text("note,side\n" + "".join(f",{label}\n" for label in few))
    (folder / "renamed.csv").write_text("a,b,c\n" + "".join(f"{a},{b},many\n" for a, b in X[:, :2]))
    (folder / "wrong_paths.csv").write_text("path,label\na/0.png,x\nz/9.png,y\n")
    (folder / "no_functions.py").write_text("number = 3\n")
    make_exports(folder)
    make_images(folder)


def make_exports(folder: Path) -> None:
    """Files of other tools."""

    def answers(*choices):
        parts = [{"from_name": name, "type": "choices", "value": {"choices": labels}} for name, labels in choices]
        return {"data": {"text": f"text {choices}"}, "annotations": [{"result": parts}]}

    two = [answers(("side", ["left"])), answers(("side", ["left", "right"]))]
    (folder / "two_choices.json").write_text(json.dumps(two))
    (folder / "two_questions.json").write_text(json.dumps([answers(("side", ["left"]), ("tone", ["polite"]))]))
    (folder / "cut.json").write_text('[{"data": {"text": "a"}, "annotations": []}, {"data": {"te')
    (folder / "splits").mkdir()
    (folder / "splits" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    np.save(folder / "probs.npy", np.full((60, 2), 0.5))
    (folder / "probs.classes.json").write_text('["left", "right", "up"]')


def make_images(folder: Path) -> None:
    rng = np.random.default_rng(0)
    for name, level in (("a", 40), ("b", 200)):
        (folder / "photos" / name).mkdir(parents=True)
        for number in range(12):
            pixels = rng.normal(level, 20, size=(8, 8, 3)).clip(0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / "photos" / name / f"{number}.png")
    (folder / "one_folder" / "only").mkdir(parents=True)
    (folder / "broken_photos").mkdir()
    whole = (folder / "photos" / "a" / "0.png").read_bytes()
    for number in range(3):
        (folder / "one_folder" / "only" / f"{number}.png").write_bytes(whole)
    (folder / "broken_photos" / "cut.png").write_bytes(whole[: len(whole) // 2])
    (folder / "broken_photos" / "page.jpg").write_text("<html>not found</html>")
    (folder / "broken_photos" / "bomb.png").write_bytes(image_bomb())


def image_bomb() -> bytes:
    """A small file that says it has 30,000 × 30,000 pixels."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", 30_000, 30_000, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(10**6)))
        + chunk(b"IEND", b"")
    )
