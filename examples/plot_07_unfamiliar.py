"""
Rows of a class that nobody has named
=====================================

A classifier gives every row one of the classes that it knows. Here nobody has labelled a 6. `unfamiliar` finds groups
of rows in which nothing is labelled.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from hidegl import AutoHiDeGL
from hidegl.datasets import draw_labels

X, truth = load_digits(return_X_y=True)
known = np.flatnonzero(truth != 6)
y = np.full(len(X), -1)
labelled = known[draw_labels(truth[known], 60, seed=0)]
y[labelled] = truth[labelled]

model = AutoHiDeGL(random_state=0).fit(X, y)
for group in model.unfamiliar():
    share = np.mean(truth[group.rows] == 6)
    print(f"{len(group.rows)} rows, labelled {group.label} so far; {share:.0%} of them are in fact a 6")

# %%
# Familiarity is how near a row is to any label, on the graph. Below 1 it is unfamiliar.

familiarity = model.familiarity()
bins = np.geomspace(max(familiarity.min(), 1e-3), familiarity.max(), 45)
fig, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
ax.hist(familiarity[truth != 6], bins, color="#8d99ae", label="digits with labels")
ax.hist(familiarity[truth == 6], bins, color="#d1495b", alpha=0.85, label="6, which has none")
ax.axvline(1, color="0.2", ls="--", lw=1)
ax.set(xscale="log", xlabel="familiarity", ylabel="rows")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)

# %%
# Rows that stand for the largest group, to look at before it gets a name:

group = model.unfamiliar()[0]
fig, axes = plt.subplots(1, len(group.examples), figsize=(5, 1.8), layout="constrained")
for ax, row in zip(np.atleast_1d(axes), group.examples, strict=True):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[])
