"""The paper's tables and figures: their store, their cells, and pages that are the same again."""

import json
import shutil
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from typer.testing import CliRunner

from hidegl import HiDeGL
from hidegl.datasets import draw_labels, hide_labels, make_three_moons
from hidegl.paper import commands
from hidegl.paper.cells import Cell, best_of, cells_of, comparisons
from hidegl.paper.many_draws import accuracies, rule_over
from hidegl.paper.methods import MODELS, QUOTED_BY_THE_PAPER, baseline_settings
from hidegl.paper.oracle_search import DEFAULT_LABELLING, second_round
from hidegl.paper.pages import Pages, accuracy_table
from hidegl.paper.quoted import TABLES, VARIANTS, best_variant, label_counts, quoted, quoted_cells
from hidegl.paper.sensitivity import curves
from hidegl.paper.store import Store, drop_cut_line
from hidegl.paper.trials import missing_tasks

DOCS = Path(__file__).parent.parent / "docs" / "paper"


def a_trial(method, accuracies, *, protocol="oracle", kind="balanced", **parameters):
    return {
        "protocol": protocol,
        "method": method,
        "data": "usps2",
        "kind": kind,
        "parameters": parameters,
        "accuracies": accuracies,
        "seconds": 1.0,
    }


# The paper's numbers


def test_every_cell_of_the_paper_is_quoted():
    assert sum(len(label_counts(name)) for names in TABLES.values() for name in names) == 39
    for name in (name for names in TABLES.values() for name in names):
        assert set(VARIANTS) < set(quoted(name))
        assert set(quoted(name)) - set(VARIANTS) <= set(MODELS)
        assert all(set(cells) == set(label_counts(name)) for cells in quoted(name).values())
    assert best_variant("usps2", 10) == 91.94
    assert quoted("emnist_digits", "seconds")["AGR(LAE)"][10] == (3430.1, 70.3)
    tagged = {cell["method"] for cell in quoted_cells() if cell["quoted_from_subramanya_bilmes"]}
    assert tagged == set(QUOTED_BY_THE_PAPER)


# Many draws at a time


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("n_labels", [9, 60])
def test_many_draws_together_give_what_each_fit_gives(variant, n_labels):
    X, y = make_three_moons(300, n_features=5, noise=0.4, random_state=0)
    rule, graph = VARIANTS[variant]
    how = {"alpha": 0.7, "eta": 0.3, "lambda2": 0.02}
    draws = [draw_labels(y, n_labels, seed=seed) for seed in range(3)]
    (structure,) = HiDeGL(40, random_state=0).fit(X).structures_
    tuned = rule_over(structure, rule=rule, graph=graph, **how)
    found = accuracies(structure, tuned, y, draws, ("balanced", "labels", None))
    for prior, values in found.items():
        for labelled, value in zip(draws, values, strict=True):
            one = HiDeGL(40, rule=rule, graph=graph, class_prior=prior, random_state=0, **how)
            right = one.fit(X, hide_labels(y, labelled)).transduction_ == y
            assert value == pytest.approx(100 * np.delete(right, labelled).mean(), abs=1e-9)


# The store


def test_a_line_that_was_cut_off_is_dropped(tmp_path):
    store = Store(tmp_path)
    store.append("usps2", [a_trial("LGC", {"10": [1.0, 2.0]})])
    path = tmp_path / "usps2.jsonl"
    with path.open("a") as file:
        file.write('{"method": "LGC", "accur')
    assert len(store.trials("usps2")) == 1
    store.append("usps2", [a_trial("SGT", {"10": [3.0, 4.0]})])
    assert [trial["method"] for trial in store.trials("usps2")] == ["LGC", "SGT"]
    machines = json.loads((tmp_path / "machines.json").read_text())
    assert machines[store.trials("usps2")[0]["machine"]]["versions"]["numpy"] == np.__version__


def test_what_is_stored_is_not_fitted_again(tmp_path):
    store = Store(tmp_path)
    tasks = missing_tasks("three-moon", store, quick=True)
    task = next(task for task in tasks if task.title.startswith("LGC balanced"))
    store.append("three-moon", task())
    again = [other.title for other in missing_tasks("three-moon", store, quick=True)]
    assert again == [other.title for other in tasks if other is not task]


def test_the_second_round_takes_the_best_points_of_each_cell():
    points = [{"n_points": k, "width": 1.0, "lambda1": 1.0, "n_nearest": 8} for k in (200, 500)]
    trials = [
        a_trial("HiDeGL(L-accurate)", {"10": [80.0, 90.0], "50": [97.0, 97.0]}, **points[0], **DEFAULT_LABELLING),
        a_trial("HiDeGL(L-accurate)", {"10": [81.0, 91.0], "50": [96.0, 96.0]}, **points[1], **DEFAULT_LABELLING),
        a_trial("HiDeGL(A-accurate)", {"10": [81.0, 91.0], "50": [96.0, 96.0]}, **points[1], **DEFAULT_LABELLING),
        a_trial("HiDeGL(A-accurate)", {"10": [99.0, 99.0]}, **points[0], **{**DEFAULT_LABELLING, "alpha": 0.9}),
    ]
    assert second_round(trials) == [("lgc", points[1]), ("lgc", points[0]), ("agr", points[1])]


