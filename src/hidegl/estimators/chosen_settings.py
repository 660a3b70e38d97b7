"""What an ensemble chose, by name: `AutoHiDeGL.settings_`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hidegl.ensemble.mixture import Mixture
from hidegl.structure.structure import Structure
from hidegl.structure.views import AnyPreparation


def chosen_settings(
    effort: str,
    preparation: AnyPreparation,
    structures: Sequence[Structure],
    mixture: Mixture,
    views: Mapping[str, int],
) -> dict[str, Any]:
    """Of the structures alone, and with labels of the mixture, too."""
    settings: dict[str, Any] = {
        "effort": effort,
        "preprocess": preparation.preprocess,
        "dtype": preparation.dtype,
        "n_components": sum(part.width for part in preparation.parts),
        "n_points": [structure.n_points for structure in structures],
        "sigma": [structure.sigma for structure in structures],
    }
    if mixture.labels.any:
        settings |= mixture.settings
        if views:
            weights = mixture.column_weights([structure.columns for structure in structures])
            spans = zip(views, preparation.spans, strict=True)
            settings["view_weights"] = {name: weights.get(columns, 0.0) for name, columns in spans}
    return settings
