"""The usual steps on scikit-learn's digits, command by command."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from sklearn.datasets import load_digits

from hidegl.basics.errors import OperationError
from hidegl.files.own_files import FIRST_SHEET_ROW

N_LABELS, N_NEW = 20, 297


def go(folder: Path, run: Callable[[list[str]], int]) -> None:
    """Write digits.csv and new.csv, then suggest, fill in, label, audit and predict."""
    console = Console(highlight=False)
    folder.mkdir(parents=True, exist_ok=True)
    X, truth = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, truth = X[order].astype(int), truth[order]
    write_csv(folder / "digits.csv", X[:-N_NEW])
    write_csv(folder / "new.csv", X[-N_NEW:])
    (folder / "to_label.csv").unlink(missing_ok=True)  # the last demo filled it in, so no command replaces it
    console.print(f"{len(X) - N_NEW:,} images of digits, 64 pixels each, are in {folder / 'digits.csv'}.\n")

    def step(why: str, command: str) -> None:
        console.print(f"[bold]{why}[/]\n[green]$ hidegl {command}[/]")
        if run(shlex.split(command)):
            raise OperationError("the demo stopped at this command", "stopped")
        console.print()

    def at(name: str) -> str:
        return shlex.quote(str(folder / name))

    step("Which rows should a person label?", f"suggest {at('digits.csv')} -n {N_LABELS} -o {at('to_label.csv')} -f")
    fill_in(folder / "to_label.csv", truth)
    console.print(f"[bold]A person fills in these {N_LABELS} labels.[/] (Here the demo does it.)\n")
    options = f"--labels {at('to_label.csv')}"
    outputs = f"-o {at('labelled.csv')} --report {at('report.html')} --model {at('digits.hidegl')}"
    step("Label all other rows.", f"label {at('digits.csv')} {options} {outputs} --effort quick -f")
    step("Do any of the labels look wrong?", f"audit {at('digits.csv')} {options}")
    step("Label new rows.", f"predict {at('digits.hidegl')} {at('new.csv')} -o {at('predicted.csv')} -f")
    for name, known in (("labelled.csv", truth[:-N_NEW]), ("predicted.csv", truth[-N_NEW:])):
        console.print(f"{right(folder / name, known):.1%} of the labels in {folder / name} are right.")
    console.print(f"Now open {folder / 'report.html'} in a browser.")


def write_csv(path: Path, X: np.ndarray) -> None:
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow([f"pixel_{number}" for number in range(X.shape[1])])
        lines.writerows(X.tolist())


def fill_in(path: Path, truth: np.ndarray) -> None:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    with path.open("w", newline="") as file:
        lines = csv.DictWriter(file, rows[0])
        lines.writeheader()
        lines.writerows({**row, "label": truth[int(row["sheet_row"]) - FIRST_SHEET_ROW]} for row in rows)


def right(path: Path, truth: np.ndarray) -> float:
    with path.open(newline="") as file:
        labels = [int(row["label"]) for row in csv.DictReader(file)]
    return float(np.mean(np.array(labels) == truth))
