"""Operations on blocks of torch tensors, the same as in `hidegl.rows.on_numpy`. On a GPU, loops over rows are Triton
kernels (`hidegl.rows.fused`); on a CPU, and for float64, they are torch functions.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

import scipy.sparse as sp
import torch

from hidegl.rows import on_numpy
from hidegl.rows.arrays import on_host
from hidegl.rows.search import PointIndex

PRODUCT_NUMBERS = {"cpu": 2**20, "cuda": 2**27}
"""The number of entries of X Cᵀ, or of differences of rows and points, that are computed at a time."""

FUSED_NEAREST = 8
"""The maximum number of points per row that the kernel has in registers."""

SEEDED_ONE_BY_ONE, SEEDING_ROUNDS = 2000, 100
"""On a GPU, more seeds than the first number are drawn in rounds, whose number is the second."""

FUSED_SEEDS = 2**14
"""The maximum number of rows of a seeding that fits into one program."""

FEW_POINTS = 2048
"""Up to this number of points, Prim's algorithm in one program, and a dense factor of the M-step's system, are fastest
on a GPU.
"""


@cache
def has_triton() -> bool:
    return find_spec("triton") is not None


def is_fused(X: torch.Tensor) -> bool:
    return X.is_cuda and X.dtype != torch.float64 and has_triton()


def working_precision(block: torch.Tensor, dtype: str) -> str:
    """The precision in which a block is computed: `dtype` on a GPU, and float32 in place of float16 on a CPU."""
    return dtype if block.is_cuda else on_numpy.working_precision(block, dtype)


def parts(n: int, numbers_a_row: int, device: torch.device) -> list[slice]:
    rows = max(1, PRODUCT_NUMBERS[device.type] // max(numbers_a_row, 1))
    return [slice(start, start + rows) for start in range(0, n, rows)]


def points_of(C: Any) -> torch.Tensor:
    """The points themselves, of an index too."""
    C = C.points if isinstance(C, PointIndex) else C
    return C if isinstance(C, torch.Tensor) else torch.from_numpy(C)


def nearest_points(X: torch.Tensor, C: Any, s: int) -> torch.Tensor:
    """The numbers of the s nearest points of each row (b, s). One product X Cᵀ.

    Its precision is that of X: half-precision rows are multiplied directly, and float32 is split in three.
    """
    if isinstance(C, PointIndex):
        return torch.from_numpy(C.nearest_points(on_host(X if X.element_size() >= 4 else X.float()), s))
    k, C = len(C), points_of(C)
    if s >= k:
        return torch.arange(k, dtype=torch.int32, device=X.device).expand(len(X), k).contiguous()
    if is_fused(X) and s <= FUSED_NEAREST:
        from hidegl.rows import fused

        return fused.nearest_columns(X, C.to(X.dtype).contiguous(), s)
    wide = X.dtype if X.element_size() >= 4 else torch.float32
    C = C.to(wide)
    half_norms = (C * C).sum(dim=1) / 2
    columns = torch.empty((len(X), s), dtype=torch.int32, device=X.device)
    for part in parts(len(X), k, X.device):
        values = torch.addmm(half_norms, X[part].to(wide), C.T, alpha=-1)
        columns[part] = values.topk(s, dim=1, largest=False, sorted=False).indices.to(torch.int32)
    return columns


def nearest(X: torch.Tensor, C: Any, s: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The s nearest points of each row and the squared distances to them, from the differences."""
    columns = nearest_points(X, C, s)
    wide = X.dtype if X.element_size() >= 4 else torch.float32
    C = points_of(C).to(wide)
    distances = torch.empty(columns.shape, dtype=torch.float64, device=X.device)
    for part in parts(len(X), s * X.shape[1], X.device):
        difference = X[part].to(wide)[:, None, :] - C[columns[part]]
        distances[part] = (difference * difference).sum(dim=2).double()
    return columns, distances


