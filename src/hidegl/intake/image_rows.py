"""A folder of images as rows."""

from __future__ import annotations

import base64
import io
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hidegl._version import __version__
from hidegl.basics.errors import UsageError, joined_names
from hidegl.basics.progress import Progress
from hidegl.embedding import ImageEmbedder, efficientnet
from hidegl.embedding.image_ways import OWN
from hidegl.embedding.images import ENDINGS, UnreadableImageError, read_image
from hidegl.ensemble.members import EMBEDDING, phases_of_embedding
from hidegl.files.tables import MemoryTable, Table
from hidegl.intake.notes import Notes
from hidegl.intake.sources import MemorySource, Source
from hidegl.intake.text_rows import functions_of_this_folder
from hidegl.intake.vector_cache import FOLDER, VectorCache, keep, keep_embedder, read_image_embedder, read_vectors
from hidegl.spreading.labels import is_blank

PATH = "path"
"""The name of the column with the path of each image in the folder."""

THUMBNAIL, LARGEST_SIDE = 72, 1024
"""The maximum number of pixels of each side, of a small image in the report, and of an image in Studio."""

MEDIA = "image/webp"

SECONDS_AN_IMAGE = 3e-2
"""An estimate of the time for one image, until it is measured."""


def are_in(source: Source | MemorySource) -> bool:
    """Whether the source is a folder of images, or some images."""
    if isinstance(source, MemorySource):
        return source.images is not None
    if not source.is_folder:
        return all(path.suffix.lower() in ENDINGS for path in source.paths)
    folder = source.paths[0]
    return not any(folder.glob("*.parquet")) and next(images_under(folder), None) is not None


def images_under(folder: Path) -> Iterator[Path]:
    """Every image of a folder and its subfolders, except those whose names begin with a dot."""
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)
        if path.suffix.lower() in ENDINGS and path.is_file() and not any(part.startswith(".") for part in inside.parts):
            yield path


def items_of(source: Source | MemorySource) -> tuple[list[Any], list[str]]:
    """The images (paths, or images in memory) and their names; those of a folder are sorted by name."""
    if isinstance(source, MemorySource):
        images = source.images or {}
        return list(images.values()), list(images)
    if not source.is_folder:
        missing = [path for path in source.paths if not path.is_file()]
        if missing:
            raise UsageError(f"no such file or folder: {missing[0]}", "no-such-file")
        return list(source.paths), [str(path) for path in source.paths]
    paths = sorted(images_under(source.paths[0]))
    return paths, [path.relative_to(source.paths[0]).as_posix() for path in paths]


class ImageRows(NamedTuple):
    """The images that can be read: their vectors, a table of their paths, and which of all images they are."""

    vectors: NDArray[np.float32]
    table: MemoryTable
    readable: NDArray[np.bool_]


def all_paths(source: Source | MemorySource) -> MemoryTable:
    """A table of the paths of all images, whether they can be read or not."""
    return MemoryTable(pa.table({PATH: pa.array(items_of(source)[1], pa.string())}))


def learned(source: Source | MemorySource, notes: Notes, name: str, *, cached: bool) -> tuple[ImageRows, ImageEmbedder]:
    """The rows, and the embedder of this name that made them."""
    paths, names = items_of(source)
    choice = f"{name} {efficientnet.is_here()} {__version__}"
    place = place_of(source, choice, paths, names, used=cached and name in ("auto", *OWN))
    place, begun = place and place.with_suffix(".npz"), time.perf_counter()
    try:
        with functions_of_this_folder(name):
            embedder = read_image_embedder(place, name) or ImageEmbedder(name).fit(paths)
        keep_embedder(place, embedder, time.perf_counter() - begun)
    except UnreadableImageError as error:
        raise UsageError(f"none of the {len(paths):,} images in {source} can be read", "damaged") from error
    except (ImportError, ValueError, OSError) as error:
        raise UsageError(f": {error}", "embedder", "--embedder") from error
    rows = embedded(source, notes, embedder, cached=cached)
    if name == "auto" and embedder.way_.name == "pixels":
        notes.warn(
            "images are compared by their pixels; to compare what they show: pip install 'hidegl[images]'",
            "pixels-only",
        )
    return rows, embedder


