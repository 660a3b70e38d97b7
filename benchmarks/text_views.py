"""Texts: views of a sentence model compared with its last layer, and with tuning, at few labels per class.

    HIDEGL_DATA=folder python benchmarks/text_views.py run [FIRST LAST] [DATA ...]   results/text_views.jsonl
    HIDEGL_DATA=folder python benchmarks/text_views.py tune                          results/text_tuning.jsonl
    HIDEGL_DATA=folder python benchmarks/text_views.py page                          the tables of docs/from_texts.md

`run` labels seven sets with 3, 5, 10 and 20 labels per class, drawn by class, by AutoHiDeGL() on the last layer
("one view"), by AutoHiDeGL() on the views of "minilm+layers", and by logistic regression on the last layer. Draws from
1,000 on are for the report, earlier ones for development. One fit serves all draws of a set.

`tune` compares the views with and without the tuned one, and logistic regression on the tuned vectors alone, on a part
of the rows of five sets: tuning takes minutes for each draw.
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
TUNING = "text_tuning"
TUNED_CELLS = {"trec6": 5, "cr": 5, "sms_spam": 5, "tweet_emotion": 5, "banking77": 3}
"""Labels per class."""

TUNED_ROWS = 1500
"""Rows that are labelled, besides those with labels."""

TUNED_METHODS = {
    "views": "views",
    "tuned": "views and tuned",
    "tuned, logistic regression": "tuned, logistic regression",
}
METHODS = {"one view": "last layer", "views": "views", "logistic regression": "logistic regression"}


def main() -> None:
    command, *rest = sys.argv[1:]
    if command == "run":
        warnings.simplefilter("ignore")
        first, last = map(int, rest[:2] or DRAWS)
        for name in rest[2:] or SETS:
            run(name, range(first, last + 1))
    if command == "tune":
        warnings.simplefilter("ignore")
        for draw in range(*map(int, rest or (1000, 1002))):
            for name, per_class in TUNED_CELLS.items():
                run_tuning(name, per_class, draw)
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


def run_tuning(name: str, per_class: int, draw: int) -> None:
    if (name, per_class, draw) in {(r["data"], r["per_class"], r["draw"]) for r in RECORDS.trials(TUNING)}:
        return
    texts, y = texts_of(name)
    labelled = draw_labels(y, per_class * len(np.unique(y)), seed=draw, kind="balanced")
    others = np.random.default_rng(0).choice(len(y), min(TUNED_ROWS, len(y)), replace=False)
    rows = np.union1d(labelled, others)
    texts, y, labelled = [texts[row] for row in rows], y[rows], np.searchsorted(rows, labelled)
    given = hide_labels(y, labelled)
    begun, begun_cpu = time.perf_counter(), time.process_time()
    embedder = TextEmbedder("minilm+layers", tune=True).fit(texts, given)
    record: dict[str, Any] = {"data": name, "per_class": per_class, "draw": draw, "rows": len(rows)}
    record["tuning_seconds"] = round(time.perf_counter() - begun, 1)
    record["tuning_cpu_seconds"] = round(time.process_time() - begun_cpu, 1)
    X, width = embedder.transform(texts), embedder.views_["tuned"]
    untuned = {view: n for view, n in embedder.views_.items() if view != "tuned"}
    models = {
        "views": AutoHiDeGL(views=untuned, random_state=0).fit(X[:, :-width], given),
        "tuned": AutoHiDeGL(views=embedder.views_, random_state=0).fit(X, given, learned=embedder.learned_),
    }
    for method, model in models.items():
        record[method] = round(accuracy(model.transduction_, y, labelled), 2)
        record[f"{method}: expected"] = round(100 * model.expected_accuracy_.mean, 2)
    weights = models["tuned"].settings_["view_weights"]
    record["view_weights"] = {view: round(weight, 3) for view, weight in weights.items()}
    by_regression = by_logistic_regression(X[:, -width:], y, labelled)
    record["tuned, logistic regression"] = round(accuracy(by_regression, y, labelled), 2)
    RECORDS.append(TUNING, [record])
    print(record, flush=True)


def tables() -> dict[str, str]:
    return {"views": views_table(), "tuning": tuning_table()}


def tuning_table() -> str:
    """The mean accuracy on each set without and with tuning, and the mean of all."""
    records = RECORDS.trials(TUNING)
    titles = [*TUNED_METHODS.values(), "weight of the tuned view", "processor seconds", "draws"]
    lines = [f"| texts, labels per class | {' | '.join(titles)} |", "|---" * (1 + len(titles)) + "|"]
    for title, names in [*((f"{name}, {n}", (name,)) for name, n in TUNED_CELLS.items()), ("**all**", TUNED_CELLS)]:
        if own := [r for r in records if r["data"] in names]:
            accuracies = " | ".join(f"{mean(r[method] for r in own):.1f}" for method in TUNED_METHODS)
            timed = [r["tuning_cpu_seconds"] for r in own if "tuning_cpu_seconds" in r]
            seconds = f"{mean(timed):.0f}" if timed else "–"
            weight = mean(r["view_weights"]["tuned"] for r in own)
            lines.append(f"| {title} | {accuracies} | {weight:.0%} | {seconds} | {len(own)} |")
    return "\n".join(lines)


def views_table() -> str:
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
