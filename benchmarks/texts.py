"""Texts: the accuracy of each way to embed them, and texts per second.

    HIDEGL_DATA=folder python benchmarks/texts.py      results/texts.json, and the table of docs/from_texts.md

Banking77 with 5 labels per class and TREC-6 with 10, labelled by AutoHiDeGL() and by logistic regression on the same
vectors. "stored" are the vectors of the data sets, which all-MiniLM-L6-v2 made in full precision.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from harness import DOCS, store, stored, summary, title, with_tables
from hidegl import AutoHiDeGL
from hidegl.basics.whole_files import replacing
from hidegl.datasets import accuracy, draw_labels, hide_labels
from hidegl.embedding import TextEmbedder

SETS = {"banking77": 5, "trec6": 10}
WAYS = ("stored", "minilm", "words")
DRAWS = range(1000, 1005)
PAGE = DOCS / "from_texts.md"


def main() -> None:
    warnings.simplefilter("ignore")
    if "page" not in sys.argv:
        results = [measured(name, way) for name in SETS for way in WAYS]
        store("texts", {"draws": [DRAWS[0], DRAWS[-1]], "ways": results})
    text = with_tables(PAGE.read_text(), tables())
    with replacing(PAGE) as file:
        file.write(text.encode())


def measured(name: str, way: str) -> dict[str, Any]:
    with np.load(Path(os.environ["HIDEGL_DATA"]) / f"{name}.npz") as data:
        texts, X, y = [str(text) for text in data["text"]], data["X"], data["y"]
    taken = 0.0
    if way != "stored":
        embedder = TextEmbedder(way).fit(texts)
        embedder.transform(texts[:64])
        begun = time.perf_counter()
        X = embedder.transform(texts)
        taken = time.perf_counter() - begun
    n_labels = SETS[name] * len(np.unique(y))
    model, right, linear = AutoHiDeGL(random_state=0).fit(X), [], []
    for draw in DRAWS:
        labelled = draw_labels(y, n_labels, seed=draw)
        right.append(accuracy(model.relabel(hide_labels(y, labelled)).transduction_, y, labelled))
        linear.append(accuracy(by_logistic_regression(X, y, labelled), y, labelled))
    result = {
        "data": name,
        "way": way,
        "labels": n_labels,
        "texts": len(texts),
        "columns": X.shape[1],
        "hidegl": summary(right),
        "logistic_regression": summary(linear),
        "texts_per_second": round(len(texts) / taken) if taken else None,
    }
    print(result, flush=True)
    return result


def by_logistic_regression(X: NDArray[Any], y: NDArray[Any], labelled: NDArray[np.intp]) -> NDArray[Any]:
    rows = X / np.maximum(np.linalg.norm(X.astype(float), axis=1, keepdims=True), 1e-12)
    return LogisticRegression(C=10, max_iter=500).fit(rows[labelled], y[labelled]).predict(rows)


def tables() -> dict[str, str]:
    names = {"stored": "all-MiniLM-L6-v2, full precision", "minilm": "`minilm`", "words": "`words`"}
    lines = [
        "| texts | labels | vectors | hidegl | logistic regression | texts per second |",
        "|---|---|---|---|---|---|",
    ]
    for r in stored("texts")["ways"]:
        accuracies = [f"{r[who]['mean']:.1f} ± {r[who]['std']:.1f}" for who in ("hidegl", "logistic_regression")]
        speed = "–" if r["texts_per_second"] is None else f"{r['texts_per_second']:,}"
        lines.append(f"| {title(r['data'])} | {r['labels']} | {names[r['way']]} | {' | '.join(accuracies)} | {speed} |")
    return {"texts": "\n".join(lines)}


if __name__ == "__main__":
    main()
