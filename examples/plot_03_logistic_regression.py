"""
Compared with logistic regression
=================================

Most people fit a logistic regression to the few labels that they have. It uses the labelled rows only. hidegl
also learns from the rows without a label: where they are dense, and how dense regions are connected.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading

from hidegl import AutoHiDeGL
from hidegl.datasets import accuracy, draw_labels, hide_labels

X, truth = load_digits(return_X_y=True)
counts = [20, 50, 100, 200]
draws = range(2)
found = {"hidegl": [], "logistic regression": [], "LabelSpreading": []}

# %%
# The rows are learned once. `relabel` spreads other labels over the same rows in a fraction of the time.

model = AutoHiDeGL(random_state=0).fit(X)
for n_labels in counts:
    scores = {name: [] for name in found}
    for seed in draws:
        rows = draw_labels(truth, n_labels, seed=seed, kind="balanced")
        y = hide_labels(truth, rows)
        logistic = LogisticRegression(max_iter=2000).fit(X[rows], truth[rows])
        spreading = LabelSpreading(kernel="knn", max_iter=1000).fit(X, y)
        scores["hidegl"].append(accuracy(model.relabel(y).transduction_, truth, rows))
        scores["logistic regression"].append(accuracy(logistic.predict(X), truth, rows))
        scores["LabelSpreading"].append(accuracy(spreading.transduction_, truth, rows))
    for name, values in scores.items():
        found[name].append(values)

# %%
# Means and ranges of two draws of labels:

fig, ax = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
for (name, values), colour in zip(found.items(), ["#1f6feb", "#d1495b", "#8d99ae"], strict=True):
    values = np.array(values)
    ax.plot(counts, values.mean(axis=1), "o-", color=colour, lw=2.5)
    ax.fill_between(counts, values.min(axis=1), values.max(axis=1), color=colour, alpha=0.15)
    end = counts[-1], values[-1].mean()
    ax.annotate(name, end, (10, -4), textcoords="offset points", color=colour, weight="bold")
ax.set(xscale="log", xticks=counts, xlim=(18, 480), xlabel="number of labels", ylabel="right labels, %")
ax.set_xticklabels(counts)
ax.minorticks_off()
ax.spines[["top", "right"]].set_visible(False)
