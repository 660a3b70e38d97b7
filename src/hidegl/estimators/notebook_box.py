"""A fitted model in a notebook: a summary of the fit below scikit-learn's box."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

MOST_CLASSES = 12

STYLE = (
    "font: 13px/1.6 system-ui, sans-serif; margin: 6px 0 2px 2px; display: grid; gap: 0 14px; "
    "grid-template-columns: max-content 1fr; max-width: 720px"
)


class NotebookBox:
    """A mixin for estimators with a method `_facts`, which describes a fitted model by names and texts."""

    def _facts(self) -> dict[str, str]:
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        raise NotImplementedError

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._summary_html()  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._summary_html()
        return bundle

    def _summary_html(self) -> str:
        return summary_html(self._facts()) if self.__sklearn_is_fitted__() else ""


def summary_html(facts: Mapping[str, str]) -> str:
    """Names and values of a fitted model, as two columns."""
    lines = "".join(
        f'<div style="opacity: 0.65">{escape(name)}</div><div>{escape(value)}</div>' for name, value in facts.items()
    )
    return f'<div class="hidegl-summary" style="{STYLE}">{lines}</div>'


def label_facts(n_rows: int, n_labels: int, classes: Any) -> dict[str, str]:
    """The facts about rows and labels that every fitted model has."""
    if not n_labels:
        return {"rows": f"{n_rows:,}", "labels": "none yet: add some with relabel(y); suggest() says which rows help"}
    named = ", ".join(map(str, classes[:MOST_CLASSES])) + (", …" if len(classes) > MOST_CLASSES else "")
    return {"rows": f"{n_rows:,}", "labels": f"{n_labels:,}", "classes": f"{len(classes):,}: {named}"}
