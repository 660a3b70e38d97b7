"""The main task on data that is generated here or comes with scikit-learn: `make demo`."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.semi_supervised import LabelSpreading

from hidegl import AutoHiDeGL, HiDeGL
from hidegl.baselines.knn import nearest_neighbours
from hidegl.datasets import accuracy, draw_labels, hide_labels, make_three_moons
from hidegl.showing.plots import new_figure, plot_tree
from hidegl.spreading.labels import UNLABELLED

PICTURE = Path("three_moons.png")


@dataclass(frozen=True)
class Case:
    name: str
    X: NDArray[Any]
    truth: NDArray[Any]
    n_labels: int

    @property
    def y(self) -> NDArray[Any]:
        return hide_labels(self.truth, draw_labels(self.truth, self.n_labels, seed=0))


def auto_labels(X: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "only one label each for")
        return AutoHiDeGL(random_state=0).fit(X, y).transduction_


def hidegl_labels(X: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    return HiDeGL(random_state=0).fit(X, y).transduction_


def nearest_labels(X: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    known = y != UNLABELLED
    return nearest_neighbours(X[known], y[known], 1).predict(X)


def spread_labels(X: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LabelSpreading(kernel="knn", max_iter=1000).fit(X, y).transduction_


METHODS: dict[str, Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]] = {
    "AutoHiDeGL": auto_labels,
    "HiDeGL": hidegl_labels,
    "1-NN": nearest_labels,
    "LabelSpreading": spread_labels,
}


def main() -> None:
    moons, moon = make_three_moons(random_state=0)
    digits, digit = load_digits(return_X_y=True)
    cases = [Case("three-moon", moons, moon, 3), Case("digits", digits, digit, 10), Case("digits", digits, digit, 50)]
    auto_labels(moons, cases[0].y)  # compiles the loops, once for this machine

    print("Accuracy on the unlabelled rows (default settings of each method), and seconds\n")
    print(f"{'data':<12}{'rows':>6}{'labels':>8}" + "".join(f"{name:>20}" for name in METHODS))
    for case in cases:
        row = f"{case.name:<12}{len(case.X):>6,}{case.n_labels:>8}"
        for method in METHODS.values():
            row += f"{accuracy_and_seconds(case, method):>20}"
        print(row)
        sys.stdout.flush()

    try:
        save_picture(cases[0])
    except ImportError as error:
        print(f"\nNo picture: {error}")
    else:
        print(f"\nThe picture {PICTURE} shows three-moon with its high-dense points and their tree.")


def accuracy_and_seconds(case: Case, method: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]) -> str:
    y, start = case.y, time.perf_counter()
    labels = method(case.X, y)
    seconds = time.perf_counter() - start
    return f"{accuracy(labels, case.truth, np.flatnonzero(y != UNLABELLED)):.1f}%  {seconds:5.2f} s"


def save_picture(case: Case) -> None:
    model = HiDeGL(100, random_state=0).fit(case.X, case.y)
    figure, ax = new_figure()
    plot_tree(model, case.X, case.y, ax=ax)
    ax.set_title("Three-moon: 1,500 rows in 100 dimensions, 3 labels")
    figure.savefig(PICTURE, dpi=150)


if __name__ == "__main__":
    main()
