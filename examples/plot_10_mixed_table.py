"""
A table of numbers, categories, dates and gaps
==============================================

`TableEncoder` takes a frame as it is. It decides the kind of each column, fills gaps, and leaves out ids.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine

from hidegl import AutoHiDeGL
from hidegl.datasets import draw_labels, hide_labels
from hidegl.embedding import TableEncoder

wine = load_wine(as_frame=True)
truth = np.array(["barolo", "grignolino", "barbera"])[wine.target]
rng = np.random.default_rng(0)
frame = wine.data[["alcohol", "malic_acid", "flavanoids", "proline"]].copy()
frame["colour"] = pd.cut(wine.data["color_intensity"], [0, 3.5, 6, 20], labels=["pale", "medium", "deep"]).astype(str)
frame["hue"] = np.where(wine.data["hue"] > 0.8, "bright", "brick")
frame["tasted"] = pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.integers(0, 300, len(frame)), unit="D")
frame.insert(0, "bottle_id", np.arange(1000, 1000 + len(frame)))
frame.iloc[:, 1:] = frame.iloc[:, 1:].mask(rng.random((len(frame), frame.shape[1] - 1)) < 0.1)
frame.head()

# %%
# Every tenth cell is empty. Fifteen bottles have a label.

encoder = TableEncoder()
X = encoder.fit_transform(frame)
print("columns:", *encoder.get_feature_names_out())
print("left out:", encoder.left_out_)

labelled = draw_labels(truth, 15, seed=0, kind="balanced")
model = AutoHiDeGL(preprocess="mixed", random_state=0).fit(X, hide_labels(truth, labelled))
print(f"{np.delete(model.transduction_ == truth, labelled).mean():.1%} of the other labels are right")

# %%
# What the model says, in two of the columns. Crosses are wrong labels.

fig, ax = plt.subplots(figsize=(7.5, 5), layout="constrained")
for name, colour in zip(model.classes_, ["#1f6feb", "#d1495b", "#edae49"], strict=True):
    rows = model.transduction_ == name
    sure = model.label_distributions_[rows].max(axis=1)
    x, up = frame.loc[rows, "proline"], frame.loc[rows, "flavanoids"]
    ax.scatter(x, up, s=20 + 80 * sure**4, color=colour, label=name, alpha=0.7)
wrong = model.transduction_ != truth
ax.scatter(frame.loc[wrong, "proline"], frame.loc[wrong, "flavanoids"], marker="x", s=90, color="black", label="wrong")
ax.set(xlabel="proline", ylabel="flavanoids")
ax.legend(frameon=False, title="larger: more confident")
ax.spines[["top", "right"]].set_visible(False)
