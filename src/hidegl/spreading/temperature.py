"""Temperature scaling of probabilities: one temperature for all rows. The order of classes does not change."""

from __future__ import annotations

from hidegl.basics.linalg import Matrix
from hidegl.rows.arrays import namespace

SMALLEST = 1e-6
"""The lower bound of probabilities, for logarithms."""


def log_probabilities(P: Matrix) -> Matrix:
    return namespace(P).log(namespace(P).clip(P, SMALLEST, None))


def softmax(logits: Matrix) -> Matrix:
    xp = namespace(logits)
    powers = xp.exp(logits - xp.max(logits, axis=1, keepdims=True))
    return powers / xp.sum(powers, axis=1, keepdims=True)


def sharpened(P: Matrix, temperature: float) -> Matrix:
    """P to the power 1/temperature, with rows normalised. A temperature below 1 increases confidences."""
    return softmax(log_probabilities(P) / temperature)