def embedded(source: Source | MemorySource, notes: Notes, embedder: ImageEmbedder, *, cached: bool) -> ImageRows:
    """The rows by a given embedder. A note names images that cannot be read."""
    paths, names = items_of(source)
    place = place_of(source, embedder.way_.mark, paths, names, used=cached)
    begun, how = time.perf_counter(), f"from {FOLDER}"
    vectors = read_vectors(place, len(paths))
    if vectors is None:
        with Progress(verbose=notes.verbose) as progress:
            progress.plan(phases_of_embedding(len(paths), SECONDS_AN_IMAGE))
            progress.begin(EMBEDDING, len(paths))
            vectors = embedder.transform_readable(paths)
        taken = time.perf_counter() - begun
        keep(place, vectors, taken)
        how = f"in {taken:.1f} s"
    readable: NDArray[np.bool_] = np.asarray(np.isfinite(vectors).all(axis=1))
    if not readable.any():
        raise UsageError(f"none of the {len(paths):,} images in {source} can be read", "damaged")
    notes.note("embedded", f"{readable.sum():,} images by {embedder.way_.name}, {how}")
    broken = [names[place] for place in np.flatnonzero(~readable)]
    left_out = (
        (f"{len(broken):,} of the images cannot be read and are left out: {joined_names(broken, 3)}",) if broken else ()
    )
    table = pa.table({PATH: pa.array([names[place] for place in np.flatnonzero(readable)], pa.string())})
    return ImageRows(vectors[readable], MemoryTable(table, left_out), readable)


def place_of(
    source: Source | MemorySource, mark: str, paths: list[Path], names: list[str], *, used: bool
) -> Path | None:
    """The cache of vectors with this mark of these images; None for images in memory."""
    if isinstance(source, MemorySource):
        return None
    cache = VectorCache(source.paths[0] / "images" if source.is_folder else source.paths[0], used=used)
    return cache.place(mark, (version_of(path, name) for path, name in zip(paths, names, strict=True)))


def version_of(path: Path, name: str) -> bytes:
    """A text that changes when the file does. It has no hash of the content, because reading takes as long as
    embedding.
    """
    facts = path.stat()
    return f"{name} {facts.st_size} {facts.st_mtime_ns}".encode()


def folders_of(source: Source | MemorySource, table: MemoryTable) -> NDArray[Any]:
    """The folder of each image as its label; None for images in no subfolder, or in one such as "unlabelled"."""
    labels = np.full(table.n_rows, None, dtype=object)
    for row, path in enumerate(table.column(PATH).to_pylist()):
        folders = Path(path).parts[:-1]
        if folders and not is_blank(name := folders[0 if source.is_folder else -1]):
            labels[row] = name
    return labels


def thumbnails(source: Source | MemorySource, table: Table, rows: Sequence[int] | NDArray[np.intp]) -> list[str]:
    """Small images of these rows, as data URLs; "" for images that can no longer be read."""
    found = [shrunk(item, THUMBNAIL) for item in items_at(source, table, rows)]
    return [f"data:{MEDIA};base64,{base64.b64encode(content).decode()}" if content else "" for content in found]


def image_of(source: Source | MemorySource, table: Table, row: int) -> tuple[bytes, str]:
    """An image for a browser, and its media type. It is empty if the image can no longer be read."""
    return shrunk(items_at(source, table, [row])[0], LARGEST_SIDE), MEDIA


def items_at(source: Source | MemorySource, table: Table, rows: Sequence[int] | NDArray[np.intp]) -> list[Any]:
    names = table.take(np.asarray(rows, dtype=np.intp), [PATH]).column(0).to_pylist()
    if isinstance(source, MemorySource):
        return [(source.images or {})[name] for name in names]
    folder = source.paths[0] if source.is_folder else Path()
    return [folder / name for name in names]


def shrunk(item: Any, side: int) -> bytes:
    """The image with at most this number of pixels on each side; empty if it cannot be read."""
    try:
        image = read_image(item)
    except UnreadableImageError:
        return b""
    image.thumbnail((side, side))
    content = io.BytesIO()
    image.save(content, "WEBP", quality=80)
    return content.getvalue()
