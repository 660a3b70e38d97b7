"""Several structures labelled together: a pure function from labels to a frozen `Mixture`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hidegl.basics.warnings import warn_user
from hidegl.ensemble.calibration import Calibration
from hidegl.ensemble.evidence import Evidence, leave_one_out
from hidegl.ensemble.heads import CoTraining
from hidegl.ensemble.mixture import Mixture
from hidegl.ensemble.refinement import CheapestCut
from hidegl.ensemble.shares import ExpectedShares
from hidegl.ensemble.stages import Ensemble, Judge, Stage, sampled_rows
from hidegl.rows.base import Rows
from hidegl.spreading.labelling import Spreader
from hidegl.spreading.labels import Labels
from hidegl.spreading.shares import scales_towards


@dataclass(frozen=True)
class Recipe:
    """The stages of an ensemble. An ablation passes another one."""

    evidence: Judge = leave_one_out
    calibration: Calibration = field(default_factory=Calibration)
    refinement: Stage = field(default_factory=CheapestCut)
    heads: Stage = field(default_factory=CoTraining)


RECIPE = Recipe()


def label_together(
    spreaders: Sequence[Spreader],
    labels: Labels,
    shares: ExpectedShares,
    *,
    rows: Rows | None = None,
    are_directions: bool = False,
    seed: int = 0,
    recipe: Recipe = RECIPE,
) -> Mixture:
    """What the labels make of the structures together.

    Parameters
    ----------
    spreaders : structures of the same rows, with their rules
    labels, shares : the labels of these rows, and how large classes are expected to be
    rows : prepared; without them there is no linear classifier
    are_directions : whether the rows are embeddings, on which a linear classifier is tried
    seed : of the folds and samples that the linear classifier learns from
    recipe : the stages
    """
    if not labels.any:
        return Mixture(labels)
    members, evidence = recipe.evidence(spreaders, labels, shares.in_members)
    sample = sampled_rows([spreader.structure for spreader in spreaders], seed)
    mixture = Mixture(labels, tuple(members), expected_shares=shares.expected, P_loo=evidence.P)
    scales = scales_towards(mixture.vote.of(sample), shares.expected, shares.strength)
    ensemble = Ensemble(
        spreaders, rows, are_directions, labels, shares, evidence.scaled(scales), recipe.calibration, sample, seed
    )
    warn_of_labels(ensemble.evidence)
    mixture = replace(mixture, scales=scales, temperature=ensemble.temperature)
    for stage in (recipe.refinement, recipe.heads):
        mixture = stage(mixture, ensemble)
    return mixture


def warn_of_labels(evidence: Evidence) -> None:
    """Say when a class has one label only, or when labels contradict one another."""
    labels = evidence.labels
    if len(labels.classes) == 1:
        warn_user(f"y holds one class only, {labels.classes[0]}: every row gets it")
        return
    single = labels.classes[labels.counts == 1]
    if len(single):
        names = ", ".join(map(str, single[:5])) + (", …" if len(single) > 5 else "")
        warn_user(f"one label only for the class {names}: give each class two or more, if you can")
    if evidence.n_judged >= 10 and evidence.share_wrong > 0.5:
        wrong = evidence.n_judged - evidence.n_right
        warn_user(
            f"{wrong} of {evidence.n_judged} labels contradict what the others say of their rows: "
            f"are they in the order of the rows of X?"
        )
