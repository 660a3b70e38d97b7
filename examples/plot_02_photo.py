"""
Paint a photo from a few strokes
================================

Each patch of a photo is a row. Four strokes label some patches as flower or background, and the labels
spread to all others.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from hidegl import AutoHiDeGL

photo = load_sample_image("flower.jpg")[: 420 // 6 * 6, : 636 // 6 * 6] / 255
tall, wide = photo.shape[0] // 6, photo.shape[1] // 6
patches = photo.reshape(tall, 6, wide, 6, 3).transpose(0, 2, 1, 3, 4).reshape(tall * wide, -1)
X = np.column_stack([patches.mean(axis=1), patches.reshape(len(patches), 36, 3).mean(axis=1), patches.std(axis=1)])
print(f"{len(X):,} patches")

# %%
# The strokes, in patches: rows and columns from and to.

y = np.full((tall, wide), None, dtype=object)
strokes = [
    ("flower", slice(30, 31), slice(38, 46)),
    ("flower", slice(22, 26), slice(58, 59)),
    ("background", slice(4, 5), slice(5, 15)),
    ("background", slice(60, 61), slice(88, 98)),
]
for name, down, across in strokes:
    y[down, across] = name
given = sum(name is not None for name in y.ravel())

model = AutoHiDeGL(random_state=0).fit(X, y.ravel())
probability = model.label_distributions_[:, list(model.classes_).index("flower")].reshape(tall, wide)

# %%
fig, axes = plt.subplots(1, 3, figsize=(10.5, 2.7), layout="constrained")
axes[0].imshow(photo)
for name, down, across in strokes:
    corner = 6 * across.start, 6 * down.start
    size = 6 * (across.stop - across.start), 6 * (down.stop - down.start)
    axes[0].add_patch(plt.Rectangle(corner, *size, color="#ff2d95" if name == "flower" else "#00e5ff"))
axes[1].imshow(probability, cmap="magma", vmin=0, vmax=1)
smooth = np.kron(probability, np.ones((6, 6)))[..., None]
axes[2].imshow(smooth * photo + (1 - smooth) * photo.mean(axis=2, keepdims=True) * 0.6)
titles = f"{given} patches are labelled", "probability of flower", "background in grey"
for ax, title in zip(axes, titles, strict=True):
    ax.set_title(title)
    ax.set_axis_off()
