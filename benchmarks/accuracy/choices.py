"""What AutoHiDeGL's treatment of class shares and its classifiers gain, on development draws.

    HIDEGL_DATA=folder python benchmarks/accuracy/choices.py

Each choice is taken away in turn: another stage, or other expectations of class shares, are passed to `label_together`,
on structures that were learned once. Mean accuracies are stored in results/choices.json.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent.parent))

from harness import data, store
from hidegl.basics.progress import Progress
from hidegl.datasets import accuracy, draw_labels, hide_labels
from hidegl.ensemble.graphs import Vote
from hidegl.ensemble.members import member_plans, member_seeds, seed_from
from hidegl.ensemble.pool import Pool
from hidegl.ensemble.refinement import MOVED, CheapestCut
from hidegl.ensemble.sample import RowSample
from hidegl.ensemble.shares import HALF_WAY, ExpectedShares
from hidegl.ensemble.stages import Ensemble
from hidegl.ensemble.teaching import Teaching
from hidegl.ensemble.together import Recipe, label_together
from hidegl.rows.local import LocalRows
from hidegl.spreading.labelling import Spreader
from hidegl.spreading.labels import Labels
from hidegl.spreading.shares import class_shares
from hidegl.structure.checkpoint import Checkpoint
from hidegl.structure.preparation import learn_preparation, prepare
from hidegl.structure.structure import learn_structures

DRAWS = range(50, 55)

CELLS = {
    "coil20": (40, 100),
    "optdigits": (10, 50),
    "usps2": (10, 100),
    "optdigits-10:1": (50, 100),
    "usps-10:1": (50, 100),
}
"""Where ways to treat class shares are compared."""

WITH_CLASSIFIER = {
    "banking77": (231, 385, 770),
    "letter": (104,),
    "pendigits": (100,),
    "usps": (100,),
    "trec6": (30, 60, 120),
    "satimage": (30, 60),
    "g241c": (10, 20, 40),
}
"""Where the classifiers beside the graphs are compared."""


# What is compared


@dataclass(frozen=True)
class AlwaysMoved(CheapestCut):
    """Class shares moved so far, whatever the cut."""

    strength: float = HALF_WAY

    def choose(self, start: Vote, ensemble: Ensemble) -> str:
        return MOVED[self.strength]


def as_if_random(labels: Labels) -> ExpectedShares:
    """What would be expected of labels by class, if they were drawn at random."""
    expected = ExpectedShares.of("auto", labels)
    return replace(expected, strength=HALF_WAY, in_members=class_shares("balanced", labels))


@dataclass(frozen=True)
class Way:
    recipe: Recipe = Recipe()  # noqa: RUF009  # frozen, as all its stages are
    shares: Callable[[Labels], ExpectedShares] = lambda labels: ExpectedShares.of("auto", labels)


SHARES = {
    "chosen by the cut": Way(),
    **{f"always {name}": Way(Recipe(refinement=AlwaysMoved(strength=s))) for s, name in MOVED.items()},
}
BY_CLASS = {"by class": Way(), "as if random": Way(shares=as_if_random)}
CLASSIFIER = {
    "kernel, and co-training": Way(),
    "kernel": Way(Recipe(teaching=Teaching(lessons=0))),
    "graphs alone": Way(Recipe(pool=Pool(with_kernel=False))),
}


# The comparison


@dataclass(frozen=True)
class Learned:
    """A data set, and the structures that AutoHiDeGL's default learns from it."""

    name: str
    y: NDArray[Any]
    sample: RowSample
    spreaders: list[Spreader]
    seed: int

    @classmethod
    def of(cls, name: str) -> Learned:
        X, y = data(name)
        rows, rng = LocalRows(X), np.random.default_rng(seed_from(0))
        preparation = learn_preparation(rows, preprocess="auto", n_components="auto", rng=rng)
        prepared, plans = rows.map(prepare, preparation).persist(), member_plans("default", len(X))
        seeds = member_seeds(rng, len(plans))
        with Progress(verbose=False, callback=None, tol=0) as progress:
            spreaders = [*map(Spreader, learn_structures(prepared, plans, seeds, Checkpoint(None), progress))]
        sample = RowSample.of([spreader.structure for spreader in spreaders], prepared, seeds[0])
        return cls(name, y, sample, spreaders, seeds[0])

    def accuracy(self, n_labels: int, kind: str, way: Way) -> float:
        found = []
        for draw in DRAWS:
            labelled = draw_labels(self.y, n_labels, seed=draw, kind=kind)
            labels = Labels.read(hide_labels(self.y, labelled), len(self.y))
            mixture = label_together(
                self.spreaders, labels, way.shares(labels), self.sample, seed=self.seed, recipe=way.recipe
            )
            first, *others = [spreader.structure.Z for spreader in self.spreaders]
            forms = first.beside(*others, self.sample.rows)
            P = mixture.of(forms).collect()
            found.append(accuracy(labels.classes[P.argmax(axis=1)], self.y, labelled))
        return round(mean(found), 2)

    def compared(self, n: int, kind: str, ways: dict[str, Way]) -> dict[str, Any]:
        found = {title: self.accuracy(n, kind, way) for title, way in ways.items()}
        print(self.name, n, kind, found, flush=True)
        return {"data": self.name, "labels": n, **found}


def main() -> None:
    warnings.simplefilter("ignore")
    shares, by_class, classifier = [], [], []
    for name in {**CELLS, **WITH_CLASSIFIER}:
        learned = Learned.of(name)
        for n in CELLS.get(name, ()):
            shares.append(learned.compared(n, "random", SHARES))
            if n >= 2 * len(np.unique(learned.y)):
                by_class.append(learned.compared(n, "balanced", BY_CLASS))
        for n in WITH_CLASSIFIER.get(name, ()):
            classifier.append(learned.compared(n, "random", CLASSIFIER))
    store("choices", {"draws": list(DRAWS), "shares": shares, "classifier": classifier, "by_class": by_class})


if __name__ == "__main__":
    main()
