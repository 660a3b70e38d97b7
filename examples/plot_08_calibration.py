"""
How far to trust a confidence
=============================

With 40 labels there are none to spare for calibration. hidegl hides each label in turn, predicts it from the others,
and calibrates its probabilities by what it got right.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from hidegl import AutoHiDeGL
from hidegl.datasets import draw_labels, hide_labels

X, truth = load_digits(return_X_y=True)
model = AutoHiDeGL(random_state=0).fit(X)
found = {"hidegl": [], "logistic regression": []}
for seed in range(4):
    rows = draw_labels(truth, 40, seed=seed, kind="balanced")
    others = np.setdiff1d(np.arange(len(X)), rows)
    P = model.relabel(hide_labels(truth, rows)).label_distributions_
    logistic = LogisticRegression(max_iter=2000).fit(X[rows], truth[rows])
    for name, probabilities in (("hidegl", P), ("logistic regression", logistic.predict_proba(X))):
        confidence = probabilities[others].max(axis=1)
        right = model.classes_[probabilities[others].argmax(axis=1)] == truth[others]
        found[name].append((confidence, right))

# %%
# Each point is a tenth of the rows. On the line, confidence and truth agree; above it, more labels are right than was
# said. hidegl is cautious here: few labels cannot prove that a probability is close to 1. Logistic regression is close
# to the line as well, but says 90 % of far fewer rows.

fig, ax = plt.subplots(figsize=(6, 5.4), layout="constrained")
ax.plot([0.2, 1], [0.2, 1], color="0.6", ls="--", lw=1)
for (name, pairs), colour in zip(found.items(), ["#1f6feb", "#d1495b"], strict=True):
    confidence, right = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    tenths = np.array_split(np.argsort(confidence), 10)
    said = [confidence[rows].mean() for rows in tenths]
    true = [right[rows].mean() for rows in tenths]
    error = np.mean(np.abs(np.subtract(said, true)))
    ax.plot(said, true, "o-", color=colour, lw=2, label=f"{name}: {right.mean():.0%} right, off by {error:.2f}")
ax.set(xlabel="mean confidence", ylabel="right labels", aspect="equal")
ax.legend(frameon=False, loc="upper left")
ax.spines[["top", "right"]].set_visible(False)
