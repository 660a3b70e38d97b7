"""The names of the classes as a weak source, with and without given labels.

    HIDEGL_DATA=folder python benchmarks/weak/names.py run FIRST LAST [DATA ...] [--jobs N]
    python benchmarks/weak/names.py show FIRST LAST

`run` appends a line for each set, number of labels per class (0, 1, 3, 5) and draw to results/class_names.jsonl.
Compared: the given labels alone, the nearest name by cosine, both together, and the same with names shuffled among the
classes. Rows are sentence vectors of all-MiniLM-L6-v2 of at most 2,000 texts, and names are embedded by the same model.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from statistics import mean
from typing import Any

import numpy as np
from common import Cell, command_line, folder, judged, percent, rows_of

from harness import RECORDS
from hidegl import AutoHiDeGL
from hidegl.datasets import draw_labels, hide_labels
from hidegl.embedding import TextEmbedder
from hidegl.intake.class_names import SOURCE, nearest_names, readable
from hidegl.intake.name_groups import of_unit_length

STORE = "class_names"
GIVEN, MOST = (0, 1, 3, 5), 2_000
NAMES: dict[str, list[str]] = {
    "banking77": [],  # those of the set
    "trec6": ["abbreviation", "description", "entity", "human", "location", "number"],
    "cr": ["negative", "positive"],
    "sms_spam": ["personal message", "spam"],
    "tweet_emotion": ["anger", "joy", "optimism", "sadness"],
}


def main() -> None:
    command_line(STORE, ("data", "draw", "given_labels"), cells, run, show)


def cells(names: list[str], draws: range) -> list[Cell]:
    return [*product(names or NAMES, draws, GIVEN)]


def names_of(name: str) -> list[str]:
    if NAMES[name]:
        return NAMES[name]
    with np.load(folder() / f"{name}.npz") as data:
        return [str(one) for one in data["classes"]]


def run(cells: list[Cell]) -> None:
    """Cells of the same set and draw."""
    name = cells[0][0]
    X, y = rows_of(name, MOST)
    names, embedder = names_of(name), TextEmbedder("minilm")
    embedder.fit(["a text"])
    V = np.asarray(embedder.transform([readable(one) for one in names]))
    nearest = (of_unit_length(X) @ of_unit_length(V).T).argmax(axis=1)
    model = AutoHiDeGL("quick", random_state=0).fit(X)
    for _, draw, per_class in cells:
        chosen = draw_labels(y, per_class * len(names), seed=draw, kind="balanced") if per_class else np.empty(0, int)
        free, given = np.setdiff1d(np.arange(len(y)), chosen), hide_labels(y, chosen) if per_class else None
        record: dict[str, Any] = {"data": name, "draw": draw, "given_labels": per_class}
        if given is not None:
            record["given"] = percent(model.relabel(given, weak={}).transduction_, y, free)
            record["given_expected"] = round(100 * model.expected_accuracy_.mean, 2)
        record["nearest"] = percent(nearest, y, free)
        cycle = np.random.default_rng(draw).permutation(len(names))
        order = np.empty_like(cycle)
        order[cycle] = np.roll(cycle, 1)  # no class has its own name
        for way, texts in (("shuffled", [names[i] for i in order]), ("names", names)):
            guessed = nearest_names(X, embedder, {str(i): readable(text) for i, text in enumerate(texts)})
            said = replace(guessed, labels=guessed.labels.astype(int))
            if way == "shuffled" and not per_class:
                continue
            model.relabel(given, weak={SOURCE: said})
            if way == "shuffled":
                record["shuffled"] = percent(model.transduction_, y, free)
        record |= judged(model, y, free)
        (own,) = model.sources_
        record |= {
            "truth": percent(said.labels, y, np.arange(len(y))),
            "accuracy": round(100 * own.accuracy, 2),
            "used": own.used,
        }
        RECORDS.append(STORE, [record])


def show(records: list[dict[str, Any]]) -> None:
    for name in NAMES:
        for n in GIVEN:
            own = [one for one in records if (one["data"], one["given_labels"]) == (name, n)]
            if own:
                keys = (
                    "given",
                    "nearest",
                    "ours",
                    "shuffled",
                    "expected",
                    "given_expected",
                    "calibration",
                    "accuracy",
                    "truth",
                )
                print(name, n, {key: round(mean(one[key] for one in own), 1) for key in keys if key in own[0]})


if __name__ == "__main__":
    main()
