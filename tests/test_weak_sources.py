"""Weak sources: each is believed as far as given labels and the rows bear it out."""

import numpy as np
import pytest

import hidegl
from hidegl import AutoHiDeGL
from hidegl.datasets import draw_labels, hide_labels
from hidegl.ensemble.confusions import confusion, likelihoods_of, log_evidence, prior_confusion, with_accuracy
from hidegl.spreading.weak_labels import GuessedLabels

N_CLASSES = 4


@pytest.fixture(scope="module")
def problem():
    """Overlapping classes: X, y."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, N_CLASSES, 800)
    return (3 * rng.normal(size=(N_CLASSES, 6)) / 2)[y] + 1.6 * rng.normal(size=(800, 6)), y


def source(y, right, seed=1, rows=None):
    """Labels that are right in this share of the rows, and the same wrong class otherwise in most others."""
    rng = np.random.default_rng(seed)
    wrong = np.where(
        rng.random(len(y)) < 0.7, (y + 1) % N_CLASSES, (y + rng.integers(1, N_CLASSES, len(y))) % N_CLASSES
    )
    said = np.where(rng.random(len(y)) < right, y, wrong)
    return said if rows is None else np.where(np.isin(np.arange(len(y)), rows), said, -1)


def model():
    return AutoHiDeGL("quick", random_state=0)


def share_right(fitted, y):
    free = np.ones(len(y), bool)
    free[fitted.given_labels_.rows] = False
    return np.mean(fitted.transduction_[free] == y[free])


def few(y, n=12):
    return hide_labels(y, draw_labels(y, n, seed=3, kind="balanced"))


@pytest.mark.parametrize("right", [0.5, 0.85])
def test_result_is_better_than_gold_and_source(problem, right):
    X, y = problem
    said = source(y, right)
    fitted = model().fit(X, few(y))
    alone = share_right(fitted, y)
    found = share_right(fitted.relabel(few(y), weak={"llm": said}), y)
    assert found > alone + 0.02
    assert found > np.mean(said == y) + 0.01


def test_a_source_on_a_few_rows_is_believed_there(problem):
    X, y = problem
    rows = np.random.default_rng(2).choice(len(y), 60, replace=False)
    said = source(y, 0.9, rows=rows)
    fitted = model().fit(X, few(y), weak={"llm": said})
    assert np.mean(fitted.transduction_[rows] == y[rows]) >= np.mean(said[rows] == y[rows]) - 0.02


def test_a_source_that_guesses_costs_nothing(problem):
    X, y = problem
    guesses = np.random.default_rng(4).integers(0, N_CLASSES, len(y))
    fitted = model().fit(X, few(y, 40))
    alone = share_right(fitted, y)
    assert share_right(fitted.relabel(few(y, 40), weak={"dice": guesses}), y) > alone - 0.01
    assert fitted.sources_[0].accuracy < 0.45


def test_a_source_below_chance_is_not_used(problem):
    X, y = problem
    fitted = model().fit(X, few(y, 40))
    before = fitted.label_distributions_.copy()
    with pytest.warns(UserWarning, match="no weak source is clearly better than chance"):
        fitted.relabel(few(y, 40), weak={"liar": source(y, 0.1)})
    assert not fitted.sources_[0].used
    assert np.array_equal(fitted.label_distributions_, before)


@pytest.mark.filterwarnings("ignore:only one label", "ignore:no weak source")
@pytest.mark.parametrize("share", [1.0, 0.1])
def test_a_source_that_contradicts_one_label_per_class_is_not_believed(share):
    """With two classes, a source that is right in 30 % looks like one that is right in 70 % and the other way round."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 600)
    X = np.where(y == 1, 1.5, -1.5)[:, None] * np.ones(4) + rng.normal(size=(600, 4))
    given = few(y, 2)
    said = np.where(rng.random(600) < share, np.where(rng.random(600) < 0.3, y, 1 - y), -1)
    fitted = model().fit(X, given)
    alone = share_right(fitted, y)
    assert share_right(fitted.relabel(given, weak={"llm": said}), y) > alone - 0.01
    assert fitted.sources_[0].low < 0.5
    said = np.where(said >= 0, 1 - said, said)
    assert share_right(fitted.relabel(given, weak={"llm": said}), y) > alone - 0.01
    assert fitted.sources_[0].used


def test_without_given_labels(problem):
    X, y = problem
    said = source(y, 0.6)
    fitted = model().fit(X, weak={"llm": said})
    assert np.mean(fitted.transduction_ == y) > np.mean(said == y) + 0.05
    assert np.mean(fitted.predict(X) == y) > np.mean(said == y) + 0.05
    assert fitted.sources_[0].agreement is None
    assert len(fitted.given_labels_.rows) == 0
    assert len(fitted.suggest(3)) == 3
    assert "llm" in fitted.summary()
    with pytest.raises(ValueError, match="no label was given"):
        fitted.audit()


