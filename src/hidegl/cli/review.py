"""The command that labels again after a person has filled in files for review."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hidegl.basics.errors import UsageError
from hidegl.cli.options import (
    Accept,
    Data,
    Effort,
    Embedder,
    Force,
    Id,
    Json,
    Labels,
    Output,
    Quiet,
    SaveOptions,
    Seed,
    Text,
    Weak,
)

FILES = ("to_label", "review", "audit")
"""The names of files for people, next to the data."""

DEFAULT_PRECISION = 0.95


def review(
    data: Data,
    labels: Labels = None,
    weak: Weak = None,
    id: Id = None,  # noqa: A002
    output: Output = None,
    accept: Accept = None,
    model: Annotated[
        Path | None, typer.Option(help="Also save the model, for `hidegl predict`.", metavar="FILE")
    ] = None,
    effort: Effort = "default",
    text: Text = None,
    embedder: Embedder = None,
    seed: Seed = 0,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    save_options: SaveOptions = False,
) -> None:
    """Fold in what you filled into files for review, label again, and write the next file.

    It finds the files that `label --accept`, `suggest` and `audit -o` wrote next to DATA, takes those with answers, and
    goes on as `hidegl label --accept 0.95` would. Earlier labels are used too: each of these files stores their places.

    [dim]hidegl review tickets.csv[/]
    """
    from hidegl.cli.app import label
    from hidegl.intake.sources import Source

    source = Source.of(data)
    found = answered_files(source.path)
    if not found and not labels:
        raise UsageError(
            f"no file next to {source} has answers: fill in the column 'label' of one that `hidegl label {source} "
            f"--accept 0.95`, `hidegl suggest {source}` or `hidegl audit {source} -o FILE` writes",
            "no-labels",
        )
    label(
        data,
        labels=[*(labels or []), *map(str, found)],
        weak=weak,
        id=id,
        output=output,
        model=model,
        accept=DEFAULT_PRECISION if accept is None else accept,
        effort=effort,
        text=text,
        embedder=embedder,
        seed=seed,
        force=force or output is None,
        json=json,
        quiet=quiet,
    )


def answered_files(data: Path) -> list[Path]:
    """The files for people next to the data in which somebody filled in labels, the oldest first."""
    from hidegl.cli.outputs import default_output
    from hidegl.intake.results import n_filled_in

    stem = default_output(data, "").name
    names = [path for name in FILES for path in data.parent.glob(f"{stem}{name}*") if path.is_file()]
    return sorted((path for path in names if n_filled_in(path)), key=lambda path: path.stat().st_mtime_ns)
