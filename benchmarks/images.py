"""Images: the accuracy of each way to embed them, and images per second.

    HIDEGL_DATA=folder python benchmarks/images.py      results/images.json, and the table of docs/from_images.md

scikit-learn's digits, 1,500 rows of MNIST, USPS and COIL-20, and 1,120 parts of photos. They are labelled by
AutoHiDeGL() and by logistic regression on the same vectors, with 2 and 10 labels per class. Network and pixels together
are two views.

The photos are the fourteen of scikit-image, whose folder HIDEGL_PHOTOS names: 80 parts of 32 × 32 pixels are cut out of
each at random places, and the class is the photo.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from harness import DOCS, store, stored, summary, with_tables
from hidegl import AutoHiDeGL
from hidegl.basics.whole_files import replacing
from hidegl.datasets import accuracy, draw_labels, hide_labels
from hidegl.embedding import ImageEmbedder
from hidegl.embedding.images import read_image

WAYS = ("pixels", "efficientnet", "efficientnet+pixels")
SIDES = {"usps": 16, "mnist": 28, "coil20": 32}
PER_CLASS = (2, 10)
DRAWS = range(1000, 1005)
N_IMAGES, N_PARTS, PART = 1500, 80, 32
PHOTOS = "astronaut brick camera chelsea coffee coins grass gravel ihc motorcycle_left rocket page moon retina".split()  # noqa: SIM905
TITLES = {
    "digits": "digits, 8 × 8",
    "usps": "USPS, 16 × 16",
    "mnist": "MNIST, 28 × 28",
    "coil20": "COIL-20, 32 × 32",
    "parts": "parts of photos, 32 × 32",
}
PAGE = DOCS / "from_images.md"


def main() -> None:
    warnings.simplefilter("ignore")
    if "page" not in sys.argv:
        results = []
        for name in TITLES:
            images, y = problem(name)
            chosen = ImageEmbedder().fit(images).way_.name
            results += [measured(name, images, y, way, chosen) for way in WAYS]
        store("images", {"draws": [DRAWS[0], DRAWS[-1]], "ways": results})
    text = with_tables(PAGE.read_text(), tables())
    with replacing(PAGE) as file:
        file.write(text.encode())


def problem(name: str) -> tuple[list[Any], NDArray[Any]]:
    rng = np.random.default_rng(0)
    if name == "parts":
        parts, y = [], []
        for number, photo in enumerate(PHOTOS):
            (path,) = Path(os.environ["HIDEGL_PHOTOS"]).glob(f"{photo}.*")
            image = read_image(path)
            for _ in range(N_PARTS):
                left, top = (int(rng.integers(size - PART)) for size in image.size)
                parts.append(image.crop((left, top, left + PART, top + PART)))
                y.append(number)
        return parts, np.array(y)
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        pixels = (X.reshape(-1, 8, 8) * 255 / 16).astype(np.uint8)
    else:
        with np.load(Path(os.environ["HIDEGL_DATA"]) / f"{name}.npz") as data:
            X, y = np.asarray(data["X"], dtype=float), data["y"]
        some = rng.permutation(len(X))[:N_IMAGES]
        X, y = X[some], y[some]
        pixels = (255 * (X - X.min()) / (X.max() - X.min())).astype(np.uint8).reshape(-1, SIDES[name], SIDES[name])
    return [Image.fromarray(one) for one in pixels], y


def measured(name: str, images: list[Any], y: NDArray[Any], way: str, chosen: str) -> dict[str, Any]:
    embedder = ImageEmbedder(way).fit(images)
    embedder.transform(images[:32])
    begun = time.perf_counter()
    X = embedder.transform(images)
    taken = time.perf_counter() - begun
    model = AutoHiDeGL(views=embedder.views_, random_state=0).fit(X)
    result: dict[str, Any] = {"data": name, "way": way, "images": len(X), "columns": X.shape[1], "auto": way == chosen}
    for per_class in PER_CLASS:
        right, linear = [], []
        for draw in DRAWS:
            labelled = draw_labels(y, per_class * len(np.unique(y)), seed=draw, kind="balanced")
            right.append(accuracy(model.relabel(hide_labels(y, labelled)).transduction_, y, labelled))
            linear.append(accuracy(by_logistic_regression(X, y, labelled), y, labelled))
        result[f"{per_class} per class"] = {"hidegl": summary(right), "logistic_regression": summary(linear)}
    print(result | {"images_per_second": round(len(X) / taken)}, flush=True)
    return result | {"images_per_second": round(len(X) / taken)}


def by_logistic_regression(X: NDArray[Any], y: NDArray[Any], labelled: NDArray[np.intp]) -> NDArray[Any]:
    rows = StandardScaler().fit_transform(X)
    return LogisticRegression(max_iter=500).fit(rows[labelled], y[labelled]).predict(rows)


def tables() -> dict[str, str]:
    heads = [f"{n} per class: hidegl | logistic regression" for n in PER_CLASS]
    lines = [
        f"| images | vectors | {' | '.join(heads)} | images per second |",
        f"|---|---|{'---|' * (2 * len(heads) + 1)}",
    ]
    for r in stored("images")["ways"]:
        cells = [
            f"{r[f'{n} per class'][who]['mean']:.1f} ± {r[f'{n} per class'][who]['std']:.1f}"
            for n in PER_CLASS
            for who in ("hidegl", "logistic_regression")
        ]
        way = f"**`{r['way']}`**" if r["auto"] else f"`{r['way']}`"
        lines.append(f"| {TITLES[r['data']]} | {way} | {' | '.join(cells)} | {r['images_per_second']:,} |")
    return {"images": "\n".join(lines)}


if __name__ == "__main__":
    main()
