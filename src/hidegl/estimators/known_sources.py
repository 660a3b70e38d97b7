"""The weak sources of a fitted model: their labels, and the estimates of their quality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.archives import State, prefixed
from hidegl.basics.linalg import Matrix
from hidegl.basics.stored import Stored
from hidegl.ensemble.gold_model import GoldModel
from hidegl.ensemble.mixture import Mixture
from hidegl.ensemble.weak_posterior import Weighed, weighed
from hidegl.ensemble.weak_reports import JudgedSource
from hidegl.estimators.survey import forms_of
from hidegl.questions.audits import JudgedLabel
from hidegl.spreading.weak_labels import MOST_SOURCES, WeakLabels

if TYPE_CHECKING:
    from hidegl.estimators.learned_ensemble import LearnedEnsemble

PREFIX = "sources."


@dataclass(frozen=True)
class KnownSources:
    """The labels of all sources, and in the same order the estimates for each."""

    said: tuple[WeakLabels, ...] = ()
    found: tuple[JudgedSource, ...] = ()

    @property
    def any_used(self) -> bool:
        return any(source.used for source in self.found)

    @staticmethod
    def suspects(said: WeakLabels, classes: NDArray[Any], P: Matrix, n: int) -> list[JudgedLabel]:
        """The labels of a source that are most probably wrong, given the probabilities of its rows (m, c)."""
        own = said.votes(said.classes, np.arange(len(said.rows))).argmax(axis=1)
        columns = np.searchsorted(classes, said.classes)
        known = np.isin(said.classes, classes)[own]
        right = np.where(known, P[np.arange(len(P)), np.minimum(columns[own], len(classes) - 1)], 0.0)
        found = []
        for i in np.argsort(right, kind="stable")[:n].tolist():
            names = said.classes.tolist()[own[i]], classes.tolist()[int(P[i].argmax())]
            found.append(JudgedLabel(int(said.rows[i]), *names, float(1 - right[i])))
        return found

    # Files

    def state(self) -> State:
        values: list[dict[str, Any]] = []
        arrays: dict[str, NDArray[Any]] = {}
        for number, (said, found) in enumerate(zip(self.said, self.found, strict=True)):
            arrays |= prefixed(f"{PREFIX}{number}.", said.arrays)
            confused = [[str(true), str(instead), share] for true, instead, share in found.confused]
            numbers = [found.accuracy, found.low, found.high]
            values.append(
                {
                    "name": found.name,
                    "n_checked": found.n_checked,
                    "agreement": found.agreement,
                    "numbers": numbers,
                    "used": found.used,
                    "confused": confused,
                }
            )
        return {"sources": values} if values else {}, arrays

    @classmethod
    def restored(cls, stored: Stored) -> KnownSources:
        """Read from a file. Files of earlier versions have no sources."""
        number, said, found = 0, [], []
        while number < MOST_SOURCES and stored.has(f"{PREFIX}{number}.rows"):
            own = stored.part(f"{PREFIX}{number}", stored.several("sources")[number])
            said.append(WeakLabels.restored(own.text("name"), own))
            found.append(restored_judgement(own, said[-1]))
            number += 1
        return cls(tuple(said), tuple(found))


def with_sources(
    sources: tuple[WeakLabels, ...],
    mixture: Mixture,
    learned: LearnedEnsemble,
) -> tuple[KnownSources, Mixture, dict[str, Matrix]]:
    """The judged sources, the model of given labels and sources together, and its predictions for all rows. `mixture`
    is the model of the given labels only, which is returned if no source is used.
    """
    if not sources:
        return KnownSources(), mixture, {}
    structures, rows = [spreader.structure for spreader in learned.spreaders], learned.rows
    P = mixture.of(forms_of(structures, mixture, rows)).collect() if mixture.labels.any else None
    gold = GoldModel.of(mixture.labels, mixture, P, sources)
    found = weighed(gold, learned.members, rows, sources, learned.seed)
    if not isinstance(found, Weighed):
        return KnownSources(sources, found), mixture, {}
    return KnownSources(sources, found.sources), found.mixture, {"saved": found.P, "drawn": found.drawn}


def restored_judgement(stored: Stored, said: WeakLabels) -> JudgedSource:
    accuracy, low, high = stored.numbers("numbers", "[0, 1]")
    names: dict[str, Any] = {str(name): name for name in said.classes.tolist()}
    confused = []
    for pair in stored.several("confused"):
        if not (isinstance(pair, list) and len(pair) == 3 and isinstance(pair[2], int | float)):
            raise ValueError("the confused classes of a source must be two names and a share")
        confused.append((names.get(str(pair[0]), str(pair[0])), names.get(str(pair[1]), str(pair[1])), float(pair[2])))
    return JudgedSource(
        said.name,
        len(said.rows),
        stored.whole("n_checked", 0),
        stored.optional_number("agreement", "[0, 1]"),
        accuracy,
        low,
        high,
        stored.flag("used"),
        tuple(confused),
    )