def test_what_is_found_about_sources(problem):
    X, y = problem
    weak = {"good": source(y, 0.85), "poor": source(y, 0.5, seed=2)}
    good, poor = model().fit(X, few(y, 40), weak=weak).sources_
    assert (good.name, good.n_rows, good.n_checked) == ("good", len(y), 40)
    assert good.agreement == np.mean(weak["good"][few(y, 40) >= 0] == y[few(y, 40) >= 0])
    assert abs(good.accuracy - 0.85) < 0.08
    assert abs(poor.accuracy - 0.5) < 0.08
    assert good.low < good.accuracy < good.high
    assert poor.confused[0][1] == (poor.confused[0][0] + 1) % N_CLASSES
    assert "right in about" in str(good)


def test_several_poor_sources_make_a_better_one(problem):
    X, y = problem
    weak = {f"{seed}": source(y, 0.55, seed=seed) for seed in range(3)}
    fitted = model().fit(X)
    one = share_right(fitted.relabel(None, weak={"0": weak["0"]}), y)
    assert share_right(fitted.relabel(None, weak=weak), y) > one + 0.02


def test_classes_that_only_a_source_knows(problem):
    X, y = problem
    given = few(y)
    given[y == 3] = -1
    fitted = model().fit(X, given, weak={"llm": source(y, 0.85)})
    assert fitted.classes_.tolist() == [0, 1, 2, 3]
    assert np.mean(fitted.transduction_[y == 3] == 3) > 0.7
    assert np.mean(fitted.predict(X)[y == 3] == 3) > 0.6


def test_a_source_may_know_some_classes_only(problem):
    X, y = problem
    said = np.where(y < 2, source(y, 0.95) % 2, -1)
    fitted = model().fit(X, few(y), weak={"rules": said})
    rows = (y < 2) & (fitted.given_labels_.codes < 0)
    assert np.mean(fitted.transduction_[rows] == y[rows]) > 0.9


def test_probabilities(problem):
    X, y = problem
    names = np.array(["a", "b", "c", "d"])
    said, rng = source(y, 0.8), np.random.default_rng(5)
    P = 0.1 * rng.dirichlet(np.ones(N_CLASSES), len(y)) + 0.9 * np.eye(N_CLASSES)[said]
    P[700:] = np.nan
    weak = {"llm": {name: P[:, number] for number, name in enumerate(names)}}
    given = [None if code < 0 else names[code] for code in few(y)]
    fitted = model().fit(X, given, weak=weak)
    assert fitted.sources_[0].n_rows == 700
    assert np.mean(fitted.transduction_[:700] == names[y[:700]]) > 0.8
    matrix = model().fit(X, given, weak={"llm": P})
    assert np.array_equal(matrix.transduction_, fitted.transduction_)


def test_sources_stay_when_labels_are_added_and_in_files(problem, tmp_path):
    X, y = problem
    fitted = model().fit(X, few(y), weak={"llm": source(y, 0.85)})
    row = int(np.flatnonzero(few(y) < 0)[0])
    fitted.add_labels({row: y[row]})
    assert fitted.sources_[0].name == "llm"
    fitted.save(tmp_path / "model.hidegl")
    loaded = hidegl.load(tmp_path / "model.hidegl")
    assert loaded.sources_ == fitted.sources_
    assert np.array_equal(loaded.transduction_, fitted.transduction_)
    assert np.allclose(loaded.predict_proba(X), fitted.predict_proba(X))
    assert loaded.expected_accuracy_ == fitted.expected_accuracy_
    loaded.add_labels({row + 1: y[row + 1]})
    assert share_right(loaded, y) > 0.8
    assert not fitted.relabel(few(y), weak={}).sources_


def test_expected_accuracy_is_near_the_truth(problem):
    X, y = problem
    fitted = model().fit(X, few(y, 40), weak={"llm": source(y, 0.85)})
    expected = fitted.expected_accuracy_
    assert expected.low <= share_right(fitted, y) <= expected.high
    assert abs(expected.mean - share_right(fitted, y)) < 0.08


@pytest.mark.parametrize(
    ("weak", "message"),
    [
        ([0, 1], "weak must be a dict from the name of each source to its labels, got list"),
        ({"llm": [0, 1]}, "llm.*one entry for each of the 800 rows"),
        ({"llm": np.full(800, -1)}, "must contain one label or more, got none"),
        ({"llm": ["a"] * 800}, "labels of the same kind as the others"),
        ({"llm": np.ones((800, 3))}, "one column for each of the 4 classes of y, got 3"),
        ({"llm": {0: np.full(800, -1.0), 1: np.ones(800)}}, "must contain probabilities"),
    ],
)
def test_errors(problem, weak, message):
    X, y = problem
    with pytest.raises(ValueError, match=message):
        model().fit(X, few(y), weak=weak)


