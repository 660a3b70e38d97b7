"""Local anchor embedding's compiled loop: least squares on the simplex, a small problem for each row."""

from __future__ import annotations

import numpy as np

from hidegl.basics.compiling import compiled


@compiled
def project_to_simplex(v, z):
    """z = the nearest point of the probability simplex to v."""
    s = len(v)
    ordered = np.sort(v)[::-1]
    total, shift = 0.0, 0.0
    for t in range(s):
        total += ordered[t]
        candidate = (total - 1.0) / (t + 1)
        if ordered[t] > candidate:
            shift = candidate
    for t in range(s):
        z[t] = max(v[t] - shift, 0.0)


@compiled
def simplex_least_squares(X, U, columns, max_steps, tol):
    """For each row i the z on the simplex with the least ‖x_i − Σ_t z_t u_{columns[i,t]}‖² (b, s).

    Since z sums to one, that is zᵀGz with G the products of the differences u − x, so each step costs s², not sd.
    Projected gradient steps with Nesterov's momentum, which starts again whenever it points uphill.
    """
    b, s = columns.shape
    d = X.shape[1]
    out = np.empty((b, s))
    G = np.empty((s, s))
    z, before, ahead, gradient = np.empty(s), np.empty(s), np.empty(s), np.empty(s)
    for i in range(b):
        for t in range(s):
            for u in range(t + 1):
                total = 0.0
                for m in range(d):
                    total += (U[columns[i, t], m] - X[i, m]) * (U[columns[i, u], m] - X[i, m])
                G[t, u] = total
                G[u, t] = total
        bound = 0.0
        for t in range(s):
            z[t] = 1.0 / s
            ahead[t] = z[t]
            bound += G[t, t]
        momentum = 1.0
        for _ in range(max_steps if bound > 0 else 0):
            uphill, change = 0.0, 0.0
            for t in range(s):
                gradient[t] = ahead[t]
                for u in range(s):
                    gradient[t] -= G[t, u] * ahead[u] / bound
                before[t] = z[t]
            project_to_simplex(gradient, z)
            for t in range(s):
                uphill += (ahead[t] - z[t]) * (z[t] - before[t])
                change = max(change, abs(z[t] - before[t]))
            following = (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum)) / 2.0 if uphill <= 0 else 1.0
            weight = (momentum - 1.0) / following if uphill <= 0 else 0.0
            for t in range(s):
                ahead[t] = z[t] + weight * (z[t] - before[t])
            momentum = following
            if change <= tol:
                break
        for t in range(s):
            out[i, t] = z[t]
    return out
