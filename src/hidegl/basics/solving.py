"""Compiled conjugate gradients in single precision, for solutions of which a few digits are needed."""

import numpy as np

from hidegl.basics.compiling import compiled, compiled_in_lanes

WIDTH = 8
"""The number of columns that are solved together. It is a constant, so that vector instructions are used."""


@compiled_in_lanes("void(int32[::1], int32[::1], float32[::1], float32[:, ::1], float32[:, ::1])")
def product_of(indptr, indices, entries, X, product):
    """A X for WIDTH columns. Eight variables, in place of an array, stay in one register."""
    for i in range(len(X)):
        a = b = c = d = e = f = g = h = np.float32(0)
        for place in range(indptr[i], indptr[i + 1]):
            entry, other = entries[place], np.uint64(indices[place])
            a += entry * X[other, 0]
            b += entry * X[other, 1]
            c += entry * X[other, 2]
            d += entry * X[other, 3]
            e += entry * X[other, 4]
            f += entry * X[other, 5]
            g += entry * X[other, 6]
            h += entry * X[other, 7]
        product[i, 0], product[i, 1], product[i, 2], product[i, 3] = a, b, c, d
        product[i, 4], product[i, 5], product[i, 6], product[i, 7] = e, f, g, h


@compiled
def conjugate_gradients(indptr, indices, entries, right, tol, max_iter):
    """Solve A X = B for the WIDTH columns of B (k, WIDTH), A sparse, symmetric and positive definite.

    Stops when every column's residual is below `tol` times the norm of its right-hand side. Returns X, and the largest
    residual divided by that norm.
    """
    k = len(right)
    X, residual, direction, product = np.zeros_like(right), right.copy(), right.copy(), np.empty_like(right)
    energy, along, after = np.zeros(WIDTH), np.zeros(WIDTH), np.zeros(WIDTH)
    for i in range(k):
        for j in range(WIDTH):
            energy[j] += right[i, j] * right[i, j]
    goal, first = tol * tol * energy, energy.copy()
    step, keep = np.zeros(WIDTH, np.float32), np.zeros(WIDTH, np.float32)
    for _ in range(max_iter):
        if not np.any(energy > goal):
            break
        product_of(indptr, indices, entries, direction, product)
        along[:] = 0
        for i in range(k):
            for j in range(WIDTH):
                along[j] += product[i, j] * direction[i, j]
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
    worst = 0.0
    for j in range(WIDTH):
        if first[j] > 0:
            worst = max(worst, energy[j] / first[j])
    return X, np.sqrt(worst)
