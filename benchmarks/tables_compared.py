"""32 tables: hidegl compared with what people use for tables, TabPFN among them, at 3, 10 and 30 labels per class.

    HIDEGL_DATA=folder python benchmarks/tables_compared.py run FIRST LAST [--jobs N] [-- METHOD ...]
    HIDEGL_TABPFN=folder ... run FIRST LAST -- TabPFN   the folder has the packed weights and the package 0.1.9
    python benchmarks/tables_compared.py pack CHECKPOINT FOLDER   the weights of the sdist of 0.1 in half precision

Appends to results/tables_compared.jsonl. All methods learn from the columns that `TableEncoder` makes, which the peers
see with variance 1, and label all other rows. Defaults, but for: gradient boosting has leaves of two rows and more (its
default of 20 learns nothing from ten labels), and "by CV" means C in up to five folds. TabPFN takes at most 100 columns
and ten classes, so it is not there for adult, mushroom and titanic.
"""

from __future__ import annotations

import lzma
import os
import sys
import time
import typing
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import encoded_tables
from harness import RECORDS
from hidegl import AutoHiDeGL
from hidegl.basics.whole_files import replacing
from hidegl.datasets import draw_labels, hide_labels
from processes import in_processes, option

STORE = "tables_compared"
PER_CLASS = (3, 10, 30)
KINDS = ("balanced", "random")
DRAWS = range(1000, 1005)
OURS, TABPFN, MAJORITY = "hidegl", "TabPFN", "largest class"
MOST_COLUMNS, CONFIGURATIONS = 100, 4
WEIGHTS = "prior_diff_real_checkpoint_n_0_epoch_100.cpkt"


def by_cv(model: Any, grid: dict[str, list[float]]) -> Callable[..., Any]:
    def fit(X: NDArray[Any], y: NDArray[np.intp]) -> Any:
        folds = min(5, int(np.bincount(y)[np.unique(y)].min()))
        if folds < 2:
            return model.fit(X, y)
        splits = StratifiedKFold(folds, shuffle=True, random_state=0)
        return GridSearchCV(model, grid, cv=splits).fit(X, y)

    return fit


C = {"C": [0.01, 0.1, 1, 10, 100]}
PEERS: dict[str, Callable[..., Any]] = {
    "logistic regression": LogisticRegression(max_iter=500).fit,
    "logistic regression, C by CV": by_cv(LogisticRegression(max_iter=300), C),
    "kernel SVM, C by CV": by_cv(SVC(), C),
    "random forest": RandomForestClassifier(random_state=0).fit,
    "gradient boosting": HistGradientBoostingClassifier(min_samples_leaf=2, random_state=0).fit,
    TABPFN: lambda X, y: tabpfn().fit(X, y),
}


def main() -> None:
    if sys.argv[1] == "pack":
        pack(Path(sys.argv[2]), Path(sys.argv[3]))
        return
    jobs = option("--jobs", 1)
    cut = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    methods = sys.argv[cut + 1 :] or [OURS, *(peer for peer in PEERS if peer != TABPFN)]
    first, last = map(int, sys.argv[2:4])
    tasks = [(name, draw, methods) for draw in range(first, last + 1) for name in encoded_tables.names()]
    in_processes(run, tasks, jobs)


