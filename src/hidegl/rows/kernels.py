"""The compiled loops of the CPU engine, over blocks of rows.

A block of assignments is a pair of (b, s) arrays: for each of b rows, the numbers of the s points it is assigned to
and their weights. Each loop releases the GIL, so that blocks run side by side in threads. Sums over rows are float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np


def compiled(function: Callable[..., Any]) -> Any:
    """Compile once and keep the result on disk; where no folder can be written, compile again in each process."""
    compile_with: dict[str, Any] = {"nogil": True, "fastmath": {"contract", "reassoc"}}
    try:
        return numba.njit(cache=True, **compile_with)(function)
    except RuntimeError:  # numba found no place for its cache
        return numba.njit(**compile_with)(function)


@compiled
def smallest(scores, s):
    """The columns of the s smallest entries of each row, in no particular order. O(bk), few writes."""
    b, k = scores.shape
    columns = np.empty((b, s), np.int32)
    values = np.empty(s, scores.dtype)
    for i in range(b):
        for t in range(s):
            columns[i, t] = t
            values[t] = scores[i, t]
        worst = values.argmax()
        limit = values[worst]
        for j in range(s, k):
            if scores[i, j] < limit:
                values[worst] = scores[i, j]
                columns[i, worst] = j
                worst = values.argmax()
                limit = values[worst]
    return columns


@compiled
def squared_distances(X, C, columns):
    """‖x_i − c_j‖² for the points j named in row i, from the differences: exact where ‖x‖²−2xc+‖c‖² cancels."""
    b, s = columns.shape
    d = X.shape[1]
    out = np.empty((b, s))
    for i in range(b):
        for t in range(s):
            j = columns[i, t]
            total = X.dtype.type(0)
            for m in range(d):
                difference = X[i, m] - C[j, m]
                total += difference * difference
            out[i, t] = total
    return out


@compiled
def transposed_product(columns, weights, X, k):
    """ZᵀX (k, d)."""
    b, s = columns.shape
    d = X.shape[1]
    out = np.zeros((k, d))
    for i in range(b):
        for t in range(s):
            j = columns[i, t]
            w = np.float64(weights[i, t])
            if w > 0:
                for m in range(d):
                    out[j, m] += w * X[i, m]
    return out


@compiled
def weighted_gram(columns, weights, row_weights, k):
    """Zᵀ diag(row_weights) Z (k, k)."""
    b, s = columns.shape
    out = np.zeros((k, k))
    for i in range(b):
        for t in range(s):
            w = row_weights[i] * weights[i, t]
            if w > 0:
                for u in range(s):
                    out[columns[i, t], columns[i, u]] += w * weights[i, u]
    return out


@compiled
def product(columns, weights, A):
    """ZA (b, c)."""
    b, s = columns.shape
    c = A.shape[1]
    out = np.zeros((b, c))
    for i in range(b):
        for t in range(s):
            w = weights[i, t]
            for m in range(c):
                out[i, m] += w * A[columns[i, t], m]
    return out
