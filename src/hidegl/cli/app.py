"""The commands. Each reads, learns, writes and tells; how, is in the other modules of this folder."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer
from rich.console import Console
from rich.markup import escape

from hidegl import __version__, load
from hidegl.auto import EFFORTS
from hidegl.cli.columns import choose_columns
from hidegl.cli.labels import GivenLabels, known
from hidegl.cli.mistakes import UseError, WorkError, check_new_file, named, writing
from hidegl.cli.screen import Screen
from hidegl.cli.tables import open_table
from hidegl.cli.work import (
    Model,
    Task,
    fitted,
    named_rows,
    output_path,
    warnings_as_notes,
    write_labelled,
    write_rows,
)
from hidegl.paper.commands import paper
from hidegl.showing.tallies import Tally

SHOWN_CLASSES, SHOWN_LABELS = 20, 20
"""How many lines tables on the screen have at most."""

DEBUG = "HIDEGL_DEBUG"
"""With this variable set, errors come with their traceback."""

app = typer.Typer(
    name="hidegl",
    help="Label a mountain of rows from a handful of labels.\n\nThe usual course:  [b]suggest[/b] says which rows to "
    "label first,  [b]label[/b] labels all the others,  [b]audit[/b] finds doubtful labels,  [b]predict[/b] "
    "labels new rows.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Data = Annotated[
    Path, typer.Argument(help="CSV, TSV, Parquet (a file or a folder), NPY or NPZ.", metavar="DATA", show_default=False)
]
SavedModel = Annotated[
    Path, typer.Argument(help="What `hidegl label --model` saved.", metavar="MODEL", show_default=False)
]
Labels = Annotated[
    str | None,
    typer.Option(
        help="The column of DATA, or the file, with the labels; blank means none. A file has a label for each row, or "
        "a column 'row' (or the id) and a column 'label'. Default: a column named label, class, target or y.",
        metavar="COLUMN|FILE",
        show_default=False,
    ),
]
Id = Annotated[str | None, typer.Option("--id", help="The column that names the rows.", metavar="COLUMN")]
ColumnNames = Annotated[
    str | None, typer.Option(help="The columns to learn from, with commas between.", metavar="A,B,…")
]
Without = Annotated[str | None, typer.Option(help="Columns not to learn from.", metavar="A,B,…")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Where to write: .csv, .tsv or .parquet.", metavar="FILE")
]
Effort = Annotated[str, typer.Option(help="How much time to spend.", metavar="quick|default|best")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same answer.", metavar="NUMBER")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace files that exist.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"hidegl {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=print_version, is_eager=True)
    ] = False,
) -> None:
    """What holds for all commands."""


@app.command()
def label(
    data: Data,
    labels: Labels = None,
    id: Id = None,  # noqa: A002
    output: Output = None,
    report: Annotated[Path | None, typer.Option(help="Also write a report to look at: .html.", metavar="FILE")] = None,
    model: Annotated[
        Path | None, typer.Option(help="Also save the model, for `hidegl predict`.", metavar="FILE")
    ] = None,
    effort: Effort = "default",
    columns: ColumnNames = None,
    without: Without = None,
    seed: Seed = 0,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Label every row from a few labels.

    The output has every row in its order, with its columns and label, confidence and given (was the label there?).

    [dim]hidegl label digits.csv --labels digit -o labelled.csv --report report.html[/]
    [dim]hidegl label embeddings.npy --labels labels.csv --model topics.hidegl[/]
    """
    screen = Screen(as_json=json, quiet=quiet)
    check_effort(effort)
    out = output_path(data, output, "labelled", force=force)
    for path, endings, option in ((report, (".html", ".htm"), "--report"), (model, (), "--model")):
        if path is not None:
            check_new_file(path, endings, force=force, option=option)
    task = Task.read(data, screen, labels=labels, id_column=id, columns=columns, without=without)
    task.require_labels("learn")
    learned, seconds = fitted(task, screen, effort=effort, seed=seed)
    tally = write_labelled(out, task, learned._labelled_blocks())
    wrote = {"output": out}
    if model is not None:
        with writing(model):
            learned.save(model)
        wrote["model"] = model
    if report is not None:
        from hidegl.showing.report import write_report

        with writing(report):
            write_report(
                report,
                learned,
                title=data.name,
                tally=tally,
                describe=lambda rows: named_rows(task, rows),
                seconds=seconds,
                facts={"learned from": str(task.columns), "labels": task.labels.source},
            )
        wrote["report"] = report
    show_classes(screen, tally)
    screen.note(
        "labelled", f"{tally.found.sum():,} rows in {seconds:.1f} s, mean confidence {tally.mean_confidence:.2f}"
    )
    for what, path in wrote.items():
        screen.note(what, str(path))
    screen.result(
        {
            "rows": task.table.n_rows,
            "labels": int(tally.given.sum()),
            "seconds": round(seconds, 3),
            "mean_confidence": round(tally.mean_confidence, 4),
            "classes": class_rows(tally),
            **wrote,
        }
    )


