"""The compiled loops of the CPU engine, over blocks of rows.

A block of assignments is a pair of (b, s) arrays: for each of b rows, the numbers of the s points it is assigned to
and their weights.
"""

from __future__ import annotations

import numpy as np

from hidegl.basics.compiling import compiled

MOST_PROPOSALS = 10_000
"""k-means++ proposes this number of rows before it adds up their distances."""


@compiled
def nearest_columns(products, half_norms, s):
    """The numbers of the s nearest points of each row, nearest first, from X Cᵀ and ‖c‖²/2. O(bk).

    ‖x−c‖²/2 is ‖c‖²/2 − xc up to what the row adds to all of them. Each point takes one comparison with a sorted list
    of s; most points fail it, so the branch is well predicted.
    """
    b, k = products.shape
    columns = np.empty((b, s), np.int32)
    values = np.empty(s, products.dtype)
    infinity = products.dtype.type(np.inf)
    for i in range(b):
        for t in range(s):
            values[t] = infinity
            columns[i, t] = t
        limit = infinity
        for j in range(k):
            value = half_norms[j] - products[i, j]
            if value < limit:
                t = s - 1
                while t > 0 and values[t - 1] > value:
                    values[t] = values[t - 1]
                    columns[i, t] = columns[i, t - 1]
                    t -= 1
                values[t] = value
                columns[i, t] = j
                limit = values[s - 1]
    return columns


@compiled
def nearest_in_cells(X, order, starts, lists, listed, s):
    """The s nearest points of each row, of those listed for its cell. `order` sorts rows by cell, from `starts` on."""
    columns = np.empty((len(X), s), np.int32)
    half_norms = np.empty(listed.shape[1], X.dtype)
    for cell in range(len(lists)):
        first, last = starts[cell], starts[cell + 1]
        if first == last:
            continue
        points = listed[cell]
        for j in range(len(points)):
            total = X.dtype.type(0)
            for m in range(points.shape[1]):
                total += points[j, m] * points[j, m]
            half_norms[j] = total / 2
        found = nearest_columns(np.dot(X[order[first:last]], points.T), half_norms, s)
        for i in range(last - first):
            for t in range(s):
                columns[order[first + i], t] = lists[cell, found[i, t]]
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
def soften(distances, sigma):
    """Z_it ∝ exp(−distance/σ) (b, s), and Σ_i log Σ_t exp(−distance/σ)."""
    b, s = distances.shape
    weights = np.empty((b, s))
    log_likelihood = 0.0
    for i in range(b):
        shortest = distances[i].min()
        total = 0.0
        for t in range(s):
            weights[i, t] = np.exp((shortest - distances[i, t]) / sigma)
            total += weights[i, t]
        for t in range(s):
            weights[i, t] /= total
        log_likelihood += np.log(total) - shortest / sigma
    return weights, log_likelihood


@compiled
def transposed_product(columns, weights, X, k):
    """ZᵀX (k, d) of a block, in the precision of X."""
    b, s = columns.shape
    d = X.shape[1]
    out = np.zeros((k, d), X.dtype)
    for i in range(b):
        for t in range(s):
            j = columns[i, t]
            w = weights[i, t]
            if w > 0:
                for m in range(d):
                    out[j, m] += w * X[i, m]
    return out


@compiled
def add_gram(total, columns, weights, row_weights):
    """total += Zᵀ diag(row_weights) Z (k, k)."""
    b, s = columns.shape
    for i in range(b):
        for t in range(s):
            w = row_weights[i] * weights[i, t]
            if w > 0:
                for u in range(s):
                    total[columns[i, t], columns[i, u]] += w * weights[i, u]


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


@compiled
def label_distributions(columns, weights, A, scales):
    """The rows of ZA with scaled columns as probabilities; negative scores count as 0, or as far above the lowest."""
    (b, s), c = columns.shape, A.shape[1]
    P = np.zeros((b, c))
    for i in range(b):
        for t in range(s):
            j, weight = columns[i, t], weights[i, t]
            for m in range(c):
                P[i, m] += weight * A[j, m]
        highest, lowest = -np.inf, np.inf
        for m in range(c):
            P[i, m] *= scales[m]
            highest, lowest = max(highest, P[i, m]), min(lowest, P[i, m])
        shift = 0.0 if highest > 0 else lowest
        total = 0.0
        for m in range(c):
            P[i, m] = max(P[i, m] - shift, 0.0)
            total += P[i, m]
        for m in range(c):
            P[i, m] = P[i, m] / total if total > 0 else 1.0 / c
    return P


