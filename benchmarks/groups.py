"""Tables, texts and vectors, compared with logistic regression: accuracy, log-loss, and whether promises are kept.

    HIDEGL_DATA=folder python benchmarks/groups.py EFFORT FIRST LAST [DATA ...] [--ours] [--jobs N] [--block DRAWS]

Appends a line to results/groups.jsonl for each method, set, number of labels and draw, and leaves out those that
are there. Draws from 1,000 on are for the report, earlier ones for development. All methods see the same vectors: of a
table those of `TableEncoder`, of texts their embeddings. Labels are drawn by class, equally many of each; at random, at
least one of each class; or purely at random, so that classes may be without a label. --ours leaves out the peers.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from encoded_tables import encoded
from harness import RECORDS, data
from hidegl import AutoHiDeGL
from hidegl.datasets import draw_labels, hide_labels
from hidegl.embedding import TableEncoder
from processes import blocks, flag, heavy_first, in_processes, option

if TYPE_CHECKING:
    import pandas as pd

STORE = "groups"

TEXTS = ("cr", "amazon", "tweet_stance", "tweet_emotion", "sms_spam", "trec6", "banking77")
VECTORS = ("usps2", "coil20", "optdigits", "usps", "pendigits", "letter", "satimage", "g241c", "three-moon")
TABLES = [
    "abalone3",
    "adult",
    "bank_small",
    "car",
    "contraceptive",
    "credit_g",
    "drug_cannabis",
    "heart_cleveland",
    "horse_colic",
    "house_votes",
    "mammographic",
    "mushroom",
    "obesity",
    "online_shoppers",
    "phoneme",
    "pima",
    "telco_churn",
    "titanic",
    "vehicle",
    "wine_quality_white",
]
GROUPS = {
    **dict.fromkeys(TABLES, "tables"),
    **dict.fromkeys(TEXTS, "texts"),
    **dict.fromkeys(VECTORS, "vectors"),
}
KINDS = ("balanced", "random")
PURE, PURE_SETS = "pure", ("banking77", "letter", "coil20")
PER_CLASS = (3, 10, 20)
PRECISIONS = (0.9, 0.95, 0.99)
OURS, PEER, PEER_CV = "hidegl", "logistic regression", "logistic regression, C by cross-validation"


def main() -> None:
    jobs, size, ours = option("--jobs", 1), option("--block", 100), flag("--ours")
    effort, draws = sys.argv[1], range(int(sys.argv[2]), int(sys.argv[3]) + 1)
    names = heavy_first(sys.argv[4:] or GROUPS)
    in_processes(run, [(name, effort, block, ours) for block in blocks(draws, size) for name in names], jobs)


# Measuring


def cells_of(name: str, y: NDArray[Any]) -> list[tuple[str, int]]:
    """Kinds of draws, and numbers of labels per class: at most half of the rows, and of the smallest class."""
    sizes = np.bincount(y)
    cells = [(kind, n) for kind in KINDS for n in PER_CLASS if n * len(sizes) <= len(y) // 2]
    cells = [(kind, n) for kind, n in cells if kind != "balanced" or n <= sizes.min() // 2]
    return cells + ([(PURE, 1)] if name in PURE_SETS else [])


def run(name: str, effort: str, draws: range, ours: bool) -> None:
    warnings.simplefilter("ignore")
    done = {(r["who"], r["data"], r["effort"], r["kind"], r["per_class"], r["draw"]) for r in RECORDS.trials(STORE)}
    X, y, options = problem(name)
    peers = {} if ours else {PEER: single, PEER_CV: by_cross_validation}
    model, scaled = None, StandardScaler().fit_transform(X) if GROUPS[name] != "texts" else X
    for kind, per_class in cells_of(name, y):
        for draw in draws:
            cell = {"data": name, "kind": kind, "per_class": per_class, "draw": draw}
            n = per_class * len(np.unique(y))
            if kind == PURE:
                labelled = np.sort(np.random.default_rng(draw).choice(len(y), n, replace=False))
            else:
                labelled = draw_labels(y, n, seed=draw, kind=kind)
            found = []
            if (OURS, name, effort, kind, per_class, draw) not in done:
                if model is None:
                    model = AutoHiDeGL(effort, random_state=0, **options).fit(X)
                found.append({"who": OURS, **cell, "effort": effort, **measured(model, y, labelled)})
            for who, peer in peers.items():
                if kind != PURE and (who, name, "", kind, per_class, draw) not in done:
                    found.append({"who": who, **cell, "effort": "", **compared(peer, scaled, y, labelled)})
            RECORDS.append(STORE, found)
    print(name, "done", flush=True)


def problem(name: str) -> tuple[NDArray[Any], NDArray[np.intp], dict[str, Any]]:
    """Rows, classes and parameters."""
    if GROUPS[name] != "tables":
        if name in ("cr", "amazon", "tweet_stance", "tweet_emotion", "sms_spam"):
            with np.load(Path(os.environ["HIDEGL_DATA"]) / f"{name}.npz") as file:
                X, y = file["X"].astype(np.float32), file["y"]
        else:
            X, y = data(name)
        if GROUPS[name] == "texts":
            X = X.astype(np.float32)
            X /= np.linalg.norm(X, axis=1, keepdims=True)
        return X, np.asarray(y).astype(np.intp), {}
    if (found := encoded(name)) is not None:
        return found
    import pandas as pd

    table = pd.read_csv(Path(os.environ["HIDEGL_DATA"]) / "tables" / f"{name}.csv")
    y = pd.factorize(table.pop("target"), sort=True)[0]
    encoder = TableEncoder().fit(table)
    return encoder.transform(table), y, {"preprocess": "mixed"} if encoder.is_scaled else {}


def measured(model: AutoHiDeGL, y: NDArray[np.intp], labelled: NDArray[np.intp]) -> dict[str, Any]:
    begun = time.perf_counter()
    P = model.relabel(hide_labels(y, labelled)).label_distributions_
    taken = time.perf_counter() - begun
    free = np.setdiff1d(np.arange(len(y)), labelled)
    right = model.transduction_[free] == y[free]
    known = np.isin(y[free], model.classes_)
    truth = np.searchsorted(model.classes_, y[free][known])
    losses = -np.log(np.maximum(P[free][known][np.arange(known.sum()), truth], 1e-6))
    accepted = []
    for precision in PRECISIONS:
        taken_rows = model.accept(precision)[free] != None  # noqa: E711
        accepted.append([int(taken_rows.sum()), int(right[taken_rows].sum())])
    return {
        "accuracy": round(100 * float(right.mean()), 3),
        "log_loss": round(float(losses.mean()), 4),
        "confidence": round(100 * float(P[free].max(axis=1).mean()), 2),
        "expected": [round(float(value), 4) for value in model.expected_accuracy_],
        "accepted": accepted,
        "rows": len(free),
        "kernel_weight": round(float(model.settings_["kernel_weight"]), 3),
        "seconds": round(taken, 3),
    }


def compared(peer: Callable[..., Any], X: Any, y: NDArray[np.intp], labelled: NDArray[np.intp]) -> dict[str, Any]:
    free = np.setdiff1d(np.arange(len(y)), labelled)
    fitted = peer(X[labelled], y[labelled])
    P = fitted.predict_proba(X[free])
    truth = np.searchsorted(fitted.classes_, y[free])
    return {
        "accuracy": round(100 * float(np.mean(fitted.classes_[P.argmax(axis=1)] == y[free])), 3),
        "log_loss": round(float(-np.log(np.maximum(P[np.arange(len(P)), truth], 1e-6)).mean()), 4),
        "rows": len(free),
    }


def single(X: Any, y: Any) -> Any:
    return LogisticRegression(max_iter=500).fit(X, y)


def by_cross_validation(X: Any, y: Any) -> Any:
    folds = min(5, int(np.bincount(y)[np.unique(y)].min()))
    if folds < 2:
        return single(X, y)
    splits = StratifiedKFold(folds, shuffle=True, random_state=0)
    return GridSearchCV(LogisticRegression(max_iter=300), {"C": [0.01, 0.1, 1, 10, 100]}, cv=splits).fit(X, y)


# Tables of docs/accuracy.md

REPORT = range(1000, 1010)
NAMES = {"balanced": "by class", "random": "at random"}


def groups_tables() -> dict[str, str]:
    import pandas as pd

    records = pd.DataFrame(RECORDS.trials(STORE))
    records = records[records.draw.isin(REPORT)]
    records["group"] = records.data.map(GROUPS)
    keys = ["group", "data", "kind", "per_class", "draw"]
    ours = records[records.who == OURS].set_index(keys)
    for who in (PEER, PEER_CV):
        own = records[records.who == who].set_index(keys)
        ours[who], ours[f"{who} loss"] = own.accuracy, own.log_loss
    ours = ours.reset_index()
    seen, pure = ours[ours.kind != PURE], ours[ours.kind == PURE]
    return {
        "groups": accuracies_table(seen),
        "promises": promises_table(seen),
        "texts": sets_table(seen[seen.group == "texts"]),
        "behind": behind_table(seen),
        "missing": missing_table(pure),
    }


def accuracies_table(ours: pd.DataFrame) -> str:
    heads = "| sets | labels per class | `AutoHiDeGL()` | logistic regression | with C by CV | log-loss | of logistic |"
    lines = [heads, "|---|---|---|---|---|---|---|"]
    for (group, kind, per_class), own in ours.groupby(["group", "kind", "per_class"]):
        means = own[["accuracy", PEER, PEER_CV, "log_loss", f"{PEER} loss"]].mean()
        shown = [*(f"{value:.1f}" for value in means[:3]), *(f"{value:.2f}" for value in means[3:])]
        lines.append(f"| {own.data.nunique()} {group} | {per_class}, {NAMES[kind]} | {' | '.join(shown)} |")
    return "\n".join(lines)


def promises_table(ours: pd.DataFrame) -> str:
    heads = [f"accepted for {precision:.0%} | right" for precision in PRECISIONS]
    lines = [f"| sets | labels per class | expected | right | interval holds | {' | '.join(heads)} |"]
    lines.append("|---|---|---|---|---|" + "---|---|" * len(PRECISIONS))
    cells = [*ours.groupby(["group", "kind", "per_class"]), (("all", "", ""), ours)]
    for (group, kind, per_class), own in cells:
        holds, shown = held(own), []
        for number in range(len(PRECISIONS)):
            taken = np.array([each[number] for each in own.accepted])
            share, total = 100 * np.mean(taken[:, 0] / own.rows), taken[:, 0].sum()
            shown.append(f"{share:.1f}% | " + (f"{100 * taken[:, 1].sum() / total:.1f}%" if total else "–"))
        expected = f"{100 * np.mean([each[0] for each in own.expected]):.1f} | {own.accuracy.mean():.1f}"
        labels = f"{per_class}, {NAMES[kind]}" if kind else ""
        lines.append(f"| {group} | {labels} | {expected} | {100 * holds.mean():.0f}% | {' | '.join(shown)} |")
    return "\n".join(lines)


def held(own: pd.DataFrame) -> NDArray[np.bool_]:
    """Whether the interval of the expected accuracy holds the truth."""
    return np.array([low <= a / 100 <= high for (_, low, high), a in zip(own.expected, own.accuracy, strict=True)])


def sets_table(ours: pd.DataFrame) -> str:
    """Each set: ours and the better of both logistic regressions."""
    cells = ours.groupby(["data", "kind", "per_class"])[["accuracy", PEER, PEER_CV]].mean().reset_index()
    columns = [(kind, n) for kind in KINDS for n in PER_CLASS]
    lines = [f"| data | {' | '.join(f'{n}, {NAMES[kind]}' for kind, n in columns)} |", "|---|" + "---|" * len(columns)]
    for name, own in cells.groupby("data", sort=False):
        shown = []
        for kind, n in columns:
            (found,) = own[(own.kind == kind) & (own.per_class == n)].to_numpy()[:, 3:] if len(own) else (None,)
            shown.append(f"{found[0]:.1f} ({max(found[1:]):.1f})")
        lines.append(f"| {name} | {' | '.join(shown)} |")
    return "\n".join(lines)


def behind_table(ours: pd.DataFrame, points: float = 3.0) -> str:
    """The cells in which ours is further behind the better logistic regression than this."""
    cells = ours.groupby(["data", "kind", "per_class"])[["accuracy", PEER, PEER_CV]].mean().reset_index()
    cells["best"] = cells[[PEER, PEER_CV]].max(axis=1)
    cells = cells[cells.accuracy < cells.best - points].sort_values("data")
    lines = [
        "| data | labels per class | `AutoHiDeGL()` | logistic regression | with C by CV |",
        "|---|---|---|---|---|",
    ]
    for cell in cells.itertuples(index=False):
        ours_and_peers = f"{cell.accuracy:.1f} | {cell[4]:.1f} | {cell[5]:.1f}"
        lines.append(f"| {cell.data} | {cell.per_class}, {NAMES[cell.kind]} | {ours_and_peers} |")
    return "\n".join(lines)


def missing_table(ours: pd.DataFrame) -> str:
    """Random labels so few that classes are missing."""
    lines = ["| data | right | expected | interval holds | accepted for 95 % | right |", "|---|---|---|---|---|---|"]
    for name, own in ours.groupby("data"):
        taken = np.array([each[1] for each in own.accepted])
        right = f"{100 * taken[:, 1].sum() / taken[:, 0].sum():.1f}%" if taken[:, 0].any() else "–"
        expected = f"{100 * np.mean([each[0] for each in own.expected]):.1f}"
        share = f"{100 * np.mean(taken[:, 0] / own.rows):.1f}%"
        holds = f"{100 * held(own).mean():.0f}%"
        lines.append(f"| {name} | {own.accuracy.mean():.1f} | {expected} | {holds} | {share} | {right} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
