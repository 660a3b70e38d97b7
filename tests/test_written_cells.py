"""Tables as people write them: money, units, decimal commas, dates in words, yes and no, and rubbish in between."""

from __future__ import annotations

import csv
import datetime
import json
import os
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest

from benchmarks.dirty import dirty_table
from commands import hidegl
from hidegl.basics.stored import Stored
from hidegl.embedding import TableEncoder
from hidegl.embedding.amounts import read_amounts
from hidegl.embedding.column_kinds import kind_of
from hidegl.embedding.dates import read_dates
from hidegl.files.opening import open_table

NAN = float("nan")

AMOUNTS = {
    "money": (["$1,004.86", "$3", "-$5.10", "($7.00)"], [1004.86, 3, -5.1, -7], ".$"),
    "decimal comma": (["17,70", "3,2", "1.004,86"], [17.7, 3.2, 1004.86], ","),
    "thousands, of which no cell says so alone": (["1,234", "2,500", "950"], [1234, 2500, 950], "."),
    "percent": (["12 %", "3%", "0.5 %"], [12, 3, 0.5], ".%"),
    "unit": (["12 kg", "3kg", "4"], [12, 3, 4], ".kg"),
    "two units": (["12 kg", "3 kg", "500 g"], [12, 3, NAN], ".kg"),
    "spaces and apostrophes": (["1 250,5", "3", "1'250"], [1250.5, 3, 1250], ","),
    "one currency in two spellings": (["5 €", "EUR 7"], [5, 7], ".€"),
    "powers": (["1e5", "2.5E-3"], [1e5, 0.0025], "."),
    "minus of typesetters": (["\u22125", "5"], [-5, 5], "."),
    "a word that is a unit in few cells is none": (["2", "3", "4", "5more"], [2, 3, 4, NAN], "."),
    "rubbish with a number in it": (["2", "3", "12 or so"], [2, 3, NAN], "."),
    "no amounts": (["A14", "1st", "18-24", "16:9", "1.2.3", "1,2,3", "007", "+4912345678", "1" * 16], [NAN] * 9, "."),
    "thousands and millions": (["66k", "22000", "1.5M", "$3k"], [66000, 22000, 1.5e6, 3000], ".$"),
    "lakh": (["₹2,80,676", "₹12,34,56,789", "₹999"], [280676, 123456789, 999], ".₹"),
    "times": (["2:00:11", "0:27:09", "00:00:05.5", "n/a"], [7211, 1629, 5, NAN], ".:"),
    "minutes": (["2:05", "10:30"], [125, 630], ".:"),
    "units in any case": (["5 KG", "6 kg", "7 kg"], [5, 6, 7], ".kg"),
}


@pytest.mark.parametrize(("texts", "values", "how"), AMOUNTS.values(), ids=AMOUNTS)
def test_amounts_are_read_as_they_are_meant(texts, values, how):
    found = read_amounts(texts)
    np.testing.assert_allclose(found[0], values)
    assert found[1] == how


def test_a_known_decimal_sign_decides_where_a_column_does_not():
    assert read_amounts(["1,234"])[0].tolist() == [1234]
    assert read_amounts(["1,234"], ",")[0].tolist() == [1.234]
    assert read_amounts(["1,234", "0.5"], ",")[0].tolist() == [1234, 0.5]


DATES = [
    *("2020-04-05", "2020/4/5", "05.04.2020", "5 April 2020", "April 5, 2020", "Apr 05, 2020", "05-Apr-2020"),
    *("Sun, 05 Apr 2020", "Sunday, April 5th, 2020", "5. April 2020", "5 de abril de 2020", "5 avril 2020", "20200405"),
    *("2020-04-05T00:00:00Z", "2020-04-05 02:00:00+02:00", "5.4.20", "4/5/2020 12:00 AM", "05.04.2020 00:00"),
]


@pytest.mark.parametrize("text", DATES)
def test_dates_are_read_as_they_are_meant(text):
    assert read_dates([text])[0].tolist() == [datetime.datetime(2020, 4, 5, tzinfo=datetime.UTC).timestamp()]


def test_one_date_decides_whether_the_day_comes_first():
    def day(texts):
        return datetime.datetime.fromtimestamp(read_dates(texts)[0][0], datetime.UTC).strftime("%d.%m.")

    assert day(["03/04/2020", "31/12/2020", "12/11/2020"]) == "03.04."
    assert day(["03/04/2020", "12/31/2020", "12/11/2020"]) == "04.03."
    assert read_dates(["03/04/2020"], "day first")[1] == "day first"


