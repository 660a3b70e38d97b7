"""Ten million rows of 64 columns from a file on disk: seconds, private memory, and accuracy of all labels.

    python benchmarks/ten_million.py [--rows N] [quick default …]    results/ten_million.json

The rows are a .npy file of 2.6 GB, three Gaussians for each of ten classes, and 100 of them have a label. A run counts
from the path of the file to a file with all labels. Private memory is what the system counts for this process alone
(RssAnon), beyond what it was before the fit. Logistic regression on the same labels predicts the rows in blocks.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from ensemble import write_clusters
from harness import memory, store, stored
from hidegl import AutoHiDeGL
from processes import option

ROWS, LABELS, BLOCK = 10_000_000, 100, 200_000


def main() -> None:
    if sys.argv[1:2] == ["fit"]:
        print(json.dumps(one_fit(sys.argv[2], Path(sys.argv[3]))))
        return
    n_rows = option("--rows", ROWS)
    runs = {f"{run['rows']} {run['effort']}": run for run in stored("ten_million").get("runs", ())}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.npy")
        np.save(Path(folder, "labels.npy"), write_clusters(path, n_rows, 10).astype(np.int16))
        for effort in sys.argv[1:] or ("quick", "default"):
            command = [sys.executable, __file__, "fit", effort, str(path)]
            found = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            run = {"rows": n_rows, "columns": 64, "labels": LABELS, "effort": effort, **json.loads(found.stdout)}
            print(run, flush=True)
            store("ten_million", {"runs": list((runs := {**runs, f"{n_rows} {effort}": run}).values())})


def one_fit(effort: str, path: Path) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    truth = np.load(path.with_name("labels.npy"))
    y = np.where(np.arange(len(truth)) < LABELS, truth, -1).astype(np.int16)
    warm = np.random.default_rng(0).normal(size=(3000, 64)).astype(np.float32)
    AutoHiDeGL("quick", random_state=0).fit(warm, np.where(np.arange(3000) < 40, np.arange(3000) % 2, -1))
    before, peaks, ended = memory("RssAnon"), [0.0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.05):
            peaks.append(memory("RssAnon"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    begun, begun_cpu = time.perf_counter(), time.process_time()
    model = AutoHiDeGL(effort, random_state=0).fit(str(path), y)
    fitted = time.perf_counter()
    model.write_labels(path.with_name("out.npy"))
    written, cpu = time.perf_counter(), time.process_time()
    ended.set()
    watcher.join()
    found = np.load(path.with_name("out.npy"))["label"]
    return {
        "fit_seconds": round(fitted - begun, 1),
        "write_seconds": round(written - fitted, 1),
        "seconds": round(written - begun, 1),
        "cpu_seconds": round(cpu - begun_cpu, 1),
        "private_megabytes": round(max(peaks) - before),
        "file_megabytes": round(path.stat().st_size / 1e6),
        "percent_right": round(100 * float(np.mean(found[y < 0] == truth[y < 0])), 2),
        "expected": [round(float(value), 4) for value in model.expected_accuracy_],
        "logistic_regression_percent_right": by_logistic_regression(path, y, truth),
    }


def by_logistic_regression(path: Path, y: Any, truth: Any) -> float:
    X, labelled = np.load(path, mmap_mode="r"), np.flatnonzero(y >= 0)
    model = LogisticRegression(max_iter=500).fit(X[labelled], y[labelled])
    blocks = (slice(start, start + BLOCK) for start in range(LABELS, len(X), BLOCK))
    right = sum(int(np.sum(model.predict(X[block]) == truth[block])) for block in blocks)
    return round(100 * right / (len(X) - LABELS), 2)


if __name__ == "__main__":
    main()
