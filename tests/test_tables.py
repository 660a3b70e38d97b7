"""Tables as people have them: numbers, categories, dates, texts and gaps together."""

from __future__ import annotations

import csv
import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from commands import hidegl, refused
from hidegl import AutoHiDeGL
from hidegl.basics.archives import HEADER, read_archive, write_archive
from hidegl.basics.stored import Stored
from hidegl.embedding import TableEncoder, load_embedder
from hidegl.embedding.column_kinds import kind_of
from hidegl.embedding.random_gaps import are_random


def shop(n=240, gaps=0.1, seed=0):
    """A table of three kinds of customers, with what real tables have: ids, codes, dates, categories and gaps."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(3, size=n)
    cities = [["Rome", "Oslo", "Lima"][k] if rng.random() < 0.8 else "Bern" for k in kind]
    columns = {
        "customer_id": rng.permutation(10**6)[:n].tolist(),
        "age": (30 + 15 * kind + rng.normal(size=n) * 3).round(1).tolist(),
        "city": cities,
        "member": (rng.random(n) < 0.2 + 0.3 * kind).tolist(),
        "since": [datetime.date(2015, 1, 1) + datetime.timedelta(days=int(700 * k + rng.integers(300))) for k in kind],
        "zip_code": rng.integers(10_000, 99_999, size=n).tolist(),
        "country": ["Utopia"] * n,
        "remark": [f"wants {['red', 'blue', 'green'][k]} shoes of size {rng.integers(30, 46)}" for k in kind],
    }
    for name in ("age", "city", "since"):
        columns[name] = [None if rng.random() < gaps else value for value in columns[name]]
    return columns, np.array(["young", "middle", "old"])[kind]


KINDS = {
    "number": (pa.array([1.5, 2.0, None]), "size", "number", ""),
    "boolean": (pa.array([True, False, None]), "member", "number", ""),
    "category": (pa.array(["a", "b", "a"]), "colour", "category", ""),
    "date": (pa.array([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]), "day", "date", ""),
    "date as text": (pa.array(["31.12.2020", "01.02.2021", None]), "day", "date", ""),
    "timestamp": (pa.array([1_600_000_000, 1_600_100_000, 1_600_100_001]), "created_at", "date", ""),
    "milliseconds": (pa.array([1_600_000_000_000, 1_600_100_000_000]), "time", "date", ""),
    "an amount": (pa.array([1_600_000_000, 1_600_100_000, 1_600_100_001]), "price", "number", ""),
    "text": (pa.array([f"{i} long words in this text" for i in range(100)]), "note", "text", ""),
    "id": (pa.array([5, 3, 8]), "customer_id", "", "an id"),
    "ID": (pa.array(["a", "b", "a"]), "Individual ID", "", "an id"),
    "id, in one word": (pa.array([5, 3, 8]), "userId", "", "an id"),
    "no id": (pa.array([5.0, 3.5, 8.1]), "malic_acid", "number", ""),
    "names": (pa.array([f"name{i}" for i in range(100)]), "who", "", "it names the rows"),
    "zip code": (pa.array(range(10_000, 20_000, 7)), "zip", "", "a code, not an amount"),
    "few zip codes": (pa.array([10_115, 20_095] * 20), "zip", "category", ""),
    "row numbers": (pa.array(range(50)), "n", "", "row numbers"),
    "row numbers, mixed": (pa.array(np.random.default_rng(0).permutation(50)), "n", "", "row numbers in another order"),
    "a counter": (pa.array(np.cumsum(np.arange(1, 60) % 4 + 1)), "n", "", "a counter: it grows with every row"),
    "numbers that name": (
        pa.array(np.random.default_rng(0).permutation(10**6)[:60]),
        "account number",
        "",
        "it names the rows",
    ),
    "constant": (pa.array([2.0, 2.0]), "x", "", "the same in every row"),
    "constant with gaps": (pa.array(["yes"] * 19 + [None]), "x", "", "the same in every row"),
    "a flag": (pa.array(["yes", None, None]), "x", "category", ""),
    "a flag of most rows": (pa.array(["yes", None, "yes"]), "x", "category", ""),
    "empty": (pa.array([None, None], pa.string()), "x", "", "empty"),
    "only blanks": (pa.array(["", " "]), "x", "", "empty"),
    "nested": (pa.array([{"a": 1}, {"a": 2}]), "x", "", "structures"),
}


@pytest.mark.parametrize(("column", "name", "kind", "reason"), KINDS.values(), ids=KINDS)
def test_what_a_column_holds_is_seen(column, name, kind, reason):
    found = kind_of(name, pa.chunked_array([column]))
    assert (found.name, found.reason) == (kind, reason)


def test_a_column_counts_by_the_root_of_its_dimensions():
    columns, _ = shop(gaps=0)
    encoder = TableEncoder().fit(pa.table(columns))
    vectors = encoder.transform(pa.table(columns))
    variances = dict.fromkeys(encoder.input_names, 0.0)
    for name, variance in zip(encoder.get_feature_names_out(), vectors.var(axis=0), strict=True):
        variances[name.split(":")[0]] += variance
    dimensions = {column.name: column.code.n_dimensions for column in encoder.encoded_}
    assert dimensions["city"] == 3
    assert dimensions["age"] == 1
    for name, variance in variances.items():
        assert variance == pytest.approx(np.sqrt(dimensions[name]), rel=1e-6)


def test_numbers_alone_stay_as_they_are_and_gaps_get_the_median():
    pixels = np.random.default_rng(0).integers(0, 255, size=(30, 4), dtype=np.uint8)
    table = pa.table({f"p{j}": pixels[:, j] for j in range(4)})
    encoder = TableEncoder().fit(table)
    assert encoder.transform(table).dtype == np.uint8
    np.testing.assert_array_equal(encoder.transform(table), pixels)
    holed = table.set_column(1, "p1", pa.array([None, *pixels[1:, 1].tolist()]))
    filled = encoder.transform(holed)
    assert filled[0, 1] == np.median(pixels[:, 1])
    assert encoder.filled_ == {"p1": 1}
    np.testing.assert_array_equal(np.delete(filled, 1, axis=1), np.delete(pixels, 1, axis=1))


def test_new_rows_may_hold_new_categories_gaps_and_columns_in_any_order():
    columns, _ = shop()
    encoder = TableEncoder().fit(pa.table(columns))
    new = {name: values[:3] for name, values in reversed(columns.items())}
    new["city"] = ["Atlantis", None, new["city"][2]]
    new["age"] = [None, float("inf"), 40.0]
    found = encoder.transform(pa.table(new))
    assert np.isfinite(found).all()
    names = encoder.get_feature_names_out().tolist()
    cities = [i for i, name in enumerate(names) if name.startswith("city:")]
    of_city = next(column for column in encoder.encoded_ if column.name == "city")
    np.testing.assert_allclose(found[0, cities], -of_city.offset / of_city.scale)  # none of the known ones
    assert encoder.filled_["age"] == 2
    with pytest.raises(ValueError, match="X lacks columns that were learned from: age"):
        encoder.transform(pa.table({"city": ["Rome"]}))
    with pytest.raises(ValueError, match="the column 'age' cannot be used: it contains text, but had numbers"):
        encoder.transform(pa.table({**new, "age": ["old", "older", "x"]}))


def test_frames_of_pandas_and_polars_are_the_same_table():
    columns, _ = shop()
    expected = TableEncoder().fit_transform(pa.table(columns))
    for frame in (pl.DataFrame(columns), pd.DataFrame(columns)):
        np.testing.assert_allclose(TableEncoder().fit_transform(frame), expected)
    with refused("table"):
        TableEncoder().fit(np.zeros((3, 2)))


def test_an_encoder_comes_back_from_a_model_file(folder):
    columns, truth = shop()
    encoder = TableEncoder().fit(pa.table(columns))
    X = encoder.transform(pa.table(columns))
    y = np.where(np.arange(len(truth)) % 12 == 0, truth, None)
    AutoHiDeGL("quick", preprocess="mixed", random_state=0).fit(X, y).save("m.hidegl", embedder=encoder)
    again = load_embedder("m.hidegl")
    np.testing.assert_array_equal(again.transform(pa.table(columns)), X)
    assert again.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()


def write(name, columns, delimiter=","):
    with open(name, "w", newline="") as file:  # noqa: PTH123
        lines = csv.writer(file, delimiter=delimiter)
        lines.writerow(columns)
        lines.writerows(zip(*columns.values(), strict=True))


def test_a_mixed_table_is_labelled_and_new_rows_too(folder, capsys):
    columns, truth = shop(600)
    few = {
        **{n: v[:500] for n, v in columns.items()},
        "group": [t if i % 25 == 0 else "" for i, t in enumerate(truth[:500])],
    }
    write("shop.csv", few)
    hidegl("label shop.csv --labels group --model shop.hidegl --report shop.html")
    said = " ".join(capsys.readouterr().err.split())
    assert "learning from 5 columns: 2 numbers, 1 category, 1 date, 1 text" in said
    assert "customer_id (an id); zip_code (a code, not an amount); country (the same in every row)" in said
    assert "empty cells: age" in said
    labelled = pd.read_csv("shop.labelled.csv")
    assert list(labelled.columns) == [*few, "label", "confidence", "given", "unseen"]
    assert (labelled.label == truth[:500]).mean() > 0.95
    write("new.csv", {name: values[500:] for name, values in reversed(columns.items())})
    hidegl("predict shop.hidegl new.csv")
    assert (pd.read_csv("new.predicted.csv").label == truth[500:]).mean() > 0.9
    hidegl("inspect shop.hidegl")
    assert "columns of a table" in capsys.readouterr().out


def test_its_own_output_is_read_as_labels_where_they_were_given(folder, capsys):
    columns, truth = shop()
    write("shop.csv", {**columns, "label": [t if i % 12 == 0 else "" for i, t in enumerate(truth)]})
    hidegl("label shop.csv -o first.csv")
    hidegl("label first.csv -o second.csv")
    assert capsys.readouterr().err.count("20 in the column 'label'") == 2
    first, second = pd.read_csv("first.csv"), pd.read_csv("second.csv")
    pd.testing.assert_frame_equal(first, second)
    hidegl("label shop.csv --labels first.csv -o third.csv")
    assert "this is an output of hidegl: its labels count where 'given' is true" in capsys.readouterr().err
    pd.testing.assert_frame_equal(first, pd.read_csv("third.csv"))


def test_margins_of_images_stay_and_other_constants_go(folder, capsys):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 16, size=(40, 36)) + 10 * np.repeat([[0], [1]], 20, axis=0)
    images[:, 5] = 0
    columns = {f"pixel_{j}": images[:, j].tolist() for j in range(36)}
    few = ["a" if i % 5 == 0 else "" for i in range(20)] + ["b"] * 20
    write("pixels.csv", {**columns, "kind": few})
    hidegl("label pixels.csv --labels kind --effort quick")
    assert "36 columns of numbers" in capsys.readouterr().err
    write("few.csv", {**{name: columns[name] for name in ("pixel_4", "pixel_5", "pixel_6")}, "kind": few})
    hidegl("label few.csv --labels kind --effort quick")
    assert "pixel_5 (the same in every row)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("place", "value"),
    [("0.scale", 5e-324), ("0.code.high", 1e308), ("2.code.middle", 1e308), ("2.scale", 1e-320), ("1.scale", 1e-310)],
)
def test_an_encoder_that_gives_no_finite_numbers_is_refused(place, value):
    days = pa.array(range(30), pa.int32()).cast(pa.date32())
    table = pa.table({"a": [1.0, 2.0, 5.0] * 10, "kind": ["x", "y", "z"] * 10, "day": days})
    values, arrays = TableEncoder(["a", "kind", "day"]).fit(table).__hidegl_state__()
    assert TableEncoder.restored(Stored(values, arrays)).transform(table).shape == (30, 9)
    number, *names, last = place.split(".")
    inside = values["columns"][int(number)]
    for name in names:
        inside = inside[name]
    inside[last] = value
    if last == "high":
        values["columns"][0]["scale"] = 1e-10
    with pytest.raises(ValueError, match=r"scale must leave all numbers finite|middle must be a number in"):
        TableEncoder.restored(Stored(values, arrays))


def test_a_model_with_an_embedder_of_other_columns_is_damaged(folder, capsys):
    Path("data.csv").write_text(
        "".join(f"{line}\n" for line in ["a,kind,side", *(f"{i % 7},{'xy'[i % 2]},{'lr'[i % 2]}" for i in range(40))])
    )
    hidegl("label data.csv --labels side --model m.hidegl --effort quick")
    header, arrays = read_archive("m.hidegl")
    header["embedder"]["columns"].pop()
    del header["format"]
    write_archive("other.hidegl", header, {name: arrays[name] for name in arrays if name != HEADER})
    hidegl("predict other.hidegl data.csv", 1)
    assert "its embedder makes 1 columns, but it learned from 3" in capsys.readouterr().err


def related(n=200):
    """Columns that follow from one another, and the same with gaps."""
    rng = np.random.default_rng(0)
    size = rng.normal(size=n)
    whole = {"a": size, "b": 3 * size + 0.1 * rng.normal(size=n) + 50, "c": rng.normal(size=n)}
    gaps = {name: rng.random(n) < 0.2 for name in whole}
    held = {name: np.where(gaps[name], np.nan, column) for name, column in whole.items()}
    colours = pa.array(np.where(size > 0, "red", "blue"))
    return whole, gaps, pa.table({**{k: pa.array(v, from_pandas=True) for k, v in held.items()}, "colour": colours})


def test_gaps_of_numbers_are_filled_in_from_the_other_columns():
    whole, gaps, table = related()
    encoder = TableEncoder()
    found = encoder.fit_transform(table)
    for place, name in enumerate(("a", "b")):
        column = encoder.encoded_[place]
        numbers = found[:, place] * column.scale + column.offset
        np.testing.assert_allclose(numbers[~gaps[name]], whole[name][~gaps[name]])
        by_median = np.abs(np.nanmedian(whole[name]) - whole[name][gaps[name]])
        assert np.mean(np.abs(numbers - whole[name])[gaps[name]]) < 0.5 * np.mean(by_median)
        assert np.all(numbers <= whole[name][~gaps[name]].max() + 1e-9)
    again = TableEncoder.restored(Stored(*encoder.__hidegl_state__()))
    np.testing.assert_allclose(again.transform(table), found)


def test_empty_cells_are_a_category_only_if_they_go_with_other_columns():
    rng = np.random.default_rng(0)
    size, n = rng.normal(size=400), 400
    names = np.where(rng.random(n) < 0.98, "no", "yes").astype(object)
    at_random = np.where(rng.random(n) < 0.1, None, names)
    of_small_ones = np.where((size < -0.5) & (rng.random(n) < 0.5), None, names)
    table = pa.table({"size": size, "smokes": pa.array(at_random), "asked": pa.array(of_small_ones)})
    encoder = TableEncoder()
    found = encoder.fit_transform(table)
    assert encoder.get_feature_names_out().tolist() == [
        "size",
        *("smokes: no", "smokes: yes"),
        *("asked: empty", "asked: no", "asked: yes"),
    ]
    empty = at_random == None  # noqa: E711
    np.testing.assert_allclose(found[empty, 1:3], 0, atol=1e-9)  # the mean of the column
    again = TableEncoder.restored(Stored(*encoder.__hidegl_state__()))
    np.testing.assert_array_equal(again.transform(table), found)
    whole = TableEncoder().fit(pa.table({"size": size, "smokes": names.astype(str)}))
    gap = whole.transform(pa.table({"size": [0.0], "smokes": pa.array([None], pa.string())}))
    np.testing.assert_allclose(gap[0, 1:], 0, atol=1e-9)


def test_gaps_at_random_are_seldom_taken_for_others():
    rng = np.random.default_rng(1)
    taken = [
        are_random(rng.random(200) < 0.1, [rng.normal(size=(200, 3)), np.eye(20)[rng.integers(20, size=200)]])
        for _ in range(300)
    ]
    assert np.mean(taken) > 0.95
    sizes = rng.normal(size=(200, 1))
    assert not are_random((sizes[:, 0] > 1) & (rng.random(200) < 0.7), [sizes])
    assert are_random(np.arange(3) == 1, [np.eye(3)])  # three rows show nothing


def test_tables_without_gaps_get_medians_in_new_rows():
    whole, _, _ = related()
    encoder = TableEncoder().fit(pa.table(whole))
    new = pa.table({"a": [None, 1.0], "b": [50.0, None], "c": [0.0, 0.0]})
    np.testing.assert_allclose(encoder.transform(new)[0, 0], np.median(whole["a"]))


@pytest.mark.parametrize("value", [1e139, 0.0])
def test_gaps_next_to_extreme_numbers_stay_finite(value):
    table = pa.table(
        {"a": [1.0, None, value, 3.0] * 9, "b": [value, -value, 1.0, None] * 9, "c": ["x", "y", None, "z"] * 9}
    )
    assert np.isfinite(TableEncoder().fit_transform(table)).all()
