"""The fits: the tasks that a table or figure still lacks, and the trials that each adds to the store."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from hidegl.baselines import AGR, knn_graph
from hidegl.datasets import accuracy, draw_labels, hide_labels
from hidegl.estimators.auto import AutoHiDeGL
from hidegl.estimators.hidegl import HiDeGL
from hidegl.paper.methods import MODELS, Setting, baseline_settings
from hidegl.paper.oracle_search import (
    DEFAULT_LABELLING,
    first_round_variants,
    label,
    labelling_settings,
    learn,
    point_settings,
    second_round,
    split,
)
from hidegl.paper.problems import Problem, kinds_of, problem
from hidegl.paper.quoted import VARIANTS, quoted
from hidegl.paper.store import Store, Trial

Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class TrialBatch:
    """A task for any process: `run(*arguments)` gives the trials to store under `name`."""

    name: str
    title: str
    run: Callable[..., list[Trial]]
    arguments: tuple[Any, ...]

    def __call__(self) -> list[Trial]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return self.run(*self.arguments)


def key(trial: Trial) -> Key:
    return trial["protocol"], trial["method"], trial["kind"], json.dumps(trial["parameters"], sort_keys=True)


def missing_tasks(name: str, store: Store, *, quick: bool, only: str | None = None) -> list[TrialBatch]:
    """The tasks that a data set still lacks. When they are done there may be more: the second round needs the first."""
    trials = store.trials(name)
    done = {key(trial) for trial in trials}
    tasks = [*hidegl_tasks(name, trials, quick), *honest_tasks(name, done, quick), *baseline_tasks(name, done, quick)]
    return [task for task in tasks if only is None or only in task.title]


# The oracle for HiDeGL


def hidegl_tasks(name: str, trials: list[Trial], quick: bool) -> list[TrialBatch]:
    done = {
        (trial["method"], *map(frozen, split(trial["parameters"])))
        for trial in trials
        if trial["protocol"] == "oracle" and trial["method"] in VARIANTS
    }

    def lacking(points: Setting, wanted: Iterable[tuple[str, Setting]]) -> list[TrialBatch]:
        missing = [(variant, how) for variant, how in wanted if (variant, frozen(points), frozen(how)) not in done]
        shown = " ".join(f"{parameter}={value:g}" for parameter, value in points.items())
        return [TrialBatch(name, f"HiDeGL {shown}", tune, (name, quick, points, missing))] if missing else []

    tasks = []
    for points in point_settings(name, quick=quick):
        tasks += lacking(points, [(variant, DEFAULT_LABELLING) for variant in first_round_variants(points)])
    if tasks:
        return tasks
    for rule, points in second_round(trials):
        variants = [variant for variant, (own, _) in VARIANTS.items() if own == rule]
        tasks += lacking(
            points, [(variant, how) for variant in variants for how in labelling_settings(name, quick=quick)]
        )
    return tasks


def frozen(setting: Setting) -> tuple[Any, ...]:
    return tuple(sorted(setting.items()))


def tune(name: str, quick: bool, points: Setting, wanted: list[tuple[str, Setting]]) -> list[Trial]:
    data = problem(name, quick)
    model = learn(data, points)
    return [trial for variant, how in wanted for trial in label(data, model, points, variant, how, data.kinds)]


# No test label seen

HONEST: dict[str, Callable[[bool], Any]] = {
    "AutoHiDeGL()": lambda quick: AutoHiDeGL("quick" if quick else "default", random_state=0),
    "HiDeGL()": lambda quick: HiDeGL(random_state=0),
}


def honest_tasks(name: str, done: set[Key], quick: bool) -> list[TrialBatch]:
    kinds = kinds_of(name, quick)
    return [
        TrialBatch(name, method, honest, (name, quick, method, missing))
        for method in HONEST
        if (missing := [kind for kind in kinds if ("honest", method, kind, "{}") not in done])
    ]


def honest(name: str, quick: bool, method: str, kinds: list[str]) -> list[Trial]:
    """Trials of one fit on the raw rows; `relabel` gives it the labels of each draw."""
    data = problem(name, quick)
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = HONEST[method](quick).fit(data.X)
        fitted = time.perf_counter() - begun

        def transduce(y: NDArray[Any]) -> NDArray[Any]:
            return model.relabel(y).transduction_

        return [
            {**trial("honest", method, data, kind, {}, transduce), "fit_seconds": round(fitted, 2)} for kind in kinds
        ]


# The other systems


def baseline_tasks(name: str, done: set[Key], quick: bool) -> Iterator[TrialBatch]:
    for method in (method for method in quoted(name) if method in MODELS):
        for kind in ("balanced", "random"):
            for setting in baseline_settings(name, method, quick=quick):
                if ("oracle", method, kind, json.dumps(setting, sort_keys=True)) not in done:
                    title = f"{method} {kind} {json.dumps(setting)}"
                    yield TrialBatch(name, title, baseline, (name, quick, method, kind, setting))


def baseline(name: str, quick: bool, method: str, kind: str, setting: Setting) -> list[Trial]:
    data = problem(name, quick)
    model_class, fixed = MODELS[method]
    shared: dict[str, Any] = {}
    if "graph" in model_class().get_params():
        shared["graph"] = shared_graph(name, quick, setting["n_neighbors"])
    if model_class is AGR:
        shared["anchors"] = shared_anchors(name, quick, setting["n_anchors"])
    model = model_class(**fixed, **setting, **shared, preprocess=None, n_components=None, random_state=0)

    def transduce(y: NDArray[Any]) -> NDArray[Any]:
        return model.fit(data.rows, y).transduction_

    return [trial("oracle", method, data, kind, setting, transduce)]


@cache
def shared_graph(name: str, quick: bool, n_neighbors: int) -> Any:
    return knn_graph(problem(name, quick).rows, n_neighbors)


@cache
def shared_anchors(name: str, quick: bool, n_anchors: int) -> NDArray[Any]:
    data = problem(name, quick)
    model = AGR(min(n_anchors, len(data.rows) // 2), preprocess=None, n_components=None, random_state=0)
    return model.fit(data.rows, hide_labels(data.y, draw_labels(data.y, data.n_classes, seed=0))).anchors_


def trial(
    protocol: str,
    method: str,
    data: Problem,
    kind: str,
    parameters: Setting,
    transduce: Callable[[NDArray[Any]], NDArray[Any]],
) -> Trial:
    """The trial of all draws of a kind. `transduce` maps y with −1 to a label for every row."""
    begun = time.perf_counter()
    found = {}
    for n_labels in data.counts(kind):
        values = []
        for labelled in data.draws(kind, n_labels):
            values.append(accuracy(transduce(hide_labels(data.y, labelled)), data.y, labelled))
        found[str(n_labels)] = np.round(values, 2).tolist()
    return {
        "protocol": protocol,
        "method": method,
        "data": data.name,
        "kind": kind,
        "parameters": parameters,
        "accuracies": found,
        "seconds": round(time.perf_counter() - begun, 2),
    }
