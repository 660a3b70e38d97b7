"""The commands that read a saved model: predict and inspect."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hidegl.cli.options import (
    Accept,
    ColumnNames,
    Data,
    Embedder,
    Force,
    Json,
    NoCache,
    Output,
    Quiet,
    SafeCsv,
    SavedModel,
)
from hidegl.cli.screen import Screen
from hidegl.files.mistakes import UseError, WorkError, check_distinct, named

if TYPE_CHECKING:
    from hidegl.cli.columns import Columns
    from hidegl.cli.work import Model
    from hidegl.embedding import TextEmbedder
    from hidegl.files.tables import Table


def predict(
    model: SavedModel,
    data: Data,
    output: Output = None,
    accept: Accept = None,
    columns: ColumnNames = None,
    embedder: Embedder = None,
    no_cache: NoCache = False,
    safe_csv: SafeCsv = False,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Label new rows with a saved model.

    [dim]hidegl predict digits.hidegl new.csv -o predicted.csv[/]
    """
    from hidegl.cli import classes, labels, outputs, texts, trust, work
    from hidegl.files.opening import open_table

    screen = Screen(as_json=json, quiet=quiet)
    trust.check_accept(accept)
    out = outputs.output_path(data, output, "predicted", force=force)
    review = trust.review_path(data, output, accept, force=force)
    check_distinct({"-o": out, "the review": review}, {"the data": data, "the model": model})
    learned = read_model(model)
    if not learned.given_labels_.any:
        raise UseError(f"{model} was made without labels, so there is nothing to predict")
    reader, table = read_embedder(model, embedder), open_table(data)
    names = getattr(learned, "feature_names_in_", None) if reader is None else reader.columns
    wanted = work.split(columns) or (None if names is None else [str(name) for name in names])
    chosen = columns_of_model(data, table, wanted, of_texts=reader is not None)
    task = work.Task(data, table, chosen, labels.LabelColumn(None, ""), None)
    screen.note("read", f"{data}: {table.n_rows:,} rows; {chosen}")
    if reader is not None:
        if chosen.kind != "texts":
            raise UseError(f"{model} labels texts: name their column with --columns")
        found = texts.Vectors(data, screen, cached=not no_cache)
        task.use(found.of(texts.texts_of(table, chosen.features), reader))
    with work.warnings_as_notes(screen):
        acceptance = trust.acceptance_of(learned, accept, task.X)
        predicted = learned.stream_labels(task.X)
        tally = outputs.write_labelled(
            out, task, predicted, with_given=False, acceptance=acceptance, review=review, safe_csv=safe_csv
        )
    classes.show_classes(screen, tally)
    facts = trust.show_acceptance(screen, acceptance)
    wrote = {"output": out, **({} if review is None else {"review": review})}
    screen.note("output", f"{out}: {tally.found.sum():,} rows, mean confidence {tally.mean_confidence:.2f}")
    if review is not None:
        screen.note("review", str(review))
    screen.result({"rows": table.n_rows, **facts, "classes": classes.class_rows(tally), **wrote})


def inspect(
    model: SavedModel,
    json: Json = False,
) -> None:
    """Show the rows, columns, classes and settings of a saved model.

    [dim]hidegl inspect digits.hidegl[/]
    """
    from hidegl.embedding.texts import embedder_values
    from hidegl.showing.report import described_settings

    screen = Screen(as_json=json)
    learned, embedder = read_model(model), embedder_values(model)
    names = getattr(learned, "feature_names_in_", None)
    facts: dict[str, Any] = {
        "kind": type(learned).__name__,
        "size": f"{model.stat().st_size / 1e6:.1f} MB",
        "rows": learned.n_rows_,
        "columns": f"{learned.n_features_in_:,}" + ("" if names is None else f" ({named(names)})"),
        **({} if embedder is None else {"embedder": embedder["mark"]}),
        "labels": len(learned.given_labels_.rows),
        "classes": f"{len(learned.classes_):,} ({named(learned.classes_, 10)})",
        **described_settings(learned),
    }
    screen.table(str(model), {"what": "", "value": ""}, [{"what": k, "value": str(v)} for k, v in facts.items()])
    screen.result({**facts, "classes": learned.classes_, "settings": learned.settings_})


def columns_of_model(path: Path, table: Table, wanted: list[str] | None, *, of_texts: bool) -> Columns:
    """The columns of new rows that a model takes."""
    from hidegl.cli.columns import choose_columns

    missing = [name for name in wanted or () if name not in table.names]
    if missing:
        raise UseError(f"{path} lacks columns that the model learned from: {named(missing)}")
    asked: dict[str, Any] = {"wanted": None, "text": wanted} if of_texts else {"wanted": wanted, "find_text": False}
    chosen = choose_columns(table, **asked, without=[], id_column=None, label_column=None)
    chosen.of_model = True
    return chosen


def read_model(path: Path) -> Model:
    from hidegl.loading import load

    if not path.exists():
        raise UseError(f"no such model: {path}; `hidegl label --model {path.name}` makes one")
    if path.is_dir():
        raise UseError(f"{path} is a folder, not a model")
    try:
        return load(path)
    except ValueError as error:
        said, damaged, _ = str(error).partition(", or it is damaged")
        raise WorkError(said + damaged) from error


def read_embedder(path: Path, name: str | None) -> TextEmbedder | None:
    """The embedder of a model of texts, which is not another one than that with this name."""
    from hidegl.cli.texts import functions_of_this_folder
    from hidegl.embedding import load_embedder

    try:
        with functions_of_this_folder():
            found = load_embedder(path, embedder=name)
    except (ImportError, ValueError) as error:
        raise WorkError(f"{path} labels texts: {error}") from error
    if found is None and name is not None:
        raise UseError(f"--embedder is for texts, but {path} was made from numbers")
    return found
