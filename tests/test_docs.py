"""The documents name things that exist."""

import ast
import importlib
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.linear_model import LogisticRegression

ROOT = Path(__file__).parent.parent
NAMES = re.findall(r"`(hidegl\.[\w.]+|tests/\w+\.py::\w+)`", (ROOT / "docs" / "paper_map.md").read_text())


def test_paper_map_names_many_things():
    assert len(set(NAMES)) > 30


@pytest.mark.parametrize("name", sorted(set(NAMES)))
def test_name_in_the_paper_map_exists(name):
    if name.startswith("tests/"):
        file, test = name.split("::")
        tree = ast.parse((ROOT / file).read_text())
        assert test in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        return
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return
    pytest.fail(f"{name} is no module")


PUBLIC = ("hidegl", "hidegl.baselines", "hidegl.datasets", "hidegl.embedding", "hidegl.showing")


@pytest.mark.parametrize("module", PUBLIC)
def test_the_reference_lists_every_public_name(module):
    page = (ROOT / "docs" / "api.md").read_text()
    listed = page.split(f".. currentmodule:: {module}\n")[1].split("```")[0].split()
    names = set(importlib.import_module(module).__all__) - {"__version__", "Embedder"}
    assert names <= set(listed)
    assert "`hidegl.embedding.Embedder`" in page  # a type, without a page of its own


PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", *(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md"))]


@pytest.mark.parametrize("page", PAGES)
def test_links_and_files_in_the_documents_exist(page):
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", text):
        assert ((ROOT / page).parent / target).exists(), target