# Confusion matrices


def test_prior_confusion_is_right_as_often_as_it_should():
    theta = prior_confusion(0.7, np.array([0.5, 0.3, 0.2]))
    assert np.allclose(theta.sum(axis=1), 1)
    assert np.allclose(np.diag(theta), 0.7)
    assert theta[0, 1] == pytest.approx(0.3 * 0.6)


def test_a_class_that_a_source_does_not_know_is_called_something_else():
    theta = prior_confusion(0.7, np.array([0.5, 0.5, 0.0]))
    assert np.allclose(theta[2], [0.5, 0.5, 0])


def test_counts_decide_what_is_confused_and_not_how_often():
    counts = np.array([[500.0, 400.0, 100.0], [0, 1000, 0], [0, 0, 1000]])
    shares = np.full(3, 1 / 3)
    theta = confusion(0.6, np.full(3, 1 / 3), counts, shares)
    assert shares @ np.diag(theta) == pytest.approx(0.6)
    assert theta[0, 1] > 3 * theta[0, 2]
    assert np.allclose(theta.sum(axis=1), 1)
    again = with_accuracy(theta, 0.9, np.ones(3, bool), shares)
    assert shares @ np.diag(again) == pytest.approx(0.9)


def test_evidence_is_bayes_rule():
    theta = np.array([[0.8, 0.2], [0.4, 0.6]])
    votes = np.array([[1.0, 0], [0, 1], [0, 0]])
    P = np.exp(log_evidence(votes, theta))
    assert P[0, 0] / P[0, 1] == pytest.approx(2)
    assert P[1, 0] / P[1, 1] == pytest.approx(1 / 3)
    assert np.allclose(P[2], 1)
    assert np.allclose(likelihoods_of(theta).mean(axis=1), 1)


# What each source is worth


def test_accuracy_without_a_source_is_that_of_a_model_without_it(problem):
    X, y = problem
    weak = {"good": source(y, 0.85), "poor": source(y, 0.5, seed=2)}
    fitted = model().fit(X, few(y, 40), weak=weak)
    before = fitted.transduction_.copy()
    found = fitted.accuracy_without("good")
    assert np.array_equal(fitted.transduction_, before)
    assert [one.name for one in fitted.sources_] == ["good", "poor"]
    assert found == model().fit(X, few(y, 40), weak={"poor": weak["poor"]}).expected_accuracy_
    assert found.mean < fitted.expected_accuracy_.mean
    with pytest.raises(ValueError, match="name must be"):
        fitted.accuracy_without("lllm")
    assert model().fit(X, weak={"good": weak["good"]}).accuracy_without("good") is None


# Guesses from the rows


def guesses(X, y, right):
    """Labels that follow from the row alone: of the nearest of some centres, so that mistakes depend on the row."""
    rng = np.random.default_rng(7)
    centres = np.stack([X[y == code].mean(axis=0) for code in range(N_CLASSES)])
    distances = np.linalg.norm(X[:, None] - centres - right * rng.normal(size=centres.shape), axis=2)
    ordered = np.sort(distances, axis=1)
    margin = ordered[:, 1] - ordered[:, 0]
    return GuessedLabels(distances.argmin(axis=1), margin > np.quantile(margin, 0.7))


def test_guesses_without_given_labels_are_not_believed_more_than_usual(problem):
    X, y = problem
    fitted = model().fit(X, weak={"names": guesses(X, y, 1.5)})
    assert fitted.sources_[0].accuracy == pytest.approx(0.6, abs=0.01)
    assert abs(fitted.expected_accuracy_.mean - 0.6) < 0.05
    assert fitted.sources_[0].n_rows == len(y)


def test_given_labels_judge_guesses(problem):
    X, y = problem
    good, bad = (
        guesses(X, y, 0.3),
        GuessedLabels((guesses(X, y, 0.3).labels + 1) % N_CLASSES, guesses(X, y, 0.3).certain),
    )
    fitted = model().fit(X, few(y, 40), weak={"names": good})
    alone = share_right(model().fit(X, few(y, 40)), y)
    assert fitted.sources_[0].accuracy > 0.7
    assert share_right(fitted, y) > alone - 0.005
    assert share_right(fitted.relabel(few(y, 40), weak={"names": bad}), y) > alone - 0.01
    assert fitted.sources_[0].accuracy < 0.6


def test_guesses_are_saved(problem, tmp_path):
    X, y = problem
    fitted = model().fit(X, few(y), weak={"names": guesses(X, y, 0.3)})
    fitted.save(tmp_path / "m.hidegl")
    loaded = hidegl.load(tmp_path / "m.hidegl")
    assert loaded.sources_ == fitted.sources_
    assert loaded.relabel(few(y)).sources_[0].n_rows == len(y)
