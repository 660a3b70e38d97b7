"""Two protocols that others publish numbers for: texts with 8 labels per class, accuracy on test rows.

    HIDEGL_DATA=folder python benchmarks/public_protocols.py mteb [--jobs N] [DATA ...]
    HIDEGL_DATA=folder python benchmarks/public_protocols.py setfit FIRST LAST [--jobs N] [DATA ...]

Appends to results/public_protocols.jsonl, and leaves out what is there.

`mteb`: ten draws of labels as MTEB makes them, from the training rows, shuffled again and again with seed 42. Logistic
regression is MTEB's. hidegl sees the same vectors (all-MiniLM-L6-v2, rounded to 8 bits): once with the other training
rows as rows without a label, to predict test rows that are new to it; once with the test rows among its rows.
Banking77 and TREC-6 have their official test rows; of the others a fifth of the rows is the test, drawn with seed 0.

`setfit`: the procedure of SetFit with the same encoder (`setfit_procedure.py`), logistic regression, and hidegl with
the views of "minilm+layers", without and with tuning. hidegl sees up to 1,500 training rows without a label.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from harness import RECORDS
from hidegl import AutoHiDeGL
from hidegl.datasets import draw_labels, hide_labels
from processes import in_processes, option

STORE = "public_protocols"
PER_CLASS, SEED = 8, 42
MTEB_DRAWS, DRAWS = range(10), range(1000, 1010)
MTEB_SETS = ("banking77", "trec6", "cr", "amazon", "tweet_stance", "tweet_emotion", "sms_spam")
SETFIT_SETS = ("cr", "trec6", "amazon", "sms_spam", "banking77")
OFFICIAL_TEST = {"banking77": 3080, "trec6": 500}
"""The last rows are the official test rows."""

MOST_ROWS = 1500
"""Training rows without a label, and test rows, of the sets where a network is tuned."""

INDUCTIVE, TRANSDUCTIVE, LOGISTIC = "hidegl, new test rows", "hidegl, test rows among the rows", "logistic regression"
PUBLISHED = {("mteb", "banking77"): 79.8, ("setfit", "cr"): 71.6}
"""Public numbers of the same encoder: logistic regression in MTEB, and SetFit in its authors' table."""

Rows = NDArray[np.intp]


def main() -> None:
    jobs = option("--jobs", 1)
    command, *rest = sys.argv[1:]
    if command == "mteb":
        in_processes(by_mteb, [(name,) for name in rest or MTEB_SETS], jobs)
        return
    tasks = [(name, draw) for draw in range(int(rest[0]), int(rest[1]) + 1) for name in rest[2:] or SETFIT_SETS]
    in_processes(by_setfit_protocol, tasks, jobs)


