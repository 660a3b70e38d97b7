"""Mutated checkpoints: each is refused with one clear line, or the fit ends as if nothing had happened.

In some cases the digest of the file is made right again, as somebody could who knows how. Then the fit may end
otherwise, but with valid probabilities.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.models import invalid
from fuzz.mutations import Rng, mutate, one_of
from hidegl import AutoHiDeGL, HiDeGL
from hidegl.basics.archives import DamagedFileError
from hidegl.datasets import make_three_moons
from hidegl.structure.checkpoint import digest

FITS: dict[str, Any] = {
    "points": lambda **options: HiDeGL(12, random_state=0, tol=0, max_iter=6, **options),
    "paper": lambda **options: HiDeGL(8, random_state=0, tol=0, max_iter=6, learning_rows=None, **options),
    "reduced": lambda **options: HiDeGL(8, random_state=0, max_iter=6, n_components=4, **options),
    "auto": lambda **options: AutoHiDeGL(random_state=0, **options),
}
ITERATIONS = (1, 4, 12)


class StoppedError(Exception):
    """A fit that is broken off."""


def rows() -> tuple[np.ndarray, np.ndarray]:
    X, truth = make_three_moons(90, random_state=0)
    return X, np.where(np.arange(90) % 9 == 0, truth, -1)


def prepare(folder: Path) -> None:
    X, y = rows()
    for name, fit in FITS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.save(folder / f"{name}.npy", fit().fit(X, y).label_distributions_)
            for last in ITERATIONS:
                broken_off(fit, last, folder / f"{name}.{last}.checkpoint")


def broken_off(fit: Any, last: int, path: Path) -> None:
    X, y = rows()
    seen = 0

    def stop(_: object) -> None:
        nonlocal seen
        seen += 1
        if seen > last:
            raise StoppedError

    try:
        fit(checkpoint=path, callback=stop).fit(X, y)
    except StoppedError:
        return


def case(folder: Path, rng: Rng) -> str | None:
    path, source = folder / "mutated", one_of(rng, sorted(folder.glob("*.checkpoint")))
    name, right = source.name.partition(".")[0], rng.random() < 0.5
    mutate(source, path, rng, make_right if right else lambda *_: None)
    X, y = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = FITS[name](checkpoint=path).fit(X, y)
        except DamagedFileError:
            return None
        except ValueError as error:
            clear = any(words in str(error) for words in ("newer hidegl", "of another fit", "is something else"))
            return None if clear else f"{type(error).__name__}: {error}"
        except MemoryError as error:
            return None if "of memory" in str(error) else f"MemoryError: {error}"
        P = model.label_distributions_
    if (wrong := invalid(P)) is not None:
        return f"the fit gives {wrong}"
    if not right and not np.array_equal(P, np.load(folder / f"{name}.npy")):
        return "the fit ended otherwise"
    return None


def make_right(header: Any, arrays: Any) -> None:
    if isinstance(header, dict):
        header.pop("digest", None)
        header["digest"] = digest({name: value for name, value in header.items() if name != "format"}, arrays)
