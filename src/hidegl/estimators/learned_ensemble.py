"""The part of an ensemble that is learned from rows without labels, and the settings by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from hidegl.basics.checks import check_name
from hidegl.basics.progress import Progress
from hidegl.ensemble.members import member_plans, member_seeds
from hidegl.ensemble.mixture import Mixture
from hidegl.ensemble.together import ViewMembers, members_of_views
from hidegl.estimators.extending import extended_spreaders
from hidegl.estimators.fitted import Learned
from hidegl.rows.base import Rows
from hidegl.spreading.labelling import Spreader
from hidegl.structure.checkpoint import Checkpoint
from hidegl.structure.preparation import PREPROCESSES
from hidegl.structure.stages import begin_fit
from hidegl.structure.structure import Structure, learn_structures
from hidegl.structure.views import AnyPreparation

MIXED = "mixed"
"""The value of `preprocess` for columns of several kinds, which an encoder has scaled."""

GROWTH = 2
"""With this many times as many rows as points were learned from, new points are learned: the number of points follows
from that of rows. So in all, learning takes no more than twice the time of one fit.
"""


@dataclass(frozen=True)
class LearnedEnsemble(Learned):
    """The part of an ensemble that was learned from the rows without labels."""

    effort: str
    seed: int
    mixed: Sequence[bool]
    """Whether `preprocess` of each view is `MIXED`."""

    rows: Rows | None = None
    """The prepared rows of the fit; None for a model that was loaded."""

    @cached_property
    def members(self) -> tuple[ViewMembers, ...]:
        """The structures of each view, with a sample of the rows."""
        return members_of_views(self.spreaders, self.preparation, self.rows, self.seed, mixed=self.mixed)

    n_learned: int | None = None
    """The number of rows from which the points were learned."""

    def followed_by(self, new: Rows) -> LearnedEnsemble:
        """The ensemble with new prepared rows after those of the fit."""
        rows = None if self.rows is None else self.rows.followed_by(new)
        if rows is not None and self.n_learned is not None and rows.n_rows >= GROWTH * self.n_learned:
            return self._learned_anew(rows)
        return replace(self, spreaders=extended_spreaders(self.spreaders, new), rows=rows)

    def _learned_anew(self, rows: Rows) -> LearnedEnsemble:
        """The ensemble with points of other prepared rows."""
        plans = member_plans(self.effort, rows.n_rows, views=self.preparation.spans)
        seeds = [self.seed, *member_seeds(np.random.default_rng(self.seed), len(plans) - 1)]
        with Progress(verbose=False, callback=None) as progress:
            begin_fit(progress, plans, rows.n_rows, self.preparation.width)
            structures = list(learn_structures(rows, plans, seeds, Checkpoint(None), progress))
        return replace(self, spreaders=tuple(map(Spreader, structures)), rows=rows, n_learned=rows.n_rows)


def check_scaling(preprocess: Any) -> None:
    """An error for a parameter `preprocess` of `AutoHiDeGL` that breaks its rule."""
    for view, how in (preprocess if isinstance(preprocess, Mapping) else {"": preprocess}).items():
        check_name(f"preprocess[{view!r}]" if view else "preprocess", how, ("auto", *PREPROCESSES, MIXED, None))


def scaling_of(preprocess: Any, views: Iterable[str]) -> dict[str, str | None]:
    """The scaling of the columns of each view; None for no scaling."""
    return {view: None if how == MIXED else how for view, how in preprocess_of(preprocess, views).items()}


def are_mixed(preprocess: Any, views: Iterable[str]) -> list[bool]:
    """Whether an encoder has scaled the columns of each view."""
    return [how == MIXED for how in preprocess_of(preprocess, views).values()]


def preprocess_of(preprocess: Any, views: Iterable[str]) -> dict[str, str | None]:
    """The value of `preprocess` for each view."""
    by_view = isinstance(preprocess, Mapping)
    return {view: preprocess.get(view, "auto") if by_view else preprocess for view in views}


def chosen_settings(
    effort: str,
    preparation: AnyPreparation,
    structures: Sequence[Structure],
    mixture: Mixture,
    views: Mapping[str, int],
) -> dict[str, Any]:
    """The settings of the structures, and with labels also those of the mixture."""
    settings: dict[str, Any] = {
        "effort": effort,
        "preprocess": preparation.preprocess,
        "dtype": preparation.dtype,
        "n_components": sum(part.width for part in preparation.parts),
        "n_points": [structure.n_points for structure in structures],
        "sigma": [structure.sigma for structure in structures],
    }
    if mixture.labels.any:
        settings |= mixture.settings
        if views:
            weights = mixture.column_weights([structure.columns for structure in structures])
            spans = zip(views, preparation.spans, strict=True)
            settings["view_weights"] = {name: weights.get(columns, 0.0) for name, columns in spans}
    return settings
