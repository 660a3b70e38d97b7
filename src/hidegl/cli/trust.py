"""How reliable the labels are: expected accuracy, accepted labels, and rows of unlabelled classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hidegl.basics.errors import UsageError
from hidegl.cli.output_formats import output_format
from hidegl.cli.outputs import LabelledOutput, output_path, titles
from hidegl.cli.screen import Screen, in_short
from hidegl.embedding import TextEmbedder
from hidegl.embedding.table_with_text import TableWithText
from hidegl.ensemble.weak_reports import JudgedSource
from hidegl.estimators.auto import AutoHiDeGL
from hidegl.estimators.calibrated import CalibratedModel
from hidegl.estimators.summaries import WORTH_SAYING, described_unseen, described_views
from hidegl.intake.results import expected_of, named_rows
from hidegl.intake.sources import STANDARD_INPUT
from hidegl.intake.tasks import Model, Task
from hidegl.questions.acceptance import Acceptance, mostly_chosen
from hidegl.questions.suggestions import MORE_LABELS
from hidegl.questions.unfamiliar import UnfamiliarGroup
from hidegl.showing.tallies import Tally

SHOWN_GROUPS, SHOWN_SUSPECTS = 3, 10

CAN_BE_TUNED = "the earlier layers count most, so these classes are not topics: --tune may help, and takes some minutes"

SUGGESTED = "hidegl chose most of the labelled rows, far apart: while labels are few, more may be right than that"

NO_GIVEN_LABELS = (
    "you gave no label, so nobody has checked what the sources say: label a few rows that `hidegl suggest` names"
)

WORTH_TUNING = 0.9
"""The maximum expected accuracy for which tuning is proposed."""


def check_accept(accept: float | None) -> None:
    if accept is not None and not 0 < accept <= 1:
        raise UsageError(
            f"--accept must be a share above 0 and at most 1, such as 0.95 or 95%, got {accept:g}", "wrong-value"
        )


def review_path(data: Path, output: Path | None, accept: float | None, *, force: bool) -> Path | None:
    """The file for the rows to review, named like the output if that was named; None without `accept`."""
    if accept is None:
        return None
    named = data if output is None or output == Path(STANDARD_INPUT) else output
    return output_path(named, None, "review", force=force, to_edit=True)


def planned_output(
    data: Path, output: Path | None, name: str, wanted: str | None, accept: float | None, *, force: bool
) -> LabelledOutput:
    """The output files for labelled rows and for rows to review, checked before any work is done."""
    check_accept(accept)
    form = output_format(wanted, output, data)
    out = output_path(data, output, name, force=force, form=form)
    return LabelledOutput(out, form, review=review_path(data, output, accept, force=force))


def acceptance_of(model: Model, accept: float | None, X: Any = None) -> Acceptance | None:
    if accept is None:
        return None
    if not isinstance(model, CalibratedModel):
        raise UsageError(
            f"--accept needs calibrated confidences: a model of `hidegl label`, not {type(model).__name__}",
            "not-for-this-data",
        )
    return model.acceptance(accept, X)


def show_trust(
    screen: Screen, task: Task, model: CalibratedModel, tally: Tally, acceptance: Acceptance | None
) -> dict[str, Any]:
    """Report the expected accuracy, the accepted labels, and groups without labels."""
    expected = expected_of(task, model)
    if tally.found.any():
        screen.note("expected", f"{expected}; {model.majority_}")
        if mostly_chosen(task.labels.n_suggested, task.labels.n_labels):
            screen.warn(SUGGESTED, "chosen-rows")
    unseen = show_unseen(screen, model)
    facts = show_sources(screen, model) | show_views(screen, model) | show_acceptance(screen, acceptance)
    facts |= show_gain(screen, task, model)
    show_tuning(screen, task, model)
    groups = model.unfamiliar() if len(model.given_labels_.rows) else []
    for group in groups[:SHOWN_GROUPS]:
        screen.warn(described_group(task, group), "unlabelled-group")
    if len(groups) > SHOWN_GROUPS:
        screen.warn(f"and {len(groups) - SHOWN_GROUPS} more such groups", "unlabelled-group")
    return {
        "mean_confidence": round(tally.mean_confidence, 4),
        "expected_accuracy": {name: round(value, 4) for name, value in expected._asdict().items()},
        "majority": {"label": str(model.majority_.label), "share": round(model.majority_.share, 4)},
        **facts,
        "unseen_share": round(unseen, 4),
        "unfamiliar": [{"rows": len(group.rows), "examples": group.examples, "label": group.label} for group in groups],
    }


def show_sources(screen: Screen, model: CalibratedModel) -> dict[str, Any]:
    """Report the accuracy of each weak source."""
    for source in model.sources_:
        screen.note("source", f"{source.name}: {source}")
        if source.confused:
            pairs = ", ".join(f"{said!r} for {true!r} ({share:.0%})" for true, said, share in source.confused)
            screen.note("", f"it says {pairs}")
    if model.sources_ and not len(model.given_labels_.rows):
        screen.warn(NO_GIVEN_LABELS, "no-given-labels")
    return {"sources": [source_facts(source) for source in model.sources_]} if model.sources_ else {}


def show_suspects(screen: Screen, task: Task, model: AutoHiDeGL) -> dict[str, Any]:
    """Report the accuracy of each weak source, and its labels that are most probably wrong."""
    facts = show_sources(screen, model)
    for source, told in zip(model.sources_, facts.get("sources", ()), strict=True):
        told |= show_worth(screen, model, source.name)
        suspects = [one for one in model.audit_source(source.name) if one.doubtful]
        described = named_rows(task, [one.row for one in suspects])
        rows = [{key: described[key][i] for key in described} for i in range(len(suspects))]
        told["doubtful"] = [{**row, **one._asdict()} for row, one in zip(rows, suspects, strict=True)]
        names = {**titles(described), "given": "it says", "proposed": "proposed", "suspicion": "probably wrong"}
        if suspects:
            title = f"Labels by {source.name} that are most probably wrong"
            screen.table(title, names, told["doubtful"][:SHOWN_SUSPECTS])
    return facts


def show_worth(screen: Screen, model: AutoHiDeGL, name: str) -> dict[str, Any]:
    """Say how many labels would be right without a weak source."""
    without = model.accuracy_without(name)
    if without is None:
        return {}
    with_all = model.expected_accuracy_.mean
    screen.note("", f"with {name} about {with_all:.1%} of all labels are right, without it {without.mean:.1%}")
    return {"expected_with": round(with_all, 4), "expected_without": round(without.mean, 4)}


def source_facts(source: JudgedSource) -> dict[str, Any]:
    """A judged source for programs."""
    numbers = {name: round(getattr(source, name), 4) for name in ("accuracy", "low", "high")}
    agreement = None if source.agreement is None else round(source.agreement, 4)
    confused = [{"true": str(true), "said": str(said), "share": round(p, 4)} for true, said, p in source.confused]
    own = {"name": source.name, "rows": source.n_rows, "checked": source.n_checked, "agreement": agreement}
    return {**own, **numbers, "used": source.used, "confused": confused}


def show_views(screen: Screen, model: CalibratedModel) -> dict[str, Any]:
    """Report the weight of each view of the rows."""
    weights = model.settings_.get("view_weights")
    if weights is None:
        return {}
    screen.note("views", described_views(weights))
    return {"view_weights": {name: round(weight, 4) for name, weight in weights.items()}}


def show_tuning(screen: Screen, task: Task, model: CalibratedModel) -> None:
    """Propose --tune if the last layer of the sentence model, which represents topics, has less weight than earlier
    ones.
    """
    embedder, weights = task.embedder, model.settings_.get("view_weights", {})
    embedder = embedder.texts if isinstance(embedder, TableWithText) else embedder
    if not isinstance(embedder, TextEmbedder) or embedder.tune or embedder.way_.name != "minilm+layers" or not weights:
        return
    if next(iter(weights.values())) < 0.5 and model.expected_accuracy_.mean < WORTH_TUNING:
        screen.note("tune", CAN_BE_TUNED)


def show_unseen(screen: Screen, model: CalibratedModel) -> float:
    """Report how many rows may be of a class without labels."""
    labels = model.given_labels_
    unseen = model.unseen_
    free = np.ones(labels.n_rows, dtype=bool)
    free[labels.rows] = False
    share = float(unseen[free].mean()) if unseen is not None and free.any() else 0.0
    if share >= WORTH_SAYING:
        screen.warn(described_unseen(labels, share), "unseen")
    return share


def show_gain(screen: Screen, task: Task, model: CalibratedModel) -> dict[str, Any]:
    """Report the expected gain of a few more labels."""
    if task.table.n_rows - task.labels.n_labels < MORE_LABELS:
        return {}
    gain = 100 * model.expected_gain(MORE_LABELS)
    points = f"about {gain:.1f} points" if gain >= 0.05 else "next to nothing"
    screen.note("more", f"{MORE_LABELS} more labels would gain {points}: `hidegl suggest` says which")
    return {"expected_gain": {"labels": MORE_LABELS, "points": round(gain, 2)}}


def show_acceptance(screen: Screen, acceptance: Acceptance | None) -> dict[str, Any]:
    if acceptance is None:
        return {}
    screen.note("accepted", str(acceptance))
    return {
        "accepted": {
            "rows": acceptance.n_rows,
            "share": round(acceptance.share, 4),
            "threshold": acceptance.threshold,
            "expected_precision": round(acceptance.expected_precision, 4),
        }
    }


def described_group(task: Task, group: UnfamiliarGroup) -> str:
    """A sentence about a group of rows without labels."""
    described = named_rows(task, group.examples[:1], most=0)
    *_, last = described.values()
    example = f"row {group.examples[0]:,}"
    if len(described) > 1 and last[0] not in (None, ""):
        example += f", {in_short(last[0])!r}"
    return (
        f"{len(group.rows):,} rows form a group without any label, for example {example}; most of them are "
        f"now labelled {group.label!s}"
    )