def parts_of(name: str, y: Rows) -> tuple[Rows, Rows]:
    """The training rows and the test rows."""
    if (n := OFFICIAL_TEST.get(name)) is not None:
        return np.arange(len(y) - n), np.arange(len(y) - n, len(y))
    order = np.random.default_rng(0).permutation(len(y))
    return np.sort(order[len(y) // 5 :]), np.sort(order[: len(y) // 5])


def stored_already(protocol: str, name: str, draw: int) -> set[str]:
    cell = {"protocol": protocol, "data": name, "draw": draw}
    return {record["who"] for record in RECORDS.trials(STORE) if cell.items() <= record.items()}


def judged(cell: dict[str, Any], who: str, predict: Callable[[], Any], truth: Rows) -> dict[str, Any]:
    begun = time.perf_counter()
    right = np.mean(predict() == truth)
    seconds = time.perf_counter() - begun
    return {**cell, "who": who, "accuracy": round(100 * float(right), 2), "seconds": round(seconds, 2)}


# MTEB


def mteb_draws(y: Rows) -> list[Rows]:
    """The first eight rows of each class, in an order that is shuffled again for each draw."""
    order, draws = np.arange(len(y)), []
    for _ in MTEB_DRAWS:
        np.random.RandomState(SEED).shuffle(order)
        draws.append(np.concatenate([order[y[order] == label][:PER_CLASS] for label in np.unique(y)]))
    return draws


def by_mteb(name: str) -> None:
    warnings.simplefilter("ignore")
    with np.load(Path(os.environ["HIDEGL_DATA"]) / f"{name}.npz") as file:
        X, y = file["X"].astype(np.float32), file["y"].astype(np.intp)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    train, test = parts_of(name, y)

    @cache
    def model_of(who: str) -> AutoHiDeGL:
        return AutoHiDeGL(random_state=0).fit(X[train] if who == INDUCTIVE else X)

    def inductive(drawn: Rows) -> Any:
        return model_of(INDUCTIVE).relabel(hide_labels(y[train], drawn)).predict(X[test])

    def transductive(drawn: Rows) -> Any:
        return model_of(TRANSDUCTIVE).relabel(hide_labels(y, train[drawn])).transduction_[test]

    def logistic(drawn: Rows) -> Any:
        rows = train[drawn]
        return LogisticRegression(random_state=SEED, max_iter=100).fit(X[rows], y[rows]).predict(X[test])

    for draw, drawn in zip(MTEB_DRAWS, mteb_draws(y[train]), strict=True):
        cell, done = {"protocol": "mteb", "data": name, "draw": draw}, stored_already("mteb", name, draw)
        methods = {LOGISTIC: logistic, INDUCTIVE: inductive, TRANSDUCTIVE: transductive}
        for who, method in methods.items():
            if who not in done:
                RECORDS.append(STORE, [judged(cell, who, partial(method, drawn), y[test])])
    print(name, "done", flush=True)


# SetFit


def by_setfit_protocol(name: str, draw: int) -> None:
    warnings.simplefilter("ignore")
    from setfit_procedure import by_setfit
    from text_views import texts_of

    done = stored_already("setfit", name, draw)
    texts, y = texts_of(name)
    rng = np.random.default_rng(draw)
    train, test = parts_of(name, y)
    labelled = train[draw_labels(y[train], PER_CLASS * len(np.unique(y)), seed=draw, kind="balanced")]
    others = rng.choice(np.setdiff1d(train, labelled), min(MOST_ROWS, len(train) - len(labelled)), replace=False)
    test = rng.choice(test, min(MOST_ROWS, len(test)), replace=False)
    rows = np.concatenate([labelled, others, test])
    texts, y = [texts[row] for row in rows], y[rows].astype(np.intp)
    parts = (
        np.arange(len(labelled)),
        np.arange(len(labelled) + len(others)),
        np.arange(len(rows) - len(test), len(rows)),
    )
    cell = {"protocol": "setfit", "data": name, "draw": draw}
    if "SetFit's procedure" not in done:
        own = np.concatenate([parts[0], parts[2]])
        record = judged(
            cell,
            "SetFit's procedure",
            lambda: by_setfit([texts[row] for row in own], y[own], parts[0])[0][len(labelled) :],
            y[parts[2]],
        )
        RECORDS.append(STORE, [record])
        print(record, flush=True)
    if "hidegl, tuned" not in done:
        for record in with_texts(texts, y, parts):
            RECORDS.append(STORE, [{**cell, **record}])
            print(record, flush=True)


def with_texts(texts: list[str], y: Rows, parts: tuple[Rows, Rows, Rows]) -> list[dict[str, Any]]:
    """Logistic regression, and hidegl without and with tuning; seconds count embedding and tuning."""
    from hidegl.embedding import TextEmbedder
    from hidegl.spreading.labels import Labels

    labelled, train, test = parts
    given, truth = hide_labels(y, labelled), y[test]
    begun = time.perf_counter()
    embedder = TextEmbedder("minilm+layers").fit(texts)
    X, taken = embedder.transform(texts), 0.0
    taken = time.perf_counter() - begun
    last_layer = X[:, : next(iter(embedder.views_.values()))]
    linear = LogisticRegression(max_iter=1000)
    records = [
        judged({}, LOGISTIC, lambda: linear.fit(last_layer[labelled], y[labelled]).predict(last_layer[test]), truth)
    ]

    def fitted(who: str, X: NDArray[Any], seconds: float, **options: Any) -> None:
        def by_all() -> Any:
            return AutoHiDeGL(views=embedder.views_, random_state=0).fit(X, given, **options).transduction_[test]

        def by_training_rows() -> Any:
            model = AutoHiDeGL(views=embedder.views_, random_state=0).fit(X[train], given[train], **options)
            return model.predict(X[test])

        for title, predict in ((who, by_all), (f"{who}, new test rows", by_training_rows)):
            record = judged({}, title, predict, truth)
            records.append({**record, "seconds": round(record["seconds"] + seconds, 2)})

    fitted("hidegl", X, taken)
    begun = time.perf_counter()
    embedder.tune_by(texts, Labels.read(given, len(texts)))
    X = embedder.transform(texts)
    fitted("hidegl, tuned", X, time.perf_counter() - begun, learned=embedder.learned_)
    return sorted(records, key=lambda record: record["who"] == "hidegl, tuned")


if __name__ == "__main__":
    main()