@pytest.mark.parametrize(
    "text", ["12.5", "1.2.3", "3 kg 2020", "10:30", "Room 5, 2020", "1004.12", "31.02.2020", "version 2020", ""]
)
def test_what_is_no_date_is_none(text):
    assert np.isnan(read_dates([text])[0][0])


WRITTEN = {
    "money": ([f"${i:,}.50" for i in range(900, 1100)], "number"),
    "with a word for nothing": ([*map(str, range(100)), *["unknown"] * 6, *["-"] * 6], "number"),
    "nine in ten": ([*(f"{i}.5" for i in range(91)), *["see note"] * 9], "number"),
    "eight in ten": ([*(f"{i}.5" for i in range(80)), *(f"note{i}" for i in range(20))], ""),
    "dates with gaps": ([*(f"{i:02}/07/2020" for i in range(1, 29)), "n/a", "31/07/2020"], "date"),
    "yes and no": (["Yes", "no", "Y", "N", "n/a"] * 9, "category"),
    "few names and rubbish": ([*["red", "blue"] * 60, *(f"x{i}" for i in range(8))], "category"),
    "codes": ([f"{i:05}" for i in range(200)], ""),
    "words for nothing only": (["n/a", "NA", "null", ""], ""),
    "the same with gaps": (["a"] * 28 + ["n/a", ""], ""),
    "a flag with gaps": (["a", "a", "n/a", "a", ""], "category"),
}


@pytest.mark.parametrize(("texts", "kind"), WRITTEN.values(), ids=WRITTEN)
def test_the_kind_of_written_cells(texts, kind):
    assert kind_of("x", pa.chunked_array([pa.array(texts)])).name == kind


def test_names_for_yes_are_one_name_and_letters_that_only_look_like_them_are_not():
    encoder = TableEncoder().fit(pa.table({"a": ["Yes", "no", "Y", "N", "n/a"] * 9, "b": ["n", "o", "t"] * 15}))
    assert encoder.get_feature_names_out().tolist() == ["a: no", "a: yes", "b: n", "b: o", "b: t"]
    found = encoder.transform(pa.table({"a": ["TRUE", "yes", "missing", "N"], "b": ["n", "n", "n", "n"]}))
    np.testing.assert_array_equal(found[0], found[1])
    assert found[1, 0] < found[2, 0] < found[3, 0]


def test_names_are_the_same_in_upper_and_lower_case_and_short_codes_are_not():
    table = pa.table({"land": ["Germany", "GERMANY", "germany", "France"] * 9, "c": ["a", "A", "b", "b"] * 9})
    encoder = TableEncoder().fit(table)
    assert encoder.get_feature_names_out().tolist() == ["land: France", "land: Germany", "c: A", "c: a", "c: b"]
    found = encoder.transform(table)
    np.testing.assert_array_equal(found[0, :2], found[2, :2])
    again = TableEncoder.restored(Stored(*encoder.__hidegl_state__()))
    np.testing.assert_array_equal(again.transform(table), found)


def test_the_encoder_takes_kinds_too():
    table = pa.table({"id": ["1,5", "2,5", "x"] * 20, "code": [1, 2, 3] * 20})
    encoder = TableEncoder(kinds={"id": "number", "code": "category"}).fit(table)
    assert encoder.get_feature_names_out().tolist() == ["id", "code: 1", "code: 2", "code: 3"]
    with pytest.raises(ValueError, match="X has no column price"):
        TableEncoder(kinds={"price": "number"}).fit(table)
    with pytest.raises(
        ValueError, match="kinds: 'id' cannot be a date: not one of its cells is a date, for example '1,5'"
    ):
        TableEncoder(kinds={"id": "date"}).fit(table)
    with pytest.raises(ValueError, match=r"kinds\['id'\] must be"):
        TableEncoder(kinds={"id": "money"}).fit(table)


def test_cells_that_are_not_understood_are_counted_with_two_examples():
    prices = [*(f"{i},50 €" for i in range(95)), "call us", "call us", "gift", "sold", "n/a"]
    encoder = TableEncoder().fit(pa.table({"price": prices}))
    found = encoder.transform(pa.table({"price": prices}))
    assert encoder.unread_["price"] == (4, ("call us", "gift"))
    assert encoder.filled_["price"] == 5
    assert found[95, 0] == np.median([i + 0.5 for i in range(95)])


