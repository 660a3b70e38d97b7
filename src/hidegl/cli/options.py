"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

Data = Annotated[
    list[Path],
    typer.Argument(
        help="A table (CSV, TSV, Excel, Parquet, JSON, Feather), a matrix (NPY, NPZ), a folder of images, or an export "
        "of Label Studio, doccano, Argilla, Prodigy, spaCy or datasets. "
        "Several files with the same columns, a pattern, or - for standard input.",
        metavar="DATA",
        show_default=False,
    ),
]
SavedModel = Annotated[
    Path, typer.Argument(help="What `hidegl label --model` saved.", metavar="MODEL", show_default=False)
]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        help="The column of DATA, or the file, with the labels; blank means none. May be repeated: where two differ, "
        "the later one counts. A file has one label per row, or a column 'row' (or the id) and a column 'label'. "
        "For images: a file with the columns 'path' and 'label', or "
        "'folders' for the names of subfolders. Default: a column named label, class, target or y.",
        metavar="COLUMN|FILE",
        show_default=False,
    ),
]
Weak = Annotated[
    list[str] | None,
    typer.Option(
        "--weak",
        help="The column of DATA, or the file, with labels of a source that is often wrong, such as a language model. "
        "May be repeated, and :NAME names the source. How often it is right is learned.",
        metavar="COLUMN|FILE[:NAME]",
        show_default=False,
    ),
]
Classes = Annotated[
    str | None,
    typer.Option(
        "--classes",
        help="Texts: the names of the classes, or a file with a line NAME: DESCRIPTION for each. Rows that are most "
        "like them count as labels that may be wrong. It works with no label at all.",
        metavar="A,B,…|FILE",
        show_default=False,
    ),
]
Id = Annotated[str | None, typer.Option("--id", help="The column with the ids of the rows.", metavar="COLUMN")]
ColumnNames = Annotated[
    str | None, typer.Option(help="The columns to learn from, separated by commas.", metavar="A,B,…")
]
Without = Annotated[str | None, typer.Option(help="Columns not to learn from.", metavar="A,B,…")]
Kinds = Annotated[
    str | None,
    typer.Option(
        "--as",
        help="The kinds of columns that hidegl gets wrong: number, date, category or text, such as "
        "price=number,when=date,code=category.",
        metavar="COLUMN=KIND,…",
        show_default=False,
    ),
]
Text = Annotated[
    str | None,
    typer.Option(
        help="The column of text to learn from; several are joined. Default: the text that the rows are about, unless "
        "there are vectors.",
        metavar="COLUMN",
        show_default=False,
    ),
]
Embedder = Annotated[
    str | None,
    typer.Option(
        help="How texts become vectors: minilm, minilm+layers, static, words, a sentence-transformers model, or "
        "package.module:function; and images: efficientnet, pixels, or the same. Default: the first that is installed.",
        metavar="NAME",
        show_default=False,
    ),
]
Tune = Annotated[
    bool,
    typer.Option(
        "--tune",
        help="Texts: also tune the sentence model by the labels. It takes some minutes, and helps where classes "
        "are not topics, such as tone or spam.",
    ),
]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Do not cache the vectors of texts and images in .hidegl_cache.")
]
Encoding = Annotated[
    str | None, typer.Option(help="The encoding of text files, such as latin1. Default: UTF-8.", metavar="NAME")
]
TableFile = Annotated[
    Path | None,
    typer.Option(
        "--table", help="A table of ids, labels or texts, with one line for each row of a matrix.", metavar="FILE"
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="The file to write: .csv, .tsv, .parquet, .xlsx, .jsonl, .feather, or "
        "one of --format; - for standard output.",
        metavar="FILE",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="The format of the output: label-studio, doccano, argilla, prodigy, spacy, datasets (a folder), "
        "pred-probs (.npy), or that of an ending, such as csv. Default: by the ending of -o; or that of the data.",
        metavar="NAME",
        show_default=False,
    ),
]
Effort = Annotated[str, typer.Option(help="How much time to spend.", metavar="quick|default|best")]
Seed = Annotated[
    int,
    typer.Option(help="The random seed: the same seed gives the same result.", metavar="NUMBER", min=0, max=2**32 - 1),
]
MergeNames = Annotated[
    bool, typer.Option("--merge-names", help="Merge classes whose names differ in case, space or accents only.")
]


def share(text: str | float) -> float:
    """A share such as 0.95, or 95%."""
    number = str(text).strip().removesuffix("%")
    try:
        return float(number) / (100 if number != str(text).strip() else 1)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not a share, such as 0.95 or 95%") from error


Accept = Annotated[
    float | None,
    typer.Option(
        parser=share,
        help="Accept only the most confident labels, of which this share is expected to be right, such as 0.95 or 95%. "
        "The other labels are left blank, and their rows are listed in a file for review.",
        metavar="SHARE",
        show_default=False,
    ),
]
SaveOptions = Annotated[
    bool, typer.Option("--save-options", help="Save the options of this command in hidegl.toml, for later ones here.")
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace files that exist.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
SafeCsv = Annotated[
    bool,
    typer.Option(
        "--safe-csv",
        help="For spreadsheets: put an apostrophe before texts that begin with =, +, - or @, so that none is run as a "
        "formula.",
    ),
]

INPUTS: dict[str, Any] = {
    "labels": Labels,
    "weak": Weak,
    "classes": Classes,
    "id": Id,
    "columns": ColumnNames,
    "without": Without,
    "kinds": Kinds,
    "text": Text,
    "embedder": Embedder,
    "tune": Tune,
    "table": TableFile,
    "encoding": Encoding,
    "no_cache": NoCache,
    "merge_names": MergeNames,
    "safe_csv": SafeCsv,
}
"""The options about the data, in the order in which commands show them."""

FIELDS = {"id": "id_column", "classes": "class_texts"}
"""Options that have another name as fields of `InputOptions`."""


def with_inputs(*, without: tuple[str, ...] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options about the data to a command, after its first arguments. The command gets them as one
    `InputOptions`, its parameter `asked`.
    """
    shared = [
        Parameter(
            name, Parameter.KEYWORD_ONLY, default=False if kind in (Tune, NoCache, MergeNames, SafeCsv) else None
        ).replace(annotation=kind)
        for name, kind in INPUTS.items()
        if name not in without
    ]

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def called(*args: Any, **given: Any) -> None:
            from hidegl.intake.input_options import InputOptions

            asked = {FIELDS.get(one.name, one.name): given.pop(one.name, one.default) for one in shared}
            asked["cache"] = not asked.pop("no_cache", False)
            command(*args, asked=InputOptions(**asked), **given)

        known = {**command.__globals__, "InputOptions": Any}
        own = [
            one for one in signature(command, globals=known, eval_str=True).parameters.values() if one.name != "asked"
        ]
        needed = [one for one in own if one.default is Parameter.empty]
        others = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in own if one.default is not Parameter.empty]
        called.__signature__ = Signature([*needed, *shared, *others])  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in (*needed, *shared, *others)}
        return called

    return decorated
