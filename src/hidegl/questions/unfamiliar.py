"""Groups of rows in which nothing is labelled: perhaps a class that nobody has named.

Points that no label reaches are joined along the tree. A group counts if it would be strange for random labels to leave
it out: a share s of the rows has none of l labels with a probability of (1 − s)^l.
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

STRANGE = 0.05
"""A group counts if random labels would leave it out with at most this probability."""

EXAMPLES = 3


class UnfamiliarGroup(NamedTuple):
    """Rows that are alike, none of them labelled or near a label."""

    rows: NDArray[np.intp]
    """Their numbers."""

    examples: NDArray[np.intp]
    """Some that stand for the others, the most typical first."""

    label: Any
    """The class that most of them have now."""

    chance: float
    """How likely random labels would have left them out."""


def unfamiliar_groups(
    structure: Structure, familiarity: Familiarity, labels: Labels, P_points: Matrix
) -> list[UnfamiliarGroup]:
    """The largest first. `P_points` are the class probabilities at the points (k, c). Two passes over the rows."""
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
    strange = [part for part in np.argsort(-sizes, kind="stable") if chances[part] <= STRANGE]
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
    """The point that each row of a block belongs to most."""
    return Z.strongest
