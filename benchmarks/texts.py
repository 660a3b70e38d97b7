"""Texts: the accuracy of each way to embed them, and texts per second.

    HIDEGL_DATA=folder python benchmarks/texts.py      results/texts.json, and the tables of docs/from_texts.md

Banking77 with 5 labels per class and TREC-6 with 10, labelled by AutoHiDeGL() and by logistic regression on the same
vectors. "stored" are the vectors of the data sets, which all-MiniLM-L6-v2 made in full precision.

Speed is also that of 100,000 texts, which are made by joining the words of two texts of Banking77, half of each. The
network sees 10,000 of them.
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
WAYS = ("stored", "minilm", "minilm+layers", "static", "words")
DRAWS = range(1000, 1005)
MADE, SEEN_BY_NETWORK = 100_000, 10_000
PAGE = DOCS / "from_texts.md"


def main() -> None:
    warnings.simplefilter("ignore")
    if "page" not in sys.argv:
        results = [measured(name, way) for name in SETS for way in WAYS]
        speed = [timed(way) for way in WAYS[1:]]
        store("texts", {"draws": [DRAWS[0], DRAWS[-1]], "ways": results, "made": speed})
    text = with_tables(PAGE.read_text(), tables())
    with replacing(PAGE) as file:
        file.write(text.encode())


def measured(name: str, way: str) -> dict[str, Any]:
    with np.load(Path(os.environ["HIDEGL_DATA"]) / f"{name}.npz") as data:
        texts, X, y = [str(text) for text in data["text"]], data["X"], data["y"]
    taken, views = 0.0, {}
    if way != "stored":
        embedder = TextEmbedder(way).fit(texts)
        embedder.transform(texts[:64])
        begun = time.perf_counter()
        X = embedder.transform(texts)
        taken, views = time.perf_counter() - begun, embedder.views_
    n_labels = SETS[name] * len(np.unique(y))
    model, right, linear = AutoHiDeGL(views=views, random_state=0).fit(X), [], []
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


def timed(way: str) -> dict[str, Any]:
    """How many made texts are embedded in a second."""
    with np.load(Path(os.environ["HIDEGL_DATA"]) / "banking77.npz") as data:
        words = [str(text).split() for text in data["text"]]
    pairs = np.random.default_rng(0).integers(len(words), size=(MADE, 2))
    texts = [" ".join([*words[i][: len(words[i]) // 2], *words[j][len(words[j]) // 2 :]]) for i, j in pairs]
    embedder = TextEmbedder(way).fit(texts)
    texts = texts[: SEEN_BY_NETWORK if way.startswith("minilm") else MADE]
    begun = time.perf_counter()
    embedder.transform(texts)
    taken = time.perf_counter() - begun
    result = {
        "way": way,
        "texts": len(texts),
        "seconds": round(taken, 2),
        "texts_per_second": round(len(texts) / taken),
    }
    print(result, flush=True)
    return result


def by_logistic_regression(X: NDArray[Any], y: NDArray[Any], labelled: NDArray[np.intp]) -> NDArray[Any]:
    rows = X / np.maximum(np.linalg.norm(X.astype(float), axis=1, keepdims=True), 1e-12)
    return LogisticRegression(C=10, max_iter=500).fit(rows[labelled], y[labelled]).predict(rows)


def tables() -> dict[str, str]:
    names = {way: f"`{way}`" for way in WAYS} | {"stored": "all-MiniLM-L6-v2, full precision"}
    lines = [
        "| texts | labels | vectors | hidegl | logistic regression | texts per second |",
        "|---|---|---|---|---|---|",
    ]
    results = stored("texts")
    for r in results["ways"]:
        accuracies = [f"{r[who]['mean']:.1f} ± {r[who]['std']:.1f}" for who in ("hidegl", "logistic_regression")]
        speed = "–" if r["texts_per_second"] is None else f"{r['texts_per_second']:,}"
        lines.append(f"| {title(r['data'])} | {r['labels']} | {names[r['way']]} | {' | '.join(accuracies)} | {speed} |")
    speeds = ["| vectors | texts | seconds | texts per second |", "|---|---|---|---|"]
    for r in results["made"]:
        speeds.append(f"| {names[r['way']]} | {r['texts']:,} | {r['seconds']:.1f} | {r['texts_per_second']:,} |")
    return {"texts": "\n".join(lines), "speed": "\n".join(speeds)}


if __name__ == "__main__":
    main()
