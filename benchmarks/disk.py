"""Private memory of a fit with all labels, for rows on disk: python benchmarks/disk.py [rows …].

The rows are a .npy file of 64 columns, three Gaussians for each of ten classes. Private memory is what the system
counts for this process alone (RssAnon), beyond what it was before the fit. Times are of the processors (CPU seconds).
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
from typing import Any, Self

import numpy as np

from ensemble import write_clusters
from harness import memory, store
from hidegl import AutoHiDeGL

SIZES = (500_000, 1_000_000, 2_000_000, 4_000_000)


class PeakMemory:
    """The most private megabytes while a block ran, beyond those before it."""

    def __enter__(self) -> Self:
        self.peak, self._before, self._ended = 0.0, memory("RssAnon"), threading.Event()
        self._watcher = threading.Thread(target=self._watch)
        self._watcher.start()
        return self

    def _watch(self) -> None:
        while not self._ended.wait(0.02):
            self.peak = max(self.peak, memory("RssAnon") - self._before)

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._watcher.join()


def main() -> None:
    if sys.argv[1:2] == ["fit"]:
        print(json.dumps(one_fit(*sys.argv[2:])))
        return
    runs = []
    for n_rows in map(int, sys.argv[1:] or SIZES):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rows.npy")
            np.save(Path(folder, "labels.npy"), write_clusters(path, n_rows, 10))
            command = [sys.executable, __file__, "fit", str(path)]
            run = subprocess.run(command, capture_output=True, text=True, check=True)
        runs.append({"rows": n_rows, "effort": "quick", **json.loads(run.stdout)})
        print(runs[-1], flush=True)
        store("disk", {"runs": runs})


def one_fit(path: str) -> dict[str, Any]:
    """The quick model from 100 labels, and a file of all labels."""
    warnings.simplefilter("ignore")
    truth = np.load(Path(path).with_name("labels.npy")).astype(np.int16)
    y = np.where(np.arange(len(truth)) < 100, truth, -1).astype(np.int16)
    warm = np.random.default_rng(0).normal(size=(3000, 64)).astype(np.float32)
    AutoHiDeGL("quick", random_state=0).fit(warm, np.where(np.arange(3000) < 40, np.arange(3000) % 2, -1))
    begun = time.process_time()
    with PeakMemory() as used:
        model = AutoHiDeGL("quick", random_state=0).fit(path, y)
        model.write_labels(Path(path).with_name("out.npy"))
    found = np.load(Path(path).with_name("out.npy"))["label"]
    return {
        "private_megabytes": round(used.peak),
        "cpu_seconds": round(time.process_time() - begun, 1),
        "percent_right": round(100 * float(np.mean(found[y < 0] == truth[y < 0])), 2),
    }


if __name__ == "__main__":
    main()
