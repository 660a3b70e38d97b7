"""The contents of the report, from a fitted model, and the page that shows them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from hidegl._version import __version__
from hidegl.basics.whole_files import replacing
from hidegl.estimators.calibrated import CalibratedModel
from hidegl.estimators.summaries import WORTH_SAYING, described_unseen
from hidegl.questions.acceptance import ExpectedAccuracy
from hidegl.questions.suggestions import MORE_LABELS, Suggestion, representatives
from hidegl.questions.unfamiliar import UnfamiliarGroup
from hidegl.showing.colours import class_colours
from hidegl.showing.maps import Border, PointMap, borders, point_map
from hidegl.showing.report.decisions import Decision
from hidegl.showing.report.row_texts import LONGEST_TEXT, Describe, DescribedRows, Thumbnails
from hidegl.showing.report.settings import described_settings
from hidegl.showing.tallies import N_BINS, Tally, tally_of

if TYPE_CHECKING:
    from hidegl.estimators.model import Model

N_SUGGESTED, N_SUSPECTS, N_BORDERS, N_CLASSES, N_GROUPS, N_EXAMPLES = 20, 20, 12, 100, 10, 3
"""The maximum number of entries in each list."""


def write_report(
    path: str | Path,
    model: Model,
    *,
    title: str = "hidegl",
    tally: Tally | None = None,
    describe: Describe | None = None,
    thumbnails: Thumbnails | None = None,
    seconds: float | None = None,
    facts: dict[str, str] | None = None,
    notes: Sequence[dict[str, str]] = (),
    columns: Sequence[dict[str, Any]] = (),
    precision: float = 0.95,
    expected: ExpectedAccuracy | None = None,
) -> None:
    """Write a report about a model that was fitted with labels, as one HTML file.

    Parameters
    ----------
    path : str or path
    model : HiDeGL or AutoHiDeGL
    title : str
        The name of the data.
    tally : Tally, default=None
        Counts over the labelled rows, if a pass was made already.
    describe : callable, default=None
        From row numbers to named columns (`row` first) that identify the rows for a person.
    thumbnails : callable, default=None
        From row numbers to small images as data URLs, for rows that are images.
    seconds : float, default=None
        The time of the fit.
    facts : dict, default=None
        More facts for the last section.
    notes : list of dict, default=()
        Notes for the user, each with `code` and `text`.
    columns : list of dict, default=()
        Facts about each column of the table.
    precision : float, default=0.95
        The share of the accepted labels that should be right.
    expected : ExpectedAccuracy, default=None
        The expected accuracy. None: that of the model.
    """
    try:
        import jinja2
        import markupsafe

        from hidegl.showing.report.charts import page_script
    except ImportError as error:
        raise ImportError("the report needs bokeh and jinja2: pip install 'hidegl[report]'") from error
    describe = describe or (lambda rows: {"row": rows.tolist()})
    contents = ReportContents(model, tally or tally_of(model), DescribedRows(describe, thumbnails), precision, expected)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hidegl.showing.report", "."), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["count"] = lambda number: f"{number:,.0f}"
    environment.filters["breakable"] = lambda name: markupsafe.escape(name).replace("_", markupsafe.Markup("_<wbr>"))
    page = environment.get_template("page.html.jinja").render(
        title=title,
        contents=contents,
        seconds=seconds,
        facts=facts or {},
        notes=[note["text"] for note in notes],
        columns=columns,
        settings=described_settings(model),
        summary=model.summary().splitlines(),
        style=(files("hidegl.showing.report") / "style.css").read_text(),
        script=page_script(contents),
        made=in_words(datetime.datetime.now()),
        version=__version__,
        bins=N_BINS,
        sources=[(source, model.accuracy_without(source.name)) for source in getattr(model, "sources_", ())],
    )
    with replacing(Path(path)) as file:
        file.write(page.encode())


def in_words(moment: datetime.datetime) -> str:
    """A day and a time, such as 3 May 2025, 09:07. Not every system supports a format without the zero of 03."""
    return f"{moment.day} {moment:%B %Y, %H:%M}"


@dataclass(frozen=True)
class ClassLine:
    """A line in the table of classes."""

    code: int
    name: str
    colour: str
    given: int
    rows: int
    share: float
    confidence: float
    found: int
    bars: list[float]
    """The histogram of its confidence, scaled so that the highest bin is 1."""


@dataclass(frozen=True)
class ReportContents:
    """The contents of the page, computed on demand."""

    model: Model
    tally: Tally
    rows: DescribedRows
    precision: float = 0.95
    own_expected: ExpectedAccuracy | None = None
    """The expected accuracy, if it is not that of the model."""

    @cached_property
    def class_names(self) -> list[str]:
        return [str(name) for name in self.model.classes_]

    @cached_property
    def colours(self) -> list[str]:
        return class_colours(len(self.class_names))

    def code(self, label: Any) -> int:
        return int(np.searchsorted(self.model.classes_, label))

    @cached_property
    def classes(self) -> list[ClassLine]:
        """All classes, the largest first."""
        tally = self.tally
        lines = [
            ClassLine(
                code=i,
                name=self.class_names[i],
                colour=self.colours[i],
                given=int(tally.given[i]),
                rows=int(tally.rows[i]),
                share=float(tally.rows[i] / max(tally.rows.sum(), 1)),
                confidence=float(tally.confidence[i]),
                found=int(tally.found[i]),
                bars=(tally.histogram[i] / max(tally.histogram[i].max(), 1)).tolist(),
            )
            for i in range(len(self.class_names))
        ]
        return sorted(lines, key=lambda line: -line.rows)

    @property
    def shown_classes(self) -> list[ClassLine]:
        return self.classes[:N_CLASSES]

    @cached_property
    def expected(self) -> ExpectedAccuracy | None:
        """The expected accuracy; None for models without calibrated confidences."""
        if not isinstance(self.model, CalibratedModel):
            return None
        return self.own_expected or self.model.expected_accuracy_

    @cached_property
    def decision(self) -> Decision | None:
        """Which labels to accept; None without calibrated confidences, or if every label was given."""
        n_found = int(self.tally.found.sum())
        if self.expected is None or not n_found:
            return None
        return Decision(cast("CalibratedModel", self.model), self.precision, n_found)

    @cached_property
    def unseen(self) -> str:
        """How many rows may be of classes without labels, in words; empty if few are."""
        share = self.tally.unseen_share
        return described_unseen(self.model.given_labels_, share) if share >= WORTH_SAYING else ""

    @cached_property
    def expected_gain(self) -> float | None:
        """The expected gain of labelling the first ten suggested rows; None without calibrated confidences, or if few
        are left.
        """
        if len(self.suggestions) < MORE_LABELS or not isinstance(self.model, CalibratedModel):
            return None
        return self.model.expected_gain(MORE_LABELS)

    @cached_property
    def sampled(self) -> NDArray[np.intp]:
        """A random sample of the accepted rows."""
        return self.decision.sampled if self.decision else np.empty(0, dtype=np.intp)

    @cached_property
    def labelled_sample(self) -> list[tuple[int, float]]:
        """The number of the class and the confidence of each of these rows."""
        rows = self.model.labelled_rows()[self.sampled]
        return list(zip(rows.codes.tolist(), rows.confidence.tolist(), strict=True))

    @cached_property
    def groups(self) -> list[UnfamiliarGroup]:
        """Groups of rows without any label."""
        return self.model.unfamiliar()

    @property
    def rows_in_groups(self) -> int:
        return sum(len(group.rows) for group in self.groups)

    @cached_property
    def group_examples(self) -> NDArray[np.intp]:
        """One typical row of each group."""
        return np.array([group.examples[0] for group in self.groups[:N_GROUPS]], dtype=np.intp)

    @cached_property
    def map(self) -> PointMap:
        return point_map(self.model)

    @cached_property
    def point_rows(self) -> NDArray[np.intp]:
        """For each point, the row with the largest assignment to it, or −1."""
        structure = self.model.labelled_points().structure
        return representatives(structure.Z, np.zeros(self.model.n_rows_, dtype=bool))

    @cached_property
    def examples(self) -> list[NDArray[np.intp]]:
        """For each class, rows of the points where it has many rows with high confidence."""
        weight = np.where(self.point_rows >= 0, self.map.mass * self.map.confidence, -1)
        best = np.argsort(-weight, kind="stable")
        return [
            self.point_rows[
                [point for point in best if self.map.codes[point] == code and weight[point] >= 0][:N_EXAMPLES]
            ]
            for code in range(len(self.class_names))
        ]

    def example_texts(self, code: int) -> list[str]:
        """The text of the most typical row of a class, if rows have text."""
        texts = self.rows.texts(self.examples[code][:1], LONGEST_TEXT // 2)
        return [text for text in texts if text]

    def places(self, rows: Any) -> list[list[float]]:
        """The positions of rows on the map."""
        rows = np.asarray(rows, dtype=np.intp)
        if not len(rows):
            return []
        return self.map.positions[self.model.labelled_points().structure.points_of(rows)].round(4).tolist()

    @cached_property
    def suggestions(self) -> list[Suggestion]:
        """The rows to label next, with reasons."""
        free = int(self.tally.found.sum())
        return self.model.suggestions(min(N_SUGGESTED, free)) if free else []

    @property
    def suggested(self) -> NDArray[np.intp]:
        return np.array([suggestion.row for suggestion in self.suggestions], dtype=np.intp)

    @cached_property
    def suspects(self) -> list[Any]:
        """The given labels that are doubtful."""
        return [label for label in self.model.audit() if label.doubtful]

    @cached_property
    def suspect_rows(self) -> NDArray[np.intp]:
        return np.array([label.row for label in self.suspects[:N_SUSPECTS]], dtype=np.intp)

    @cached_property
    def borders(self) -> list[Border]:
        return borders(self.map)

    @cached_property
    def described_borders(self) -> list[tuple[Border, list[str], list[str]]]:
        """The weakest borders, with the text and the image of one row from each side, if rows have them."""
        shown = self.borders[:N_BORDERS]
        rows = np.array([self.point_rows[point] for border in shown for point in border.points], dtype=np.intp)
        texts = self.rows.texts(np.maximum(rows, 0), LONGEST_TEXT // 2) if len(rows) else []
        images = self.rows.images(np.maximum(rows, 0))
        return [(border, texts[2 * i : 2 * i + 2], images[2 * i : 2 * i + 2]) for i, border in enumerate(shown)]
