"""
Accept labels at 95 %, and review the rest
==========================================

Probabilities are calibrated by leave-one-out over the labels. So you can ask for labels of which 95 % are right, and
look at the other rows yourself.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from hidegl import AutoHiDeGL
from hidegl.datasets import draw_labels, hide_labels

X, truth = load_digits(return_X_y=True)
y = hide_labels(truth, draw_labels(truth, 60, seed=2, kind="balanced"))
model = AutoHiDeGL(random_state=0).fit(X, y)

labels = model.accept(0.95)
accepted = np.array([label is not None for label in labels]) & (y == -1)
print(f"accepted: {accepted.sum():,} labels; {np.mean(labels[accepted] == truth[accepted]):.1%} of them are right")
print(f"for review: {np.sum(y == -1) - accepted.sum():,} rows")

# %%
# The precision that you ask for decides how much work is left. Points show what the model expects, the line what is
# true. A point below the line is on the safe side: more labels are right than were promised.

rows = np.flatnonzero(y == -1)
surest = rows[np.argsort(-model.label_distributions_[rows].max(axis=1))]
shares = np.arange(1, len(surest) + 1) / len(surest)
precision = np.cumsum(model.transduction_[surest] == truth[surest]) / np.arange(1, len(surest) + 1)
asked = [0.9, 0.95, 0.97, 0.98]
expected = [model.acceptance(p) for p in asked]

fig, ax = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
ax.plot(100 * shares, 100 * precision, color="#1f6feb", lw=2.5, label="labels that are right, of the most confident")
ax.plot([100 * a.share for a in expected], [100 * a.expected_precision for a in expected], "o", color="#d1495b", ms=9)
for i, (p, a) in enumerate(zip(asked, expected, strict=True)):  # one below the other, because points may be close
    ax.annotate(
        f"accept({p})",
        (100 * a.share, 100 * a.expected_precision),
        (40, 90 + 2 * i),
        arrowprops={"arrowstyle": "-", "color": "0.7"},
    )
ax.set(xlabel="accepted labels, %", ylabel="right labels, %", ylim=(85, 100.5))
ax.legend(frameon=False, loc="lower left")
ax.spines[["top", "right"]].set_visible(False)
