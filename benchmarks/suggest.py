"""Labels on rows that `suggest` names, beside labels on random rows and on those that other methods choose.

    HIDEGL_DATA=folder python benchmarks/suggest.py run [mnist …] [--jobs N]     appends to results/suggest.jsonl
    HIDEGL_DATA=folder python benchmarks/suggest.py others [g241c …] [--jobs N]  the same for sets that do not cluster
    HIDEGL_DATA=folder python benchmarks/suggest.py gains [mnist …] [--jobs N]   appends to results/gains.jsonl
    python benchmarks/suggest.py page                                            docs/choosing_labels.md and its plot

All rows are labelled by the same AutoHiDeGL(), which sees the labels of the chosen rows only. Labels are asked for in
rounds: 1, 2, 5 and 10 per class in all. The other methods are those of scikit-activeml; they see at most 5,000 rows,
prepared as ours are, and may choose among these. `others` compares hidegl with random rows only: rows that hardly
cluster by class, and the 32 tables of groups.py and ordinary.py.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import encoded_tables
from groups import GROUPS
from groups import problem as group_problem
from harness import RECORDS
from hidegl import AutoHiDeGL
from hidegl.basics.linalg import Vector
from hidegl.datasets import accuracy, draw_labels, hide_labels, load_data_set
from hidegl.questions.suggestions import representatives
from hidegl.structure.preparation import prepared
from processes import heavy_first, in_processes, option

SETS = ("mnist", "usps", "optdigits", "pendigits", "letter", "banking77", "trec6", "coil20")
BUDGETS = (1, 2, 5, 10)
RANDOM_BUDGETS = (1, 2, 5, 8, 10, 15)
NOT_CLUSTERED = ("g241c", "cr", "amazon")
FITS = range(1000, 1003)
"""Seeds of the fits. Nothing was chosen on them."""

DRAWS_PER_FIT, DRAWS_OF_OTHERS = 2, 10
MOST_ROWS = 5_000
"""That the other methods see: some of them take n×n numbers."""


@dataclass
class Problem:
    """Rows with their true classes, and a model of them without labels."""

    name: str
    fit: int

    def __post_init__(self) -> None:
        self.X, self.y, options = problem_of(self.name)
        self.n_classes = len(np.unique(self.y))
        self.model = AutoHiDeGL(random_state=self.fit, **options).fit(self.X)

    @cached_property
    def some(self) -> NDArray[np.intp]:
        """The rows that the other methods see."""
        n = len(self.y)
        return np.sort(np.random.default_rng(0).choice(n, min(n, MOST_ROWS), replace=False))

    @cached_property
    def features(self) -> NDArray[Any]:
        """Of unit length, as the authors of these methods have them."""
        rows = np.asarray(prepared(self.X))[self.some].astype(np.float64)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)

    def labelled(self, rows: NDArray[np.intp]) -> AutoHiDeGL:
        return self.model.relabel(hide_labels(self.y, rows) if len(rows) else None)

    def accuracy(self, rows: NDArray[np.intp]) -> float:
        return accuracy(self.labelled(rows).transduction_, self.y, rows)


def problem_of(name: str) -> encoded_tables.Problem:
    if name in SETS:
        return *load_data_set(name), {}
    return group_problem(name) if GROUPS.get(name) in ("texts", "vectors") else encoded_tables.table(name)


Choice = Callable[[Problem, NDArray[np.intp], int], NDArray[np.intp]]
"""From a problem and the rows that are labelled: the rows to label next."""


# Choices


def ours(problem: Problem, known: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    return problem.labelled(known).suggest(n)


def sigma_optimality(problem: Problem, known: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Ma, Garnett and Schneider (2013) on the points: the largest (wᵀS_j)² / S_jj, S updated by each choice.

    w is the mass of the points, each row counted from ½ (its two best classes are far apart) to 1 (they are equal).
    """
    model = problem.labelled(known)
    spreader = model._smallest  # noqa: SLF001
    structure, S = spreader.structure, spreader.lgc_rule.system.inverse()
    noise = 1e-3 * np.diag(S).mean()
    weights: Vector = structure.mass
    if len(known):
        ordered = np.sort(model.label_distributions_, axis=1)
        weights = structure.Z.collect().mass(1 - (ordered[:, -1] - ordered[:, -2]) / 2)
        Z = structure.Z.take(known).dense
        S = S - S @ Z.T @ np.linalg.solve(Z @ S @ Z.T + noise * np.eye(len(Z)), Z @ S)
    taken = np.isin(np.arange(len(problem.y)), known)
    typical, chosen = representatives(structure.Z, taken), []
    for _ in range(n):
        gains = (S @ weights) ** 2 / (np.maximum(np.diag(S), 0) + noise)
        point = int(np.where(typical >= 0, gains, -1).argmax())
        chosen.append(typical[point])
        typical[point] = -1
        step = S[point] / np.sqrt(max(S[point, point], 0) + noise)
        S = S - np.outer(step, step)
    return np.array(chosen)


