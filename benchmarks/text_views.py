"""Texts: views of a sentence model compared with its last layer, and with tuning, at few labels per class.

    HIDEGL_DATA=folder python benchmarks/text_views.py run [FIRST LAST] [DATA ...]   results/text_views.jsonl
    HIDEGL_DATA=folder python benchmarks/text_views.py tune [FIRST LAST] [DATA ...]  results/text_tuning.jsonl
    HIDEGL_DATA=folder python benchmarks/text_views.py page                          the tables of docs/from_texts.md

`run` labels seven sets with 3, 5, 10 and 20 labels per class, drawn by class, by AutoHiDeGL() on the last layer
("one view"), by AutoHiDeGL() on the views of "minilm+layers", and by logistic regression on the last layer. Draws from
1,000 on are for the report, earlier ones for development. One fit serves all draws of a set.

`tune` compares the views with and without the tuned one, and SetFit and logistic regression, with the same labels, on a
part of the rows: tuning takes a minute or more for each draw. Processes with different sets may run at once.
`twice` does the same, and tunes once more by the surest guesses of the first model, to show what that is worth.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
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
from hidegl.spreading.labels import UNLABELLED, Labels
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
    "views": "views",
    "tuned": "views and tuned",
}
METHODS = {"one view": "last layer", "views": "views", "logistic regression": "logistic regression"}


def main() -> None:
    command, *rest = sys.argv[1:]
    if command == "run":
        warnings.simplefilter("ignore")
        first, last = map(int, rest[:2] or DRAWS)
        for name in rest[2:] or SETS:
            run(name, range(first, last + 1))
    if command in ("tune", "twice"):
        warnings.simplefilter("ignore")
        first, last = map(int, rest[:2] or TUNING_DRAWS)
        for draw in range(first, last + 1):
            for name in rest[2:] or SETS:
                for per_class in PER_CLASS:
                    run_tuning(name, per_class, draw, twice=command == "twice")
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


def run_tuning(name: str, per_class: int, draw: int, *, twice: bool = False) -> None:
    if (name, per_class, draw) in {(r["data"], r["per_class"], r["draw"]) for r in RECORDS.trials(TUNING)}:
        return
    texts, y = texts_of(name)
    labelled = draw_labels(y, per_class * len(np.unique(y)), seed=draw, kind="balanced")
    others = np.random.default_rng(0).choice(len(y), min(TUNED_ROWS, len(y)), replace=False)
    rows = np.union1d(labelled, others)
    texts, y, labelled = [texts[row] for row in rows], y[rows], np.searchsorted(rows, labelled)
    given = hide_labels(y, labelled)
    record: dict[str, Any] = {"data": name, "per_class": per_class, "draw": draw, "rows": len(rows)}
    record["device"] = "gpu" if torch.cuda.is_available() else "cpu"

    def timed(step: str, work: Callable[[], Any]) -> Any:
        begun = time.perf_counter()
        found = work()
        record[f"{step}_seconds"] = round(time.perf_counter() - begun, 1)
        return found

    def judged(method: str, X: NDArray[np.float32], **options: Any) -> AutoHiDeGL:
        model = AutoHiDeGL(views=options.pop("views"), random_state=0).fit(X, given, **options)
        record[method] = round(accuracy(model.transduction_, y, labelled), 2)
        record[f"{method}: expected"] = round(100 * model.expected_accuracy_.mean, 2)
        return model

    embedder = TextEmbedder("minilm+layers").fit(texts)
    X = embedder.transform(texts)
    last_layer = X[:, : next(iter(embedder.views_.values()))]
    judged("views", X, views=embedder.views_)
    record["logistic regression"] = round(accuracy(by_logistic_regression(last_layer, y, labelled), y, labelled), 2)
    predicted, record["SetFit: steps"] = timed("setfit", lambda: by_setfit(texts, y, labelled))
    record["SetFit"] = round(accuracy(predicted, y, labelled), 2)
    labels = Labels.read(given, len(texts))
    timed("tuning", lambda: embedder.tune_by(texts, labels))
    X = timed("embedding", lambda: embedder.transform(texts))
    model = judged("tuned", X, views=embedder.views_, learned=embedder.learned_)
    weights = model.settings_["view_weights"]
    record["view_weights"] = {view: round(weight, 3) for view, weight in weights.items()}
    of_tuned = X[:, -embedder.views_["tuned"] :]
    by_regression = by_logistic_regression(of_tuned, y, labelled)
    record["tuned, logistic regression"] = round(accuracy(by_regression, y, labelled), 2)
    if twice:
        guesses = surest(model, labels)
        timed("second_tuning", lambda: embedder.tune_by(texts, labels, guesses))
        judged("two rounds", embedder.transform(texts), views=embedder.views_, learned=embedder.learned_)
    RECORDS.append(TUNING, [record])
    print(record, flush=True)


def surest(model: AutoHiDeGL, labels: Labels) -> Labels:
    """The surest half of the guesses of each class, but no more than twice its labels or 20."""
    predicted, confidence = model.transduction_, model.label_distributions_.max(axis=1)
    chosen = np.full(labels.n_rows, UNLABELLED)
    for number, count in enumerate(labels.counts):
        own = np.setdiff1d(np.flatnonzero(predicted == labels.classes[number]), labels.rows)
        most = min(max(20, 2 * count), -(-len(own) // 2))
        chosen[own[np.argsort(-confidence[own], kind="stable")[:most]]] = number
    return Labels.of(labels.classes, chosen)


def tables() -> dict[str, str]:
    return {"views": views_table(), "tuning": tuning_table()}


def tuning_table() -> str:
    """The mean accuracy on each set, at each number of labels, and of all."""
    records = [r for r in RECORDS.trials(TUNING) if TUNING_DRAWS[0] <= r["draw"] <= TUNING_DRAWS[1]]
    return table_of(records, TUNED_METHODS)


def views_table() -> str:
    """The mean accuracy on each set, at each number of labels, and of all."""
    return table_of([r for r in RECORDS.trials(STORE) if DRAWS[0] <= r["draw"] <= DRAWS[1]], METHODS)


def table_of(records: list[dict[str, Any]], methods: dict[str, str]) -> str:
    """The mean accuracy of methods on each set, at each number of labels, and of all."""
    lines = [f"| texts | {' | '.join(methods.values())} |", "|---" * (1 + len(methods)) + "|"]

    def line(title: str, own: list[dict[str, Any]]) -> str:
        return f"| {title} | {' | '.join(f'{mean(r[method] for r in own):.1f}' for method in methods)} |"

    lines += [line(name, [r for r in records if r["data"] == name]) for name in SETS]
    lines += [line(f"all, {n} labels per class", [r for r in records if r["per_class"] == n]) for n in PER_CLASS]
    return "\n".join([*lines, line("**all**", records)])


if __name__ == "__main__":
    main()
