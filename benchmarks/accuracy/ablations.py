"""What each part of AutoHiDeGL gains: every part is taken away in turn, on development draws.

    HIDEGL_DATA=folder python benchmarks/accuracy/ablations.py [DATA ...] [--jobs N] [--draws N]

Appends to results/ablations.jsonl the accuracy, log-loss and accepted labels without each part, on the sets of
benchmarks/groups.py. Structures are learned once for each set, and all parts see the same labels. page.py writes the
table of docs/accuracy.md.
"""

from __future__ import annotations

import sys
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from groups import GROUPS, PURE, cells_of, measured, problem
from harness import RECORDS
from hidegl import AutoHiDeGL
from hidegl.datasets import draw_labels
from hidegl.ensemble import graph_expert, kernel_expert, posterior, together
from hidegl.ensemble.class_shares import AdaptedShares, ClassShares
from hidegl.ensemble.graph_expert import GraphExpert
from hidegl.ensemble.kernel_expert import KernelExpert
from hidegl.ensemble.posterior import Evidence
from hidegl.ensemble.strays import Strays
from hidegl.ensemble.unseen import Unseen
from hidegl.questions import acceptance
from processes import heavy_first, in_processes, option

STORE = "ablations"
DRAWS = range(14, 17)
NEVER = -50.0
"""Prior log-odds of an expert that does not count."""

Patches = list[tuple[Any, str, Any]]
WHOLE = "the model"
PARTS: dict[str, Patches] = {
    WHOLE: [],
    "kernel classifier": [(KernelExpert, "evidence", lambda self: Evidence(self.held_out, NEVER))],
    "graphs": [(graph_expert, "LOG_ODDS", NEVER)],
    "views of the kernel": [(kernel_expert, "POWERS", (0.0,))],
    "average over kernels": [(kernel_expert, "KEPT_CHANCE", 0.0)],
    "cut in the prior odds of the graphs": [(graph_expert, "RATIO_POWER", 0.0)],
    "lower odds of the graphs on measurements": [(graph_expert, "MEASURED_LOG_ODDS", 0.0)],
    "lower odds of the graphs with more labels": [
        (GraphExpert, "log_odds_of_labels", property(lambda self: graph_expert.LOG_ODDS))
    ],
    "both experts together": [(posterior, "MOST_TOGETHER", 1)],
    "wrong labels in the likelihood": [(posterior, "NOISE", np.array([1e-5, 1.1e-5]))],
    "labels that count as 0.7": [(posterior, "LABEL_WEIGHT", 1.0)],
    "class shares moved before the diffusion": [(ClassShares, "strength", property(lambda self: 0.0))],
    "class shares enforced by the cut": [(GraphExpert, "_are_enforced", property(lambda self: self.shares.known))],
    "class sizes learned from the rows": [
        (ClassShares, "adapted", lambda self, P: AdaptedShares(self, self.mean, np.ones(len(self.mean))))
    ],
    "unseen classes": [(together, "unseen_classes", lambda *_: Unseen())],
    "stray labels": [(Strays, "among", classmethod(lambda cls, labels, *_: cls(np.zeros(len(labels.given), bool))))],
    "promise below the expectation": [(acceptance, "PROMISED", 0.0)],
}


def main() -> None:
    jobs, n_draws = option("--jobs", 1), option("--draws", len(DRAWS))
    in_processes(run, [(name, draw) for draw in DRAWS[:n_draws] for name in heavy_first(sys.argv[1:] or GROUPS)], jobs)


def run(name: str, draw: int) -> None:
    warnings.simplefilter("ignore")
    if any((r["data"], r["draw"]) == (name, draw) for r in RECORDS.trials(STORE)):
        return
    X, y, options = problem(name)
    model, records = AutoHiDeGL(random_state=0, **options).fit(X), []
    for kind, per_class in cells_of(name, y):
        n = per_class * len(np.unique(y))
        if kind == PURE:
            labelled = np.sort(np.random.default_rng(draw).choice(len(y), n, replace=False))
        else:
            labelled = draw_labels(y, n, seed=draw, kind=kind)
        for part, patches in PARTS.items():
            with ExitStack() as patched:
                for owner, attribute, value in patches:
                    patched.enter_context(patch.object(owner, attribute, value))
                found = measured(model, y, labelled)
            cell = {"part": part, "data": name, "kind": kind, "per_class": per_class, "draw": draw}
            records.append({**cell, **{of: found[of] for of in ("accuracy", "log_loss", "accepted", "rows")}})
    RECORDS.append(STORE, records)
    print(name, "done", flush=True)


def ablations_table() -> str:
    """How much worse each group becomes without a part."""
    import pandas as pd

    records = pd.DataFrame(RECORDS.trials(STORE))
    records["group"] = [
        group if kind != PURE else "missing" for group, kind in zip(records.data.map(GROUPS), records.kind, strict=True)
    ]
    groups = {
        "tables": "20 tables",
        "texts": "7 sets of texts",
        "vectors": "9 of vectors",
        "missing": "classes missing",
    }
    means = records.groupby(["part", "group"])[["accuracy", "log_loss"]].mean()
    lines = [f"| without | {' | '.join(f'{title}: points | log-loss' for title in groups.values())} | right at 95 % |"]
    lines.append("|---|" + "---|---|" * len(groups) + "---|")
    for part in PARTS:
        shown = []
        for group in groups:
            accuracy, loss = means.loc[part, group] - (0 if part == WHOLE else means.loc[WHOLE, group])
            shown.append(f"{accuracy:.1f} | {loss:.3f}" if part == WHOLE else f"{accuracy:+.1f} | {loss:+.3f}")
        accepted = np.array([each[1] for each in records[records.part == part].accepted])
        right = f"{100 * accepted[:, 1].sum() / accepted[:, 0].sum():.1f} of {accepted[:, 0].sum():,}"
        lines.append(f"| {'(nothing)' if part == WHOLE else part} | {' | '.join(shown)} | {right} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
