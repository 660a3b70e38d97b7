"""Texts: views of a sentence model compared with its last layer, and with tuning, at few labels per class.

    HIDEGL_DATA=folder python benchmarks/text_views.py run [FIRST LAST] [DATA ...]   results/text_views.jsonl
    HIDEGL_DATA=folder python benchmarks/text_views.py page                          the table of docs/from_texts.md

`run` labels seven sets with 3, 5, 10 and 20 labels per class, drawn by class, by AutoHiDeGL() on the last layer
("one view"), by AutoHiDeGL() on the views of "minilm+layers", and by logistic regression on the last layer. Draws from
1,000 on are for the report, earlier ones for development. One fit serves all draws of a set.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness import DOCS, RECORDS, with_tables
from hidegl import AutoHiDeGL
from hidegl.basics.whole_files import replacing
from hidegl.datasets import accuracy, draw_labels, hide_labels
from hidegl.embedding import TextEmbedder
from texts import by_logistic_regression

STORE = "text_views"
SETS = ("trec6", "cr", "amazon", "tweet_stance", "tweet_emotion", "sms_spam", "banking77")
PER_CLASS = (3, 5, 10, 20)
DRAWS = (1000, 1004)
PAGE = DOCS / "from_texts.md"
METHODS = {"one view": "last layer", "views": "views", "logistic regression": "logistic regression"}


def main() -> None:
    command, *rest = sys.argv[1:]
    if command == "run":
        warnings.simplefilter("ignore")
        first, last = map(int, rest[:2] or DRAWS)
        for name in rest[2:] or SETS:
            run(name, range(first, last + 1))
    text = with_tables(PAGE.read_text(), {"views": table()})
    if command == "page":
        with replacing(PAGE) as file:
            file.write(text.encode())


def texts_of(name: str) -> tuple[list[str], NDArray[np.intp]]:
    """The texts of a set, and their classes."""
    folder = Path(os.environ["HIDEGL_DATA"])
    with np.load(folder / f"{name}.npz") as data:
        y = data["y"]
        stored = [str(text) for text in data["text"]] if "text" in data else None
    return stored or json.loads((folder / f"{name}.texts.json").read_text()), y


def run(name: str, draws: range) -> None:
    done = {(r["data"], r["per_class"], r["draw"]) for r in RECORDS.trials(STORE)}
    missing = [(n, draw) for draw in draws for n in PER_CLASS if (name, n, draw) not in done]
    if not missing:
        return
    texts, y = texts_of(name)
    embedder = TextEmbedder("minilm+layers").fit(texts)
    begun = time.perf_counter()
    X = embedder.transform(texts)
    embedding_seconds = time.perf_counter() - begun
    last_layer = np.ascontiguousarray(X[:, : next(iter(embedder.views_.values()))])
    models, fit_seconds = {}, {}
    for method, rows, views in (("one view", last_layer, None), ("views", X, embedder.views_)):
        AutoHiDeGL("quick", views=views, random_state=0).fit(rows[:500])  # compile
        begun = time.perf_counter()
        models[method] = AutoHiDeGL(views=views, random_state=0).fit(rows)
        fit_seconds[method] = time.perf_counter() - begun
    for n, draw in missing:
        labelled = draw_labels(y, n * len(np.unique(y)), seed=draw, kind="balanced")
        record: dict[str, Any] = {"data": name, "per_class": n, "draw": draw}
        for method, model in models.items():
            begun = time.perf_counter()
            found = model.relabel(hide_labels(y, labelled)).transduction_
            record[f"{method}: relabel_seconds"] = round(time.perf_counter() - begun, 2)
            record[f"{method}: fit_seconds"] = round(fit_seconds[method], 2)
            record[method] = round(accuracy(found, y, labelled), 2)
            record[f"{method}: expected"] = round(100 * model.expected_accuracy_.mean, 2)
        record["view_weights"] = {
            view: round(weight, 3) for view, weight in models["views"].settings_["view_weights"].items()
        }
        record["logistic regression"] = round(accuracy(by_logistic_regression(last_layer, y, labelled), y, labelled), 2)
        record["texts_per_second"] = round(len(texts) / embedding_seconds)
        RECORDS.append(STORE, [record])
        print(record, flush=True)


def table() -> str:
    """The mean accuracy on each set, at each number of labels, and of all."""
    records = [r for r in RECORDS.trials(STORE) if DRAWS[0] <= r["draw"] <= DRAWS[1]]
    lines = [f"| texts | {' | '.join(METHODS.values())} |", "|---" * (1 + len(METHODS)) + "|"]

    def line(title: str, own: list[dict[str, Any]]) -> str:
        return f"| {title} | {' | '.join(f'{mean(r[method] for r in own):.1f}' for method in METHODS)} |"

    lines += [line(name, [r for r in records if r["data"] == name]) for name in SETS]
    lines += [line(f"all, {n} labels per class", [r for r in records if r["per_class"] == n]) for n in PER_CLASS]
    return "\n".join([*lines, line("**all**", records)])


if __name__ == "__main__":
    main()
