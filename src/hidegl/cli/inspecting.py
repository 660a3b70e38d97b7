"""The command that shows what is in a file: the columns of a table, or a saved model."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hidegl.basics.endings import READ, ending_of
from hidegl.basics.errors import joined_names
from hidegl.cli.options import Json, with_inputs
from hidegl.cli.screen import Screen

if TYPE_CHECKING:
    from hidegl.intake.input_options import InputOptions
    from hidegl.intake.tasks import Task

HEADINGS = {
    "column": "column",
    "kind": "kind",
    "learned": "learned from",
    "missing": "missing",
    "why": "why",
    "examples": "examples",
}


@with_inputs(without=("weak", "classes", "embedder", "tune", "no_cache", "merge_names", "safe_csv"))
def inspect(
    data: Annotated[
        list[Path],
        typer.Argument(help="A table, or what `hidegl label --model` saved.", metavar="DATA|MODEL", show_default=False),
    ],
    *,
    asked: InputOptions,
    json: Json = False,
) -> None:
    """Show the columns of a table: the kind of each, the reason, and whether it is used. Or show a saved model.

    [dim]hidegl inspect data.csv[/]
    [dim]hidegl inspect digits.hidegl[/]
    """
    screen = Screen(as_json=json)
    if len(data) == 1 and not is_data(data[0]):
        inspect_model(data[0], screen)
        return
    from hidegl.intake.sources import Source
    from hidegl.intake.tasks import Task

    inspect_columns(Task.described(Source.of(data), screen.notes, asked), screen)


def is_data(path: Path) -> bool:
    """Whether a path is data rather than a model, which may have any name."""
    from hidegl.basics.archives import HEADER

    if path.is_file() and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return f"{HEADER}.npy" not in archive.namelist()
    return str(path) == "-" or path.is_dir() or "*" in path.name or ending_of(path) in READ


def inspect_columns(task: Task, screen: Screen) -> None:
    facts = task.column_facts
    shown = [
        {
            **fact,
            "kind": fact["kind"] or "–",
            "learned": "yes" if fact["learned"] else "no",
            "missing": f"{fact['missing']:.1%}",
            "examples": "; ".join(fact["examples"]),
        }
        for fact in facts
    ]
    screen.table(f"{task.source}: {task.table.n_rows:,} rows, {len(facts):,} columns", HEADINGS, shown, uncut=True)
    screen.result({"rows": task.table.n_rows, "learned_from": str(task.columns), "columns": facts})


def inspect_model(model: Path, screen: Screen) -> None:
    """Show the rows, columns, classes and settings of a saved model."""
    from hidegl.cli.model_commands import read_model
    from hidegl.embedding.embedder_state import embedder_values
    from hidegl.showing.report import described_settings

    learned, embedder = read_model(model), embedder_values(model)
    names = getattr(learned, "feature_names_in_", None)
    facts: dict[str, Any] = {
        "kind": type(learned).__name__,
        "size": f"{model.stat().st_size / 1e6:.1f} MB",
        "rows": learned.n_rows_,
        "columns": f"{learned.n_features_in_:,}" + ("" if names is None else f" ({joined_names(names)})"),
        **({} if embedder is None else {"embedder": described_embedder(embedder)}),
        "labels": len(learned.given_labels_.rows),
        "classes": f"{len(learned.classes_):,} ({joined_names(learned.classes_, 10)})",
        **{f"weak source {source.name}": str(source) for source in getattr(learned, "sources_", ())},
        **described_settings(learned),
    }
    screen.table(str(model), {"what": "", "value": ""}, [{"what": k, "value": str(v)} for k, v in facts.items()])
    screen.result({**facts, "classes": learned.classes_, "settings": learned.settings_})


def described_embedder(values: dict[str, Any]) -> str:
    """In words, the data that a model was made from."""
    if values["kind"] == "table":
        columns = joined_names((f"{column['name']} ({column['kind']})" for column in values["columns"]), 12)
        return f"columns of a table: {columns}"
    if values["kind"] == "table with text":
        return f"{described_embedder(values['texts'])}, and {described_embedder(values['table'])}"
    return f"{values['mark']}, for {values['kind']}"
