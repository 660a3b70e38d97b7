"""Conjugate gradients in compiled single precision: for solutions of which a few digits are needed."""

import numpy as np

from hidegl.basics.compiling import compiled

WIDTH = 8
"""So many columns are solved together: a constant, so that a processor takes them in one step."""


@compiled
def conjugate_gradients(indptr, indices, entries, right, tol, max_iter):
    """Solve A X = B for the WIDTH columns of B (k, WIDTH), A sparse, symmetric and positive definite.

    Stops when every column's residual is below `tol` times the norm of its right-hand side.
    """
    k = len(right)
    X, residual, direction = np.zeros_like(right), right.copy(), right.copy()
    product, own = np.empty_like(right), np.zeros(WIDTH, np.float32)
    energy, along, after = np.zeros(WIDTH), np.zeros(WIDTH), np.zeros(WIDTH)
    for i in range(k):
        for j in range(WIDTH):
            energy[j] += right[i, j] * right[i, j]
    goal = tol * tol * energy
    step, keep = np.zeros(WIDTH, np.float32), np.zeros(WIDTH, np.float32)
    for _ in range(max_iter):
        if not np.any(energy > goal):
            break
        along[:] = 0
        for i in range(k):
            for j in range(WIDTH):
                own[j] = 0
            for place in range(indptr[i], indptr[i + 1]):
                entry, other = entries[place], indices[place]
                for j in range(WIDTH):
                    own[j] += entry * direction[other, j]
            for j in range(WIDTH):
                product[i, j] = own[j]
                along[j] += own[j] * direction[i, j]
        for j in range(WIDTH):
            step[j] = energy[j] / along[j] if energy[j] > goal[j] and along[j] > 0 else 0.0
            after[j] = 0
        for i in range(k):
            for j in range(WIDTH):
                X[i, j] += step[j] * direction[i, j]
                residual[i, j] -= step[j] * product[i, j]
                after[j] += residual[i, j] * residual[i, j]
        for j in range(WIDTH):
            keep[j] = after[j] / energy[j] if energy[j] > goal[j] else 0.0
            energy[j] = after[j]
        for i in range(k):
            for j in range(WIDTH):
                direction[i, j] = residual[i, j] + keep[j] * direction[i, j]
    return X
