"""
Find wrong labels
=================

Six of 100 labels were changed by mistake. `audit` hides each label, predicts it from the others, and gives the
probability that it is wrong.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from hidegl import AutoHiDeGL
from hidegl.datasets import draw_labels, hide_labels

X, truth = load_digits(return_X_y=True)
rows = draw_labels(truth, 100, seed=0)
y = hide_labels(truth, rows)
rng = np.random.default_rng(1)
wrong = rng.choice(rows, 6, replace=False)
y[wrong] = (truth[wrong] + rng.integers(1, 10, 6)) % 10

model = AutoHiDeGL(random_state=0).fit(X, y)
judged = model.audit()
print(f"{sum(label.doubtful for label in judged)} labels are more probably wrong than right")

# %%
# The ten most suspicious labels. Those that were changed have a red frame.

fig, axes = plt.subplots(2, 5, figsize=(8, 4.2), layout="constrained")
for ax, label in zip(axes.flat, judged[:10], strict=True):
    ax.imshow(X[label.row].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"given {label.given}, rather {label.proposed}\nwrong with {label.suspicion:.0%}", fontsize=9)
    ax.set(xticks=[], yticks=[])
    if label.row in wrong:
        ax.spines[:].set(color="crimson", linewidth=3)
