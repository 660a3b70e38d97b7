"""Hostile rows and parameters: a fit gives valid probabilities, or an error that says what to change."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from fuzz.models import invalid
from fuzz.mutations import Rng, one_of
from hidegl import AutoHiDeGL, HiDeGL
from hidegl.baselines import AGR, KNN, LGC, LapRLS

PARAMETERS: dict[str, list[Any]] = {
    "n_points": ["auto", 1, 2, 5, 10],
    "sigma": ["auto", 1e-12, 1e-3, 1.0, 1e6],
    "lambda1": [0, 1e-9, 1.0, 1e6, 1e12],
    "lambda2": [1e-300, 1e-12, 1e-6, 0.01, 1.0, 1e12],
    "alpha": [0, 0.5, 0.99, 0.999999, 1 - 1e-15],
    "eta": [0, 1e-12, 0.1, 1e6, 1e300],
    "graph": ["accurate", "approx", "anchor"],
    "rule": ["lgc", "agr", "poisson", "mbo"],
    "class_prior": ["balanced", "labels", None],
    "preprocess": ["auto", "unit", "standardize", None],
    "n_components": ["auto", 1, 3, None],
    "n_nearest": [8, 1, 2, None],
    "start": ["kmeans", "random"],
    "learning_rows": ["auto", 5, None],
    "max_iter": [0, 1, 20],
}


def prepare(folder: Path) -> None:
    """Nothing is needed."""


def hostile_rows(rng: Rng) -> Any:
    n, d = int(rng.integers(2, 80)), int(one_of(rng, [1, 2, 3, 10, 40, 130]))
    X = rng.normal(size=(n, d)) + 5 * rng.integers(3, size=n)[:, None]
    for _ in range(int(rng.integers(0, 3))):
        way = int(rng.integers(9))
        if way == 0:
            X = X * 10.0 ** rng.integers(-100, 100)
        elif way == 1:
            X[:, int(rng.integers(d))] = one_of(rng, [0, 1, 1e9, -1e-9])
        elif way == 2:
            X = X[rng.integers(max(n // 5, 1), size=n)]
        elif way == 3:
            X = np.round(X)
        elif way == 4:
            X[int(rng.integers(n))] *= 1e6
        elif way == 5:
            X = np.zeros_like(X)
        elif way == 6:
            X = X + 1e8
        elif way == 7:
            X[:, ::2] *= 1e-8
        else:
            X = np.abs(X)
    form = rng.random()
    if form < 0.15:
        return sp.csr_array(np.where(rng.random(X.shape) < 0.7, 0, X))
    dtype = np.float32 if form < 0.4 and np.abs(X).max() < 1e30 else np.float64
    return X.astype(dtype)


def some_labels(n: int, rng: Rng) -> np.ndarray:
    y = np.full(n, -1)
    chosen = rng.choice(n, size=int(rng.integers(1, n + 1)), replace=False)
    y[chosen] = rng.integers(int(rng.integers(1, 6)), size=len(chosen))
    return y


def estimator(rng: Rng) -> Any:
    kind = rng.random()
    if kind < 0.12:
        return one_of(rng, [LGC, AGR, KNN, LapRLS])()
    if kind < 0.3:
        return AutoHiDeGL(one_of(rng, ["quick", "default"]), random_state=0)
    names = rng.choice(sorted(PARAMETERS), size=int(rng.integers(0, 6)), replace=False)
    return HiDeGL(random_state=0, **{name: one_of(rng, PARAMETERS[name]) for name in names})


def case(folder: Path, rng: Rng) -> str | None:
    X, model = hostile_rows(rng), estimator(rng)
    y = some_labels(X.shape[0], rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y)
            found = invalid(model.label_distributions_)
            if found is None and isinstance(model, HiDeGL | AutoHiDeGL):
                found = invalid(model.predict_proba(X))
                model.audit()
        except (ValueError, TypeError, MemoryError) as error:
            if type(error) in (ValueError, TypeError, MemoryError):  # numpy's own are of other classes
                return None
            found = f"{type(error).__name__}: {error}"
    return None if found is None else f"{model!r} on {X.shape} {X.dtype}: {found}"
