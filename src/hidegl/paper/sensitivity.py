"""Figure 2: how accuracy depends on λ1, σ, α and η, on USPS-2 with k = 500, for the variant L-accurate.

As in the paper, the curve of a parameter is the best accuracy over all values of the other parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean, stdev

from hidegl.paper.methods import Grid, Setting, settings
from hidegl.paper.oracle_search import label, learn, split
from hidegl.paper.problems import problem
from hidegl.paper.store import Store, Trial
from hidegl.paper.trials import TrialBatch, frozen

DATA, VARIANT, KIND = "usps2", "HiDeGL(L-accurate)", "balanced"
STORED_AS = "sensitivity"

POINTS: Grid = {
    "n_points": (500,),
    "width": (0.125, 0.25, 0.5, 1.0, 2.0, 4.0),
    "lambda1": (0.1, 1.0, 10.0, 100.0),
    "n_nearest": (8,),
}
LABELLING: Grid = {"alpha": (0.1, 0.3, 0.5, 0.7, 0.9), "eta": (0.01, 0.1, 1.0), "lambda2": (1e-3, 1e-2)}

VARIED = ("lambda1", "width", "alpha", "eta")


def sensitivity_tasks(store: Store, *, quick: bool) -> list[TrialBatch]:
    points = {**POINTS, "n_points": (50,), "width": (1.0, 2.0), "lambda1": (1.0, 10.0)} if quick else POINTS
    labelling = {**LABELLING, "alpha": (0.1, 0.9), "eta": (0.1, 1.0), "lambda2": (1e-2,)} if quick else LABELLING
    done = {frozen(split(trial["parameters"])[0]) for trial in store.trials(STORED_AS)}
    return [
        TrialBatch(
            STORED_AS, f"sensitivity width={own['width']:g} lambda1={own['lambda1']:g}", vary, (quick, own, labelling)
        )
        for own in settings(points)
        if frozen(own) not in done
    ]


def vary(quick: bool, points: Setting, labelling: Grid) -> list[Trial]:
    data = problem(DATA, quick)
    model = learn(data, points)
    trials = [
        trial
        for how in settings(labelling)
        for trial in label(data, model, points, VARIANT, how, [KIND])
        if trial["parameters"]["class_prior"] is None
    ]
    return [{**trial, "protocol": STORED_AS} for trial in trials]


@dataclass(frozen=True)
class Curve:
    """Accuracy at each value of a parameter, with the other parameters tuned."""

    values: list[float]
    means: list[float]
    stds: list[float]


def curves(store: Store) -> dict[str, dict[int, Curve]]:
    """Parameter → number of labels → curve."""
    best: dict[tuple[str, int, float], list[float]] = {}
    for trial in store.trials(STORED_AS):
        for n_labels, accuracies in trial["accuracies"].items():
            for parameter in VARIED:
                cell = parameter, int(n_labels), trial["parameters"][parameter]
                if cell not in best or mean(accuracies) > mean(best[cell]):
                    best[cell] = accuracies
    found: dict[str, dict[int, Curve]] = {parameter: {} for parameter in VARIED}
    for parameter, n_labels, value in sorted(best):
        curve = found[parameter].setdefault(n_labels, Curve([], [], []))
        accuracies = best[parameter, n_labels, value]
        curve.values.append(value)
        curve.means.append(mean(accuracies))
        curve.stds.append(stdev(accuracies))
    return found