def soft_nearest(X: torch.Tensor, C: Any, sigma: float, s: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The s nearest points of each row, the softmax of −distance/σ over them, and Σ_i log Σ_s exp(−distance/σ)."""
    if is_fused(X):
        from hidegl.rows import fused

        C = points_of(C)
        columns = nearest_points(X, C, s)
        return columns, *fused.softened(X, C.float().contiguous(), columns, sigma)
    columns, distances = nearest(X, C, s)
    shortest = distances.min(dim=1, keepdim=True).values
    weights = torch.exp((shortest - distances) / sigma)
    totals = weights.sum(dim=1, keepdim=True)
    log_likelihood = (torch.log(totals) - shortest / sigma).sum()
    return columns, (weights / totals).to(X.dtype if X.element_size() >= 4 else torch.float32), log_likelihood


def sums_by(places: torch.Tensor, values: torch.Tensor, k: int) -> torch.Tensor:
    """The sums of the values (n, …) that have the same place, of k places, each added in the order of the values.

    On a GPU, `index_add_` adds atomically, in any order.
    """
    total = torch.zeros((k, *values.shape[1:]), dtype=values.dtype, device=values.device)
    (add_sorted if places.is_cuda else add_one_by_one)(total, places, values)
    return total


def add_one_by_one(total: torch.Tensor, places: torch.Tensor, values: torch.Tensor) -> None:
    """total[places] += values, in their order on a processor."""
    total.index_add_(0, places, values)


def add_sorted(total: torch.Tensor, places: torch.Tensor, values: torch.Tensor) -> None:
    """The same, in their order on any device: values are sorted by place, and each place is added to once."""
    ordered, order = places.long().sort(stable=True)
    filled, counts = ordered.unique_consecutive(return_counts=True)
    total[filled] += torch.segment_reduce(values[order], "sum", lengths=counts)


def mass(columns: torch.Tensor, weights: torch.Tensor, row_weights: Any, k: int) -> torch.Tensor:
    """Zᵀ row_weights (k,), with ones for None."""
    weights = weights.double() if row_weights is None else (weights * row_weights[:, None]).double()
    return sums_by(columns.flatten(), weights.flatten(), k)


def transposed_product(columns: torch.Tensor, weights: torch.Tensor, X: torch.Tensor, k: int) -> torch.Tensor:
    """ZᵀX (k, d)."""
    total = torch.zeros((k, X.shape[1]), dtype=torch.float64, device=columns.device)
    for part in parts(len(X), X.shape[1], X.device):
        for t in range(columns.shape[1]):
            total += sums_by(columns[part, t], weights[part, t, None] * X[part].double(), k)
    return total


def point_sums(
    columns: torch.Tensor, weights: torch.Tensor, X: torch.Tensor, k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Zᵀ1 and ZᵀX."""
    if is_fused(X):
        from hidegl.rows import fused

        return fused.point_sums(columns, weights, X, k)
    return mass(columns, weights, None, k), transposed_product(columns, weights, X, k)


def product(columns: torch.Tensor, weights: torch.Tensor, A: torch.Tensor) -> torch.Tensor:
    """ZA (b, c)."""
    return torch.nn.functional.embedding_bag(columns, A, mode="sum", per_sample_weights=weights.to(A.dtype))


def gram_total(columns: torch.Tensor, k: int) -> torch.Tensor:
    return torch.zeros((k, k), dtype=torch.float64, device=columns.device)


def sparse_on_host(matrix: torch.Tensor) -> sp.csr_array:
    """The entries of a large matrix that are not 0."""
    entries = matrix.to_sparse().coalesce()  # not in rows at once, of which torch warns
    places, values = entries.indices().numpy(force=True), entries.values().numpy(force=True)
    return sp.coo_array((values, tuple(places)), shape=tuple(matrix.shape)).tocsr()


def add_gram(total: torch.Tensor, columns: torch.Tensor, weights: torch.Tensor, row_weights: Any) -> None:
    """total += Zᵀ diag(row_weights) Z (k, k), with ones for None."""
    k, s = len(total), columns.shape[1]
    for part in parts(len(columns), 2 * s * s, columns.device):
        places, right = columns[part].long(), weights[part].double()
        left = right if row_weights is None else right * row_weights[part, None]
        pairs = (places[:, :, None] * k + places[:, None, :]).flatten()
        products = (left[:, :, None] * right[:, None, :]).flatten()
        (add_sorted if pairs.is_cuda else add_one_by_one)(total.view(-1), pairs, products)


def kmeans_plus_plus(X: torch.Tensor, draws: Any) -> torch.Tensor:
    """k-means++: rows, each drawn with a probability that grows with its squared distance to those drawn before."""
    if not X.is_cuda:
        return torch.from_numpy(
            on_numpy.kmeans_plus_plus(
                on_host(X if X.element_size() >= 4 else X.float()), torch.as_tensor(draws).numpy()
            )
        )
    draws = torch.as_tensor(draws, device=X.device)
    if is_fused(X) and len(X) <= FUSED_SEEDS:
        from hidegl.rows import fused

        return fused.kmeans_plus_plus(squared_distances(X.float()), draws)
    X = X.float() if X.element_size() < 4 else X
    if len(draws) > SEEDED_ONE_BY_ONE:
        return seeds_in_rounds(X, draws)
    chosen = torch.empty(len(draws), dtype=torch.int64, device=X.device)
    chosen[0] = (draws[0] * len(X)).long()
    closest = torch.full((len(X),), torch.inf, dtype=torch.float64, device=X.device)
    for t in range(1, len(draws)):
        closest = torch.minimum(closest, ((X - X[chosen[t - 1]]) ** 2).sum(dim=1))
        passed = closest.cumsum(dim=0)
        chosen[t] = torch.searchsorted(passed, (draws[t] * passed[-1])[None], right=True)[0].clamp(max=len(X) - 1)
    return chosen


def seeds_in_rounds(X: torch.Tensor, draws: torch.Tensor) -> torch.Tensor:
    """k-means++ with several rows drawn at a time (k-means‖), which is as good for many seeds, and uses a GPU well.
    Rows that were drawn twice are replaced by those farthest from all others.
    """
    chosen = (draws[:1] * len(X)).long()
    closest = torch.full((len(X),), torch.inf, dtype=X.dtype, device=X.device)
    newest = chosen
    for part in draws[1:].split(max(len(draws) // SEEDING_ROUNDS, 1)):
        closest = torch.minimum(closest, torch.cdist(X, X[newest]).square_().amin(dim=1))
        passed = closest.double().cumsum(dim=0)
        newest = torch.searchsorted(passed, part * passed[-1], right=True).clamp(max=len(X) - 1)
        chosen = torch.cat([chosen, newest])
    chosen = chosen.unique()
    closest[chosen] = -1
    return torch.cat([chosen, closest.topk(len(draws) - len(chosen)).indices])


def squared_distances(C: torch.Tensor) -> torch.Tensor:
    """‖c_r − c_s‖² (k, k)."""
    norms = (C * C).sum(dim=1)
    return torch.addmm(norms[:, None] + norms[None, :], C, C.T, alpha=-2).clamp_(min=0)


def tree_edges(C: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The two ends of each edge of a tree over the points with the least Σ ‖c_r − c_s‖²."""
    if not C.is_cuda:
        heads, tails = on_numpy.tree_edges(on_host(C))
        return torch.from_numpy(heads), torch.from_numpy(tails)
    from hidegl.rows import tensor_trees

    if len(C) > FEW_POINTS or not has_triton():
        return tensor_trees.least_edges(C)
    from hidegl.rows import fused

    return torch.arange(1, len(C), device=C.device), fused.prim(squared_distances(C))[1:]


def solve_tree(
    diagonal: torch.Tensor, weight: float, tree: tuple[torch.Tensor, torch.Tensor], right: torch.Tensor
) -> torch.Tensor:
    """Solve (diag + weight·L) C = right, L the Laplacian of a tree."""
    if right.is_cuda:
        from hidegl.rows import tensor_trees

        solve = tensor_trees.solve_densely if len(right) <= FEW_POINTS else tensor_trees.solve_by_gradients
        solved = solve(diagonal, weight, tree, right)
        if solved is not None:
            return solved
    return torch.from_numpy(on_numpy.solve_tree(*on_host((diagonal, weight, tree, right)))).to(right.device)


def quantile(X: torch.Tensor, q: float) -> torch.Tensor:
    """The quantile of each column. (torch's `quantile` takes at most 16 million numbers.)"""
    ordered = X.sort(dim=0).values
    place = q * (len(X) - 1)
    low = int(place)
    return torch.lerp(ordered[low], ordered[min(low + 1, len(X) - 1)], place - low)
