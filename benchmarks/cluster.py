"""A fit on two Dask workers beside the same fit in this process: time, peak memory, bytes sent, and a killed worker.

    python benchmarks/cluster.py                       4,000,000 × 64 float32 rows in Parquet files; results/dask.json
    python benchmarks/cluster.py HiDeGL|AutoHiDeGL     one of them; the other keeps its stored result

HiDeGL has k = 500, and AutoHiDeGL its defaults. Each run is in a process of its own. Both engines read the same files,
and label all rows.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import dask
import numpy as np
import psutil

from harness import memory, store, stored_parts
from hidegl import AutoHiDeGL, HiDeGL, read_rows

N, D, K, SHARDS, GROUP_ROWS = 4_000_000, 64, 500, 16, 65_536
REPEATS = {"HiDeGL": 3, "AutoHiDeGL": 1}
MODELS: dict[str, Any] = {"HiDeGL": partial(HiDeGL, K), "AutoHiDeGL": AutoHiDeGL}
WAYS = ("local", "cluster", "cluster, a worker killed")


def main() -> None:
    if len(sys.argv) > 2:
        print(json.dumps(one_fit(*sys.argv[1:])))
        return
    with tempfile.TemporaryDirectory() as folder:
        write_shards(Path(folder))
        for name in sys.argv[1:] or MODELS:
            result = measured(name, folder)
            print(json.dumps(result, indent=1))
            store("dask", {**stored_parts("dask", MODELS), "rows": N, "columns": D, "files": SHARDS, name: result})


def measured(name: str, folder: str) -> dict[str, Any]:
    runs: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    for number in range(REPEATS[name]):
        for way in WAYS[:2] if number else WAYS:
            runs[way].append(run(name, way, folder))
            print(name, way, runs[way][-1], flush=True)
    labels = {way: np.load(Path(folder) / f"{way}.npy") for way in WAYS}
    local, cluster, killed = (runs[way] for way in WAYS)
    ratios = [c["seconds"] / one["seconds"] for one, c in zip(local, cluster, strict=True)]
    return {
        "runs": runs,
        "times_local": round(median(ratios), 2),
        "same_labels_as_local_percent": round(100 * float(np.mean(labels["local"] == labels["cluster"])), 4),
        "killed_same_labels": bool(np.array_equal(labels["cluster"], labels[WAYS[2]])),
        "killed_same_points": killed[0]["points_sum"] == cluster[0]["points_sum"],
    }


def write_shards(folder: Path) -> None:
    """Rows of 200 Gaussians of unequal sizes, as one column of lists."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    centres = 2 * rng.standard_normal((200, D), dtype=np.float32)
    for number in range(SHARDS):
        n = N // SHARDS
        which = rng.choice(200, n, p=np.arange(1, 201) / np.arange(1, 201).sum())
        X = centres[which] + rng.standard_normal((n, D), dtype=np.float32)
        column = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), D)
        path = folder / f"{number:02}.parquet"
        pq.write_table(pa.table({"embedding": column}), path, row_group_size=GROUP_ROWS, compression="none")


def run(name: str, way: str, folder: str) -> dict[str, Any]:
    out = subprocess.run([sys.executable, __file__, name, way, folder], capture_output=True, text=True, check=False)
    if out.returncode:
        raise RuntimeError(out.stderr)
    return json.loads(out.stdout.splitlines()[-1])


def one_fit(name: str, way: str, folder: str) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    y = np.full(N, -1, dtype=np.int8)
    y[:20] = np.arange(20) % 10
    small = np.random.default_rng(0).standard_normal((5000, D), np.float32)
    HiDeGL(20, random_state=0).fit(small, y[:5000]).transduction_  # noqa: B018  # compiles
    if way == "local":
        return timed(name, way, folder, y, read_rows(folder), list)
    import dask.array as da
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        HiDeGL(20, random_state=0).fit(da.from_array(small, chunks=(1000, -1)), y[:5000]).transduction_  # noqa: B018
        pids = list(client.run(os.getpid).values())
        sent = Traffic()
        told: list[int] = []

        def each_iteration(iteration: Any) -> None:
            told.append(sent.bytes)
            if "killed" in way and len(told) == 8:
                os.kill(pids[0], signal.SIGKILL)

        rows = read_rows(folder, cluster=True)
        begun = time.perf_counter()
        rows.sum(row_count)
        reading = time.perf_counter() - begun
        result = timed(name, way, folder, y, rows, lambda: list(client.run(os.getpid).values()), each_iteration)
        result["megabytes_to_this_host_an_iteration"] = round(float(np.median(np.diff(told))) / 1e6, 3)
        result["seconds_of_reading_all_files_once"] = round(reading, 2)
        if name == "HiDeGL":
            result["megabytes_of_k_times_d"] = round(K * D * 8 / 1e6, 3)
        return result


def row_count(block: Any) -> tuple[float]:
    return (float(len(block)),)


class Traffic:
    """Bytes of what workers sent to this process when it asked for results."""

    def __init__(self) -> None:
        self.bytes = 0
        gather = dask.compute

        def compute(*tasks: Any) -> Any:
            results = gather(*tasks)
            self.bytes += len(pickle.dumps(results))
            return results

        dask.compute = compute


def timed(name: str, way: str, folder: str, y: Any, rows: Any, pids: Any, callback: Any = None) -> dict[str, Any]:
    peak = PeakMemory(pids())
    before = memory("VmRSS")
    begun = time.perf_counter()
    model = MODELS[name](random_state=0, device="cpu", callback=callback).fit(rows, y)
    fitted = time.perf_counter()
    labels = model.transduction_
    taken = time.perf_counter() - begun
    np.save(Path(folder) / f"{way}.npy", labels.astype(np.int8))
    return {
        "seconds": round(taken, 2),
        "seconds_of_the_fit": round(fitted - begun, 2),
        "megabytes_before": round(before),
        "peak_megabytes_of_this_process": round(memory("VmHWM")),
        "peak_megabytes_of_each_worker": peak.stop(),
        "points_sum": sum(float(structure.C.sum()) for structure in model.structures_),
    }


class PeakMemory:
    """The largest resident memory of some processes, looked at twenty times a second."""

    def __init__(self, pids: list[int]) -> None:
        self._peaks = dict.fromkeys(pids, 0)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stopped.wait(0.05):
            for pid in self._peaks:
                try:
                    self._peaks[pid] = max(self._peaks[pid], psutil.Process(pid).memory_info().rss)
                except psutil.Error:
                    continue

    def stop(self) -> list[int]:
        self._stopped.set()
        self._thread.join()
        return [round(peak / 2**20) for peak in self._peaks.values()]


if __name__ == "__main__":
    main()
