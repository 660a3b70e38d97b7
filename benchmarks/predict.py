"""How fast `hidegl.Predictor` labels new rows, its size, and whether its memory grows: python benchmarks/predict.py.

Times are of the processors (CPU seconds), so that a busy machine changes them little.
"""

from __future__ import annotations

import pickle
import sys
import time
import warnings
from typing import Any

import numpy as np

from harness import memory, store
from hidegl import AutoHiDeGL, Predictor

COLUMNS, FITTED, BATCH, BATCHES = 64, 20_000, 20_000, 10
CLASSES = (10, 100)


def main() -> None:
    warnings.simplefilter("ignore")
    efforts = sys.argv[1:] or ["quick", "default"]
    found = [measured(effort, n_classes) for effort in efforts for n_classes in CLASSES]
    store("predict", {"columns": COLUMNS, "rows_of_the_fit": FITTED, "rows_of_a_batch": BATCH, "runs": found})


def measured(effort: str, n_classes: int) -> dict[str, Any]:
    """A predictor that went through pickle, on batches of new rows."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3 * n_classes, COLUMNS))

    def rows(n: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        which = rng.integers(0, len(centres), n)
        return (centres[which] + 0.8 * rng.normal(size=(n, COLUMNS))).astype(np.float32), which // 3

    X, truth = rows(FITTED)
    y = np.where(np.arange(FITTED) < 10 * n_classes, truth, -1)
    sent = pickle.dumps(Predictor(AutoHiDeGL(effort, random_state=0).fit(X, y)))
    predict = pickle.loads(sent)
    predict(rows(100)[0])  # builds the model
    seconds, right, peaks = 0.0, [], []
    for _ in range(BATCHES):
        batch, labels = rows(BATCH)
        begun = time.process_time()
        predicted = predict(batch)
        seconds += time.process_time() - begun
        right.append(float(np.mean(predicted == labels)))
        peaks.append(memory("RssAnon"))
    result = {
        "effort": effort,
        "classes": n_classes,
        "megabytes_sent": round(len(sent) / 1e6, 1),
        "rows_per_cpu_second": round(BATCH * BATCHES / seconds),
        "percent_right": round(100 * float(np.mean(right)), 1),
        "megabytes_grown_over_the_batches": round(peaks[-1] - peaks[1], 1),
    }
    print(result, flush=True)
    return result


if __name__ == "__main__":
    main()