@compiled
def random_share(state):
    """The next state of a generator (SplitMix64), and a number in [0, 1)."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    mixed = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed = mixed ^ (mixed >> np.uint64(31))
    return state, float(mixed >> np.uint64(11)) / 2.0**53


@compiled
def drawn_row(distances, highest, draw):
    """A row, drawn with a probability in proportion to its distance, of which none is above `highest`.

    Rows are proposed at random, and accepted by their distance. So rounding changes a draw hardly ever, and never those
    that follow, as it would if distances were added up. `draw`, a number in [0, 1), is the seed.
    """
    n = len(distances)
    if highest <= 0:
        return n - 1
    state = np.uint64(draw * 2.0**53)
    for _ in range(MOST_PROPOSALS):
        state, where = random_share(state)
        state, share = random_share(state)
        i = min(int(where * n), n - 1)
        if share * highest < distances[i]:
            return i
    goal, i = draw * distances.sum(), 0  # a few rows are much farther than all others
    while i < n - 1 and goal >= distances[i]:
        goal -= distances[i]
        i += 1
    return i


@compiled
def kmeans_plus_plus(X, draws):
    """k-means++: rows, each drawn with a probability that grows with its squared distance to those drawn before.

    `draws` are k uniform numbers in [0, 1). O(nkd).
    """
    n, d = X.shape
    chosen = np.empty(len(draws), np.intp)
    chosen[0] = int(draws[0] * n)
    distances = np.full(n, np.inf)
    for t in range(1, len(draws)):
        new, highest = chosen[t - 1], 0.0
        for i in range(n):
            distance = X.dtype.type(0)
            for m in range(d):
                difference = X[i, m] - X[new, m]
                distance += difference * difference
            distances[i] = min(distances[i], distance)
            highest = max(highest, distances[i])
        chosen[t] = drawn_row(distances, highest, draws[t])
    return chosen


@compiled
def kmeans_plus_plus_in_cells(X, draws, starts, neighbours):
    """k-means++ over rows that are sorted by cell: a new row is compared with those of the neighbouring cells only.

    Rows elsewhere have others drawn nearer to them.
    """
    n, d = X.shape
    m = len(starts) - 1
    chosen = np.empty(len(draws), np.intp)
    chosen[0] = int(draws[0] * n)
    distances, highest = np.empty(n), np.zeros(m)
    for cell in range(m):
        for i in range(starts[cell], starts[cell + 1]):
            distances[i] = 0.0
            for q in range(d):
                difference = X[i, q] - X[chosen[0], q]
                distances[i] += difference * difference
            highest[cell] = max(highest[cell], distances[i])
    for t in range(1, len(draws)):
        i = drawn_row(distances, highest.max(), draws[t])
        chosen[t] = i
        for near in neighbours[np.searchsorted(starts, i, side="right") - 1]:
            farthest = 0.0
            for j in range(starts[near], starts[near + 1]):
                distance = X.dtype.type(0)
                for q in range(d):
                    difference = X[j, q] - X[i, q]
                    distance += difference * difference
                distances[j] = min(distances[j], distance)
                farthest = max(farthest, distances[j])
            highest[near] = farthest
    return chosen


@compiled
def prim(C):
    """The point through which each point joined the tree that grows from point 0."""
    k, d = C.shape
    parent = np.zeros(k, np.intp)
    outside = np.arange(1, k)
    to_tree = np.full(k - 1, np.inf)
    new = 0
    for left in range(k - 1, 0, -1):
        nearest = 0
        for q in range(left):
            distance = 0.0
            for m in range(d):
                difference = C[outside[q], m] - C[new, m]
                distance += difference * difference
            if distance < to_tree[q]:
                to_tree[q] = distance
                parent[outside[q]] = new
            if to_tree[q] < to_tree[nearest]:
                nearest = q
        new = outside[nearest]
        outside[nearest] = outside[left - 1]
        to_tree[nearest] = to_tree[left - 1]
    return parent


@compiled
def prim_by_products(products):
    """The same as `prim`, from the products C Cᵀ (k, k) of centred points, which one matrix product makes faster."""
    k = len(products)
    parent = np.zeros(k, np.intp)
    outside = np.arange(1, k)
    lengths = np.diag(products)[1:].copy()
    to_tree = np.full(k - 1, np.inf)
    new = 0
    for left in range(k - 1, 0, -1):
        nearest = 0
        for q in range(left):
            distance = lengths[q] - 2 * products[new, outside[q]] + products[new, new]
            if distance < to_tree[q]:
                to_tree[q] = distance
                parent[outside[q]] = new
            if to_tree[q] < to_tree[nearest]:
                nearest = q
        new = outside[nearest]
        outside[nearest] = outside[left - 1]
        to_tree[nearest] = to_tree[left - 1]
        lengths[nearest] = lengths[left - 1]
    return parent
