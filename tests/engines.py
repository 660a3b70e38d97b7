"""A second engine, as a toy: blocks of any sizes in a shuffled order, as a cluster might hold and return them."""

from __future__ import annotations

from functools import reduce

import numpy as np

from hidegl.rows.base import Rows
from hidegl.rows.local import add_up


class ShuffledRows(Rows):
    def __init__(self, places, blocks):
        self.n_rows = sum(map(len, places))
        self._places, self._blocks = places, blocks

    @classmethod
    def of(cls, X, *, n_blocks, seed):
        rng = np.random.default_rng(seed)
        cuts = np.sort(rng.choice(np.arange(1, len(X)), n_blocks - 1, replace=False))
        places = np.split(np.arange(len(X)), cuts)
        order = rng.permutation(n_blocks)
        return cls([places[i] for i in order], [X[places[i]] for i in order])

    def map(self, function, *args):
        return ShuffledRows(self._places, [function(block, *args) for block in self._blocks])

    def sum(self, function, *args):
        return reduce(add_up, [function(block, *args) for block in self._blocks])

    def survey(self, function, *args):
        found = [function(block, *args) for block in self._blocks]
        rows = type(found[0][0]).concatenate([rows for rows, _ in found])
        return rows[np.argsort(np.concatenate(self._places))], reduce(add_up, [sums for _, sums in found])

    def persist(self):
        return self

    is_kept = True

    def select(self, indices):
        return ShuffledRows.of(self.take(indices), n_blocks=2, seed=0)

    def blocks(self):
        yield self.collect()

    def take(self, indices):
        return self.collect()[indices]

    def collect(self):
        blocks, first = self._blocks, self._blocks[0]
        whole = np.concatenate(blocks) if isinstance(first, np.ndarray) else type(first).concatenate(blocks)
        return whole[np.argsort(np.concatenate(self._places))]
