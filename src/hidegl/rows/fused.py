"""Kernels for the torch engine on a GPU, written in Triton. Torch would write the n×k products X Cᵀ to memory and read
them again to choose the few nearest points of each row. Here each tile of products is searched where it was computed,
and only n×s numbers are written.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl

INFINITE = tl.constexpr(0x7FFFFFFF)
"""Larger than every candidate."""


class Tile(NamedTuple):
    """The size of a program: rows (or entries), points (or none) and columns at a time, warps, and prefetched loads."""

    rows: int
    across: int
    depth: int
    warps: int
    stages: int = 2


KEPT_TILE = Tile(128, 64, 0, 4)
HALF_TILE = Tile(128, 256, 64, 8, 3)
SINGLE_TILE = Tile(128, 128, 32, 8, 3)
OTHER_PART_TILE = Tile(64, 64, 0, 4)
SOFTEN_TILE = Tile(16, 0, 32, 1)
SEGMENT_TILE = Tile(64, 0, 64, 1)
"""The fastest ones in measurements on an H200."""

ONE_TILE = 128
"""Up to this number of columns, a tile of rows is read once for all points."""

ENTRIES = 256
"""The number of entries of Z that one program adds in float32; these sums are added in float64."""


@triton.jit
def nearest_kernel(
    X, C, half_norms, columns, n, d, k,
    S: tl.constexpr, COLUMN_BITS: tl.constexpr, PRECISION: tl.constexpr,
    ROWS: tl.constexpr, POINTS: tl.constexpr, DEPTH: tl.constexpr, KEPT: tl.constexpr,
):  # fmt: skip
    """The numbers of the S nearest points of each of ROWS rows, S at most 8.

    A candidate is one int32: the high bits of its distance, and its number in the low bits. The smallest of a tile are
    inserted into a sorted list, one variable a rank: its rows are in the same threads as the products' rows, so no data
    move.
    """
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = rows < n
    depth = tl.arange(0, DEPTH)
    low = (1 << COLUMN_BITS) - 1
    b0 = tl.full((ROWS,), INFINITE, tl.int32)
    b1, b2, b3, b4, b5, b6, b7 = b0, b0, b0, b0, b0, b0, b0
    if KEPT:
        x = tl.load(X + rows[:, None] * d + depth[None, :], mask=inside[:, None] & (depth < d)[None, :], other=0.0)
        wide = x.to(tl.float32)
        half_norm = tl.sum(wide * wide, axis=1) / 2
    for first in range(0, k, POINTS):
        point = first + tl.arange(0, POINTS)
        products = tl.zeros((ROWS, POINTS), tl.float32)
        if KEPT:
            real = (point < k)[:, None] & (depth < d)[None, :]
            c = tl.load(C + point[:, None] * d + depth[None, :], mask=real, other=0.0)
            products = tl.dot(x, tl.trans(c), products, input_precision=PRECISION)
        else:
            for start in range(0, d, DEPTH):
                m = start + depth
                x = tl.load(X + rows[:, None] * d + m[None, :], mask=inside[:, None] & (m < d)[None, :], other=0.0)
                real = (point < k)[:, None] & (m < d)[None, :]
                c = tl.load(C + point[:, None] * d + m[None, :], mask=real, other=0.0)
                products = tl.dot(x, tl.trans(c), products, input_precision=PRECISION)
        values = tl.load(half_norms + point, mask=point < k, other=float("inf"))[None, :] - products
        if KEPT:  # half the squared distance: positive floats have the order of their bits
            bits = (values + half_norm[:, None]).to(tl.int32, bitcast=True)
        else:  # without the row's own length a value may be negative, and negative floats are ordered the other way
            bits = values.to(tl.int32, bitcast=True)
            bits = bits ^ ((bits >> 31) & 0x7FFFFFFF)
        keys = (bits & ~low) | point[None, :]
        for rank in tl.static_range(S):
            new = tl.min(keys, axis=1)
            if rank + 1 < S:
                keys = tl.where(keys == new[:, None], INFINITE, keys)
            b0, new = tl.minimum(b0, new), tl.maximum(b0, new)
            if S > 1:
                b1, new = tl.minimum(b1, new), tl.maximum(b1, new)
            if S > 2:
                b2, new = tl.minimum(b2, new), tl.maximum(b2, new)
            if S > 3:
                b3, new = tl.minimum(b3, new), tl.maximum(b3, new)
            if S > 4:
                b4, new = tl.minimum(b4, new), tl.maximum(b4, new)
            if S > 5:
                b5, new = tl.minimum(b5, new), tl.maximum(b5, new)
            if S > 6:
                b6, new = tl.minimum(b6, new), tl.maximum(b6, new)
            if S > 7:
                b7, new = tl.minimum(b7, new), tl.maximum(b7, new)
    out = columns + rows * S
    tl.store(out, b0 & low, mask=inside)
    if S > 1:
        tl.store(out + 1, b1 & low, mask=inside)
    if S > 2:
        tl.store(out + 2, b2 & low, mask=inside)
    if S > 3:
        tl.store(out + 3, b3 & low, mask=inside)
    if S > 4:
        tl.store(out + 4, b4 & low, mask=inside)
    if S > 5:
        tl.store(out + 5, b5 & low, mask=inside)
    if S > 6:
        tl.store(out + 6, b6 & low, mask=inside)
    if S > 7:
        tl.store(out + 7, b7 & low, mask=inside)


@triton.jit
def soften_kernel(
    X, C, columns, weights, log_likelihoods, n, d, sigma,
    S: tl.constexpr, SLOTS: tl.constexpr, ROWS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Squared distances to the chosen points (from differences), their softmax, and Σ log Σ exp."""
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = rows < n
    slot = tl.arange(0, SLOTS)
    chosen = inside[:, None] & (slot < S)[None, :]
    point = tl.load(columns + rows[:, None] * S + slot[None, :], mask=chosen, other=0)
    distances = tl.zeros((ROWS, SLOTS), tl.float32)
    for start in range(0, d, DEPTH):
        m = start + tl.arange(0, DEPTH)
        within = (m < d)[None, :]
        x = tl.load(X + rows[:, None] * d + m[None, :], mask=inside[:, None] & within, other=0.0).to(tl.float32)
        real = chosen[:, :, None] & within[:, None, :]
        c = tl.load(C + point[:, :, None] * d + m[None, None, :], mask=real, other=0.0)
        difference = tl.where(real, x[:, None, :] - c, 0.0)
        distances += tl.sum(difference * difference, axis=2)
    distances = tl.where(chosen, distances, float("inf"))
    shortest = tl.where(inside, tl.min(distances, axis=1), 0.0)
    likely = tl.where(chosen, tl.exp((shortest[:, None] - distances) / sigma), 0.0)
    total = tl.where(inside, tl.sum(likely, axis=1), 1.0)
    log_likelihood = tl.where(inside, tl.log(total) - shortest / sigma, 0.0)
    tl.store(log_likelihoods + tl.program_id(0), tl.sum(log_likelihood.to(tl.float64), axis=0))
    tl.store(weights + rows[:, None] * S + slot[None, :], likely / total[:, None], mask=chosen)


