"""The command that opens a page in the browser to label rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hidegl.basics.errors import UsageError
from hidegl.cli.options import Data, Effort, SaveOptions, Seed, with_inputs
from hidegl.cli.screen import Screen

if TYPE_CHECKING:
    from hidegl.annotation.label_store import LabelStore
    from hidegl.browser.session import Session
    from hidegl.estimators.auto import AutoHiDeGL
    from hidegl.intake.input_options import InputOptions
    from hidegl.intake.tasks import Task

LARGEST_PORT = 65_535

AsImage = Annotated[
    str | None,
    typer.Option(
        help="Show rows as grey images of this size. Default: if they look like square images of pixels from 0 to 255.",
        metavar="HEIGHTxWIDTH",
        show_default=False,
    ),
]


@with_inputs(without=("tune", "safe_csv"))
def studio(
    data: Data,
    *,
    asked: InputOptions,
    as_image: AsImage = None,
    effort: Effort = "default",
    seed: Seed = 0,
    port: Annotated[int, typer.Option(help="The port; 0 is any that is free.", metavar="NUMBER")] = 0,
    host: Annotated[str, typer.Option(help="The address to listen on.", metavar="ADDRESS")] = "127.0.0.1",
    allow_network: Annotated[
        bool, typer.Option("--allow-network", help="Let other machines connect, with --host. They can read the data.")
    ] = False,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address and open nothing.")] = False,
    save_options: SaveOptions = False,
) -> None:
    """Label rows in the browser, and watch the labels spread.

    Labels are saved in DATA.labels.db at every key. All commands take that file with --labels.

    [dim]hidegl studio digits.csv[/]
    [dim]hidegl studio tickets.csv --classes "refund, lost card" --weak llm_answer[/]
    """
    try:
        from hidegl.browser.serving import LOOPBACK, Place, serve, show
        from hidegl.browser.waiting import WaitingPage
    except ImportError as error:
        if error.name not in ("starlette", "uvicorn"):
            raise
        raise UsageError("Studio needs more packages: pip install 'hidegl[studio]'", "missing-package") from error
    from hidegl.annotation.label_files import check_writable
    from hidegl.basics.course import watching
    from hidegl.cli import app
    from hidegl.intake import sources, tasks

    app.check_effort(effort)
    if not 0 <= port <= LARGEST_PORT:
        raise UsageError(f"--port must be 0 (any that is free) to {LARGEST_PORT:,}, got {port:,}", "wrong-value")
    screen = Screen()
    if host not in LOOPBACK:
        check_network(host, screen, allowed=allow_network)
    source = sources.Source.of(data)
    store = store_of(source.path)
    if source.path.exists():  # otherwise, reading raises the error
        check_writable(store)
    place = Place.at(host, port)

    def opened() -> None:
        screen.note("open", place.address)
        if not no_browser:
            show(place.address)

    with WaitingPage(place, source.title, opened) as waiting, watching(waiting.passed):
        task = tasks.Task.read(source, screen.notes, asked._replace(store=store))
        session = session_of(task, screen, as_image, effort=effort, seed=seed)
    screen.note("labels", f"{len(session.store.labels()):,} in {session.store.path}")
    if not waiting.is_open:
        opened()
    screen.note("", "Ctrl-C ends Studio. Labels are saved at every key.")
    serve(session, place=place, open_browser=False, tell=lambda _: None)


def check_network(host: str, screen: Screen, *, allowed: bool) -> None:
    """Let other machines connect only if the user says so."""
    if not allowed:
        raise UsageError(
            f"--host {host}: other machines could read the data; if that is meant, add --allow-network", "wrong-value"
        )
    screen.warn("other machines can reach this page, and whoever has its address can read and change the labels")


def store_of(data: Path) -> Path:
    """The file of labels, next to the data."""
    from hidegl.annotation.label_schema import ENDING

    path = data.absolute()
    return path.with_name(path.name + ENDING)


def session_of(task: Task, screen: Screen, as_image: str | None, *, effort: str, seed: int) -> Session:
    """The session of a file, with the labels in the data."""
    from hidegl.annotation.label_store import LabelStore
    from hidegl.basics.memory import limit_arenas
    from hidegl.browser.pixel_images import shape_of_text
    from hidegl.browser.row_contents import RowContents
    from hidegl.browser.said import SaidOfRows
    from hidegl.browser.session import Session

    limit_arenas()
    chosen = task.columns
    contents = RowContents(
        task.table,
        task.rows,
        texts=chosen.texts,
        hidden=[*task.labels.columns, *task.weak.columns],
        learned=chosen.features if chosen.kind == "table" else None,
        shape=None if as_image is None else shape_of_text(as_image),
        image_of=task.image_of,
    )
    said = SaidOfRows(task.weak.by_class(), task.weak.class_names)
    store = LabelStore(store_of(task.path), task.keys)
    if store.changes is not None:
        screen.warn(store.changes)
    try:
        take_over(task, store, screen)
        said.add_classes(store)
    except BaseException:
        store.close()
        raise
    exports = FilesBeside(task, store.path)
    how: dict[str, Any] = {"effort": effort, "preprocess": task.preprocess, "views": task.views, "seed": seed}
    return Session(task.source.title, store, contents, task.rows, **how, exports=exports, said=said)


def take_over(task: Task, store: LabelStore, screen: Screen) -> None:
    """Import the labels in the data into the store, and report changed names."""
    import numpy as np

    from hidegl.intake.label_values import known

    y = task.labels.y
    if y is None:
        return
    names = {row: str(y[row]) for row in np.flatnonzero(known(y)).tolist()}
    try:
        changed = store.import_labels(names, "file", task.labels.columns)
    except UsageError as error:
        raise UsageError(f"{task.source}, {task.labels.source}: {error}", "class-name") from error
    for name, new in changed.items():
        screen.warn(f"the label {name!r} counts as {new!r} in Studio")


@dataclass(frozen=True)
class FilesBeside:
    """Files that `hidegl label` would write, next to the data."""

    task: Task
    store: Path

    kinds: tuple[str, ...] = ("csv", "parquet", "model", "report")

    def paths(self, kind: str, accept: float | None) -> list[Path]:
        """The output, and the file of rows to review if only some labels are accepted; never a file that was read."""
        from hidegl.basics.errors import check_new_file, replaces
        from hidegl.cli.outputs import default_output, not_filled_in

        own = {"csv": "labelled.csv", "parquet": "labelled.parquet", "model": "hidegl", "report": "report.html"}[kind]
        endings = [own, "review.csv"] if accept is not None and kind in ("csv", "parquet") else [own]
        found = [default_output(self.task.path, ending) for ending in endings]
        while any(replaces(path, read) for path in found for read in self.task.source.paths):
            found = [path.with_name(default_output(path, f"labelled{path.suffix}").name) for path in found]
        found = [not_filled_in(path) if "review" in path.name else path for path in found]
        for path in found:
            check_new_file(path, (), force=True, option="export")
        return found

    def write(self, kind: str, model: AutoHiDeGL, labels: dict[int, str], accept: float | None) -> list[Path]:
        import numpy as np

        from hidegl.basics.errors import writing
        from hidegl.cli import outputs
        from hidegl.files.own_files import FILE
        from hidegl.intake.given_labels import GivenLabels
        from hidegl.intake.results import write_report_of
        from hidegl.showing.tallies import tally_of

        path, *others = paths = self.paths(kind, accept)
        y = np.full(self.task.n_rows, None, dtype=object)
        y[list(labels)] = list(labels.values())
        given = GivenLabels(y, str(self.store), self.task.labels.columns, places=[(FILE, str(self.store))])
        task = replace(self.task, labels=given)
        if kind == "model":
            with writing(path):
                model.with_embedder(self.task.embedder).save(path)
        elif kind == "report":
            write_report_of(path, model, task, tally_of(model), accept=accept)
        else:
            acceptance = None if accept is None else model.acceptance(accept)
            review = next(iter(others), None)
            to = outputs.LabelledOutput(path, review=review)
            outputs.write_labelled(to, task, model.stream_labels(), acceptance=acceptance)
        return paths
