"""How sure probabilities are: one temperature for all rows, which leaves the order of classes as it is."""

from __future__ import annotations

from hidegl.basics.linalg import Matrix
from hidegl.rows.arrays import namespace

SMALLEST = 1e-6
"""Probabilities below this count as this."""


def log_probabilities(P: Matrix) -> Matrix:
    return namespace(P).log(namespace(P).clip(P, SMALLEST, None))


def softmax(logits: Matrix) -> Matrix:
    xp = namespace(logits)
    powers = xp.exp(logits - xp.max(logits, axis=1, keepdims=True))
    return powers / xp.sum(powers, axis=1, keepdims=True)


def sharpened(P: Matrix, temperature: float) -> Matrix:
    """P to the power 1/temperature, rows normalised: surer for a temperature below 1; the order of classes stays."""
    return softmax(log_probabilities(P) / temperature)
