"""`hidegl paper …`: run the missing trials of a table or figure, and render it (extra: cli)."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from enum import StrEnum
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
    from hidegl.paper.store import Store, Trial
    from hidegl.paper.trials import TrialBatch

try:
    import typer
except ImportError as error:
    raise ImportError("the command line needs typer: pip install 'hidegl[cli]'") from error

FOLDER, QUICK_FOLDER = Path("docs/paper"), Path("quick-paper")


class What(StrEnum):
    """The tables and figures that can be reproduced."""

    table2 = "table2"
    table3 = "table3"
    table4 = "table4"
    table5 = "table5"
    fig1 = "fig1"
    fig2 = "fig2"
    all = "all"


app = typer.Typer(help="Reproduce the paper's tables and figures.", no_args_is_help=True)


@app.command()
def paper(
    what: Annotated[What, typer.Argument(help="The table or figure, or all of them.")],
    quick: Annotated[bool, typer.Option(help="Use small substitutes for the data, as a test.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="The number of processes that fit in parallel.")] = 1,
    folder: Annotated[
        Path | None, typer.Option(help=f"Folder of trials and pages. [default: {FOLDER}, or {QUICK_FOLDER} if quick]")
    ] = None,
    render_only: Annotated[bool, typer.Option("--render-only", help="Fit nothing, use stored trials.")] = False,
    only: Annotated[str | None, typer.Option(help="Only fits with this in their name: a data set or a method.")] = None,
) -> None:
    """Run the missing fits, store every trial, and make the pages. After an interruption, run it again: it resumes."""
    from threadpoolctl import threadpool_limits

    from hidegl.paper.pages import Pages
    from hidegl.paper.store import Store

    folder = folder or (QUICK_FOLDER if quick else FOLDER)
    store = Store(folder / "trials")
    wanted = [one for one in What if one is not What.all] if what is What.all else [what]
    if not render_only:
        with threadpool_limits(1 if quick else None):  # for small matrices, threads slow each other down
            for one in wanted:
                fit_missing(one, store, quick=quick, jobs=jobs, only=only)
    pages = Pages(folder, store, quick=quick)
    for page in [*map(str, wanted), "summary"]:
        for path in pages.render(page):
            typer.echo(path)


def fit_missing(what: str, store: Store, *, quick: bool, jobs: int, only: str | None = None) -> None:
    """Run tasks until a table or figure is complete."""
    from hidegl.paper.moon_graphs import save_figure1

    if what == What.fig1:
        path = store.folder / "figure1.npz"
        if not path.exists():
            save_figure1(path, quick)
        return
    while tasks := lacking(what, store, quick=quick, only=only):
        progress = Counter(what, len(tasks))
        for task, trials in run(tasks, jobs):
            store.append(task.name, trials)
            progress.done(task)
        progress.end()


def lacking(what: str, store: Store, *, quick: bool, only: str | None) -> list[TrialBatch]:
    """The tasks of a table or figure that are not done. Timings run last."""
    from hidegl.paper.quoted import TABLES
    from hidegl.paper.sensitivity import sensitivity_tasks
    from hidegl.paper.timing import timing_tasks
    from hidegl.paper.trials import missing_tasks

    if what == What.fig2:
        tasks = sensitivity_tasks(store, quick=quick)
    else:
        tasks = [task for name in TABLES[what] for task in missing_tasks(name, store, quick=quick)]
        if what == What.table5:
            tasks += timing_tasks(store, quick=quick)
    return [task for task in tasks if only is None or only in f"{task.name} {task.title}"]


def run(tasks: list[TrialBatch], jobs: int) -> Iterator[tuple[TrialBatch, list[Trial]]]:
    """Each task with its trials when it is done, from this process or from several."""
    from threadpoolctl import threadpool_limits

    if jobs == 1:
        for task in tasks:
            yield task, task()
        return
    with ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=threadpool_limits, initargs=(1,)
    ) as pool:
        running = {pool.submit(task): task for task in tasks}
        try:
            for future in as_completed(running):
                yield running[future], future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


class Counter:
    """A progress line, if standard error is a terminal."""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total, self.count = what, total, 0
        self.begun = time.perf_counter()
        self.shown = sys.stderr.isatty()

    def done(self, task: TrialBatch) -> None:
        self.count += 1
        left = (time.perf_counter() - self.begun) / self.count * (self.total - self.count)
        self._write(
            f"\r{self.what}  {self.count}/{self.total}  about {left:.0f} s left  {task.name}: {task.title}"[:110]
            + "\033[K"
        )

    def end(self) -> None:
        self._write("\r\033[K")

    def _write(self, text: str) -> None:
        if self.shown:
            sys.stderr.write(text)
            sys.stderr.flush()
