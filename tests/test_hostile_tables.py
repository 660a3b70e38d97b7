"""Tables that are damaged, far too large, or written by other programs: read as they are meant, or refused in words."""

from __future__ import annotations

import struct

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from hidegl.files.mistakes import WorkError
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
    with pytest.raises(WorkError, match="cannot be read: it is damaged"):
        open_table(path)


def test_text_that_is_none_is_refused_where_it_is_read(tmp_path):
    path = tmp_path / "data.parquet"
    wrong = pa.StringArray.from_buffers(2, *pa.array([b"\xff\xfe", b"b"]).buffers()[1:])
    pq.write_table(pa.table({"id": wrong}), path)
    with pytest.raises(WorkError, match="cannot be read: it is damaged"):
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
