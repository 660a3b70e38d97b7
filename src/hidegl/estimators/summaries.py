"""Sentences about automatic choices, for summaries and reports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from hidegl.spreading.labels import Labels

PREPARATIONS = {
    "unit": "scaled to length 1, because no value is negative or there are many columns",
    "standardize": "standardised by column, because columns are few or of several units, or rows differ by length",
    None: "used as they are",
}


MOST_SHARES = 10
"""The maximum number of class shares in a summary."""

WORTH_SAYING = 0.05
"""The least share of rows of unlabelled classes that is mentioned."""


def described_rows(n_rows: int, n_columns: int, settings: dict[str, Any]) -> str:
    prepared = PREPARATIONS[settings["preprocess"]]
    return f"{n_rows:,} rows of {n_columns:,} columns, {prepared}; {settings['n_components']} dimensions are used."


def counted_models(n: int) -> str:
    return "one model" if n == 1 else f"{n} models"


def described_views(weights: dict[str, float]) -> str:
    """The weight of each view, the largest first."""
    (name, share), *others = sorted(weights.items(), key=lambda pair: -pair[1])
    rest = ", ".join(f"{other!r} {own:.0%}" for other, own in others)
    return f"{name!r} counts most: {share:.0%} ({rest})"


def named_shares(classes: Iterable[Any], shares: Iterable[float]) -> str:
    """The first classes with their shares of the rows."""
    named = [f"{name}: {share:.0%}" for name, share in zip(classes, shares, strict=True)]
    return ", ".join(named[:MOST_SHARES]) + (
        f" and {len(named) - MOST_SHARES} more" if len(named) > MOST_SHARES else ""
    )


def described_classes(labels: Labels) -> str:
    return f"{len(labels.rows):,} labels of {len(labels.classes):,} classes"


def open_questions(labels: Labels, unseen: float, sizes_unknown: float) -> list[str]:
    """Sentences about what labels do not determine, from the share of rows whose class may have no label, and the
    probability that label counts carry no information about class sizes.
    """
    sentences = [] if unseen < WORTH_SAYING else [f"{described_unseen(labels, unseen)}."]
    if len(labels.classes) > 1 and sizes_unknown > 0.5:
        sentences.append(
            "Each class has about equally many labels, so class sizes are not known: if you know them roughly, "
            "class_prior makes confidences more certain."
        )
    return sentences


def described_unseen(labels: Labels, share: float) -> str:
    """A sentence about rows of classes without labels."""
    single = int(np.sum(labels.counts == 1))
    return (
        f"About {share:.0%} of the rows may be of classes without a label: of {len(labels.classes)} classes, {single} "
        f"{'has' if single == 1 else 'have'} only one"
    )


def ensemble_summary(model: Any, labels: Labels, sizes_unknown: float) -> str:
    """The summary of an `AutoHiDeGL`; `labels` are its given labels without unlabelled classes."""
    s, n_models = model.settings_, len(model.structures_)
    sizes = ", ".join(f"{k:,}" for k in sorted(set(s["n_points"])))
    averaged = ", averaged" if n_models > 1 else ""
    lines = [
        described_rows(labels.n_rows, model.n_features_in_, s),
        f"{counted_models(n_models).capitalize()} with {sizes} points{averaged}.",
        *(f"Weak source {source.name!r}: {source}." for source in model.sources_),
    ]
    if model.given_labels_.any:
        lines += [
            f"{described_classes(labels)}; expected shares: {named_shares(model.classes_, s['class_shares'])}.",
            f"The kernel classifier has {s['kernel_weight']:.0%} of the weight, the graphs have the rest: by how "
            f"well each predicts labels that it has not seen.",
            *([f"Of the views, {described_views(s['view_weights'])}."] if "view_weights" in s else []),
            f"Expected: {model.expected_accuracy_}; {model.majority_}.",
            *open_questions(labels, s["unseen_share"], sizes_unknown),
        ]
    return "\n".join(lines)
