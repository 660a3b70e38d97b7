"""The nine data sets of the paper's Table 1, and a set of text embeddings.

They are read from a folder of npz files with X and y that the variable HIDEGL_DATA names. Those that OpenML has are
fetched from there, through scikit-learn and its cache, where the folder lacks them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml

from hidegl.datasets.moons import make_three_moons

FOLDER_VARIABLE = "HIDEGL_DATA"
"""The environment variable that names the folder."""

LETTER_ROWS, SHIFTED_ROWS = 15_000, 280_000


@dataclass(frozen=True)
class OpenML:
    """A set's name and version there, and what makes its X that of our file."""

    name: str
    version: int = 1
    adapt: Callable[[NDArray[Any]], NDArray[Any]] = np.asarray


@dataclass(frozen=True)
class DataSet:
    """A data set's name in print, its size as in the paper's Table 1, and where it comes from."""

    title: str
    n_rows: int
    n_classes: int
    n_features: int
    source: str
    openml: OpenML | None = None
    title_in_paper: str | None = None
    """Where its title, and so its rows, are not the paper's."""


DATA_SETS = {
    "three-moon": DataSet("three-moon", 1_500, 3, 100, "made by hidegl.datasets.make_three_moons"),
    "usps2": DataSet(
        "USPS-2", 1_500, 2, 241, "set 2 of the SSL book, http://olivier.chapelle.cc/ssl-book/benchmarks.html"
    ),
    "coil20": DataSet(
        "COIL20", 1_440, 20, 1024, "32×32 images, http://www.cad.zju.edu.cn/home/dengcai/Data/MLData.html"
    ),
    "optdigits": DataSet("Opt-Digits", 5_620, 10, 64, "UCI, training rows first", OpenML("optdigits")),
    "usps": DataSet(
        "USPS", 9_298, 10, 256, "zip.train and zip.test, (x + 1) / 2", OpenML("usps", 2, lambda X: (X + 1) / 2)
    ),
    "pendigits": DataSet("Pendigits", 10_992, 10, 16, "UCI, training rows first", OpenML("pendigits")),
    "letter": DataSet(
        "Letter",
        LETTER_ROWS,
        26,
        16,
        "UCI, with libsvm_order: the order of LIBSVM, whose first 15,000 rows are the paper's (from OpenML: its first)",
        OpenML("letter"),
    ),
    "mnist": DataSet("MNIST", 70_000, 10, 784, "training rows first", OpenML("mnist_784")),
    "emnist_digits": DataSet(
        "EMNIST digits, 136,896 rows",
        136_896,
        10,
        784,
        "digits gathered from several EMNIST splits, https://www.nist.gov/itl/products-and-services/emnist-dataset; "
        "the paper has 280,000",
        title_in_paper="EMNIST-Digits",
    ),
    "banking77": DataSet("Banking77", 13_083, 77, 384, "PolyAI's questions embedded by all-MiniLM-L6-v2, int8"),
}


def load_data_set(name: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """X and y (0 to c − 1) of one of `DATA_SETS`: made, from NAME.npz in the folder, or from OpenML."""
    if name not in DATA_SETS:
        raise ValueError(f"name must be one of {', '.join(map(repr, DATA_SETS))}, got {name!r}")
    expected, path = DATA_SETS[name], data_file(name)
    if name == "three-moon":
        X, y = make_three_moons(random_state=0)
    elif path is not None:
        X, y = from_file(name, path)
    elif expected.openml is not None:
        X, y = from_openml(name, expected.openml)
    else:
        raise FileNotFoundError(f"{how_to_get(name)}. OpenML does not have it")
    if name == "letter":
        X, y = X[:LETTER_ROWS], y[:LETTER_ROWS]
    found = (*X.shape, len(np.unique(y)))
    if found != (expected.n_rows, expected.n_features, expected.n_classes):
        raise ValueError(
            f"{path or 'OpenML'} must hold {expected.title} with rows, columns and classes "
            f"{expected.n_rows, expected.n_features, expected.n_classes}, got {found}"
        )
    return X, y


def load_shifted_digits(n_rows: int = SHIFTED_ROWS) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """As many rows as the paper's EMNIST has: our EMNIST digits, then one pixel to the right, then one pixel down."""
    X, y = load_data_set("emnist_digits")
    images = X.reshape(-1, 28, 28)
    right, down = np.zeros_like(images), np.zeros_like(images)
    right[:, :, 1:], down[:, 1:, :] = images[:, :, :-1], images[:, :-1, :]
    return np.concatenate([images, right, down])[:n_rows].reshape(-1, 784), np.tile(y, 3)[:n_rows]


def official_draws(name: str, n_labels: int) -> NDArray[np.intp]:
    """The SSL book's twelve draws of 10 or 100 labels on USPS-2, a row of row numbers for each."""
    path = data_file(name)
    if path is None:
        raise FileNotFoundError(how_to_get(name))
    with np.load(path) as file:
        if f"idxLabs{n_labels}" not in file:
            raise ValueError(f"{path} must hold official draws of n_labels={n_labels} labels, as idxLabs{n_labels}")
        return np.sort(file[f"idxLabs{n_labels}"].astype(np.intp), axis=1)


def data_file(name: str) -> Path | None:
    """NAME.npz in the folder, if both are there."""
    path = Path(os.environ.get(FOLDER_VARIABLE, ""), f"{name}.npz")
    return path if os.environ.get(FOLDER_VARIABLE) and path.exists() else None


def from_file(name: str, path: Path) -> tuple[NDArray[Any], NDArray[np.intp]]:
    with np.load(path) as file:
        X, y = file["X"], file["y"].astype(np.intp)
        order = file["libsvm_order"] if name == "letter" else slice(None)
    return X[order], y[order]


def from_openml(name: str, source: OpenML) -> tuple[NDArray[Any], NDArray[np.intp]]:
    try:
        fetched = fetch_openml(source.name, version=source.version, as_frame=False, parser="liac-arff")
    except (OSError, ValueError) as error:  # what it raises without a network, or when OpenML has changed
        raise FileNotFoundError(f"{how_to_get(name)}. OpenML could not be reached: {error}") from error
    _, y = np.unique(fetched.target, return_inverse=True)
    return source.adapt(np.asarray(fetched.data)), y.astype(np.intp)


def how_to_get(name: str) -> str:
    source = DATA_SETS[name].source
    return f"{name}.npz was not found: set {FOLDER_VARIABLE} to a folder that has it, with X and y ({source})"
