"""
What to label next
==================

Labels cost time. `suggest` names the rows whose labels would reveal most about all the others, even before there is any
label.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from hidegl import AutoHiDeGL

# sphinx_gallery_thumbnail_number = 2
warnings.filterwarnings("ignore", "one label only for the class")  # ten labels for ten classes

X, truth = load_digits(return_X_y=True)
model = AutoHiDeGL(random_state=0).fit(X)  # no label yet

# %%
# The first ten rows that it asks for:

first = model.suggestions(10)
fig, axes = plt.subplots(1, 10, figsize=(9, 1.5), layout="constrained")
for ax, suggestion in zip(axes, first, strict=True):
    ax.imshow(X[suggestion.row].reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    ax.set_title(f"for ~{suggestion.stands_for}", fontsize=8)

# %%
# Label them, learn, ask again. With labels, each suggestion has a reason:

chosen = np.array([suggestion.row for suggestion in first])
y = np.full(len(X), -1)
y[chosen] = truth[chosen]
for suggestion in model.relabel(y).suggestions(5):
    print(f"row {suggestion.row}: {suggestion.reason}")

# %%
# Ten labels a time, chosen and at random:

rng = np.random.default_rng(0)
random_rows = rng.permutation(len(X))
scores = {"chosen": [], "random": []}
budgets = [10, 20, 30, 40, 60, 80]
y_chosen = np.full(len(X), -1)
for budget in budgets:
    new = model.relabel(y_chosen if (y_chosen >= 0).any() else None).suggest(budget - np.sum(y_chosen >= 0))
    y_chosen[new] = truth[new]
    y_random = np.full(len(X), -1)
    y_random[random_rows[:budget]] = truth[random_rows[:budget]]
    for name, y in (("chosen", y_chosen), ("random", y_random)):
        scores[name].append(100 * np.mean(model.relabel(y).transduction_[y == -1] == truth[y == -1]))

fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
ax.plot(budgets, scores["chosen"], "o-", color="#1f6feb", lw=2.5, label="chosen by suggest")
ax.plot(budgets, scores["random"], "o-", color="#8d99ae", lw=2.5, label="at random")
ax.set(xlabel="number of labels", ylabel="right labels, %")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