def run(name: str, draw: int, methods: list[str]) -> None:
    warnings.simplefilter("ignore")
    X, y, options = encoded_tables.table(name)
    done = {(r["who"], r["kind"], r["per_class"], r["draw"]) for r in RECORDS.trials(STORE) if r["data"] == name}
    scaled = StandardScaler().fit_transform(X)
    model = None
    for kind, per_class in cells_of(y):
        labelled = draw_labels(y, per_class * len(np.unique(y)), seed=draw, kind=kind)
        free = np.setdiff1d(np.arange(len(y)), labelled)
        for who in methods:
            if (who, kind, per_class, draw) in done or (who == TABPFN and X.shape[1] > MOST_COLUMNS):
                continue
            record = {"who": who, "data": name, "kind": kind, "per_class": per_class, "draw": draw}
            begun = time.perf_counter()
            if who == OURS:
                model = model or AutoHiDeGL(random_state=0, **options).fit(X)
                begun = time.perf_counter()
                found = model.relabel(hide_labels(y, labelled)).transduction_[free]
                record["expected"] = [round(float(value), 4) for value in model.expected_accuracy_]
            else:
                found = PEERS[who](scaled[labelled], y[labelled]).predict(scaled[free])
            right = np.mean(found == y[free])
            record |= {"accuracy": round(100 * float(right), 3), "seconds": round(time.perf_counter() - begun, 3)}
            record[MAJORITY] = round(100 * float(np.bincount(y[free]).max() / len(free)), 3)
            RECORDS.append(STORE, [record])
    print(name, draw, "done", flush=True)


def cells_of(y: NDArray[np.intp]) -> list[tuple[str, int]]:
    """Kinds of draws, and numbers of labels per class: at most half of the rows, and of the smallest class."""
    sizes = np.bincount(y)
    cells = [(kind, n) for kind in KINDS for n in PER_CLASS if n * len(sizes) <= len(y) // 2]
    return [(kind, n) for kind, n in cells if kind != "balanced" or n <= sizes.min() // 2]


# TabPFN 0.1.9 with the weights that the sdist of 0.1 has


@cache
def tabpfn() -> Any:
    """The classifier on a GPU if there is one, with what has changed in torch and scikit-learn since 2023."""
    import torch

    folder = Path(os.environ["HIDEGL_TABPFN"])
    sys.path.insert(0, str(folder))
    layers = torch.nn.modules.transformer
    for name in ("Optional", "Tensor", "Module", "MultiheadAttention", "Linear", "Dropout", "LayerNorm"):
        if not hasattr(layers, name):  # names that this module imported once, and TabPFN takes from it
            setattr(layers, name, getattr(typing, name, None) or getattr(torch, name, None) or getattr(torch.nn, name))
    load = torch.load
    torch.load = lambda path, **how: unpacked(folder) if str(path).endswith(WEIGHTS) else load(path, **how)
    import tabpfn.scripts.transformer_prediction_interface as interface

    interface.check_X_y, interface.check_array = renamed(interface.check_X_y), renamed(interface.check_array)
    (folder / "models_diff").mkdir(exist_ok=True)
    (folder / "models_diff" / WEIGHTS).touch()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return interface.TabPFNClassifier(device=device, base_path=folder, N_ensemble_configurations=CONFIGURATIONS)


def renamed(check: Callable[..., Any]) -> Callable[..., Any]:
    """scikit-learn 1.6 renamed a parameter."""
    return lambda *given, force_all_finite=True, **others: check(*given, ensure_all_finite=force_all_finite, **others)


def pack(checkpoint: Path, folder: Path) -> None:
    """The weights in half precision, high and low bytes apart, compressed; and the settings as they are."""
    import torch

    state, _, settings = torch.load(checkpoint, map_location="cpu", weights_only=False)
    halves = np.concatenate([value.numpy().astype(np.float16).ravel() for value in state.values()])
    with replacing(folder / "weights.xz") as file:
        file.write(lzma.compress(halves.view(np.uint8).reshape(-1, 2).T.tobytes(), preset=3))
    torch.save(({name: value.shape for name, value in state.items()}, settings), folder / "shapes.pt")


def unpacked(folder: Path) -> Any:
    import torch

    with (folder / "shapes.pt").open("rb") as file:
        shapes, settings = torch.serialization.load(file, weights_only=False)
    planes = np.frombuffer(lzma.decompress((folder / "weights.xz").read_bytes()), dtype=np.uint8)
    halves = np.ascontiguousarray(planes.reshape(2, -1).T).view(np.float16).ravel()
    state, start = {}, 0
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        state[name] = torch.as_tensor(halves[start : start + size].astype(np.float32).reshape(shape))
        start += size
    return state, None, settings


if __name__ == "__main__":
    main()
