"""The format of an output: a table by the ending of its name, or that of another tool by --format."""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hidegl.basics.endings import JSON, WRITTEN, ending_of
from hidegl.basics.errors import UsageError, check_new_file, did_you_mean
from hidegl.files.exchange.arrow_folders import STATE
from hidegl.files.exchange.json_records import first_records
from hidegl.files.exchange.label_studio_min import LabelStudioMin
from hidegl.files.exchange.record_formats import RecordFormat
from hidegl.files.exchange.record_tables import FORMATS
from hidegl.intake.sources import STANDARD_INPUT

DATASETS, MATRIX = "datasets", "pred-probs"

STANDARD_OUTPUT = "standard output"


@dataclass(frozen=True)
class OutputFormat:
    """A format of outputs. `endings` are the endings of its file names; none means a folder."""

    name: str
    endings: tuple[str, ...]
    records: type[RecordFormat] | None = None

    @property
    def is_table(self) -> bool:
        return self.records is None and self.name not in (DATASETS, MATRIX)


TABLE = OutputFormat("table", WRITTEN)

OTHERS = {
    **{one.name: OutputFormat(one.name, one.endings, one) for one in FORMATS if one is not LabelStudioMin},
    DATASETS: OutputFormat(DATASETS, ()),
    MATRIX: OutputFormat(MATRIX, (".npy",)),
}
NAMED = {
    **OTHERS,
    **{ending.removeprefix("."): OutputFormat(ending.removeprefix("."), (ending,)) for ending in WRITTEN},
}


def output_format(wanted: str | None, output: Path | None, data: Path) -> OutputFormat:
    """The format that the user names; or that of the data, if it is one of records and the name of the output fits."""
    if wanted is not None:
        if wanted not in NAMED:
            known = did_you_mean(wanted, NAMED) or f"; use {', '.join(OTHERS)}, or {', '.join(map(str, WRITTEN))}"
            raise UsageError(f"--format {wanted}: there is no such format{known}", "wrong-value")
        return NAMED[wanted]
    own = format_of_data(data)
    if own is not None and (output is None or output.suffix.lower() in own.endings):
        return own
    if output is not None and output.suffix.lower() == ".json":
        array = [name for name, one in OTHERS.items() if ".json" in one.endings]
        raise UsageError(f"-o {output}: name the format of this file with --format: {', '.join(array)}", "ambiguous")
    return NAMED["csv"] if output == Path(STANDARD_INPUT) else TABLE


def format_of_data(path: Path) -> OutputFormat | None:
    """The format of the records of a file, if it can be written."""
    if ending_of(path) not in JSON or not path.is_file():
        return None
    first = first_records(path)
    kind = next((one for one in FORMATS if one.recognises(first)), None)
    return None if kind is None else OTHERS.get(kind.name)


def check_output(path: Path, form: OutputFormat, *, force: bool) -> None:
    """Raise an error, before any work is done, if the output may not be written there."""
    if form.endings:
        check_new_file(path, form.endings, force=force, option="-o")
        return
    if path.exists() and not path.is_dir():
        raise UsageError(f"-o {path} is a file, and --format {form.name} writes a folder: name a folder", "not-a-file")
    if path.exists() and not force:
        raise UsageError(f"{path} exists already: name another folder with -o, or replace it with --force", "exists")
    if path.exists() and not (path / STATE).is_file():
        raise UsageError(
            f"-o {path} contains other things than a data set, so it is not replaced: name another folder", "exists"
        )
    if not path.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {path.parent} for {path.name}: create it first", "no-such-folder")


def standard_output(form: OutputFormat) -> Path:
    """A file that takes the place of standard output until it is complete."""
    if not form.endings or form.name == MATRIX:
        raise UsageError(
            f"-o -: --format {form.name} is more than one file, and cannot go to standard output", "not-a-file"
        )
    return Path(tempfile.mkdtemp(prefix="hidegl-")) / f"{STANDARD_OUTPUT}{form.endings[0]}"


def deliver(path: Path) -> None:
    """Copy a temporary file to standard output, if it replaces that."""
    if path.stem != STANDARD_OUTPUT:
        return
    with path.open("rb") as file:
        shutil.copyfileobj(file, sys.stdout.buffer)
    sys.stdout.flush()
    shutil.rmtree(path.parent, ignore_errors=True)


def spoken(path: Path) -> str:
    """An output in words."""
    return STANDARD_OUTPUT if path.stem == STANDARD_OUTPUT else str(path)
