"""The commands. Each reads, learns, writes and reports, with the other modules of this folder.

These are imported when a command runs, because numerical libraries take a second.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hidegl._version import __version__
from hidegl.basics.errors import UsageError, check_distinct, check_new_file, writing
from hidegl.basics.whole_files import atomic_group
from hidegl.cli.configuration import RepeatedOptions, use_file, without_file
from hidegl.cli.inspecting import inspect
from hidegl.cli.mcp_command import mcp
from hidegl.cli.model_commands import predict, report
from hidegl.cli.options import Accept, Data, Effort, Force, Format, Json, Output, Quiet, SaveOptions, Seed, with_inputs
from hidegl.cli.review import review
from hidegl.cli.screen import Screen
from hidegl.cli.studio import studio

if TYPE_CHECKING:
    from hidegl.intake.input_options import InputOptions

SHOWN_LABELS = 20
"""The maximum number of lines of a table on the screen."""

app = typer.Typer(
    name="hidegl",
    help="Label a mountain of rows from a handful of labels.\n\nThe usual steps:  [b]suggest[/b] says which rows to "
    "label first,  [b]label[/b] labels all other rows,  [b]audit[/b] finds doubtful labels,  [b]predict[/b] "
    "labels new rows.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"hidegl {__version__}")
        raise typer.Exit


@app.callback()
def options(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=print_version, is_eager=True)
    ] = False,
) -> None:
    """Options of all commands."""
    use_file(ctx)


@app.command(cls=RepeatedOptions)
@with_inputs()
def label(
    data: Data,
    *,
    asked: InputOptions,
    output: Output = None,
    format: Format = None,  # noqa: A002
    report: Annotated[Path | None, typer.Option(help="Also write a report: .html.", metavar="FILE")] = None,
    model: Annotated[
        Path | None, typer.Option(help="Also save the model, for `hidegl predict`.", metavar="FILE")
    ] = None,
    accept: Accept = None,
    effort: Effort = "default",
    seed: Seed = 0,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    save_options: SaveOptions = False,
) -> None:
    """Label every row from a few labels.

    The output has all rows in their order, with their columns and label, confidence and given (did you give it?).

    [dim]hidegl label digits.csv --labels digit -o labelled.csv --report report.html[/]
    [dim]hidegl label digits.csv --labels digit --accept 0.95[/]
    [dim]hidegl label embeddings.npy --labels labels.csv --model topics.hidegl[/]
    """
    from hidegl.cli import output_formats, outputs, trust
    from hidegl.cli.classes import class_rows, show_classes
    from hidegl.intake import notes, results, sources, tasks

    screen, source = Screen(as_json=json, quiet=quiet, piped=output), sources.Source.of(data)
    check_effort(effort)
    to = trust.planned_output(source.path, output, "labelled", format, accept, force=force)
    out, review = to.path, to.review
    outputs.check_report(report, force=force, option="--report")
    if model is not None:
        check_new_file(model, (), force=force, option="--model")
    written = {"-o": out, "the review": review, "--report": report, "--model": model}
    check_distinct(written, {"the data": source.paths, "the labels": asked.labels})
    with screen.course() as course:
        task = tasks.Task.read(source, screen.notes, asked._replace(labels_to="learn"))
        course.plan_later([outputs.phase_of_writing(task.table.n_rows)])
        learned, seconds = tasks.fitted(task, screen.notes, effort=effort, seed=seed)
        course.begin(outputs.WRITING, outputs.WRITING_PASSES * task.table.n_rows)
        acceptance = None if accept is None else learned.acceptance(accept)
        with notes.warnings_as_notes(screen.notes), writing(out), atomic_group():
            tally = outputs.write_fitted(to, task, learned, acceptance)
            if model is not None:
                with writing(model):
                    learned.save(model)
            if report is not None:
                results.write_report_of(report, learned, task, tally, seconds, accept)
    named = {"output": output_formats.spoken(out), "review": review, "model": model, "report": report}
    wrote = {what: path for what, path in named.items() if path is not None}
    show_classes(screen, tally)
    screen.note("labelled", f"{tally.found.sum():,} rows in {seconds:.1f} s")
    facts = trust.show_trust(screen, task, learned, tally, acceptance)
    for what, path in wrote.items():
        screen.note(what, str(path))
    counts = {"rows": task.table.n_rows, "labels": int(tally.given.sum()), "seconds": round(seconds, 3)}
    facts |= {"classes": class_rows(tally), "columns": task.column_facts}
    output_formats.deliver(out)
    screen.result({**counts, **facts, **wrote})


@app.command(cls=RepeatedOptions)
@with_inputs(without=("tune",))
def suggest(
    data: Data,
    *,
    asked: InputOptions,
    n: Annotated[int, typer.Option("-n", help="The number of rows.", metavar="NUMBER")] = 20,
    output: Output = None,
    seed: Seed = 0,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    save_options: SaveOptions = False,
) -> None:
    """Say which rows to label next, and write a file to fill in. Works with and without labels.

    Fill in its column 'label', and give it to `hidegl label --labels`, or to `hidegl suggest --labels` for more rows.

    [dim]hidegl suggest digits.csv -n 20 -o to_label.csv[/]
    """
    from hidegl.cli import output_formats, outputs
    from hidegl.files import own_files
    from hidegl.intake import sources, tasks

    if n < 1:
        raise UsageError(f"-n {n}: ask for one row or more", "wrong-value")
    screen, source = Screen(as_json=json, quiet=quiet, piped=output), sources.Source.of(data)
    out = outputs.output_path(source.path, output, "to_label", force=force, to_edit=True)
    check_distinct({"-o": out}, {"the data": source.paths, "the labels": asked.labels})
    task = tasks.Task.read(source, screen.notes, asked)
    free = task.table.n_rows - task.labels.n_labels
    if n > free:
        raise UsageError(f"-n {n}: only {free:,} rows have no label", "wrong-value")
    learned, seconds = tasks.fitted(task, screen.notes, effort="quick", seed=seed)
    suggestions = learned.suggestions(n)
    why = {own_files.WHY: outputs.reasons(task, suggestions)}
    outputs.write_to_fill_in(out, task, [suggestion.row for suggestion in suggestions], why)
    names, listed = outputs.listed_suggestions(task, suggestions)
    screen.table("Label these rows, the most helpful first", names, listed)
    screen.note("found", f"{n} rows in {seconds:.1f} s")
    screen.note("output", f"{output_formats.spoken(out)}: fill in its column 'label'")
    output_formats.deliver(out)
    screen.result({"rows": listed, "columns": task.column_facts, "seconds": round(seconds, 3), "output": out})


@app.command(cls=RepeatedOptions)
@with_inputs(without=("tune",))
def audit(
    data: Data,
    *,
    asked: InputOptions,
    output: Output = None,
    effort: Effort = "quick",
    seed: Seed = 0,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    save_options: SaveOptions = False,
) -> None:
    """List the given labels that are doubtful. Each label is predicted from the other labels.

    [dim]hidegl audit digits.csv --labels digit[/]
    """
    from hidegl.cli import output_formats, outputs, trust
    from hidegl.intake import sources, tasks

    screen, source = Screen(as_json=json, quiet=quiet, piped=output), sources.Source.of(data)
    check_effort(effort)
    if output is not None:
        output = outputs.output_path(source.path, output, "audit", force=force)
        check_distinct({"-o": output}, {"the data": source.paths, "the labels": asked.labels})
    task = tasks.Task.read(source, screen.notes, asked._replace(labels_to="judge"))
    learned, seconds = tasks.fitted(task, screen.notes, effort=effort, seed=seed)
    judged = learned.audit() if len(learned.given_labels_.rows) else []
    suspects = [judgement for judgement in judged if judgement.doubtful]
    names, listed = outputs.listed_judgements(task, judged)
    if suspects:
        shown = min(len(suspects), SHOWN_LABELS)
        screen.table("Look at these labels again, the most doubtful first", names, listed[:shown])
        if len(suspects) > shown:
            screen.note("", f"and {len(suspects) - shown:,} more: -o FILE writes them all")
    unjudged = sum(not judgement.judged for judgement in judged)
    screen.note(
        "judged", f"{len(judged) - unjudged:,} labels in {seconds:.1f} s, {len(suspects) or 'none'} of them doubtful"
    )
    if unjudged:
        screen.note("unjudged", f"{unjudged:,} labels could not be checked: isolated, or the only one of their class")
    if output is not None:
        outputs.write_audit(output, task, judged, learned)
        screen.note(
            "output",
            f"{output_formats.spoken(output)}: all {len(judged):,} labels with the probability that they are wrong",
        )
        output_formats.deliver(output)
    counts = {"doubtful": len(suspects), "seconds": round(seconds, 3), **trust.show_suspects(screen, task, learned)}
    screen.result({"labels": listed, **counts, "columns": task.column_facts, "output": output})


app.command(cls=RepeatedOptions)(review)
app.command(cls=RepeatedOptions)(studio)
app.command(cls=RepeatedOptions)(predict)
app.command()(inspect)
app.command()(report)
app.command()(mcp)


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(help="A new folder for the files.", metavar="FOLDER")] = Path("hidegl-demo"),
    force: Force = False,
) -> None:
    """Run the usual steps on handwritten digits, and show each command.

    [dim]hidegl demo[/]
    """
    from hidegl.cli.demo_command import go

    if folder.exists() and not force:
        raise UsageError(f"{folder} exists already: name another folder, or write into it with --force", "exists")
    from hidegl.cli.running import run

    with without_file():
        go(folder, run)


if find_spec("hidegl.paper"):  # in the repository, but in no wheel
    from hidegl.paper.commands import paper

    app.command(help="Reproduce the paper's tables and figures: fit what is missing, and make the pages.", hidden=True)(
        paper
    )


def check_effort(effort: str) -> None:
    from hidegl.ensemble.members import EFFORTS

    if effort not in EFFORTS:
        raise UsageError(
            f"--effort must be {', '.join(list(EFFORTS)[:-1])} or {list(EFFORTS)[-1]}, got {effort!r}", "wrong-value"
        )