def test_the_numbers_of_the_speed_page_are_those_stored(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    page = (ROOT / "docs" / "speed.md").read_text()
    assert page == importlib.import_module("speed").page()
    results = json.loads((ROOT / "benchmarks" / "results" / "speed.json").read_text())
    for row in results["iteration"]:
        assert f"| {row['ratio']} × |" in page
    for name, row in results["mnist"]["methods"].items():
        assert re.search(rf"{re.escape(name)} \| {row['seconds']} s.* {row['accuracy']:.1f} % right", page)
    assert f"{results['emnist']['seconds']} s, {results['emnist']['times_faster_than_the_paper']} ×" in page
    for row in results["rows"]["runs"]:
        assert f"{row['seconds']} s, {row['peak_megabytes']:,} MB" in page
    for row in results["points"]:
        assert f"{row['seconds']} s, {row['accuracy_10']:.1f} / {row['accuracy_50']:.1f}" in page


def test_the_page_on_other_methods_is_what_the_stored_results_say(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    assert (ROOT / "docs" / "baselines.md").read_text() == importlib.import_module("baselines").page()


def test_the_tables_on_choosing_labels_are_those_of_the_stored_results(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    page = importlib.import_module("suggest_page")
    text = (ROOT / "docs" / "choosing_labels.md").read_text()
    assert all(f"<!-- {name} -->\n|" in text for name in page.tables())
    assert page.with_tables(text, page.tables()) == text


@pytest.mark.parametrize(
    "name",
    ["texts", "text_views", "images", "tables", "ordinary", "dirty_tables", "text_and_columns", "benchmarks_page"],
)
def test_the_tables_of_a_guide_are_those_of_the_stored_results(name, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    benchmark = importlib.import_module(name)
    page = benchmark.PAGE.read_text()
    assert all(f"<!-- {one} -->\n|" in page for one in benchmark.tables())
    assert benchmark.with_tables(page, benchmark.tables()) == page


def test_the_tables_of_weak_sources_are_those_of_the_stored_results():
    code = "import page; text = page.PAGE.read_text(); print(page.with_tables(text, page.tables()) == text, end='')"
    folder = ROOT / "benchmarks" / "weak"
    found = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert found.stdout == "True"
    text = (ROOT / "docs" / "sources.md").read_text()
    assert all(f"<!-- {name} -->\n|" in text for name in ("one", "honest", "several", "names", "people", "joined"))


def test_every_result_says_what_it_was_measured_on():
    results = ROOT / "benchmarks" / "results"
    machines = json.loads((results / "machines.json").read_text())
    environments = [
        json.loads(path.read_text())["environment"] for path in results.glob("*.json") if path.stem != "machines"
    ]
    for path in results.glob("*.jsonl"):
        environments += [machines[json.loads(line)["machine"]] for line in path.read_text().splitlines()]
    for environment in environments:
        assert {"processor", "cores", "versions", "commit"} <= set(environment)


def test_the_page_on_scaling_is_what_the_stored_results_say():
    spec = importlib.util.spec_from_file_location("scaling", ROOT / "benchmarks" / "scaling.py")
    scaling = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scaling)
    assert (ROOT / "docs" / "scaling.md").read_text() == scaling.page()


def test_the_tables_of_the_accuracy_page_are_those_of_the_stored_results(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    monkeypatch.syspath_prepend(ROOT / "benchmarks" / "accuracy")
    page = importlib.import_module("page")
    results = page.all_results()
    tables = page.tables(results)
    text = (ROOT / "docs" / "accuracy.md").read_text()
    assert all(f"<!-- {name} -->\n|" in text for name in tables)
    assert page.with_tables(text, tables) == text
    for short in page.SHORT_PAGES:
        assert f"<!-- beside -->\n{page.beside_table(results)}\n<!-- end -->" in short.read_text()
    check_first_lines(cells_of(tables["grid_means"]), tables["accepted"], tables["grid"])


def test_constants_of_the_model_have_the_values_that_are_documented():
    text = (ROOT / "docs" / "how_it_works.md").read_text()
    table = re.search(r"<!-- constants -->\n(.*?)\n<!-- end -->", text, flags=re.DOTALL)[1]
    rows = [row[:2] for row in cells_of(table)[2:]]
    assert 15 < len(rows) <= 20
    for names, values in rows:
        module, _, first = re.findall(r"`(.*?)`", names)[0].partition(".")
        room = "questions" if module == "acceptance" else "ensemble"
        found = importlib.import_module(f"hidegl.{room}.{module}")
        numbers = []
        for name in [first, *re.findall(r"`(.*?)`", names)[1:]]:
            value = getattr(found, name)
            numbers += list(value.values()) if isinstance(value, dict) else np.atleast_1d(value).tolist()
        documented = [float(value.replace("\N{MINUS SIGN}", "-")) for value in values.split(", ")]
        assert sorted(numbers) == sorted(documented), names


def cells_of(table):
    return [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in table.splitlines()]


def check_first_lines(grid_means, accepted, grid):
    """Its first lines are of Banking77, as are those of the home page."""
    readme = (ROOT / "README.md").read_text()
    five_per_class = next(row[3] for row in cells_of(accepted) if row[0] == "Banking77")
    share, right = re.fullmatch(r"(\d+)% \(([\d.]+)% right\)", five_per_class).groups()
    ours, _, logistic = next(row[2:5] for row in cells_of(grid) if row[:2] == ["Banking77", "5"])
    for words in (
        f"**{share} %** of the labels",
        f"({right} %",
        f"{ours.split()[0]} % of its labels",
        f"{logistic} % (",
    ):
        assert words in readme
    home = (ROOT / "docs" / "index.md").read_text().replace("\N{NO-BREAK SPACE}", " ")
    five = next(row for row in grid_means if row[0] == "5")
    for words in (f"{share} % accepted at 95 %", f"{right} % of the accepted", f"{five[1]} % instead of {five[2]} %"):
        assert words in home


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)


def test_the_block_of_the_readme_prints_what_it_says(capsys):
    _, block = blocks("README.md")
    names = {}
    exec(block, names)
    printed = re.findall(r"^print\(.*#\s(.*?)(?:;.*)?$", block, re.MULTILINE)
    assert len(printed) == 2
    assert capsys.readouterr().out.splitlines() == printed
    X, truth = names["X"], names["truth"]
    logistic = LogisticRegression(max_iter=5000).fit(X[:30], truth[:30])
    assert f"logistic regression has {logistic.score(X[30:], truth[30:]):.3f}" in block


@pytest.mark.filterwarnings("ignore:only one label each for")
@pytest.mark.parametrize("kind", ["texts", "frame", "images"])
def test_the_first_block_of_the_readme_takes_texts_frames_and_images(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = ["refund the fee", "my money back", "where is my card", "I lost my card", "refund, please", "a new card"]
    images = []
    for number in range(6):
        images.append(tmp_path / f"{number}.png")
        Image.new("RGB", (16, 16), (40 * number, 200 - 30 * number, 99)).save(images[-1])
    data = {"texts": texts, "frame": pd.DataFrame({"text": texts, "n": range(6)}), "images": images}[kind]
    first, _ = blocks("README.md")
    names = {"data": data}
    exec(first, names)
    assert len(names["result"].labels) == 6
    assert set(names["result"].labels) == {"refund", "card"}


@pytest.mark.filterwarnings("ignore:only one label each for")
@pytest.mark.parametrize("page", ["first_steps", "python"])
def test_examples_in_the_documents_run(page, moons, tmp_path, monkeypatch):
    X, y, truth = moons
    monkeypatch.chdir(tmp_path)
    np.save("embeddings.npy", X)
    names = {"X": X, "y": y, "X_new": X[:5], "y_better": truth}
    for example in blocks(f"docs/{page}.md"):
        exec(example, names)
    assert names["model"].score(X, truth) > 0.99


def test_the_numbers_of_the_studio_page_are_those_stored():
    page = (ROOT / "docs" / "studio.md").read_text()
    results = json.loads((ROOT / "benchmarks" / "results" / "studio.json").read_text())
    kills = results["kills"]
    assert f"{kills['kills']} times" in page
    assert f"{kills['labels_asked_for']:,} in all. {kills['labels_acknowledged']:,} labels were acknowledged" in page
    assert kills["acknowledged_labels_lost"] == 0
    for name, row in results["latency"].items():
        times = (f"{row[what]['p95']:.0f} ms" for what in ("next_card_ms", "recoloured_map_ms"))
        assert f"| {name} | {row['rows']:,} | {row['classes']} | {' | '.join(times)} |" in page
    for name, records in results["person"].items():
        own = [one["accuracy"] for one in records if one["way"] == "studio" and one["labels"] == 100]
        line = next(line for line in page.splitlines() if line.startswith(f"| {name} | studio |"))
        assert f"| {100 * np.mean(own):.1f} % (" in line
