"""
Label 1,797 digits from 20 labels
=================================

Two labels of each digit are given. The other 1,777 rows get a label and a confidence.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from hidegl import AutoHiDeGL
from hidegl.datasets import draw_labels, hide_labels
from hidegl.showing import plot_map

X, truth = load_digits(return_X_y=True)
labelled = draw_labels(truth, 20, seed=0, kind="balanced")
y = hide_labels(truth, labelled)  # -1 where there is no label

model = AutoHiDeGL(random_state=0).fit(X, y)
right = model.transduction_ == truth
print(f"{right[y == -1].mean():.1%} of the {np.sum(y == -1):,} other labels are right")
print("expected by the model:", model.expected_accuracy_)

# %%
# The map shows the high-dense points of the model. They are laid out along their tree, coloured by class, and faint
# where the model is uncertain. Stars are the given labels.

fig, ax = plt.subplots(figsize=(8, 6.5), layout="constrained")
plot_map(model, ax=ax)

# %%
# The rows of which the model is least sure come first when a person looks at them. A red frame marks a wrong label.

unsure = np.argsort(model.label_distributions_.max(axis=1))[:24]
fig, axes = plt.subplots(3, 8, figsize=(8, 3.9), layout="constrained")
for ax, row in zip(axes.flat, unsure, strict=True):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{model.transduction_[row]} ({model.label_distributions_[row].max():.0%})", fontsize=9)
    ax.set(xticks=[], yticks=[])
    if not right[row]:
        ax.spines[:].set(color="crimson", linewidth=3)

# %%
# `summary` says what was chosen, and why.

print(model.summary())
