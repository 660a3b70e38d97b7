"""Several structures labelled together: a pure function from labels to a frozen `Mixture`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hidegl.basics.warnings import warn_user
from hidegl.ensemble.calibration import Calibration
from hidegl.ensemble.doubt import doubt_of
from hidegl.ensemble.evidence import leave_one_out
from hidegl.ensemble.graphs import fewer
from hidegl.ensemble.known_shares import hold_known_shares
from hidegl.ensemble.mixture import Mixture
from hidegl.ensemble.pool import Pool
from hidegl.ensemble.refinement import CheapestCut
from hidegl.ensemble.sample import RowSample
from hidegl.ensemble.shares import ExpectedShares
from hidegl.ensemble.stages import Ensemble, Judge, Stage
from hidegl.ensemble.teaching import Teaching
from hidegl.spreading.labelling import Spreader
from hidegl.spreading.labels import Labels
from hidegl.spreading.shares import scales_towards


@dataclass(frozen=True)
class Recipe:
    """The stages of an ensemble. An ablation passes another one."""

    evidence: Judge = leave_one_out
    calibration: Calibration = field(default_factory=Calibration)
    refinement: Stage = field(default_factory=CheapestCut)
    pool: Stage = field(default_factory=Pool)
    teaching: Stage = field(default_factory=Teaching)


RECIPE = Recipe()


def label_together(
    spreaders: Sequence[Spreader],
    labels: Labels,
    shares: ExpectedShares,
    sample: RowSample,
    *,
    seed: int = 0,
    recipe: Recipe = RECIPE,
) -> Mixture:
    """What the labels make of the structures together.

    Parameters
    ----------
    spreaders : structures of the same rows, with their rules
    labels, shares : the labels of these rows, and how large classes are expected to be
    sample : the rows that stand for all
    seed : of folds and samples of the labels
    recipe : the stages
    """
    if not labels.any:
        return Mixture(labels)
    members, evidence = recipe.evidence(spreaders, labels, shares.in_members)
    mixture = Mixture(labels, tuple(members), expected_shares=shares.expected, P_loo=evidence.P)
    scales = scales_towards(mixture.vote.of(fewer(sample.Z)), shares.expected, shares.strength)
    ensemble = Ensemble(spreaders, sample, labels, shares, evidence.scaled(scales), recipe.calibration, seed)
    warn_of_labels(labels)
    mixture = replace(mixture, scales=scales, temperature=ensemble.temperature)
    for stage in (recipe.refinement, recipe.pool, recipe.teaching, hold_known_shares):
        mixture = stage(mixture, ensemble)
    doubt = doubt_of(mixture, ensemble)
    return replace(mixture, doubt=doubt.weight, guess=doubt.guess)


def warn_of_labels(labels: Labels) -> None:
    """Say when there is one class only, or one label only for a class."""
    if len(labels.classes) == 1:
        warn_user(f"y holds one class only, {labels.classes[0]}: every row gets it")
        return
    single = labels.classes[labels.counts == 1]
    if len(single):
        names = ", ".join(map(str, single[:5])) + (", …" if len(single) > 5 else "")
        warn_user(f"one label only for the class {names}: give each class two or more, if you can")
