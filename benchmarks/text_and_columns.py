"""Tables with a text: what the text alone, the columns alone and both together are worth.

    HIDEGL_DATA=folder python benchmarks/text_and_columns.py    results/text_and_columns.json, and docs/from_tables.md

The passengers of the Titanic, whose names are a text; tweets with their target, and reviews with the kind of product,
which hardly matter for the class; and tables made of a set of texts and a table: each row has a text and the columns of
a row of the same class. In one, the columns are those of random rows. At most 600 rows. Labels are drawn class by
class, at effort "quick". "By words": the text as up to 30 numbers among the columns, as in version 0.2.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from harness import DOCS, store, stored, with_tables
from hidegl import AutoHiDeGL
from hidegl.basics.whole_files import replacing
from hidegl.datasets import accuracy, draw_labels, hide_labels
from hidegl.embedding import TableEncoder, TextEmbedder
from hidegl.embedding.column_kinds import kind_of
from hidegl.embedding.table_with_text import JOINED, TableWithText
from text_views import texts_of

TEXT, MOST_ROWS, PER_CLASS, DRAWS = "text", 600, (3, 10), range(1000, 1005)
SETS = (
    "titanic",
    "tweet_stance",
    "amazon",
    "tweet_emotion + vehicle",
    "cr + adult",
    "cr + credit_g",
    "tweet_emotion + vehicle of random rows",
)
WHO = {
    "text": "text alone",
    "columns": "columns alone",
    "words": "both, text by words",
    "both": "both, views",
    "logistic": "logistic regression on both",
}
PAGE = DOCS / "from_tables.md"


def main() -> None:
    warnings.simplefilter("ignore")
    if "page" not in sys.argv:
        store("text_and_columns", {"draws": [DRAWS[0], DRAWS[-1]], "tables": [measured(name) for name in SETS]})
    with replacing(PAGE) as file:
        file.write(with_tables(PAGE.read_text(), tables()).encode())


def problem(name: str) -> tuple[pd.DataFrame, NDArray[np.intp]]:
    """The rows, with the text in the column `text`, and their classes."""
    if name == "titanic":
        frame, y = table_of_file("titanic")
        rows = np.sort(np.random.default_rng(0).permutation(len(y))[:MOST_ROWS])
        return frame.rename(columns={"name": TEXT}).iloc[rows].reset_index(drop=True), y[rows]
    texts, _, table = name.partition(" + ")
    sentences, y = texts_of(texts)
    frame = pd.DataFrame({TEXT: sentences})
    rng = np.random.default_rng(0)
    if not table:
        with np.load(Path(os.environ["HIDEGL_DATA"]) / f"{texts}.npz") as held:
            frame["about"] = held["target" if "target" in held else "domain"]
        rows = np.sort(rng.permutation(len(y))[:MOST_ROWS])
        return frame.iloc[rows].reset_index(drop=True), y[rows]
    others, z = table_of_file(table.removesuffix(" of random rows"))
    rows, partners = [], []
    n_classes = len(np.unique(z))
    for c in range(n_classes):
        own, theirs = rng.permutation(np.flatnonzero(y == c)), rng.permutation(np.flatnonzero(z == c))
        n = min(len(own), len(theirs), MOST_ROWS // n_classes)
        rows += own[:n].tolist()
        partners += theirs[:n].tolist()
    if table.endswith("random rows"):
        partners = rng.permutation(partners).tolist()
    joined = [frame.iloc[rows].reset_index(drop=True), others.iloc[partners].reset_index(drop=True)]
    return pd.concat(joined, axis=1), y[rows]


def table_of_file(name: str) -> tuple[pd.DataFrame, NDArray[np.intp]]:
    frame = pd.read_csv(Path(os.environ["HIDEGL_DATA"]) / "tables" / f"{name}.csv")
    y = pd.factorize(frame.pop("target"), sort=True)[0]
    return frame, y


def measured(name: str) -> dict[str, Any]:
    frame, y = problem(name)
    others = [column for column in frame.columns if column != TEXT]
    texts = TextEmbedder().fit(frame[TEXT])
    texts.columns, vectors = [TEXT], texts.transform(frame[TEXT])
    by_words, alone = TableEncoder().fit(frame), TableEncoder().fit(frame[others])
    columns = pa.Table.from_pandas(frame[others], preserve_index=False)
    kinds = {column: kind_of(column, columns[column]) for column in others}
    encoder = TableEncoder().fit_kinds(columns, kinds, scaled=True)
    both, rows = TableWithText.learned(texts, encoder, vectors, encoder.transform(columns))
    models = {
        "text": fitted(vectors, "auto", texts.views_),
        "columns": fitted(alone.transform(frame[others]), "mixed" if alone.is_scaled else "auto", {}),
        "words": fitted(by_words.transform(frame), "mixed", {}),
        "both": fitted(rows, both.preprocess, both.views_),
    }
    linear = rows[:, -both.views_[JOINED] :]
    facts = {"data": name, "rows": len(y), "n_columns": len(others), "classes": len(np.unique(y))}
    results = [facts | {"per_class": n} | scores(models, linear, y, n * facts["classes"]) for n in PER_CLASS]
    print(results, flush=True)
    return {"results": results}


def fitted(rows: Any, preprocess: Any, views: dict[str, int]) -> AutoHiDeGL:
    return AutoHiDeGL("quick", preprocess=preprocess, views=views, random_state=0).fit(rows)


def scores(models: dict[str, AutoHiDeGL], linear: NDArray[Any], y: NDArray[np.intp], n_labels: int) -> dict[str, float]:
    right: dict[str, list[float]] = {who: [] for who in WHO}
    for draw in DRAWS:
        labelled = draw_labels(y, n_labels, seed=draw, kind="balanced")
        for who, model in models.items():
            right[who].append(accuracy(model.relabel(hide_labels(y, labelled)).transduction_, y, labelled))
        line = LogisticRegression(max_iter=2000).fit(linear[labelled], y[labelled])
        right["logistic"].append(accuracy(line.predict(linear), y, labelled))
    return {who: round(mean(values), 2) for who, values in right.items()}


def tables() -> dict[str, str]:
    return {"text and columns": table_of([r for one in stored("text_and_columns")["tables"] for r in one["results"]])}


def table_of(results: list[dict[str, Any]]) -> str:
    lines = [f"| table | rows | labels per class | {' | '.join(WHO.values())} |", f"|---|---|---|{'---|' * len(WHO)}"]
    for r in results:
        values = " | ".join(f"{r[who]:.1f}" for who in WHO)
        lines.append(f"| {r['data']} | {r['rows']:,} | {r['per_class']} | {values} |")
    means = " | ".join(f"{mean(r[who] for r in results):.1f}" for who in WHO)
    return "\n".join([*lines, f"| mean | | | {means} |"])


if __name__ == "__main__":
    main()