# From trials to cells


def test_a_cell_is_the_best_setting_and_stays_so_for_each_number_of_labels():
    trials = [
        a_trial("LGC", {"10": [80.0, 90.0], "50": [95.0, 97.0]}, mu=1),
        a_trial("LGC", {"10": [84.0, 88.0], "50": [90.0, 90.0]}, mu=2),
        a_trial("LGC", {"10": [99.0, 99.0]}, kind="random", mu=3),
        a_trial("LGC", {"10": [99.0, 99.0]}, protocol="timing", mu=4),
    ]
    cells = cells_of(trials, "balanced")
    assert cells["LGC"][10] == Cell("LGC", (84.0, 88.0), {"mu": 2})
    assert cells["LGC"][50].parameters == {"mu": 1}
    assert best_of(cells, ["SGT", "LGC"], 50).mean == 96
    assert best_of(cells, ["SGT"], 50) is None


def test_a_cell_reaches_the_paper_with_two_decimals():
    assert Cell("LGC", (91.935, 91.936), {}).reaches(91.94)
    assert not Cell("LGC", (91.93, 91.93), {}).reaches(91.94)


def test_a_missing_system_leaves_a_gap_and_the_best_is_bold():
    cells = {"LGC": {10: Cell("LGC", (84.0, 86.0), {})}, "AutoHiDeGL()": {10: Cell("AutoHiDeGL()", (90.0, 90.0), {})}}
    table = accuracy_table("usps2", ["SGT", "LGC"], cells, [10]).splitlines()
    assert "| SGT, tuned | – (86.20) |" in table
    theirs, _ = quoted("usps2")["LGC"][10]
    assert f"| LGC, tuned | 85.00 ± 1.41 ({theirs:.2f}, {85 - theirs:+.2f}) |" in table
    assert "| `AutoHiDeGL()`, nothing tuned | **90.00 ± 0.00** |" in table


# All of it, on small data


def test_quick_run_of_everything_and_pages_that_are_the_same_again(tmp_path, monkeypatch):
    def run(*options):
        result = CliRunner().invoke(commands.app, ["all", "--quick", "--folder", str(tmp_path), *options])
        assert result.exit_code == 0, result.output
        return {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}

    pages = run()
    assert set(pages) == {
        *(f"{table}.md" for table in TABLES),
        *("README.md", "overview.svg", "figure1.md", "figure1.png", "figure2.md", "figure2.svg"),
    }
    assert all(b"These numbers mean nothing" in text for name, text in pages.items() if name.endswith(".md"))
    assert not any(b"\xe2\x80\x93" in pages[f"{table}.md"].split(b"## What was tuned")[0] for table in TABLES)
    found = comparisons(Store(tmp_path / "trials"), "random")
    assert all(cell is not None for c in found for cell in (c.oracle, c.honest, c.others))
    assert {len(by_count) for by_count in curves(Store(tmp_path / "trials")).values()} == {4}

    def refuse(*_):
        raise AssertionError("nothing is left to fit")

    monkeypatch.setattr(commands, "run", refuse)
    monkeypatch.setattr("hidegl.paper.moon_graphs.save_figure1", refuse)
    assert run() == pages
    assert run("--render-only") == pages


def test_the_pages_in_docs_are_those_of_the_stored_trials(tmp_path):
    if not (DOCS / "trials").exists():
        pytest.skip("the stored trials are in the repository, not in the package")
    shutil.copytree(DOCS / "trials", tmp_path / "trials")
    pages = Pages(tmp_path, Store(tmp_path / "trials"), quick=False)
    machines = json.loads((DOCS / "trials" / "machines.json").read_text()).values()
    same_matplotlib = mpl.__version__ in {machine["versions"].get("matplotlib") for machine in machines}
    for path in [path for what in (*TABLES, "fig1", "fig2", "summary") for path in pages.render(what)]:
        if path.suffix == ".md" or same_matplotlib:
            assert path.read_bytes() == (DOCS / path.name).read_bytes(), path.name


def test_grids_are_small_where_fits_are_slow():
    assert len(baseline_settings("letter", "TVRF(1)")) < len(baseline_settings("usps", "TVRF(1)"))
    assert len(baseline_settings("mnist", "AGR(LAE)")) < len(baseline_settings("usps", "AGR(LAE)"))
    assert all(setting["n_anchors"] == 500 for setting in baseline_settings("emnist_digits", "AGR(LAE)"))


def test_records_of_several_processes_are_all_stored(tmp_path, monkeypatch):
    """One appends while another looks for a line that was cut."""
    whole = tmp_path / "trials.jsonl"
    whole.write_bytes(b"{}\n")
    with whole.open("ab+") as file:

        class Slow:
            """Before it reads, another process has appended a line."""

            def __getattr__(self, name):
                return getattr(file, name)

            def read(self, n):
                found = file.read(n)
                with whole.open("ab") as other:
                    other.write(b"{}\n")
                return found

        drop_cut_line(Slow())
        assert whole.read_bytes() == b"{}\n" * 2
