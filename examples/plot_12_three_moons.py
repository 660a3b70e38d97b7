"""
How it works: points, tree, spreading
=====================================

Three moons in 100 dimensions, of which two are shown. Each has one label.
"""

import matplotlib.pyplot as plt
import numpy as np

from hidegl import HiDeGL
from hidegl.datasets import draw_labels, hide_labels, make_three_moons
from hidegl.showing import plot_tree

X, truth = make_three_moons(random_state=0)
labelled = draw_labels(truth, 3, seed=0)
y = hide_labels(truth, labelled)
model = HiDeGL(60, preprocess=None, random_state=0).fit(X, y)
points = model.points_
heads, tails = np.nonzero(np.triu(model.tree_.toarray()))

# %%
# 1. A few *high-dense points* move to where rows are dense. 2. A spanning tree joins them. 3. Labels walk over points
# and tree, not through empty space.

fig, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained", sharex=True, sharey=True)
axes[0].scatter(*X[:, :2].T, s=6, color="#c3cad6")
axes[0].scatter(*points[:, :2].T, s=22, color="#1f2937")
axes[1].scatter(*X[:, :2].T, s=6, color="#e3e7ee")
for i, j in zip(heads, tails, strict=True):
    axes[1].plot(*points[[i, j], :2].T, color="#1f2937", lw=1.6)
axes[1].scatter(*points[:, :2].T, s=22, color="#1f2937")
colours = np.array(["#1f6feb", "#d1495b", "#edae49"])
sure = model.label_distributions_.max(axis=1)
axes[2].scatter(*X[:, :2].T, s=8, c=colours[model.transduction_], alpha=np.clip(sure, 0.15, 1))
axes[2].scatter(*X[labelled, :2].T, marker="*", s=340, c=colours[truth[labelled]], edgecolors="black", zorder=3)
for ax, title in zip(axes, ["1. points", "2. tree", "3. labels spread"], strict=True):
    ax.set_title(title)
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)

# %%
# `plot_tree` draws the same for a model of yours.

print(f"{np.mean(model.transduction_ == truth):.1%} of {len(X):,} labels are right, from 3")
plot_tree(model, X, y)
