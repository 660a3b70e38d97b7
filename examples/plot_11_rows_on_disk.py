"""
Rows on disk, read in blocks
============================

A path in place of an array: rows are read in blocks, and memory does not grow with their number. This small version has
up to 200,000 rows; millions work in the same way.
"""

import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from hidegl import HiDeGL

rng = np.random.default_rng(0)
centres = rng.normal(0, 2.2, (6, 24))


def write_rows(path, n_rows):
    truth = rng.integers(6, size=n_rows)
    rows = np.lib.format.open_memmap(path, "w+", np.float32, (n_rows, 24))
    for start in range(0, n_rows, 20_000):
        block = truth[start : start + 20_000]
        rows[start : start + 20_000] = centres[block] + rng.normal(size=(len(block), 24))
    rows.flush()
    return truth


counts, seconds = [25_000, 50_000, 100_000, 200_000], []
folder = tempfile.TemporaryDirectory()
for n_rows in counts:
    path = Path(folder.name) / f"rows_{n_rows}.npy"
    truth = write_rows(path, n_rows)
    y = np.full(n_rows, -1)
    y[:30] = truth[:30]
    begun = time.perf_counter()
    model = HiDeGL(200, random_state=0).fit(path, y)
    labels = model.transduction_
    seconds.append(time.perf_counter() - begun)
    print(f"{n_rows:>7,} rows from a file of {path.stat().st_size / 1e6:.0f} MB: {np.mean(labels == truth):.2%} right")

# %%
# Labels go to a file as well, a block at a time.

model.write_labels(Path(folder.name) / "labels.csv")
print((Path(folder.name) / "labels.csv").read_text()[:80])

# %%
# Points are learned on a sample of the rows, so the time grows more slowly than the rows.

fig, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
ax.plot(counts[1:], seconds[1:], "o-", color="#1f6feb", lw=2.5)  # the first fit also compiles
ax.set(xlabel="rows", ylabel="seconds, from the file to all labels", ylim=(0, None), xlim=(0, None))
ax.xaxis.set_major_formatter("{x:,.0f}")
ax.spines[["top", "right"]].set_visible(False)
folder.cleanup()
