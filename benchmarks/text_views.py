"""Texts: views of a sentence model compared with its last layer, and with tuning, at few labels per class.

    HIDEGL_DATA=folder python benchmarks/text_views.py run [FIRST LAST] [DATA ...]   results/text_views.jsonl
    HIDEGL_DATA=folder python benchmarks/text_views.py tune [FIRST LAST] [DATA ...]  results/text_tuning.jsonl
    HIDEGL_DATA=folder python benchmarks/text_views.py setfit [FIRST LAST] [DATA ...]  the same file
    HIDEGL_DATA=folder python benchmarks/text_views.py page                          the tables of docs/from_texts.md

`run` labels seven sets with 3, 5, 10 and 20 labels per class, drawn by class, by AutoHiDeGL() on the last layer
("one view"), by AutoHiDeGL() on the views of "minilm+layers", and by logistic regression on the last layer. Draws from
1,000 on are for the report, earlier ones for development. One fit serves all draws of a set.

`tune` compares the views with and without the tuned one, and logistic regression, with the same labels, on a part of
the rows: tuning takes a minute or more for each draw. `setfit` adds the procedure of SetFit on the same rows. Processes
with different sets may run at once.
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
import torch
from numpy.typing import NDArray

from harness import DOCS, RECORDS, with_tables
from hidegl import AutoHiDeGL
from hidegl.basics.whole_files import replacing
from hidegl.datasets import accuracy, draw_labels, hide_labels
from hidegl.embedding import TextEmbedder
from hidegl.spreading.labels import Labels
from setfit_procedure import by_setfit
from texts import by_logistic_regression

STORE = "text_views"
SETS = ("trec6", "cr", "amazon", "tweet_stance", "tweet_emotion", "sms_spam", "banking77")
PER_CLASS = (3, 5, 10, 20)
DRAWS = (1000, 1004)
PAGE = DOCS / "from_texts.md"
TUNING = "text_tuning"
TUNING_DRAWS = (1000, 1000)
TUNED_ROWS = 1500
"""Rows that are labelled, besides those with labels."""

TUNED_METHODS = {
    "logistic regression": "logistic regression",
    "SetFit": "SetFit",
    "views": "hidegl",
    "tuned": "hidegl, `--tune`",
    "tuned: expected": "its expected accuracy",
    "weight": "weight of the tuned view",
}
METHODS = {"one view": "last layer", "views": "views", "logistic regression": "logistic regression"}


def main() -> None:
    command, *rest = sys.argv[1:]
    if command == "run":
        warnings.simplefilter("ignore")
        first, last = map(int, rest[:2] or DRAWS)
        for name in rest[2:] or SETS:
            run(name, range(first, last + 1))
    if command in ("tune", "setfit"):
        warnings.simplefilter("ignore")
        first, last = map(int, rest[:2] or TUNING_DRAWS)
        for draw in range(first, last + 1):
            for name in rest[2:] or SETS:
                for per_class in PER_CLASS:
                    run_tuning("SetFit" if command == "setfit" else "hidegl", name, per_class, draw)
    if command == "page":
        text = with_tables(PAGE.read_text(), tables())
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


def run_tuning(who: str, name: str, per_class: int, draw: int) -> None:
    cell = {"who": who, "data": name, "per_class": per_class, "draw": draw}
    if any(cell.items() <= record.items() for record in RECORDS.trials(TUNING)):
        return
    texts, y = texts_of(name)
    labelled = draw_labels(y, per_class * len(np.unique(y)), seed=draw, kind="balanced")
    others = np.random.default_rng(0).choice(len(y), min(TUNED_ROWS, len(y)), replace=False)
    rows = np.union1d(labelled, others)
    texts, y, labelled = [texts[row] for row in rows], y[rows], np.searchsorted(rows, labelled)
    record = {**cell, "rows": len(rows), "device": "gpu" if torch.cuda.is_available() else "cpu"}
    record |= setfit_record(texts, y, labelled) if who == "SetFit" else tuned_record(texts, y, labelled)
    RECORDS.append(TUNING, [record])
    print(record, flush=True)


def setfit_record(texts: list[str], y: NDArray[np.intp], labelled: NDArray[np.intp]) -> dict[str, Any]:
    begun = time.perf_counter()
    predicted, n_steps = by_setfit(texts, y, labelled)
    taken = time.perf_counter() - begun
    return {"seconds": round(taken, 1), "steps": n_steps, "accuracy": round(accuracy(predicted, y, labelled), 2)}


def tuned_record(texts: list[str], y: NDArray[np.intp], labelled: NDArray[np.intp]) -> dict[str, Any]:
    given, record = hide_labels(y, labelled), dict[str, Any]()

    def judged(method: str, X: NDArray[np.float32], **options: Any) -> AutoHiDeGL:
        model = AutoHiDeGL(views=embedder.views_, random_state=0).fit(X, given, **options)
        record[method] = round(accuracy(model.transduction_, y, labelled), 2)
        record[f"{method}: expected"] = round(100 * model.expected_accuracy_.mean, 2)
        return model

    embedder = TextEmbedder("minilm+layers").fit(texts)
    X = embedder.transform(texts)
    last_layer = X[:, : next(iter(embedder.views_.values()))]
    judged("views", X)
    record["logistic regression"] = round(accuracy(by_logistic_regression(last_layer, y, labelled), y, labelled), 2)
    begun, begun_cpu = time.perf_counter(), time.process_time()
    embedder.tune_by(texts, Labels.read(given, len(texts)))
    record["tuning_seconds"] = round(time.perf_counter() - begun, 1)
    record["tuning_processor_seconds"] = round(time.process_time() - begun_cpu, 1)
    X = embedder.transform(texts)
    weights = judged("tuned", X, learned=embedder.learned_).settings_["view_weights"]
    record["view_weights"] = {view: round(weight, 3) for view, weight in weights.items()}
    by_regression = by_logistic_regression(X[:, -embedder.views_["tuned"] :], y, labelled)
    record["tuned, logistic regression"] = round(accuracy(by_regression, y, labelled), 2)
    return record


def tables() -> dict[str, str]:
    return {"views": views_table(), "tuning": tuning_table()}


def tuning_table() -> str:
    """The same for tuning, on the cells that SetFit has, too."""
    found: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = {"SetFit": {}, "hidegl": {}}
    for r in RECORDS.trials(TUNING):
        found[r["who"]][r["data"], r["per_class"], r["draw"]] = r
    records = [
        {**r, "SetFit": found["SetFit"][cell]["accuracy"], "weight": 100 * r["view_weights"].get("tuned", 0)}
        for cell, r in found["hidegl"].items()
        if cell in found["SetFit"] and TUNING_DRAWS[0] <= r["draw"] <= TUNING_DRAWS[1]
    ]
    return table_of(records, TUNED_METHODS)


def views_table() -> str:
    """The mean accuracy on each set, at each number of labels, and of all."""
    return table_of([r for r in RECORDS.trials(STORE) if DRAWS[0] <= r["draw"] <= DRAWS[1]], METHODS)


def table_of(records: list[dict[str, Any]], methods: dict[str, str]) -> str:
    """The mean accuracy of methods on each set, at each number of labels, and of all."""
    lines = [f"| texts | {' | '.join(methods.values())} |", "|---" * (1 + len(methods)) + "|"]

    def line(title: str, own: list[dict[str, Any]]) -> str:
        return f"| {title} | {' | '.join(f'{mean(r[method] for r in own):.1f}' for method in methods)} |"

    for title, key, values in (("{}", "data", SETS), ("all, {} labels per class", "per_class", PER_CLASS)):
        for value in values:
            if own := [r for r in records if r[key] == value]:
                lines.append(line(title.format(value), own))
    return "\n".join([*lines, line(f"**all** ({len(records)} draws)", records)])


if __name__ == "__main__":
    main()
