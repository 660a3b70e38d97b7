"""The methods of embedding images. A saved model contains the name of its method and what identifies it.

efficientnet         a small network that was trained on photos, which comes with the extra `images`
pixels               the pixels, in three colours
efficientnet+pixels  both, as two views
package.module:name  a function of yours, from a list of Pillow images to an array
any other name       a sentence-transformers model for images, by its hub name or path
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.archives import EMBEDDER, State
from hidegl.basics.stored import Stored
from hidegl.embedding import efficientnet
from hidegl.embedding.ways import Named, Way, check_named, same_as_saved

if TYPE_CHECKING:
    from PIL.Image import Image

Vectors = NDArray[np.float32]

OWN = ("efficientnet", "pixels", "efficientnet+pixels")
"""The names of the embedders that come with hidegl."""

MOST_SIDE = 32
"""Pixels are compared in images that are scaled to at most this size."""


@dataclass(frozen=True)
class Network:
    """The image network of the extra `images`."""

    name: str = "efficientnet"
    views: ClassVar[dict[str, int]] = {}

    @property
    def mark(self) -> str:
        return f"{self.name} {efficientnet.SIDE} {efficientnet.WEIGHTS[:16]}"

    def embed(self, items: list[Image]) -> Vectors:
        return efficientnet.embed(items) if items else np.empty((0, efficientnet.N_COLUMNS), dtype=np.float32)

    def state(self) -> State:
        return {"name": self.name, "mark": self.mark}, {}


@dataclass(frozen=True)
class Pixels:
    """The pixels of images that are scaled to one size."""

    width: int
    height: int
    name: str = "pixels"
    views: ClassVar[dict[str, int]] = {}

    @classmethod
    def fitting(cls, images: list[Image]) -> Self:
        """The size of the images, if they are small."""
        width, height = np.median([image.size for image in images], axis=0)
        shrink = max(width, height, MOST_SIDE) / MOST_SIDE
        return cls(max(round(width / shrink), 1), max(round(height / shrink), 1))

    @property
    def n_columns(self) -> int:
        return 3 * self.width * self.height

    @property
    def mark(self) -> str:
        return f"{self.name} {self.width}x{self.height}"

    def embed(self, items: list[Image]) -> Vectors:
        size = self.width, self.height
        scaled = [np.asarray(image if image.size == size else image.resize(size)) for image in items]
        return np.array(scaled, dtype=np.float32).reshape(len(items), self.n_columns) / np.float32(255)

    def state(self) -> State:
        return {"name": self.name, "mark": self.mark, "width": self.width, "height": self.height}, {}


@dataclass(frozen=True)
class NetworkAndPixels:
    """Vectors of the network and pixels, as two views."""

    pixels: Pixels
    name: str = "efficientnet+pixels"

    @property
    def mark(self) -> str:
        return f"{Network().mark} {self.pixels.mark}"

    @property
    def views(self) -> dict[str, int]:
        return {"network": efficientnet.N_COLUMNS, "pixels": self.pixels.n_columns}

    def embed(self, items: list[Image]) -> Vectors:
        return np.hstack([Network().embed(items), self.pixels.embed(items)])

    def state(self) -> State:
        return self.pixels.state()[0] | {"name": self.name, "mark": self.mark}, {}


@dataclass(frozen=True)
class CentredNetworkAndPixels:
    """Network and pixels as one view, in files of version 0.2. Each part is centred and scaled to length 1."""

    both: NetworkAndPixels
    network_mean: Vectors
    pixels_mean: Vectors
    name: str = "efficientnet+pixels"
    views: ClassVar[dict[str, int]] = {}

    @property
    def mark(self) -> str:
        means = hashlib.sha256(self.network_mean.tobytes() + self.pixels_mean.tobytes()).hexdigest()
        return f"{self.both.mark} {means[:16]}"

    def embed(self, items: list[Image]) -> Vectors:
        centred = self.both.embed(items) - np.concatenate([self.network_mean, self.pixels_mean])
        parts = np.split(centred, [len(self.network_mean)], axis=1)
        return np.hstack([part / np.maximum(np.linalg.norm(part, axis=1, keepdims=True), 1e-12) for part in parts])

    def state(self) -> State:
        values = self.both.state()[0] | {"mark": self.mark}
        return values, {"network_mean": self.network_mean, "pixels_mean": self.pixels_mean}


def chosen(name: str, images: list[Image], *, local: bool = False) -> Way:
    """The method of embedding with this name, fitted to images like these.

    "auto" is the network together with the pixels if the network is installed, and the pixels alone otherwise. With
    `local`, nothing is downloaded.
    """
    if name == "auto":
        name = "efficientnet+pixels" if efficientnet.is_here() else "pixels"
    if name.startswith("efficientnet") and not efficientnet.is_here():
        raise ImportError(f"the embedder {name!r} needs an extra: pip install 'hidegl[images]'")
    if name == "efficientnet":
        return Network()
    if name == "pixels":
        return Pixels.fitting(images)
    if name == "efficientnet+pixels":
        return NetworkAndPixels(Pixels.fitting(images))
    return Named.found(name, tuple(probe_images()), local=local)


def restored(state: State, named: str | None = None) -> Way:
    """Restore the embedder of a file; an error if it is not installed, or not the same."""
    stored = Stored(*state, EMBEDDER)
    check_named(stored.text("name"), named)
    return same_as_saved(way_of(stored, local=named is None), state)


def way_of(stored: Stored, *, local: bool) -> Way:
    name = stored.text("name")
    if name not in ("pixels", "efficientnet+pixels"):
        return chosen(name, [], local=local)
    pixels = Pixels(stored.whole("width", 1, MOST_SIDE), stored.whole("height", 1, MOST_SIDE))
    if name == "pixels":
        return pixels
    if not efficientnet.is_here():
        raise ImportError(f"the embedder {name!r} needs an extra: pip install 'hidegl[images]'")
    both = NetworkAndPixels(pixels)
    if not stored.has("network_mean"):
        return both
    network_mean = stored.array("network_mean", "float32", str(efficientnet.N_COLUMNS))
    return CentredNetworkAndPixels(both, network_mean, stored.array("pixels_mean", "float32", str(pixels.n_columns)))


def probe_images() -> list[Any]:
    """Two images whose vectors identify an embedder."""
    from PIL import Image

    across, down = np.meshgrid(np.arange(64), np.arange(64))
    first = np.stack([4 * across, 4 * down, 255 - 4 * across], axis=2)
    second = np.where((across // 8 + down // 8)[:, :, None] % 2, [250, 200, 20], [10, 60, 120])
    return [Image.fromarray(pixels.astype(np.uint8)) for pixels in (first, second)]
