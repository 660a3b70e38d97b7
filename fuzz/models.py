"""Mutated model files: each is refused with one clear line, or loads into a model that gives valid probabilities."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.exceptions import NotFittedError

import hidegl
from fuzz.mutations import Rng, mutate, one_of
from hidegl import AutoHiDeGL, HiDeGL
from hidegl.basics.archives import DamagedFileError
from hidegl.datasets import make_three_moons
from hidegl.embedding import TableEncoder, TextEmbedder, load_embedder

STORED = Path(__file__).parent.parent / "tests" / "stored"
TEXTS = ["a red car", "a blue car", "rain today", "sun today", "a red bus", "rain and sun"] * 8

TABLE = pa.table(
    {
        "size": [float(number * number % 17) for number in range(48)],
        "colour": ["red", "blue", None, "green"] * 12,
        "day": pa.array(range(48), pa.int32()).cast(pa.date32()),
        "note": [f"{text} number {number % 13}" for number, text in enumerate(TEXTS)],
    }
)


def prepare(folder: Path) -> None:
    X, truth = make_three_moons(120, random_state=0)
    y = np.where(np.arange(120) % 8 == 0, truth, -1)
    names = np.array(["one", "two", "three", None], dtype=object)[y]
    models: dict[str, Any] = {
        "points": HiDeGL(20, random_state=0).fit(X, y),
        "names": HiDeGL(20, random_state=0, preprocess="standardize", n_components=4, rule="agr").fit(X, names),
        "few": HiDeGL(3, random_state=0, n_nearest=None, class_prior=[0.2, 0.3, 0.5]).fit(X, y),
        "start": HiDeGL(start=X[:9], random_state=0).fit(X),
        "auto": AutoHiDeGL("quick", random_state=0).fit(X, y),
        "default": AutoHiDeGL(random_state=0).fit(X, names),
    }
    for name, model in models.items():
        model.save(folder / f"{name}.model")
    vectors = (embedder := TextEmbedder("words").fit(TEXTS)).transform(TEXTS)
    kinds = np.array([text.split()[0] if number % 3 else None for number, text in enumerate(TEXTS)], dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        AutoHiDeGL("quick", random_state=0).fit(vectors, kinds).save(folder / "texts.model", embedder=embedder)
        encoder = TableEncoder().fit(TABLE)
        AutoHiDeGL("quick", random_state=0).fit(encoder.transform(TABLE), kinds).save(
            folder / "table.model", embedder=encoder
        )
    for path in STORED.glob("*.hidegl"):
        (folder / f"{path.stem}.model").write_bytes(path.read_bytes())


def case(folder: Path, rng: Rng) -> str | None:
    path = folder / "mutated"
    mutate(one_of(rng, sorted(folder.glob("*.model"))), path, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return judge(path, rng)


def judge(path: Path, rng: Rng) -> str | None:
    try:
        model = hidegl.load(path)
    except DamagedFileError:
        return None
    except ValueError as error:
        clear = "newer hidegl" in str(error) or "of the class" in str(error)
        return None if clear else f"refused by {type(error).__name__}: {error}"
    except MemoryError as error:
        return None if "of memory" in str(error) else f"MemoryError: {error}"
    try:
        return judge_model(model, path, rng)
    except NotFittedError:  # the rows are not in the file, or no label is
        return None


def judge_model(model: Any, path: Path, rng: Rng) -> str | None:
    """Everything that can be asked of a model."""
    model.summary()
    X = rng.normal(size=(40, model.n_features_in_))
    if not model.given_labels_.any:
        model.suggest(3)
        y = np.full(model.n_rows_, -1)
        y[:4] = [0, 1, 0, 1]
        model.relabel(y)
    for P in (model.predict_proba(X), model.predict_proba(1e9 * X)):
        if (wrong := invalid(P)) is not None:
            return f"predict_proba gives {wrong}"
    if (wrong := judge_embedder(path)) is not None:
        return wrong
    if not model.structures_[0].is_kept:
        return None
    if (wrong := invalid(model.label_distributions_)) is not None:
        return f"label_distributions_ has {wrong}"
    free = model.n_rows_ - len(model.given_labels_.rows)
    if free:
        model.suggestions(min(3, free))
    if not np.all(np.isfinite([judged.suspicion for judged in model.audit()])):
        return "audit gives suspicions that are not finite"
    model.unfamiliar()
    if hasattr(model, "acceptance"):
        model.expected_accuracy_, model.acceptance(0.9)
    model.save(path.with_name("again"))
    hidegl.load(path.with_name("again"))
    codes = model.given_labels_.codes
    if (wrong := invalid(model.relabel(codes).label_distributions_)) is not None:
        return f"relabel gives {wrong}"
    return None


def judge_embedder(path: Path) -> str | None:
    """The embedder of a model, if it has one: it is refused, or it gives finite numbers."""
    try:
        embedder = load_embedder(path)
    except (ValueError, ImportError):
        return None
    if embedder is None:
        return None
    try:
        vectors = embedder.transform(TABLE if embedder.kind == "table" else TEXTS[:3])
    except ValueError as error:
        clear = "cannot be used" in str(error) or "lacks columns" in str(error)
        return None if clear else f"the embedder says {error}"
    return None if vectors.shape[1] and np.all(np.isfinite(vectors)) else "the embedder gives NaN, infinity or nothing"


def invalid(P: np.ndarray) -> str | None:
    if not np.all(np.isfinite(P)):
        return "NaN or infinity"
    if P.min() < 0 or not np.allclose(P.sum(axis=1), 1, atol=1e-3):
        return "rows that are no probabilities"
    return None
