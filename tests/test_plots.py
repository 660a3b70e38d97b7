"""Pictures for notebooks, and how a model shows itself there."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from hidegl import AutoHiDeGL, HiDeGL
from hidegl.showing.plots import plot_borders, plot_confidence, plot_map, plot_objective, plot_tree


@pytest.fixture(autouse=True)
def no_open_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module", params=["HiDeGL", "AutoHiDeGL"])
def fitted(request):
    truth = np.sort(np.arange(300) % 3)
    X = 2.5 * np.eye(4)[truth] + np.random.default_rng(0).normal(0, 0.9, (300, 4))
    model = HiDeGL(60, random_state=0) if request.param == "HiDeGL" else AutoHiDeGL("quick", random_state=0)
    return model.fit(X, np.where(np.arange(300) % 10 == 0, np.array(["<b>", "two", "three"])[truth], None))


@pytest.mark.parametrize("plot", [plot_map, plot_confidence, plot_objective, plot_borders])
def test_plots_return_their_axes_and_draw_on_given_ones(plot, fitted, tmp_path):
    ax = plot(fitted)
    assert ax.has_data()
    ax.figure.savefig(tmp_path / "plot.png")
    _, own = plt.subplots()
    assert plot(fitted, ax=own) is own


def test_what_the_plots_show(fitted):
    legend = [text.get_text() for text in plot_map(fitted).get_legend().get_texts()]
    assert legend == ["<b>", "three", "two", "given label"]
    heights = sum(bar.get_height() for bar in plot_confidence(fitted).patches)
    assert heights == 270  # the rows without a given label
    _, borders = plt.subplots()
    assert len(plot_borders(fitted, n=2, ax=borders).patches) == 4


def test_plots_before_there_are_labels(moons):
    X, y, _ = moons
    model = HiDeGL(50, random_state=0).fit(X)
    assert plot_map(model).has_data()
    assert plot_objective(model).has_data()
    with pytest.raises(NotFittedError, match="no label was given to fit"):
        plot_borders(model)
    assert plot_tree(model.relabel(y), X, y).has_data()


def test_a_fitted_model_shows_a_summary_in_a_notebook(fitted):
    html = fitted._repr_mimebundle_()["text/html"]
    assert "sk-container" in html
    for words in ("hidegl-summary", "300", "3: &lt;b&gt;, three, two"):
        assert words in html
    assert "hidegl-summary" in fitted._repr_html_()
    assert "hidegl-summary" not in type(fitted)()._repr_html_()


def test_a_model_without_labels_says_so(moons):
    assert "none yet" in HiDeGL(50, random_state=0).fit(moons[0])._repr_html_()