@pytest.mark.skipif("HIDEGL_DATA" not in os.environ, reason="needs the folder HIDEGL_DATA with the folder tables")
def test_dirty_columns_have_the_kinds_of_clean_ones(tmp_path):
    paths = sorted((Path(os.environ["HIDEGL_DATA"]) / "tables").glob("*.csv"))
    if not paths:
        pytest.skip("HIDEGL_DATA has no folder tables")
    for path in paths:
        clean = open_table(path)
        kinds = {name: kind_of(name, clean.column(name)) for name in clean.names if name != "target"}
        pa.csv.write_csv(dirty_table(clean.as_written.table.select(list(kinds)), kinds), tmp_path / path.name)
        dirty = open_table(tmp_path / path.name)
        found = {name: kind_of(name, dirty.column(name)).name for name in kinds}
        assert found == {name: kind.name for name, kind in kinds.items()}, path.name


# Files


def test_a_text_file_is_read_once(tmp_path, monkeypatch):
    calls = []
    read = pyarrow.csv.read_csv
    monkeypatch.setattr(pyarrow.csv, "read_csv", lambda *args, **more: calls.append(args) or read(*args, **more))
    path = tmp_path / "data.csv"
    rows = [f"{i},{i}.5,{i:03},2020-01-{i % 28 + 1:02},word" for i in range(1000)]
    path.write_text("\n".join(["a,b,c,d,e", *rows, "x,y,z,,"]))
    assert [str(field.type) for field in open_table(path).schema] == [
        "string",
        "string",
        "string",
        "date32[day]",
        "string",
    ]
    assert len(calls) == 1


def test_columns_of_a_text_file_may_differ_in_the_decimal_sign(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a;b;c\n1,5;1.5;x\n2,5;2.5;y\n;3.5;z\n")
    table = open_table(path)
    assert table.column("a").to_pylist() == [1.5, 2.5, None]
    assert table.column("b").to_pylist() == [1.5, 2.5, 3.5]


def test_a_wide_first_line_and_names_with_newlines_are_read(tmp_path):
    names = [f"a long name of a column, number {i}" for i in range(5000)]
    with (tmp_path / "wide.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[*names, "two\nlines"], ["1"] * 5001])
    assert open_table(tmp_path / "wide.csv").names == [*names, "two\nlines"]


def test_cells_keep_their_spelling(folder):
    lines = [f'{i}.50,"a ""b"", c{i % 3}",{i % 4}.0,{"lr"[i % 2] if i < 9 else ""}' for i in range(40)]
    Path("data.csv").write_text("\n".join(["x,text,y,side", *lines]) + "\n")
    hidegl("label data.csv --labels side --columns x,y --effort quick")
    written = Path("data.labelled.csv").read_text().splitlines()
    assert [line.startswith(given) for line, given in zip(written[1:], lines, strict=True)] == [True] * 40
    assert written[0] == "x,text,y,side,label,confidence,given,unseen"


def test_negative_numbers_are_no_formulas(folder):
    lines = [f"{i - 20}.50,-x{i}" for i in range(40)]
    Path("data.csv").write_text(
        "\n".join(["x,y,side", *(f"{line},{'lr'[i % 2]}" for i, line in enumerate(lines))]) + "\n"
    )
    hidegl("label data.csv --labels side --columns x --effort quick --safe-csv")
    assert Path("data.labelled.csv").read_text().splitlines()[1].startswith("-20.5,'-x0,l")


def workbook(path, *, first_hidden=False):
    book = openpyxl.Workbook()
    book.active.title = "Old"
    book.active.append(["x"])
    book.active.append([1])
    if first_hidden:
        book.active.sheet_state = "hidden"
    data = book.active if not first_hidden else book.create_sheet("Data")
    if not first_hidden:
        data.delete_rows(1, 2)
    data.append(["when", "at", "either", "size", "side"])
    for i in range(40):
        day, at = datetime.date(2020, 1 + i % 2, 1 + i % 28), datetime.datetime(2020, 1, 1 + i % 28, 3)
        data.append([day, at, at if i % 3 else day, i % 2 + i / 100, "lr"[i % 2] if i < 12 else None])
    book.create_sheet("Notes").append(["y"])
    book.active = 1 if first_hidden else 0
    book.save(path)


def test_sheets_with_dates_are_read(folder, capsys):
    workbook("data.xlsx")
    table = open_table(Path("data.xlsx"))
    assert table.column("when").to_pylist()[1] == datetime.date(2020, 2, 2)
    assert table.column("either").to_pylist()[:2] == [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 2, 3)]
    hidegl("label data.xlsx --labels side --effort quick")
    said = " ".join(capsys.readouterr().err.split())
    assert "learning from 4 columns: 1 number, 3 dates" in said
    assert "data.xlsx has 2 sheets: 'Old' is read, and not 'Notes'" in said


def test_a_hidden_sheet_is_not_read(folder, capsys):
    workbook("data.xlsx", first_hidden=True)
    hidegl("inspect data.xlsx --json")
    found = json.loads(capsys.readouterr().out)
    assert [column["column"] for column in found["columns"]] == ["when", "at", "either", "size", "side"]
    assert found["notes"] == [
        {"code": "other-sheets", "text": "data.xlsx has 3 sheets: 'Data' is read, and not 'Old' (hidden), 'Notes'"}
    ]


# The report of columns, and what people say about them


def dirty_shop(path, n=160):
    rng = np.random.default_rng(0)
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["id", "price", "when", "code", "side"])
        for i in range(n):
            price = f"${1000 * (i % 2) + 900 * rng.random():,.2f}" if i % 20 else "call us"
            lines.writerow(
                [i, price, f"{['Apr', 'May'][i % 2]} {i % 28 + 1:02}, 2020", 100 + i % 5, "lr"[i % 2] * (i < 24)]
            )


