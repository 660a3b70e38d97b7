"""Conversion of model files of version 0.1 (format 1) to the present format."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.archives import Arrays, State, prefixed, under

PREPARATION = ("offset", "bounds", "scale", "basis")
STRUCTURE = ("C", "tree", "objective", "mass", "columns", "weights")
LABELLING = ("coef", "delta", "scales")


def upgraded(values: dict[str, Any], arrays: Arrays) -> State:
    """The state of a model in the present format.

    In format 1, an ensemble consisted of complete models. Each subtracted its own offset from the prepared rows.
    """
    settings, codes = values["settings"], arrays["codes"]
    rows = np.flatnonzero(codes != -1)
    members = values.get("members", [{"values": values}])
    new = {
        "classes": arrays["classes"],
        "labelled_rows": rows,
        "labelled_codes": codes[rows],
        **prefixed("preparation.", some(arrays, PREPARATION)),
        **some(arrays, ("feature_names", "distributions")),
    }
    for number in range(len(members)):
        stored = under(f"{number}.", arrays) if "members" in values else arrays
        own = some(stored, (*STRUCTURE, *LABELLING, "offset"))
        if "members" in values:
            own["C"] = own["C"] + own["offset"]
        new |= prefixed(f"structure.{number}.", some(own, STRUCTURE))
        new |= prefixed(f"labelling.{number}." if "members" in values else "labelling.", some(own, LABELLING))
    labelling: dict[str, Any] = {}
    if "members" in values and len(rows):
        weight = settings["linear_weight"]
        labelling = {
            "temperature": settings["temperature"] / (1 - weight),
            "weights": [1 - weight, weight],
            "doubt": 0.0,
            "shares_are": settings["shares_are"],
        }
        new["labelling.scales"] = arrays["scales"]
        if "head_coef" in arrays:
            labelling["head_width"] = 1.0
            head = linear_head(weight * arrays["head_coef"], weight * arrays["head_intercept"])
            new |= prefixed("labelling.head_", head)
        new["labelling.expected_shares"] = np.array(settings["class_shares"])
    plain = {
        "n_rows": len(codes),
        "preparation": {"preprocess": settings["preprocess"], "dtype": settings["dtype"]},
        "structures": [of_member(member["values"]) for member in members],
        "labelling": labelling,
    }
    return {**plain, "effort": settings.get("effort"), "seed": 0}, new


def linear_head(coef: NDArray[Any], intercept: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """A linear classifier, in which no kernel has a centre."""
    d, c = coef.shape
    return {"centres": np.zeros((0, d)), "coef": np.zeros((0, c)), "linear": coef, "intercept": intercept}


def of_member(values: dict[str, Any]) -> dict[str, Any]:
    settings = values["settings"]
    own = {name: settings[name] for name in ("sigma", "n_nearest", "learning_rows")}
    return {**own, "n_iter": values["n_iter"], "converged": values["converged"]}


def some(arrays: Arrays, names: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    return {name: arrays[name] for name in names if name in arrays}
