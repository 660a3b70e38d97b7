"""The tree over the points on a GPU: Borůvka's algorithm, and the system of the M-step by conjugate gradients.

On a CPU, Prim's algorithm and the elimination of leaves process one point after the other. Here all points are
processed at once: the shortest edge out of each part joins it to another one, in a few rounds of matrix products.
"""

from __future__ import annotations

import torch

from hidegl.rows.on_torch import is_fused, parts

MOST_STEPS, ACCURACY = 60, 1e-13
"""The maximum number of conjugate gradient steps, and their tolerance. The mass of points is large compared with the
weight of the tree, so a few steps are enough.
"""

FUSED_COLUMNS = 128
"""The maximum number of columns of points that the kernel has in registers."""


def least_edges(C: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The two ends of each edge of a tree over the points with the least Σ ‖c_r − c_s‖², up to the rounding of float32.

    Rounding may lead to cycles. One edge of each cycle is left out, so the result is always a tree.
    """
    P = C - C.mean(dim=0)
    P = (P / P.abs().amax().clamp(min=torch.finfo(P.dtype).tiny)).float()
    numbers = torch.arange(len(C), device=C.device)
    part_of, n_parts = numbers, len(C)
    heads, tails = [numbers[:0]], [numbers[:0]]
    while n_parts > 1:
        distances, partners = nearest_in_other_part(P, part_of)
        least = distances.new_full((n_parts,), torch.inf).scatter_reduce(0, part_of, distances, "amin")
        candidates = torch.where(distances == least[part_of], numbers, len(C))
        head = numbers.new_full((n_parts,), len(C)).scatter_reduce(0, part_of, candidates, "amin")
        root = roots(part_of[partners[head]])
        is_root = root == numbers[:n_parts]
        heads.append(head[~is_root])
        tails.append(partners[head][~is_root])
        part_of = (is_root.cumsum(dim=0) - 1)[root][part_of]
        n_parts = int(is_root.sum())
    return torch.cat(heads), torch.cat(tails)


def nearest_in_other_part(P: torch.Tensor, part_of: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Half the squared distance of each point to the nearest one that is not in its part, and its number."""
    half_norms = P.square().sum(dim=1) / 2
    if is_fused(P) and P.shape[1] <= FUSED_COLUMNS:
        from hidegl.rows import fused

        return fused.nearest_in_other_part(P, half_norms, part_of)
    distances, partners = torch.empty_like(half_norms), torch.empty_like(part_of)
    for rows in parts(len(P), len(P), P.device):
        values = torch.addmm(half_norms, P[rows], P.T, alpha=-1)
        values.masked_fill_(part_of[rows, None] == part_of[None], torch.inf)
        distances[rows], partners[rows] = values.min(dim=1)
    return distances + half_norms, partners


def roots(following: torch.Tensor) -> torch.Tensor:
    """For nodes that each point to one other node: the smallest node of the cycle to which each one leads."""
    least, after = torch.arange(len(following), device=following.device), following
    for _ in range(len(following).bit_length()):
        least = torch.minimum(least, least[after])
        after = after[after]
    return least[after]


def solve_by_gradients(
    diagonal: torch.Tensor, weight: float, tree: tuple[torch.Tensor, torch.Tensor], right: torch.Tensor
) -> torch.Tensor | None:
    """Solve (diag + weight·L) C = right, L the Laplacian of a tree; None if that takes too many steps."""
    heads, tails = tree
    ends = torch.cat([heads, tails])
    ordered, order = ends.sort(stable=True)
    numbers = torch.arange(len(diagonal) + 1, device=ends.device)
    starts = torch.searchsorted(ordered, numbers)
    neighbours = torch.cat([tails, heads])[order]
    strength = (diagonal + weight * starts.diff().to(diagonal.dtype))[:, None]

    def product(C: torch.Tensor) -> torch.Tensor:
        beside = torch.nn.functional.embedding_bag(neighbours, C, starts[:-1], mode="sum")  # added in a fixed order
        return strength * C - weight * beside

    C = right / strength
    residual = right - product(C)
    goal = ACCURACY**2 * (right.square() / strength).sum(dim=0)
    direction = scaled = residual / strength
    energy = (residual * scaled).sum(dim=0)
    for _ in range(MOST_STEPS):
        if bool((energy <= goal).all()):
            return C
        along = product(direction)
        step = torch.where(energy > goal, energy / (direction * along).sum(dim=0), 0.0)
        C = C + step * direction
        residual = residual - step * along
        scaled = residual / strength
        before, energy = energy, (residual * scaled).sum(dim=0)
        direction = scaled + torch.where(before > goal, energy / before, 0.0) * direction
    return None


def solve_densely(
    diagonal: torch.Tensor, weight: float, tree: tuple[torch.Tensor, torch.Tensor], right: torch.Tensor
) -> torch.Tensor:
    """Solve the same by a dense factor, O(k³), which is faster on a GPU for few points."""
    heads, tails = tree
    system = torch.diag(diagonal).flatten()
    k, edge = len(diagonal), torch.full((len(heads),), weight, dtype=right.dtype, device=right.device)
    system.index_add_(0, torch.cat([heads, tails]) * (k + 1), edge.repeat(2))
    system.index_add_(0, torch.cat([heads * k + tails, tails * k + heads]), -edge.repeat(2))
    factor, _ = torch.linalg.cholesky_ex(system.view(k, k))
    return torch.cholesky_solve(right, factor)