def test_every_column_is_reported_and_nothing_is_cut(folder, capsys):
    dirty_shop(Path("shop.csv"))
    hidegl("inspect shop.csv --labels side")
    shown = capsys.readouterr().out
    assert "numbers, in $" in shown
    hidegl("label shop.csv --labels side --effort quick --json")
    found = json.loads(capsys.readouterr().out)
    report = {column.pop("column"): column for column in found["columns"]}
    assert {name: (column["kind"], column["learned"]) for name, column in report.items()} == {
        "id": ("", False),
        "price": ("number", True),
        "when": ("date", True),
        "code": ("number", True),
        "side": ("category", False),
    }
    assert report["id"]["why"] == "an id"
    assert report["side"] == {
        "kind": "category", "why": "the label", "examples": ["l", "r"], "missing": 0.85, "learned": False
    }  # fmt: skip
    assert report["when"]["examples"] == ["Apr 01, 2020", "May 02, 2020", "Apr 03, 2020"]
    text = "price: 8 cells are not understood as numbers, such as 'call us'; they count as empty"
    assert {"code": "not-understood", "text": text} in found["notes"]
    for command in ("suggest shop.csv -n 2 -f", "audit shop.csv --labels side"):
        hidegl(f"{command} --json")
        assert len(json.loads(capsys.readouterr().out)["columns"]) == 5


def test_a_person_says_what_a_column_holds_and_the_model_remembers(folder, capsys):
    dirty_shop(Path("shop.csv"))
    hidegl("label shop.csv --labels side --as code=category,id=number --model m.hidegl --effort quick --json")
    report = {column["column"]: column for column in json.loads(capsys.readouterr().out)["columns"]}
    assert (report["code"]["kind"], report["id"]["kind"], report["id"]["learned"]) == ("category", "number", True)
    hidegl("inspect m.hidegl --json")
    assert "code (category)" in json.loads(capsys.readouterr().out)["embedder"]
    hidegl("predict m.hidegl shop.csv --json")
    found = json.loads(capsys.readouterr().out)
    assert {column["column"]: column["kind"] for column in found["columns"] if column["learned"]} == {
        "id": "number", "price": "number", "when": "date", "code": "category"
    }  # fmt: skip


def test_new_rows_may_be_written_in_another_way(folder):
    dirty_shop(Path("shop.csv"))
    hidegl("label shop.csv --labels side --columns price,when --model m.hidegl --effort quick --quiet")
    new = pd.DataFrame({"when": ["2020-05-03", "2020-04-03"], "price": ["1.604,86", "304,5"]})
    new.to_csv("new.csv", index=False)
    hidegl("predict m.hidegl new.csv --quiet")
    assert pd.read_csv("new.predicted.csv").label.tolist() == ["r", "l"]