@app.command()
def suggest(
    data: Data,
    n: Annotated[int, typer.Option("-n", help="How many rows.", metavar="NUMBER")] = 20,
    labels: Labels = None,
    id: Id = None,  # noqa: A002
    output: Output = None,
    columns: ColumnNames = None,
    without: Without = None,
    seed: Seed = 0,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say which rows to label next, and write a file to fill in. Needs no label, and uses those there are.

    Fill in its column 'label', and give it to `hidegl label --labels`, or to `hidegl suggest --labels` for more rows.

    [dim]hidegl suggest digits.csv -n 20 -o to_label.csv[/]
    """
    screen = Screen(as_json=json, quiet=quiet)
    out = output_path(data, output, "to_label", force=force, to_edit=True)
    task = Task.read(data, screen, labels=labels, id_column=id, columns=columns, without=without)
    free = task.table.n_rows - task.labels.n_labels
    if n < 1:
        raise UseError(f"-n {n}: ask for one row or more")
    if n > free:
        raise UseError(f"-n {n}: only {free:,} rows have no label")
    learned, seconds = fitted(task, screen, effort=None, seed=seed)
    rows = learned.suggest(n)
    told = named_rows(task, rows)
    write_to_fill_in(out, task, rows)
    listed = [{"rank": rank + 1, **{key: told[key][rank] for key in told}} for rank in range(n)]
    screen.table("Label these rows, the first ones first", {"rank": "", **{key: key for key in told}}, listed)
    screen.note("found", f"{n} rows in {seconds:.1f} s")
    screen.note("output", f"{out}: fill in its column 'label'")
    screen.result({"rows": listed, "seconds": round(seconds, 3), "output": out})


@app.command()
def audit(
    data: Data,
    labels: Labels = None,
    id: Id = None,  # noqa: A002
    output: Output = None,
    effort: Effort = "quick",
    columns: ColumnNames = None,
    without: Without = None,
    seed: Seed = 0,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List the given labels that are doubtful: what do the others say of each?

    [dim]hidegl audit digits.csv --labels digit[/]
    """
    screen = Screen(as_json=json, quiet=quiet)
    check_effort(effort)
    if output is not None:
        output = output_path(data, output, "audit", force=force)
    task = Task.read(data, screen, labels=labels, id_column=id, columns=columns, without=without)
    task.require_labels("judge")
    learned, seconds = fitted(task, screen, effort=effort, seed=seed)
    judged = learned.audit()
    suspects = [judgement for judgement in judged if judgement.doubtful]
    told = named_rows(task, np.array([judgement.row for judgement in judged], dtype=np.intp))
    listed = [{**{key: told[key][i] for key in told}, **judgement._asdict()} for i, judgement in enumerate(judged)]
    if suspects:
        names = {**{key: key for key in told}, "given": "given", "proposed": "rather", "suspicion": "suspicion"}
        shown = min(len(suspects), SHOWN_LABELS)
        screen.table("Look at these labels again, the most doubtful first", names, listed[:shown])
        if len(suspects) > shown:
            screen.note("", f"and {len(suspects) - shown:,} more, which -o FILE writes all")
    screen.note("judged", f"{len(judged):,} labels in {seconds:.1f} s, {len(suspects) or 'none'} of them doubtful")
    if output is not None:
        write_rows(output, {key: [plain_value(row[key]) for row in listed] for key in listed[0]})
        screen.note("output", f"{output}: all {len(judged):,} labels with their suspicion")
    screen.result({"labels": listed, "doubtful": len(suspects), "seconds": round(seconds, 3), "output": output})


@app.command()
def predict(
    model: SavedModel,
    data: Data,
    output: Output = None,
    columns: ColumnNames = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Label new rows with a saved model.

    [dim]hidegl predict digits.hidegl new.csv -o predicted.csv[/]
    """
    screen = Screen(as_json=json, quiet=quiet)
    out = output_path(data, output, "predicted", force=force)
    learned = read_model(model)
    if not learned._labels.any:
        raise UseError(f"{model} was made without labels, so there is nothing to predict")
    table = open_table(data)
    names = getattr(learned, "feature_names_in_", None)
    wanted = columns.split(",") if columns else None if names is None else [str(name) for name in names]
    missing = [name for name in wanted or () if name not in table.names]
    if missing:
        raise UseError(f"{data} lacks what the model learned from: there is no column {named(missing)}")
    chosen = choose_columns(table, wanted=wanted, without=[], id_column=None, label_column=None)
    task = Task(data, table, chosen, GivenLabels(None, ""), None)
    screen.note("read", f"{data}: {table.n_rows:,} rows; {chosen}")
    with warnings_as_notes(screen):
        tally = write_labelled(out, task, learned._labelled_blocks(task.X), with_given=False)
    show_classes(screen, tally)
    screen.note("output", f"{out}: {tally.found.sum():,} rows, mean confidence {tally.mean_confidence:.2f}")
    screen.result({"rows": table.n_rows, "classes": class_rows(tally), "output": out})


@app.command()
def inspect(
    model: SavedModel,
    json: Json = False,
) -> None:
    """Say what a saved model is: its rows, columns, classes and settings.

    [dim]hidegl inspect digits.hidegl[/]
    """
    from hidegl.showing.report import described_settings

    screen = Screen(as_json=json)
    learned = read_model(model)
    names = getattr(learned, "feature_names_in_", None)
    facts: dict[str, Any] = {
        "kind": type(learned).__name__,
        "size": f"{model.stat().st_size / 1e6:.1f} MB",
        "rows": len(learned._labels.codes),
        "columns": f"{learned.n_features_in_:,}" + ("" if names is None else f" ({named(names)})"),
        "labels": len(learned._labels.rows),
        "classes": f"{len(learned.classes_):,} ({named(learned.classes_, 10)})",
        **described_settings(learned),
    }
    screen.table(str(model), {"what": "", "value": ""}, [{"what": k, "value": str(v)} for k, v in facts.items()])
    screen.result({**facts, "classes": learned.classes_, "settings": learned.settings_})


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(help="A new folder for the files.", metavar="FOLDER")] = Path("hidegl-demo"),
    force: Force = False,
) -> None:
    """Go the usual course on handwritten digits, and show each command.

    [dim]hidegl demo[/]
    """
    from hidegl.cli.demo import go

    if folder.exists() and not force:
        raise UseError(f"{folder} exists already: name another folder, or write into it with --force")
    go(folder, run)


app.command(help="Reproduce the paper's tables and figures: fit what is missing, and make the pages.")(paper)


# What commands share


def check_effort(effort: str) -> None:
    if effort not in EFFORTS:
        raise UseError(f"--effort must be {', '.join(list(EFFORTS)[:-1])} or {list(EFFORTS)[-1]}, got {effort!r}")


def read_model(path: Path) -> Model:
    if not path.exists():
        raise UseError(f"no such model: {path}; `hidegl label --model {path.name}` makes one")
    if path.is_dir():
        raise UseError(f"{path} is a folder, not a model")
    try:
        return load(path)
    except ValueError as error:
        told, damaged, _ = str(error).partition(", or it is damaged")
        raise WorkError(told + damaged) from error


def class_rows(tally: Tally) -> list[dict[str, Any]]:
    columns = tally.classes.tolist(), tally.given.tolist(), tally.rows.tolist(), tally.confidence.tolist()
    total = max(int(tally.rows.sum()), 1)
    return [
        {"label": name, "given": given, "rows": rows, "share": rows / total, "confidence": round(confidence, 4)}
        for name, given, rows, confidence in zip(*columns, strict=True)
    ]


def show_classes(screen: Screen, tally: Tally) -> None:
    rows = class_rows(tally)
    for row in rows:
        row["share"] = f"{row['share']:.1%}"
        row["label"] = str(row["label"])
    names = {"label": "label", "given": "given", "rows": "rows", "share": "share", "confidence": "confidence"}
    if not tally.given.any():
        del names["given"]
    if len(rows) > SHOWN_CLASSES:
        rows.sort(key=lambda row: -row["rows"])
        title = f"The largest {SHOWN_CLASSES} of {len(rows)} classes"
    else:
        title = f"{len(rows)} classes"
    screen.table(title, names, rows[:SHOWN_CLASSES])


def write_to_fill_in(out: Path, task: Task, rows: Any) -> None:
    """The suggested rows with a blank label, and below them those that a label file named before."""
    y = task.labels.y
    before = np.empty(0, dtype=np.intp)
    if y is not None and task.labels.column is None:
        before = np.flatnonzero(known(y))
    told = named_rows(task, np.concatenate([rows, before]))
    label = [None] * len(rows) + ([] if y is None else [str(value) for value in y[before].tolist()])
    write_rows(
        out, {**{key: plain_column(values) for key, values in told.items()}, "label": pa.array(label, pa.string())}
    )


def plain_column(values: list[Any]) -> Any:
    return pa.array(values) if values else pa.array([], pa.string())


def plain_value(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


# Running


UsageError: Any = typer.BadParameter.__bases__[0]
"""Of click, or of the part of it that newer versions of typer bring along."""


INTERRUPTED = 130
"""What typer makes of Ctrl-C."""


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def run(arguments: list[str]) -> int:
    """Run a command; whatever happens, end with one line and a code, and never with a traceback."""
    errors = Console(stderr=True, highlight=False)
    before = signal.getsignal(signal.SIGTERM)
    try:
        signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not in the main thread
        before = None
    try:
        code = int(app(arguments, prog_name="hidegl", standalone_mode=False) or 0)
        if code != INTERRUPTED:
            return code
        message, code = "interrupted, nothing was left half-written", 1
    except typer.Exit as end:
        return end.exit_code
    except (KeyboardInterrupt, typer.Abort):
        message, code = "interrupted, nothing was left half-written", 1
    except BrokenPipeError:  # `hidegl … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except UsageError as error:
        where = getattr(error.ctx, "command_path", "hidegl")
        message, code = f"{error.format_message().rstrip('.')}; see `{where} --help`", 2
    except (UseError, WorkError) as error:
        message, code = str(error), error.exit_code
    except pa.ArrowException as error:  # deep inside a file whose beginning was right
        message, code = f"the data cannot be read, its file may be damaged: {str(error).splitlines()[0]}", 1
    except MemoryError as error:
        message, code = str(error) or "there is too little memory", 1
    except Exception as error:
        message, code = f"{error or type(error).__name__} (more with {DEBUG}=1)", 1
        if DEBUG in os.environ:
            traceback.print_exc()
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)
    errors.print(f"[bold red]hidegl:[/] {escape(' '.join(message.split()))}", soft_wrap=True)
    return code
