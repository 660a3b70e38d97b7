"""The endings of files with rows: which ones are read and written, and as which format."""

from __future__ import annotations

from pathlib import Path

TEXT = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".tab", ".txt")
PARQUET, ARROW, SHEET = (".parquet", ".pq"), (".feather", ".arrow"), ".xlsx"
JSON_LINES = (".jsonl", ".ndjson")
JSON = (".json", *JSON_LINES)

READ = (*TEXT, *PARQUET, SHEET, *JSON, *ARROW, ".npy", ".npz")
WRITTEN = (".csv", ".tsv", ".parquet", SHEET, *JSON_LINES, *ARROW)


def ending_of(path: Path) -> str:
    """The ending in small letters; of a compressed file with the one before it, such as .csv.gz."""
    ending = path.with_suffix("").suffix + path.suffix if path.suffix.lower() == ".gz" else path.suffix
    return ending.lower()


def parquet_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet")) or sorted(folder.glob("*.pq"))
