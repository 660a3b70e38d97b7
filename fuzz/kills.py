"""Kills at random moments: a fit resumes to the same result, and files are old or new, whole, and all of one kind.

Cases are processes that are forked from one that has imported everything and computed nothing.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hidegl
from fuzz.commands import quiet
from fuzz.mutations import Rng, one_of, read
from hidegl import AutoHiDeGL, HiDeGL
from hidegl.cli.running import run
from hidegl.datasets import make_three_moons

FITS = ("memory", "npy", "parquet", "auto")
TARGETS = (*FITS, "save", "label")
OUTPUTS = ("out.csv", "m.hidegl", "report.html")
ROWS = 600


def labels_of(truth: np.ndarray) -> np.ndarray:
    return np.where(np.arange(len(truth)) % 40 == 0, truth, -1)


def prepare(folder: Path) -> None:
    X, truth = make_three_moons(ROWS, random_state=0)
    y = labels_of(truth)
    np.save(folder / "rows.npy", X)
    np.save(folder / "y.npy", y)
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    pq.write_table(pa.table(columns), folder / "rows.parquet", row_group_size=128)
    side = [None if label < 0 else f"class {label}" for label in y.tolist()]
    pq.write_table(pa.table({**columns, "side": side}), folder / "data.parquet")
    (folder / "old").mkdir()


def seconds_of(folder: Path, name: str, work: Callable[[], None]) -> float:
    """How long some work takes that nobody kills. It is done once, and makes what a case is compared with."""
    known = folder / f"{name}.seconds"
    if not known.exists():
        begun = time.monotonic()
        finished(work)
        known.write_text(str(time.monotonic() - begun))
    return float(known.read_text())


def fit(folder: Path, name: str, checkpoint: Path | None, out: Path) -> None:
    y, X = np.load(folder / "y.npy"), np.load(folder / "rows.npy")
    rows: Any = {"npy": folder / "rows.npy", "parquet": folder / "rows.parquet"}.get(name, X)
    points = HiDeGL(60, random_state=0, tol=0, max_iter=25, checkpoint=checkpoint)
    model = AutoHiDeGL(random_state=0, checkpoint=checkpoint) if name == "auto" else points
    np.save(out, model.fit(rows, y).label_distributions_)


def make_models(folder: Path) -> None:
    X, y = np.load(folder / "rows.npy"), np.load(folder / "y.npy")
    for name, n_points in (("a", 30), ("b", 60)):
        HiDeGL(n_points, random_state=0).fit(X, y).save(folder / f"{name}.model")


def label(folder: Path, place: Path) -> None:
    csv, model, report = (place / name for name in OUTPUTS)
    words = f"label {folder}/data.parquet --labels side -o {csv} --model {model} --report {report} --effort quick -f"
    with quiet():
        code = run(words.split())
    if code:
        raise RuntimeError(f"hidegl label ended with {code}")


def case(folder: Path, rng: Rng) -> str | None:
    place = folder / "here"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    target = one_of(rng, TARGETS)
    judge = {"save": kill_save, "label": kill_label}.get(target)
    found = kill_fit(folder, place, target, rng) if judge is None else judge(folder, place, rng)
    return None if found is None else f"{target}: {found}"


def kill_fit(folder: Path, place: Path, name: str, rng: Rng) -> str | None:
    expected = folder / f"{name}.expected.npy"
    seconds = seconds_of(folder, name, lambda: fit(folder, name, None, expected))
    checkpoint, out = place / "checkpoint", place / "out.npy"
    for _ in range(int(rng.integers(1, 3))):
        killed(lambda: fit(folder, name, checkpoint, out), rng.uniform(0, seconds))
    finished(lambda: fit(folder, name, checkpoint, out))
    if not np.array_equal(np.load(out), np.load(expected)):
        return "the fit ended otherwise"
    left = sorted(path.name for path in place.iterdir() if path != out)
    return f"{left} stay behind" if left else None


def kill_save(folder: Path, place: Path, rng: Rng) -> str | None:
    path, sources = place / "m.hidegl", [folder / "a.model", folder / "b.model"]
    seconds_of(folder, "models", lambda: make_models(folder))

    def saves() -> None:
        models = [hidegl.load(source) for source in sources]
        while True:
            for model in models:
                model.save(path)

    killed(saves, rng.uniform(0.05, 0.3))
    if path.exists():
        arrays = read(path)[1]
        if not any(all(np.array_equal(arrays[k], old) for k, old in read(source)[1].items()) for source in sources):
            return "the file is neither of the two models"
    finished(lambda: hidegl.load(sources[0]).save(path))
    left = sorted(other.name for other in place.iterdir() if other != path)
    return f"{left} stay behind" if left else None


def kill_label(folder: Path, place: Path, rng: Rng) -> str | None:
    seconds = seconds_of(folder, "label", lambda: label(folder, folder / "old"))
    for name in OUTPUTS:
        shutil.copy(folder / "old" / name, place / name)
    before = {name: (place / name).stat().st_ino for name in OUTPUTS}
    kept = [(place / name).open("rb") for name in OUTPUTS]  # so that no number of an old file is given to a new one
    at_the_end = rng.random() < 0.5
    delay = rng.uniform(0, 0.2 * seconds) if at_the_end else rng.uniform(0, seconds)
    killed(lambda: label(folder, place), delay, (lambda: any(place.glob(".*.part"))) if at_the_end else None)
    new = [name for name in OUTPUTS if (place / name).stat().st_ino != before[name]]
    for file in kept:
        file.close()
    if len(new) not in (0, len(OUTPUTS)):
        return f"{new} are new and the others old"
    csv, model, report = (place / name for name in OUTPUTS)
    hidegl.basics.archives.read_archive(model)
    if len(csv.read_text().splitlines()) != ROWS + 1 or not report.read_text().rstrip().endswith("</html>"):
        return "a file is not whole"
    if rng.random() < 0.2:
        finished(lambda: label(folder, place))
        left = sorted({path.name for path in place.iterdir()} - set(OUTPUTS))
        return f"{left} stay behind" if left else None
    return None


# Processes


def child(work: Callable[[], None]) -> int:
    """The id of a new process that does this work and ends."""
    begun, begins = os.pipe()
    process = os.fork()
    if process:
        os.close(begins)
        os.read(begun, 1)
        os.close(begun)
        return process
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.write(begins, b"!")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            work()
        code = 0
    finally:
        os._exit(code)


def finished(work: Callable[[], None]) -> None:
    _, status = os.waitpid(child(work), 0)
    if status:
        raise RuntimeError(f"a process that nobody killed ended with {status}")


def killed(work: Callable[[], None], delay: float, when: Callable[[], bool] | None = None) -> None:
    """Begin some work and kill it after a while, which is counted from the moment when something is true."""
    process, end = child(work), time.monotonic() + 60
    while when is not None and not when() and time.monotonic() < end:
        if os.waitpid(process, os.WNOHANG)[0]:
            return
        time.sleep(0.001)
    time.sleep(delay)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
