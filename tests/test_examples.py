"""Every example of the gallery runs, in the time that the gallery promises."""

from __future__ import annotations

import ast
import runpy
import time
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("plot_*.py"))
SECONDS = 20


def test_there_are_enough_examples_and_each_has_a_title():
    assert len(EXAMPLES) >= 8
    for path in EXAMPLES:
        title, rule = ast.get_docstring(ast.parse(path.read_text())).splitlines()[:2]
        assert rule == "=" * len(title)


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    begun = time.perf_counter()
    runpy.run_path(str(path))
    matplotlib.pyplot.close("all")
    assert time.perf_counter() - begun < SECONDS
