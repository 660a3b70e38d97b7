"""The oracle for HiDeGL's four variants: a search in two rounds over a stated grid.

The points depend on k, σ, λ1 and the number of assignments. The other parameters concern labels and cost little once
the points are learned. So the first round varies the points, with the other parameters at their defaults. The second
round takes the best points of each cell and varies α, η and λ2 one at a time, on both graphs. "Best" means by the
reported accuracy, as in the paper.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator
from functools import lru_cache
from statistics import mean
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hidegl.estimators.hidegl import HiDeGL
from hidegl.paper.many_draws import accuracies, rule_over
from hidegl.paper.methods import Grid, Setting, settings
from hidegl.paper.problems import Problem, problem
from hidegl.paper.quoted import VARIANTS
from hidegl.paper.store import Trial

PRIORS: dict[str, tuple[str | None, ...]] = {
    "balanced": ("balanced", None),
    "random": ("balanced", "labels"),
    "official": ("balanced", "labels"),
}
"""Class priors for each kind of draw: equal shares, label frequencies, or the paper's plain argmax (None)."""

DEFAULT_LABELLING: Setting = {"alpha": 0.5, "eta": 0.1, "lambda2": 0.01}

POINTS: Grid = {
    "n_points": (200, 500, 750, 1500),
    "width": (0.5, 1.0, 2.0),
    "lambda1": (0.1, 1.0, 10.0),
    "n_nearest": (4, 8),
}
"""The first round. k is the paper's; `width` is σ divided by the automatic σ."""

OTHERS: dict[str, Grid] = {
    "usps2": {"n_points": (200, 350, 500, 750, 1500)},
    "optdigits": {"n_points": (500, 1500)},
    "pendigits": {"n_points": (500, 1500)},
    "usps": {"n_points": (500, 1500), "width": (1.0, 2.0), "lambda1": (1.0, 10.0), "n_nearest": (8,)},
    "letter": {"n_points": (1500,), "width": (1.0, 2.0), "lambda1": (0.1, 1.0)},
    "mnist": {"n_points": (1500,), "width": (1.0, 2.0), "lambda1": (1.0, 10.0), "n_nearest": (8,)},
    "emnist_digits": {"n_points": (500,), "width": (1.0, 2.0), "lambda1": (1.0, 10.0), "n_nearest": (8,)},
}
"""Exceptions: fewer values on larger sets; on EMNIST, k is that of the paper's Table 5."""

MOST_POINTS_OF_THE_PAPER = 1500

MORE_POINTS: Grid = {"n_points": (3000,), "width": (1.0, 2.0), "lambda1": (0.1,), "n_nearest": (4,)}
"""Larger than the paper's k, on Letter and Pendigits, where accuracy still rises with k. For the LGC rule only, because
the eigendecomposition of the AGR rule is slow with this number of points."""

LABELLING: Grid = {"alpha": (0.1, 0.5, 0.9), "eta": (0.01, 0.1, 1.0), "lambda2": (0.001, 0.01, 0.05)}
"""The second round: one at a time, on the accurate and on the approximate graph."""

FEW_LABELLINGS = ("letter", "mnist", "emnist_digits")
"""Data sets where the second round has only α = 0.9 and the default."""


def point_grid(name: str) -> Grid:
    """The grid of the first round."""
    return {**POINTS, **OTHERS.get(name, {})}


def point_settings(name: str, *, quick: bool = False) -> list[Setting]:
    few: Grid = {"n_points": (50,), "width": (1.0, 2.0), "lambda1": (1.0,), "n_nearest": (8,)}
    if quick:
        return settings(few)
    return settings(point_grid(name)) + (settings(MORE_POINTS) if name in ("pendigits", "letter") else [])


def first_round_variants(points: Setting) -> list[str]:
    """The variants on the accurate graph; with more points than the paper's maximum, only that of the LGC rule."""
    rules = ("lgc",) if points["n_points"] > MOST_POINTS_OF_THE_PAPER else ("lgc", "agr")
    return [variant for variant, (rule, graph) in VARIANTS.items() if graph == "accurate" and rule in rules]


def labelling_settings(name: str, *, quick: bool = False) -> list[Setting]:
    """The settings of the second round; few on the sets where they take long."""
    default = DEFAULT_LABELLING
    if quick or name in FEW_LABELLINGS:
        return [default, {**default, "alpha": 0.9}]
    others = [{**default, name: value} for name, values in LABELLING.items() for value in values]
    return [default, *(other for other in others if other != default)]


def split(parameters: Setting) -> tuple[Setting, Setting]:
    """Parameters of the points, and of the labelling."""
    about_points = {name: value for name, value in parameters.items() if name in POINTS}
    return about_points, {name: value for name, value in parameters.items() if name in LABELLING}


def second_round(trials: Iterable[Trial]) -> list[tuple[str, Setting]]:
    """The rule and points of each cell's best trial of the first round, without repetitions."""
    best: dict[tuple[str, str, str], tuple[float, Setting]] = {}
    for trial in trials:
        if trial["method"] not in VARIANTS:
            continue
        points, labelling = split(trial["parameters"])
        rule, graph = VARIANTS[trial["method"]]
        if graph == "accurate" and labelling == DEFAULT_LABELLING:
            for n_labels, values in trial["accuracies"].items():
                cell = rule, trial["kind"], n_labels
                if cell not in best or mean(values) > best[cell][0]:
                    best[cell] = mean(values), points
    chosen: list[tuple[str, Setting]] = []
    for (rule, _, _), (_, points) in best.items():
        if (rule, points) not in chosen:
            chosen.append((rule, points))
    return chosen


@lru_cache(maxsize=8)
def automatic_sigma_of(name: str, quick: bool, n_points: int) -> float:
    """The automatic σ, at which about two points share a row."""
    model = HiDeGL(n_points, max_iter=0, **FIXED).fit(problem(name, quick).rows)
    return float(model.settings_["sigma"])


FIXED: dict[str, Any] = {"preprocess": None, "n_components": None, "random_state": 0}


def learn(data: Problem, points: Setting) -> HiDeGL:
    """A model whose points are learned with a setting, without labels."""
    n_points = min(points["n_points"], len(data.rows))
    sigma = points["width"] * automatic_sigma_of(data.name, data.quick, n_points)
    model = HiDeGL(n_points, sigma=sigma, lambda1=points["lambda1"], n_nearest=points["n_nearest"], **FIXED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(data.rows)


def label(
    data: Problem, model: HiDeGL, points: Setting, variant: str, labelling: Setting, kinds: Iterable[str]
) -> Iterator[Trial]:
    """Trials of one variant on learned points, for each kind of draw and each prior."""
    rule_name, graph = VARIANTS[variant]
    (structure,) = model.structures_
    rule = rule_over(structure, rule=rule_name, graph=graph, **labelling)
    for kind in kinds:
        begun = time.perf_counter()
        found: dict[str | None, dict[str, list[float]]] = {prior: {} for prior in PRIORS[kind]}
        for n_labels in data.counts(kind):
            draws = data.draws(kind, n_labels)
            for prior, values in accuracies(structure, rule, data.y, draws, PRIORS[kind]).items():
                found[prior][str(n_labels)] = np.round(values, 2).tolist()
        seconds = (time.perf_counter() - begun) / len(found)
        for prior, by_count in found.items():
            yield {
                "protocol": "oracle",
                "method": variant,
                "data": data.name,
                "kind": kind,
                "parameters": {**points, **labelling, "class_prior": prior},
                "accuracies": by_count,
                "seconds": round(seconds, 2),
            }
