"""Empty cells that occur at random. A column of categories has a category for empty cells only if these go with other
columns: then they may carry information about the classes, which go with other columns, too. Empty cells at random
carry none, and a category for them would move their rows away from all others.

For each other column j with d_j numbers, F = (R²_j / d_j) / ((1 − R²_j) / (n − d_j − 1)) of the regression of the gaps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f

LEVEL = 0.01
"""The probability with which gaps at random are taken for others, over all columns together (Bonferroni)."""


def are_random(gaps: NDArray[np.bool_], others: Sequence[NDArray[np.float64]]) -> bool:
    """Whether no other column (n, d_j) shows where the gaps (n,) are."""
    return bool(min((p_value(gaps, numbers) for numbers in others), default=1.0) * len(others) >= LEVEL)


def p_value(gaps: NDArray[np.bool_], numbers: NDArray[np.float64]) -> float:
    """How probable it is that gaps at random go with the numbers (n, d) as much as these gaps do."""
    target = gaps - gaps.mean()
    centred = numbers - numbers.mean(axis=0)
    scales = np.abs(centred).max(axis=0)
    centred = centred[:, scales > 0] / scales[scales > 0]
    total = target @ target
    if not total or not centred.shape[1]:
        return 1.0
    weights, _, rank, _ = np.linalg.lstsq(centred, target, rcond=None)
    explained = float(np.clip((centred @ weights) @ target / total, 0, 1))
    left = len(target) - rank - 1
    if left < 1:
        return 1.0
    return float(f.sf(explained / rank * left / max(1 - explained, 1e-12), rank, left))
