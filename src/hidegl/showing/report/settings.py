"""The value of every automatic setting, in words."""

from __future__ import annotations

from typing import Any

NAMES = {
    "effort": "effort",
    "preprocess": "preparation of rows",
    "n_components": "dimensions used",
    "dtype": "precision",
    "n_points": "high-dense points",
    "sigma": "width of assignments (σ)",
    "n_nearest": "points per row",
    "learning_rows": "rows used to learn the points",
    "class_shares": "expected class shares",
    "kernel_weight": "weight of the kernel classifier",
    "view_weights": "weights of the views",
}

PREPARATIONS = {"unit": "scaled to length 1", "standardize": "standardised by column", None: "used as they are"}


def described_settings(model: Any) -> dict[str, str]:
    """The settings of a fitted model by name."""
    return {NAMES.get(name, name.replace("_", " ")): spoken(name, value) for name, value in model.settings_.items()}


def spoken(name: str, value: Any) -> str:
    if name == "preprocess":
        return PREPARATIONS.get(value, str(value))
    if isinstance(value, list | tuple):
        parts = list(dict.fromkeys(spoken("", part) for part in value))
        return ", ".join(parts[:12]) + (", …" if len(parts) > 12 else "")
    if isinstance(value, dict):
        return ", ".join(f"{key}: {spoken('', part)}" for key, part in value.items())
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
