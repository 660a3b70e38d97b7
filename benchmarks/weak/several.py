"""Several weak sources: three that are simulated, and two real ones (names of classes, and keyword rules).

    HIDEGL_DATA=folder python benchmarks/weak/several.py run FIRST LAST [DATA ...] [--jobs N]
    HIDEGL_DATA=folder python benchmarks/weak/several.py peers
    python benchmarks/weak/several.py show FIRST LAST

`run` appends a line for each set, kind of sources, number of labels per class (0, 1, 5) and draw to
results/several_sources.jsonl. Compared on the rows without a given label: the best source, the majority, Dawid and
Skene's model of crowd-kit, the label model of snorkel, the model of the given labels alone, and all together. Where
other methods know nothing of a row, it has no label and counts as wrong. The simulated sources are right in 50, 60 and
70 % of all rows, with uniform mistakes. The names are those of benchmarks/weak/names.py, and the rules the words below.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from common import (
    MOST_ROWS,
    Cell,
    Codes,
    command_line,
    judged,
    majority,
    percent,
    print_all,
    replace_all,
    rows_of,
    said,
    texts_of,
)
from names import names_of

from harness import RECORDS
from hidegl import AutoHiDeGL
from hidegl.datasets import draw_labels, hide_labels
from hidegl.embedding import TextEmbedder
from hidegl.intake.class_names import nearest_names, readable

STORE = "several_sources"
GIVEN, EPOCHS = (0, 1, 5), 500
RIGHT = {"half": 0.5, "more": 0.6, "most": 0.7}
SETS = {
    "simulated": ("trec6", "tweet_emotion", "optdigits"),
    "real": ("trec6", "cr", "sms_spam", "tweet_emotion"),
}
WORDS: dict[str, dict[str, str]] = {
    "trec6": {
        "abbreviation": "stand for,abbreviation,acronym,mean by",
        "description": "what is,what are,why,how do,how does,how did,define,meaning,origin",
        "entity": "what kind,what type,animal,color,film,movie,book,language,product,food,sport",
        "human": "who,whose,president,actor,author,inventor",
        "location": "where,city,country,state,continent,river,mountain",
        "number": "how many,how much,how long,how far,how old,when,what year,what date,population",
    },
    "cr": {
        "negative": "not,n't,bad,poor,problem,disappoint,return,difficult,never",
        "positive": "great,good,excellent,love,easy,best,nice,perfect,recommend",
    },
    "sms_spam": {
        "personal message": "i'm,love,home,ok,lol,dear,later,sorry,haha",
        "spam": "free,win,prize,claim,txt,urgent,cash,reply,www,mobile",
    },
    "tweet_emotion": {
        "anger": "angry,anger,rage,furious,hate,mad,outrage",
        "joy": "happy,joy,love,smile,laugh,fun,amazing",
        "optimism": "hope,optimis,believe,faith,future,positive",
        "sadness": "sad,depress,cry,lonely,lost,sorrow,miss",
    },
}


def main() -> None:
    if sys.argv[1] == "peers":
        add_peers()
    else:
        command_line(STORE, ("data", "draw", "kind", "given_labels"), cells, run, print_all, shared=3)


def cells(names: list[str], draws: range) -> list[Cell]:
    return [
        cell
        for kind, sets in SETS.items()
        for cell in product([name for name in sets if not names or name in names], draws, [kind], GIVEN)
    ]


def by_rules(name: str) -> Codes:
    """The class most of whose words a text has; −1 if it has none, or equally many of two."""
    texts, _, _ = texts_of(name, MOST_ROWS)
    counts = np.array(
        [[sum(word in text.lower() for word in words.split(",")) for words in WORDS[name].values()] for text in texts]
    )
    ordered = np.sort(counts, axis=1)
    return np.where(ordered[:, -1] > ordered[:, -2], counts.argmax(axis=1), -1)


def sources_of(kind: str, name: str, X: Any, y: Codes, draw: int) -> tuple[dict[str, Any], Codes]:
    """What `fit` takes as weak, and the class by each source (n, sources)."""
    if kind == "simulated":
        rng = np.random.default_rng([draw, 5])
        found = {source: said(y, right, "uniform", 1.0, rng) for source, right in RIGHT.items()}
        return dict(found), np.stack([*found.values()], axis=1)
    embedder = TextEmbedder("minilm").fit(["a text"])
    guessed = nearest_names(X, embedder, {str(i): readable(text) for i, text in enumerate(names_of(name))})
    guessed, rules = replace(guessed, labels=guessed.labels.astype(int)), by_rules(name)
    return {"names": guessed, "rules": rules}, np.stack([guessed.labels, rules], axis=1)


def run(cells: list[Cell]) -> None:
    """Cells of the same set, draw and kind of sources."""
    name, draw, kind = cells[0][:3]
    X, y = rows_of(name)
    c = int(y.max()) + 1
    model = AutoHiDeGL("quick", random_state=0).fit(X)
    weak, votes = sources_of(kind, name, X, y, draw)
    by_votes = {"majority": majority(votes, c), **by_peers(votes, c, [*PEERS])}
    for *_, per_class in cells:
        chosen = rows_with_labels(y, per_class, draw)
        free, given = np.setdiff1d(np.arange(len(y)), chosen), hide_labels(y, chosen) if per_class else None
        found = dict(by_votes)
        record: dict[str, Any] = {"kind": kind, "data": name, "draw": draw, "given_labels": per_class}
        record["best"] = max(percent(column, y, free) for column in votes.T)
        if given is not None:
            found["given"] = model.relabel(given, weak={}).transduction_
        record |= {method: percent(codes, y, free) for method, codes in found.items()}
        begun = time.perf_counter()
        model.relabel(given, weak=weak)
        record |= judged(model, y, free) | {"seconds": round(time.perf_counter() - begun, 2)}
        for source, column in zip(model.sources_, votes.T, strict=True):
            on = np.flatnonzero(column >= 0)
            record[f"{source.name}: estimated"] = round(100 * source.accuracy, 2)
            record[f"{source.name}: right"] = percent(column, y, on)
        RECORDS.append(STORE, [record])


def rows_with_labels(y: Codes, per_class: int, draw: int) -> Codes:
    if not per_class:
        return np.empty(0, dtype=np.intp)
    return draw_labels(y, per_class * (int(y.max()) + 1), seed=draw, kind="balanced")


def by_peers(votes: Codes, c: int, names: list[str]) -> dict[str, Codes]:
    """The merged labels by each of these methods whose package is installed."""
    return {name: PEERS[name](votes, c) for name in names if importlib.util.find_spec(name)}


def dawid_skene(votes: Codes, _: int) -> Codes:
    """By crowd-kit."""
    from crowdkit.aggregation import DawidSkene

    rows, sources = np.nonzero(votes >= 0)
    answers = pd.DataFrame({"task": rows, "worker": sources, "label": votes[rows, sources]})
    merged = DawidSkene(n_iter=100).fit_predict(answers)
    found = np.full(len(votes), -1)
    found[merged.index.to_numpy()] = merged.to_numpy()
    return found


def label_model(votes: Codes, c: int) -> Codes:
    """By snorkel, which needs three sources or more."""
    from snorkel.labeling.model import LabelModel

    if votes.shape[1] < 3:
        return majority(votes, c)
    model = LabelModel(cardinality=c, verbose=False)
    model.fit(votes, n_epochs=EPOCHS, seed=0, progress_bar=False)
    return model.predict(votes)


PEERS = {"crowdkit": dawid_skene, "snorkel": label_model}


def add_peers() -> None:
    """Add the methods to stored records that were made where their packages were not installed."""
    records, votes = RECORDS.trials(STORE), {}
    for one in records:
        if missing := [name for name in PEERS if name not in one]:
            head = one["kind"], one["data"], one["draw"]
            X, y = rows_of(one["data"])
            if head not in votes:
                _, labels = sources_of(*head[:2], X, y, one["draw"])
                votes[head] = by_peers(labels, int(y.max()) + 1, missing)
            free = np.setdiff1d(np.arange(len(y)), rows_with_labels(y, one["given_labels"], one["draw"]))
            one |= {name: percent(codes, y, free) for name, codes in votes[head].items()}
    replace_all(STORE, records)


if __name__ == "__main__":
    main()
