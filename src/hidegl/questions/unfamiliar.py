"""Groups of rows without any label: perhaps a class without a name.

Points that no label reaches are joined along the tree. A group counts if random labels would hardly have left it out: a
share s of the rows has none of l labels with a probability of (1 − s)^l.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from hidegl.basics.linalg import Matrix
from hidegl.questions.suggestions import representatives
from hidegl.rows.arrays import on_host
from hidegl.rows.assignments import Assignments
from hidegl.spreading.familiarity import Familiarity
from hidegl.spreading.labels import Labels
from hidegl.structure.structure import Structure

MOST_PROBABLE = 0.05
"""A group counts if random labels would leave it out with at most this probability."""

EXAMPLES = 3


class UnfamiliarGroup(NamedTuple):
    """Similar rows, none of them labelled or near a label."""

    rows: NDArray[np.intp]
    """The row numbers."""

    examples: NDArray[np.intp]
    """Row numbers of examples, the most typical first."""

    label: Any
    """The predicted class of most of them."""

    chance: float
    """The probability that random labels would have left them out."""


def unfamiliar_groups(
    structure: Structure, familiarity: Familiarity, labels: Labels, P_points: Matrix
) -> list[UnfamiliarGroup]:
    """The groups, the largest first. `P_points` are the class probabilities at the points (k, c). Two passes over the
    rows.
    """
    unfamiliar = familiarity.at_points < 1
    unfamiliar[structure.points_of(labels.rows)] = False
    points = np.flatnonzero(unfamiliar)
    if not len(points):
        return []
    _, parts = connected_components(structure.tree[points][:, points], directed=False)
    part_of = np.full(structure.n_points, -1)
    part_of[points] = parts
    belongs = part_of[on_host(structure.Z.map(nearest_points).collect())]
    sizes = np.bincount(belongs[belongs >= 0], minlength=parts.max() + 1)
    chances = (1 - sizes / labels.n_rows) ** len(labels.rows)
    strange = [part for part in np.argsort(-sizes, kind="stable") if chances[part] <= MOST_PROBABLE]
    if not strange:
        return []
    typical, mass = representatives(structure.Z, labels.codes >= 0), structure.mass
    groups = []
    for part in strange:
        own = points[parts == part]
        some = own[np.argsort(-mass[own], kind="stable")]
        examples = typical[some][typical[some] >= 0][:EXAMPLES]
        label = labels.classes.tolist()[int((mass[own] @ P_points[own]).argmax())]
        groups.append(UnfamiliarGroup(np.flatnonzero(belongs == part), examples, label, float(chances[part])))
    return groups


def nearest_points(Z: Assignments) -> Any:
    """The nearest point of each row of a block."""
    return Z.strongest
