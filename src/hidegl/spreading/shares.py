"""Class shares, and the scaling of F's columns to them. If some classes have more labels than their share, their
columns of F are too large, and they win rows of the other classes. Scaling each column to a known share before the
argmax corrects that (class-mass normalisation, as in the published AGR code).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hidegl.basics.errors import joined_names
from hidegl.basics.linalg import Matrix, Vector
from hidegl.rows.arrays import namespace
from hidegl.spreading.labels import Labels

PRIORS = ("balanced", "labels")

SINKHORN_STEPS = 12


def class_shares(prior: Any, labels: Labels) -> Vector | None:
    """The share of the rows for each class; None for no scaling, or without labels."""
    if prior is None:
        return None
    if isinstance(prior, str):
        if prior not in PRIORS:
            raise ValueError(f"class_prior must be one of {PRIORS}, None or an array of class shares, got {prior!r}")
        return _named_shares(prior, labels) if labels.any else None
    if isinstance(prior, dict):
        prior = _in_order(prior, labels)
    try:
        shares = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"class_prior must be one of {PRIORS}, None or an array of class shares, got {prior!r}"
        ) from None
    if not (shares.ndim == 1 and np.all(shares > 0) and np.isclose(shares.sum(), 1)):
        raise ValueError(f"class_prior must contain positive shares that sum to 1, got {shares.tolist()}")
    if labels.any and len(shares) != len(labels.classes):
        raise ValueError(
            f"class_prior must have one share for each of the {len(labels.classes)} classes in y, got {len(shares)}"
        )
    return shares


def _in_order(prior: dict[Any, float], labels: Labels) -> list[float]:
    """The shares of a dict in the order of the classes."""
    if not labels.any:
        return list(prior.values())
    classes = labels.classes.tolist()
    if set(prior) != set(classes):
        unlike = sorted({*prior} ^ {*classes}, key=str)
        raise ValueError(f"class_prior must name the classes in y, each once; it differs in {joined_names(unlike)}")
    return [prior[name] for name in classes]


def _named_shares(prior: str, labels: Labels) -> Vector:
    counts = labels.counts
    weights = counts > 0 if prior == "balanced" else counts
    return weights / weights.sum()


def scales_towards(P: Matrix, shares: Vector, strength: float) -> Vector:
    """Factors for the columns of P such that, with rows normalised, its column means become the shares, by Sinkhorn's
    iterations. With a `strength` below 1 they become a geometric mean of the present ones and the shares.
    """
    scales = np.ones(P.shape[1])
    present = P.mean(axis=0)
    goal = present ** (1 - strength) * shares**strength
    goal /= goal.sum()
    for _ in range(SINKHORN_STEPS):
        means = scales * (P.T @ (1 / (P @ scales))) / len(P)  # the means of the scaled columns, with rows normalised
        scales *= goal / np.maximum(means, 1e-12)
    return scales / scales.sum()


def column_scales(column_mass: Vector, shares: Vector | None) -> Vector:
    """Factors for the columns of F such that 1ᵀF is proportional to the shares."""
    if shares is None:
        return np.ones_like(column_mass)
    return shares / np.maximum(column_mass, np.finfo(np.float64).tiny ** 0.5)


def distributions(F: Matrix, scales: Vector) -> Matrix:
    """Probabilities from F with scaled columns. Rows sum to one, and are uniform where no label reaches."""
    xp = namespace(F)
    scaled = F * scales
    highest, lowest = xp.max(scaled, axis=1, keepdims=True), xp.min(scaled, axis=1, keepdims=True)
    scaled = xp.clip(scaled - xp.where(highest > 0, 0.0, lowest), 0.0, None)  # least squares may go below zero
    totals = xp.sum(scaled, axis=1, keepdims=True)
    reached = totals > 0
    return xp.where(reached, scaled / xp.where(reached, totals, 1.0), 1 / scaled.shape[1])
