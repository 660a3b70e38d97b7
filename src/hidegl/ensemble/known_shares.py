"""The stage that makes class shares hold that the user knows. Graphs were refined with them; a classifier was not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hidegl.ensemble.graphs import BLOCK_ROWS, fewer
from hidegl.ensemble.heads import Head
from hidegl.ensemble.mixture import Mixture
from hidegl.ensemble.stages import Ensemble
from hidegl.rows.local import LocalRows
from hidegl.rows.side_by_side import SideBySide
from hidegl.spreading.shares import scales_towards
from hidegl.spreading.temperature import log_probabilities


def hold_known_shares(mixture: Mixture, ensemble: Ensemble) -> Mixture:
    """The mixture with an intercept in its classifier, so that all rows together have those shares."""
    if mixture.head is None or not ensemble.shares.known:
        return mixture
    Z, X = fewer(ensemble.sample.Z), fewer(ensemble.sample.X)
    P = mixture.of(LocalRows(SideBySide.of(*Z.parts, X), block_rows=BLOCK_ROWS)).collect()
    scales = scales_towards(P, ensemble.shares.expected, 1.0)
    keeper = Head.of_linear(np.zeros((X.shape[1], len(scales))), log_probabilities(scales))
    return replace(mixture, head=mixture.head.plus(keeper))
