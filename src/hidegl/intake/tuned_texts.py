"""A sentence model that labels tune in two rounds: first by the given labels, then by guesses as well.

A model of the first round labels some of the other texts. Where few labels are given, its surest labels are many more,
and mostly right, so they tune the network once more. Where they are wrong, they teach the errors of the first round. So
there is a second round only where the labels show that tuning has helped. The networks that judge the tuned view learn
from the guesses as well, because guesses make a network surer also where it is wrong.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hidegl.embedding import TextEmbedder
from hidegl.embedding.tuning import N_STEPS
from hidegl.estimators.auto import AutoHiDeGL
from hidegl.spreading.labels import UNLABELLED, Labels
from hidegl.structure.views import LearnedView

MOST_STEPS = 2 * N_STEPS
"""The length of the work of both rounds."""

FEW_LABELS = 10
"""Per class, on average: with as many, the guesses add little."""

GUESSED = 2000
"""So many texts without a label are guessed."""

SUREST, MOST_PER_CLASS = 0.5, 20
"""The share of the guesses of a class that tune, and how many at most."""


def tune_by_guesses(embedder: TextEmbedder, texts: list[str], labels: Labels, seed: int = 0) -> int:
    """Tune the embedder, which labels have tuned, once more if that promises to help. Returns the number of guesses."""
    if len(labels.rows) >= FEW_LABELS * len(labels.classes):
        return 0
    judgement = embedder.learned_["tuned"]
    free = np.setdiff1d(np.arange(len(texts)), np.union1d(labels.rows, judgement.rows))
    drawn = np.random.default_rng(seed).choice(free, min(GUESSED, len(free)), replace=False)
    rows = np.unique(np.concatenate([labels.rows, judgement.rows, drawn]))
    X = embedder.transform([texts[row] for row in rows])
    learned = LearnedView(np.searchsorted(rows, judgement.rows), judgement.folds, judgement.vectors)
    model = AutoHiDeGL(views=embedder.views_, random_state=seed).fit(X, labels.codes[rows], learned={"tuned": learned})
    if not counts_most(model):
        return 0
    guesses = surest(model.transduction_, model.label_distributions_.max(axis=1), labels.codes[rows] == UNLABELLED)
    codes = np.full(len(texts), UNLABELLED)
    codes[rows[guesses]] = model.transduction_[guesses]
    embedder.tune_by(texts, labels, Labels.of(labels.classes, codes))
    return len(guesses)


def counts_most(model: AutoHiDeGL) -> bool:
    """Whether the labels show that the tuned view is the best."""
    weights = model.settings_["view_weights"]
    return bool(weights["tuned"] == max(weights.values()))


def surest(codes: NDArray[np.intp], confidence: NDArray[np.floating], is_guess: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The rows whose guessed classes are the surest, of each class."""
    chosen = []
    for number in np.unique(codes[is_guess]):
        own = np.flatnonzero(is_guess & (codes == number))
        most = min(MOST_PER_CLASS, int(np.ceil(SUREST * len(own))))
        chosen.append(own[np.argsort(-confidence[own], kind="stable")[:most]])
    return np.concatenate([np.empty(0, dtype=np.intp), *chosen])