@triton.jit
def segment_kernel(
    X, rows, weights, starts, sums, masses, d, k,
    S: tl.constexpr, PARTS: tl.constexpr, ENTRIES_AT_ONCE: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Σ w x and Σ w over one part of the entries of one point, sorted by point, for DEPTH columns."""
    point, part = tl.program_id(0), tl.program_id(1)
    m = tl.program_id(2) * DEPTH + tl.arange(0, DEPTH)
    begin, end = tl.load(starts + point), tl.load(starts + point + 1)
    length = tl.cdiv(end - begin, PARTS)
    first = begin + part * length
    last = tl.minimum(first + length, end)
    total = tl.zeros((DEPTH,), tl.float32)
    mass = tl.zeros((ENTRIES_AT_ONCE,), tl.float64)
    for at in range(first, last, ENTRIES_AT_ONCE):
        entry = at + tl.arange(0, ENTRIES_AT_ONCE)
        valid = entry < last
        place = tl.load(rows + entry, mask=valid, other=0)
        w = tl.load(weights + place, mask=valid, other=0.0).to(tl.float32)
        x = tl.load(X + (place // S)[:, None] * d + m[None, :], mask=valid[:, None] & (m < d)[None, :], other=0.0)
        total += tl.sum(w[:, None] * x.to(tl.float32), axis=0)
        mass += w.to(tl.float64)
    out = part.to(tl.int64) * k + point
    tl.store(sums + out * d + m, total, mask=m < d)
    if tl.program_id(2) == 0:
        tl.store(masses + out, tl.sum(mass, axis=0))


@triton.jit
def prim_kernel(distances, parent, k, SIZE: tl.constexpr):
    """The point through which each point joined the tree that grows from point 0; one program."""
    point = tl.arange(0, SIZE)
    outside = (point > 0) & (point < k)
    to_tree = tl.full((SIZE,), float("inf"), tl.float64)
    joined = tl.zeros((SIZE,), tl.int32)
    new = tl.zeros((), tl.int32)
    for _ in range(1, k):
        distance = tl.load(distances + new * k + point, mask=outside, other=float("inf"))
        closer = distance < to_tree
        to_tree = tl.where(closer, distance, to_tree)
        joined = tl.where(closer, new, joined)
        new = tl.argmin(tl.where(outside, to_tree, float("inf")), axis=0)
        outside = outside & (point != new)
    tl.store(parent + point, joined, mask=point < k)


@triton.jit
def other_part_kernel(
    P, half_norms, part_of, distances, partners, k, d, ROWS: tl.constexpr, POINTS: tl.constexpr, DEPTH: tl.constexpr
):
    """Of ROWS points, the nearest one that is not in the same part: half its squared distance, and its number."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = rows < k
    depth = tl.arange(0, DEPTH)
    x = tl.load(P + rows[:, None] * d + depth[None, :], mask=inside[:, None] & (depth < d)[None, :], other=0.0)
    own_part = tl.load(part_of + rows, mask=inside, other=-1)
    least = tl.full((ROWS,), float("inf"), tl.float32)
    partner = tl.zeros((ROWS,), tl.int32)
    for first in range(0, k, POINTS):
        point = first + tl.arange(0, POINTS)
        real = point < k
        c = tl.load(P + point[:, None] * d + depth[None, :], mask=real[:, None] & (depth < d)[None, :], other=0.0)
        products = tl.dot(x, tl.trans(c), input_precision="tf32x3")
        values = tl.load(half_norms + point, mask=real, other=float("inf"))[None, :] - products
        same = tl.load(part_of + point, mask=real, other=-1)[None, :] == own_part[:, None]
        value, place = tl.min(tl.where(same, float("inf"), values), axis=1, return_indices=True)
        partner = tl.where(value < least, first + place, partner)
        least = tl.minimum(least, value)
    tl.store(distances + rows, least + tl.load(half_norms + rows, mask=inside, other=0.0), mask=inside)
    tl.store(partners + rows, partner.to(tl.int64), mask=inside)


@triton.jit
def spread_kernel(distances, draws, chosen, n, k, SIZE: tl.constexpr):
    """k-means++ from the distances of all rows of a sample; one program."""
    row = tl.arange(0, SIZE)
    closest = tl.full((SIZE,), float("inf"), tl.float32)
    new = (tl.load(draws) * n).to(tl.int32)
    tl.store(chosen, new)
    for t in range(1, k):
        closest = tl.minimum(closest, tl.load(distances + new.to(tl.int64) * n + row, mask=row < n, other=0.0))
        passed = tl.cumsum(closest.to(tl.float64), axis=0)
        total = tl.max(passed, axis=0)
        new = tl.minimum(tl.sum((passed <= tl.load(draws + t) * total).to(tl.int32), axis=0), n - 1)
        tl.store(chosen + t, new)


def nearest_columns(X: Any, C: Any, s: int, tile: Tile | None = None) -> Any:
    """The numbers of the s nearest points of each row (n, s), s at most 8. C has the precision of X."""
    (n, d), k = X.shape, len(C)
    kept = d <= ONE_TILE
    tile = tile or (KEPT_TILE if kept else HALF_TILE if X.element_size() == 2 else SINGLE_TILE)
    columns = torch.empty((n, s), dtype=torch.int32, device=X.device)
    half_norms = C.float().square().sum(dim=1) / 2
    nearest_kernel[(triton.cdiv(n, tile.rows),)](
        X, C, half_norms, columns, n, d, k,
        S=s, COLUMN_BITS=max((k - 1).bit_length(), 1), PRECISION="tf32x3",
        ROWS=tile.rows, POINTS=tile.across, DEPTH=max(16, triton.next_power_of_2(d)) if kept else tile.depth, KEPT=kept,
        num_warps=tile.warps, num_stages=tile.stages,
    )  # fmt: skip
    return columns


def softened(X: Any, C: Any, columns: Any, sigma: float, tile: Tile | None = None) -> tuple[Any, Any]:
    """The softmax of −‖x − c‖²/σ over the points of each row (n, s), and Σ log Σ exp."""
    (n, d), s = X.shape, columns.shape[1]
    tile = tile or SOFTEN_TILE
    weights = torch.empty((n, s), dtype=torch.float32, device=X.device)
    log_likelihoods = torch.empty(triton.cdiv(n, tile.rows), dtype=torch.float64, device=X.device)
    soften_kernel[(triton.cdiv(n, tile.rows),)](
        X, C, columns, weights, log_likelihoods, n, d, sigma,
        S=s, SLOTS=triton.next_power_of_2(s), ROWS=tile.rows, DEPTH=min(tile.depth, triton.next_power_of_2(d)),
        num_warps=tile.warps,
    )  # fmt: skip
    return weights, log_likelihoods.sum()


def point_sums(columns: Any, weights: Any, X: Any, k: int, tile: Tile | None = None) -> tuple[Any, Any]:
    """Zᵀ1 and ZᵀX: entries of Z sorted by point, and those of a point added in their order, so that nothing varies."""
    (n, d), s = X.shape, columns.shape[1]
    tile = tile or SEGMENT_TILE
    depth = min(tile.depth, triton.next_power_of_2(d))
    keys = columns.flatten()
    keys, places = torch.sort(keys.to(torch.int16) if k < 2**15 else keys, stable=True)
    starts = torch.searchsorted(keys, torch.arange(k + 1, dtype=keys.dtype, device=X.device))
    parts = max(1, triton.cdiv(n * s, k * ENTRIES))
    sums = torch.empty((parts, k, d), dtype=torch.float32, device=X.device)
    masses = torch.empty((parts, k), dtype=torch.float64, device=X.device)
    segment_kernel[(k, parts, triton.cdiv(d, depth))](
        X, places, weights, starts, sums, masses, d, k,
        S=s, PARTS=parts, ENTRIES_AT_ONCE=tile.rows, DEPTH=depth, num_warps=tile.warps,
    )  # fmt: skip
    return masses.sum(dim=0), sums.sum(dim=0, dtype=torch.float64)


def prim(distances: Any) -> Any:
    """The point through which each point joined the tree that grows from point 0, from all distances (k, k)."""
    k = len(distances)
    parent = torch.empty(k, dtype=torch.int32, device=distances.device)
    prim_kernel[(1,)](distances, parent, k, SIZE=triton.next_power_of_2(k), num_warps=8 if k <= 512 else 16)
    return parent.long()


def nearest_in_other_part(P: Any, half_norms: Any, part_of: Any, tile: Tile | None = None) -> tuple[Any, Any]:
    """Half the squared distance of each point to the nearest one that is not in its part, and its number."""
    k, d = P.shape
    tile = tile or OTHER_PART_TILE
    distances, partners = torch.empty_like(half_norms), torch.empty_like(part_of)
    other_part_kernel[(triton.cdiv(k, tile.rows),)](
        P, half_norms, part_of, distances, partners, k, d,
        ROWS=tile.rows, POINTS=tile.across, DEPTH=max(16, triton.next_power_of_2(d)),
        num_warps=tile.warps, num_stages=tile.stages,
    )  # fmt: skip
    return distances, partners


def kmeans_plus_plus(distances: Any, draws: Any) -> Any:
    """k-means++ seeds from the squared distances of all rows of a sample (n, n) and k uniform numbers."""
    n, k = len(distances), len(draws)
    chosen = torch.empty(k, dtype=torch.int32, device=distances.device)
    spread_kernel[(1,)](distances, draws, chosen, n, k, SIZE=triton.next_power_of_2(n), num_warps=8)
    return chosen.long()
