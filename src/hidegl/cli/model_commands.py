"""The commands that use a saved model: predict and report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hidegl.basics.archives import DamagedFileError
from hidegl.basics.errors import OperationError, UsageError, check_distinct, writing
from hidegl.cli.options import (
    Accept,
    Data,
    Encoding,
    Force,
    Format,
    Id,
    Json,
    Output,
    Quiet,
    SavedModel,
    SaveOptions,
    TableFile,
    with_inputs,
)
from hidegl.cli.screen import Screen

if TYPE_CHECKING:
    from hidegl.embedding import Embedder as AnyEmbedder
    from hidegl.intake.input_options import InputOptions
    from hidegl.intake.tasks import Model


@with_inputs(without=("labels", "weak", "classes", "without", "kinds", "tune", "merge_names"))
def predict(
    model: SavedModel,
    data: Data,
    *,
    asked: InputOptions,
    output: Output = None,
    format: Format = None,  # noqa: A002
    accept: Accept = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    save_options: SaveOptions = False,
) -> None:
    """Label new rows with a saved model.

    [dim]hidegl predict digits.hidegl new.csv -o predicted.csv[/]
    """
    from hidegl.cli import classes, new_labels, output_formats, outputs, trust
    from hidegl.intake import notes, sources
    from hidegl.intake.new_rows import new_rows

    screen = Screen(as_json=json, quiet=quiet, piped=output)
    trust.check_accept(accept)
    source = sources.Source.of(data)
    to = trust.planned_output(source.path, output, "predicted", format, accept, force=force)
    out, review = to.path, to.review
    check_distinct({"-o": out, "the review": review}, {"the data": source.paths, "the model": model})
    learned = read_model(model)
    if not learned.given_labels_.any:
        raise UsageError(f"{model} was made without labels, so there is nothing to predict", "no-labels")
    reader = read_embedder(model, asked.embedder)
    check_width(model, learned, reader)
    with screen.course() as course, notes.warnings_as_notes(screen.notes):
        task = new_rows(learned, reader, source, model, screen.notes, asked)
        course.begin(outputs.WRITING, outputs.WRITING_PASSES * task.table.n_rows)
        acceptance = trust.acceptance_of(learned, accept, task.rows)
        predicted, familiarity = learned.stream_labels(task.rows), new_labels.familiarity_of(learned, task)
        how: dict[str, Any] = {"acceptance": acceptance, "familiarity": familiarity}
        how["probabilities"] = lambda: (learned.predict_proba(task.rows), learned.classes_)
        tally = outputs.write_labelled(replace(to, with_given=False), task, predicted, **how)
    classes.show_classes(screen, tally)
    facts = new_labels.show_trust_in_new(screen, learned, task, reader, tally, familiarity)
    facts |= trust.show_acceptance(screen, acceptance)
    wrote = {"output": out, **({} if review is None else {"review": review})}
    screen.note(
        "output",
        f"{output_formats.spoken(out)}: {tally.found.sum():,} rows, mean confidence {tally.mean_confidence:.2f}",
    )
    if review is not None:
        screen.note("review", str(review))
    output_formats.deliver(out)
    found = {**facts, "classes": classes.class_rows(tally), "columns": task.column_facts}
    screen.result({"rows": task.table.n_rows, **found, **wrote})


def report(
    model: SavedModel,
    data: Annotated[
        list[Path] | None,
        typer.Argument(
            help="The data of the model, so that the report shows rows.", metavar="[DATA]", show_default=False
        ),
    ] = None,
    id: Id = None,  # noqa: A002
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file to write: .html.")] = None,
    table: TableFile = None,
    encoding: Encoding = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write a report from a saved model. With the data of its fit, the report shows the rows.

    [dim]hidegl report digits.hidegl digits.csv -o report.html[/]
    """
    from hidegl.cli.outputs import check_report
    from hidegl.intake.input_options import InputOptions
    from hidegl.intake.results import write_report_of
    from hidegl.intake.rows_of_model import shown_rows
    from hidegl.intake.sources import Source
    from hidegl.showing.report import write_report
    from hidegl.showing.tallies import tally_of

    screen = Screen(quiet=quiet)
    out = output or model.with_suffix(".html")
    check_report(out, force=force, option="-o")
    learned = read_model(model)
    if not learned.given_labels_.any:
        raise UsageError(f"{model} was made without labels, so there is nothing to report", "no-labels")
    if data is None:
        with writing(out):
            write_report(out, learned, title=model.name)
    else:
        asked = InputOptions(id_column=id, encoding=encoding, table=table)
        task = shown_rows(Source.of(data), asked, learned.n_rows_)
        write_report_of(out, learned, task, tally_of(learned))
    screen.note("report", str(out))


def read_model(path: Path) -> Model:
    from hidegl.estimators.loading import load

    if not path.exists():
        raise UsageError(f"no such model: {path}; `hidegl label --model {path.name}` makes one", "no-such-file")
    if path.is_dir():
        raise UsageError(f"{path} is a folder, not a model", "not-a-file")
    if not path.is_file():
        raise UsageError(f"{path} is a device or a pipe, not a model", "not-a-file")
    try:
        return load(path)
    except DamagedFileError as error:
        raise OperationError(error.short, "damaged") from error
    except ValueError as error:
        raise OperationError(str(error), "damaged") from error


def check_width(path: Path, model: Model, embedder: AnyEmbedder | None) -> None:
    """Raise an error if the embedder of a damaged file makes other vectors than those of the fit."""
    if embedder is None:
        return
    if embedder.kind == "table with text":
        width = sum(embedder.views_.values())
    else:
        is_table = embedder.kind == "table"
        width = len(embedder.get_feature_names_out()) if is_table else embedder.way_.embed([]).shape[1]
    if width != model.n_features_in_:
        raise OperationError(
            f"{path} is damaged: its embedder makes {width:,} columns, but it learned from {model.n_features_in_:,}",
            "damaged",
        )


def read_embedder(path: Path, name: str | None) -> AnyEmbedder | None:
    """The embedder of a model, whose name is checked if one is given."""
    from hidegl.embedding import load_embedder
    from hidegl.intake.text_rows import functions_of_this_folder

    try:
        with functions_of_this_folder(name):
            found = load_embedder(path, embedder=name)
    except (ImportError, ValueError) as error:
        raise OperationError(f"the embedder of {path} cannot be used: {error}", "embedder") from error
    if found is None and name is not None:
        raise UsageError(f"--embedder is for texts and images, but {path} was made from numbers", "not-for-this-data")
    return found