def peer(name: str) -> Choice:
    """A method of scikit-activeml."""
    deterministic: dict[Any, NDArray[np.intp]] = {}  # by problem and known rows, whatever the fit

    def choose(problem: Problem, known: NDArray[np.intp], n: int) -> NDArray[np.intp]:
        import skactiveml.pool as pool

        key = problem.name, known.tobytes(), n
        if key in deterministic:
            return deterministic[key]
        seen = np.full(len(problem.some), np.nan)
        places = np.searchsorted(problem.some, known)
        seen[places] = problem.y[known]
        options = {"n_classes": problem.n_classes} if name == "ProbCover" else {}
        query = getattr(pool, name)(random_state=problem.fit, **options)
        needed = {"clf": classifier(problem.n_classes)} if name == "DropQuery" else {}
        rows = problem.some[query.query(problem.features, seen, batch_size=n, **needed)]
        if name == "MaxHerding":
            deterministic[key] = rows
        return rows

    return choose


def classifier(n_classes: int) -> Any:
    from skactiveml.classifier import SklearnClassifier
    from sklearn.linear_model import LogisticRegression

    return SklearnClassifier(LogisticRegression(max_iter=200), classes=np.arange(n_classes))


OURS = "hidegl"
CHOICES: dict[str, Choice] = {
    OURS: ours,
    "Σ-optimality": sigma_optimality,
    "TypiClust": peer("TypiClust"),
    "ProbCover": peer("ProbCover"),
    "MaxHerding": peer("MaxHerding"),
    "DropQuery": peer("DropQuery"),
}


# Runs


def run(name: str, fit: int) -> None:
    warnings.simplefilter("ignore")
    done = {r["choice"] for r in RECORDS.trials("suggest") if (r["data"], r["fit"]) == (name, fit)}
    choices = ("random", *CHOICES) if name in SETS else ("random", OURS)
    missing = [choice for choice in choices if choice not in done]
    if not missing:
        return
    problem = Problem(name, fit)
    for choice in missing:
        records = at_random(problem) if choice == "random" else in_rounds(problem, choice)
        RECORDS.append("suggest", records)
        shown = {record["per_class"]: round(record["accuracy"], 1) for record in records}
        print(name, fit, choice, shown, f"{sum(r['seconds'] for r in records):.1f} s", flush=True)


def budgets_of(problem: Problem, budgets: tuple[int, ...]) -> list[int]:
    """Those that are at most half of the rows."""
    return [n for n in budgets if n * problem.n_classes <= len(problem.y) // 2]


def in_rounds(problem: Problem, choice: str) -> list[dict[str, Any]]:
    rows = np.empty(0, dtype=np.intp)
    records = []
    for per_class in budgets_of(problem, BUDGETS):
        begun = time.perf_counter()
        new = CHOICES[choice](problem, rows, per_class * problem.n_classes - len(rows))
        taken = time.perf_counter() - begun
        rows = np.union1d(rows, new)
        records.append(record(problem, choice, per_class, rows, taken))
    return records


def at_random(problem: Problem) -> list[dict[str, Any]]:
    """Any rows; classes without a label are missed, as they would be."""
    records = []
    for draw in range(DRAWS_PER_FIT if problem.name in SETS else DRAWS_OF_OTHERS):
        order = np.random.default_rng([problem.fit, draw]).permutation(len(problem.y))
        for per_class in budgets_of(problem, RANDOM_BUDGETS):
            n = per_class * problem.n_classes
            records.append({**record(problem, "random", per_class, order[:n], 0.0), "draw": draw})
    return records


def record(problem: Problem, choice: str, per_class: int, rows: NDArray[np.intp], taken: float) -> dict[str, Any]:
    assert len(np.unique(rows)) == per_class * problem.n_classes
    found = problem.accuracy(rows)
    return {
        "data": problem.name,
        "fit": problem.fit,
        "choice": choice,
        "per_class": per_class,
        "classes": len(np.unique(problem.y[rows])),
        "accuracy": round(found, 3),
        "expected": [round(float(value), 4) for value in problem.model.expected_accuracy_],
        "kernel_weight": round(float(problem.model.settings_["kernel_weight"]), 3),
        "seconds": round(taken, 2),
    }


def gains(name: str, fit: int) -> None:
    """What ten more labels are expected to gain, and what they gain: after random labels, and after chosen ones."""
    warnings.simplefilter("ignore")
    problem, records = Problem(name, fit), []
    for kind in ("random", "chosen"):
        for per_class in BUDGETS:
            n = per_class * problem.n_classes
            if kind == "chosen":
                rows = ours(problem, np.empty(0, dtype=np.intp), n)
            else:
                rows = draw_labels(problem.y, n, seed=fit)
            before = problem.accuracy(rows)
            expected = 100 * problem.model.expected_gain(10)
            after = problem.accuracy(np.union1d(rows, problem.model.suggest(10)))
            found = {"expected": round(expected, 3), "gained": round(after - before, 3)}
            records.append({"data": name, "fit": fit, "kind": kind, "per_class": per_class, **found})
            print(records[-1], flush=True)
    RECORDS.append("gains", records)


def main() -> None:
    jobs, first = option("--jobs", 1), option("--first", FITS[0])
    fits = range(first, first + len(FITS))
    what, *names = sys.argv[1:] or ["run"]
    if what == "page":
        from suggest_page import write

        write()
        return
    sets = names or (SETS if what != "others" else (*NOT_CLUSTERED, *encoded_tables.names()))
    work, used = (gains, fits[:1]) if what == "gains" else (run, fits)
    in_processes(work, [(name, fit) for fit in used for name in heavy_first(sets)], jobs)


if __name__ == "__main__":
    main()
