"""The data sets of the paper's Table 1, and a set of text embeddings, read from a folder of npz files.

Of EMNIST-Digits (280,000 rows in the paper), the 136,896 rows of several EMNIST splits stand here, and are named so.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FOLDER_VARIABLE = "HIDEGL_DATA"
"""The environment variable that names the folder."""


@dataclass(frozen=True)
class DataSet:
    """A data set's name in print, and its size."""

    title: str
    n_rows: int
    n_classes: int
    n_features: int


DATA_SETS = {
    "usps2": DataSet("USPS-2", 1_500, 2, 241),
    "coil20": DataSet("COIL20", 1_440, 20, 1024),
    "optdigits": DataSet("Opt-Digits", 5_620, 10, 64),
    "usps": DataSet("USPS", 9_298, 10, 256),
    "pendigits": DataSet("Pendigits", 10_992, 10, 16),
    "letter": DataSet("Letter", 15_000, 26, 16),
    "mnist": DataSet("MNIST", 70_000, 10, 784),
    "emnist_digits": DataSet("EMNIST digits, 136,896 rows", 136_896, 10, 784),
    "banking77": DataSet("Banking77", 13_083, 77, 384),
}


def load_data_set(name: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """X and y of one of `DATA_SETS`, from NAME.npz in the folder that the variable HIDEGL_DATA names."""
    if name not in DATA_SETS:
        raise ValueError(f"name must be one of {', '.join(map(repr, DATA_SETS))}, got {name!r}")
    path = Path(os.environ.get(FOLDER_VARIABLE, ""), f"{name}.npz")
    if FOLDER_VARIABLE not in os.environ or not path.exists():
        raise FileNotFoundError(
            f"{name}.npz was not found: set {FOLDER_VARIABLE} to the folder of npz files with X and y"
        )
    with np.load(path) as file:
        X, y = file["X"], file["y"].astype(np.intp)
        if name == "letter":  # the paper's 15,000 rows are the training part of LIBSVM's file
            training = file["libsvm_order"][:15_000]
            X, y = X[training], y[training]
    expected = DATA_SETS[name]
    found = (*X.shape, len(np.unique(y)))
    if found != (expected.n_rows, expected.n_features, expected.n_classes):
        raise ValueError(f"{path} must hold {expected}, got rows, columns and classes {found}")
    return X, y
