"""How far to trust the labels: expected accuracy, accepted labels, rows of no known class, and stray labels."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import reference
from hidegl import AutoHiDeGL, HiDeGL, load
from hidegl.datasets import draw_labels, hide_labels
from hidegl.questions.acceptance import BINS, Confidences, binned
from hidegl.spreading.familiarity import Familiarity, familiarities
from hidegl.spreading.labels import Labels, names_alike
from hidegl.spreading.lgc_rule import LGCRule
from problems import problems
from test_inference import as_assignments, implicit

FEW = "ignore:only one label each for"


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


@pytest.fixture(scope="module")
def model(digits):
    X, truth = digits
    return AutoHiDeGL("quick", random_state=0).fit(X, hide_labels(truth, draw_labels(truth, 50, seed=0)))


def words(y):
    """Numbers as text, None where there is no label."""
    return np.array([None if value == -1 else f"digit {value}" for value in y], dtype=object)


def read_labels(path):
    with path.open() as file:
        return [row["label"] for row in csv.DictReader(file)]


def confidences_of(*confidence, n_judged=10**12):
    """Without draws: nothing is uncertain but the labels themselves."""
    values = np.array(confidence, dtype=float)
    return Confidences(*binned(values, np.empty((len(values), 0))), np.zeros(0), n_judged)


class TestAcceptance:
    @given(
        st.lists(st.floats(0.1, 1), min_size=1, max_size=60),
        st.floats(0.05, 1),
    )
    def test_the_largest_set_with_the_precision_is_accepted(self, confidence, precision):
        confidence = np.array(confidence)
        accepted = confidences_of(*confidence).accept(precision)
        taken = accepted.takes(confidence)
        assert taken.sum() == accepted.n_rows
        assert accepted.share == pytest.approx(taken.mean())
        if taken.any():
            assert confidence[taken].mean() >= precision - 1e-9
            assert accepted.expected_precision == pytest.approx(confidence[taken].mean())
        bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
        larger = [np.mean(confidence[bins >= low]) for low in np.unique(bins) if np.sum(bins >= low) > taken.sum()]
        assert all(mean < precision + 1e-9 for mean in larger)

    def test_the_curve_ends_with_all_labels(self):
        shares, precisions = confidences_of(0.9, 0.5, 0.7, 0.9).curve()
        np.testing.assert_allclose(shares, [0.5, 0.75, 1])
        np.testing.assert_allclose(precisions, [0.9, 2.5 / 3, 0.75])

    def test_without_rows_nothing_is_accepted(self):
        assert confidences_of().accept(0.5).n_rows == 0
        assert confidences_of().mean == 1
        assert "none" in str(confidences_of().accept(0.5))

    @given(st.floats(0, 1), st.integers(0, 5000))
    def test_the_interval_holds_the_mean_and_shrinks_with_labels(self, mean, n_judged):
        few, many = (confidences_of(mean, n_judged=n).expected_accuracy for n in (n_judged, 4 * n_judged + 40))
        assert 0 <= few.low <= few.high <= 1
        if 0.05 <= mean <= 0.95:
            assert few.low <= mean <= few.high
            assert many.high - many.low < few.high - few.low

    def test_accepted_labels_are_right_more_often(self, model, digits):
        _, truth = digits
        free = np.setdiff1d(np.arange(len(truth)), model.given_labels_.rows)
        every, few = (model.accept(precision)[free] for precision in (0.5, 0.98))
        np.testing.assert_array_equal(every, model.transduction_[free])
        taken = np.array([label is not None for label in few])
        acceptance = model.acceptance(0.98)
        assert 0.2 < taken.mean() < 1
        assert acceptance.n_rows == taken.sum()
        assert acceptance.expected_precision >= 0.98
        assert np.mean(few[taken] == truth[free][taken]) >= np.mean(every == truth[free])
        assert np.mean(model.labelled_rows().confidence[free][taken]) == pytest.approx(acceptance.expected_precision)

    def test_given_labels_are_always_kept(self, model):
        kept = model.accept(1.0)
        given = model.given_labels_
        np.testing.assert_array_equal(kept[given.rows], given.classes[given.given])
        assert sum(label is not None for label in kept) == len(given.rows)

    @pytest.mark.filterwarnings(FEW, "ignore:y has one class only")
    def test_one_label_shows_little_and_all_labels_leave_nothing(self, digits):
        X, truth = digits
        one = AutoHiDeGL("quick", random_state=0).fit(X[:300], np.where(np.arange(300) == 3, truth[:300], -1))
        assert one.expected_accuracy_.low < 0.8
        every = AutoHiDeGL("quick", random_state=0).fit(X[:300], truth[:300])
        assert every.expected_accuracy_ == (1, 1, 1)
        assert every.acceptance(0.9).n_rows == 0

    def test_how_many_labels_are_right(self, model, digits, tmp_path):
        _, truth = digits
        expected = model.expected_accuracy_
        free = np.setdiff1d(np.arange(len(truth)), model.given_labels_.rows)
        assert expected.low <= np.mean((model.transduction_ == truth)[free]) <= expected.high
        assert expected.mean == pytest.approx(model.labelled_rows().confidence[free].mean())
        assert f"Expected: {expected}; " in model.summary()
        model.save(tmp_path / "model")
        loaded = load(tmp_path / "model")
        assert loaded.expected_accuracy_ == pytest.approx(expected)
        assert loaded.acceptance(0.97) == model.acceptance(0.97)

    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_labels_that_are_not_accepted_are_left_blank(self, ending, model, digits, tmp_path):
        path = tmp_path / f"labels.{ending}"
        model.write_labels(path, accept=0.98)
        if ending == "csv":
            written = read_labels(path)
        else:
            import pyarrow.parquet as pq

            written = ["" if label is None else str(label) for label in pq.read_table(path)["label"].to_pylist()]
        assert written == ["" if label is None else str(label) for label in model.accept(0.98)]
        X_new = digits[0][:200]
        model.write_labels(path, X_new, accept=0.98)
        assert model.acceptance(0.98, X_new).n_rows <= 200

    def test_blanks_without_pyarrow(self, model, tmp_path, monkeypatch):
        monkeypatch.setattr("hidegl.files.writing.has_pyarrow", lambda: False)
        model.write_labels(tmp_path / "labels.csv", accept=0.98)
        written = read_labels(tmp_path / "labels.csv")
        assert written == ["" if label is None else str(label) for label in model.accept(0.98)]

    def test_mistakes_are_explained(self, model, digits, tmp_path):
        for wrong in (0, 1.5, "much", None):
            with pytest.raises(ValueError, match="precision must be a number above 0 and at most 1, got"):
                model.accept(wrong)
        with pytest.raises(ValueError, match="accept must be a number above 0"):
            model.write_labels(tmp_path / "labels.csv", accept=95)
        with pytest.raises(ValueError, match=r"a \.npy file has no blanks"):
            model.write_labels(tmp_path / "labels.npy", accept=0.9)
        assert list(tmp_path.iterdir()) == []
        single = HiDeGL(50, random_state=0).fit(*digits)
        with pytest.raises(ValueError, match="accept must be None for HiDeGL: only AutoHiDeGL is calibrated"):
            single.write_labels(tmp_path / "labels.csv", accept=0.9)
        assert not hasattr(AutoHiDeGL(), "expected_accuracy_")

    @pytest.mark.filterwarnings(FEW)
    def test_few_labels_promise_little(self, digits):
        X, truth = digits
        model = AutoHiDeGL("quick", random_state=0).fit(X)
        for n, precision, some in [(10, 0.9, False), (20, 0.99, False), (100, 0.95, True)]:
            model.relabel(hide_labels(truth, draw_labels(truth, n, seed=0, kind="balanced")))
            assert (model.acceptance(precision).n_rows > 0) == some
            assert model.label_distributions_.max() > 0.9  # rows look certain in any case


class TestFamiliarity:
    @given(problems(min_points=2))
    def test_it_is_the_sum_of_the_dense_scores(self, p):
        rule = LGCRule.on(implicit(p), p.lambda2)

        class Spreader:
            lgc_rule = rule

            @staticmethod
            def labelled_rows(labels, shares):
                from hidegl.spreading.rule import LabelledRows

                return LabelledRows(labels.rows, as_assignments(p.Z[labels.rows]), labels.one_hot, shares)

        codes = np.full(len(p.X), -1)
        codes[p.labelled] = p.Y_l.argmax(axis=1)
        found = Familiarity.of(Spreader, Labels.of(np.arange(p.Y_l.shape[1]), codes))
        W = reference.accurate_graph(p.Z, p.G, p.alpha, p.eta)
        expected = reference.lgc_scores(W, p.labelled, p.Y_l, p.lambda2).sum(axis=1)
        of_rows = familiarities(as_assignments(p.Z[p.unlabelled]), found.reach, found.delta)
        np.testing.assert_allclose(of_rows * found.limit, expected, rtol=1e-6, atol=1e-12)
        for i in range(len(p.labelled)):
            others = np.delete(np.arange(len(p.labelled)), i)
            if len(others):
                F = reference.lgc_scores(W, p.labelled[others], p.Y_l[others], p.lambda2).sum(axis=1)
                place = np.setdiff1d(np.arange(len(p.X)), p.labelled[others]).tolist().index(p.labelled[i])
                assert found.of_labels[i] * found.limit == pytest.approx(F[place], rel=1e-5, abs=1e-10)

    @pytest.mark.parametrize(
        "make", [lambda seed: AutoHiDeGL("quick", random_state=seed), lambda seed: HiDeGL(random_state=seed)]
    )
    def test_a_class_that_nobody_named_is_found(self, make, digits):
        X, truth = digits
        known, right = np.flatnonzero(truth != 6), []
        for seed in range(3):
            y = hide_labels(truth, known[draw_labels(truth[known], 63, seed=seed)])
            model = make(seed).fit(X, y)
            (largest, *_) = model.unfamiliar()
            of_six = [truth[rows] == 6 for rows in (largest.rows, largest.examples)]
            right.append([*map(np.mean, of_six), np.mean(np.isin(np.flatnonzero(truth == 6), largest.rows))])
            assert largest.label != 6
            assert largest.chance <= 0.05
        # for some seeds, 28 ones that look alike join the sixes
        assert np.all(np.mean(right, axis=0) > [0.89, 0.88, 0.97])
        familiarity = model.familiarity()
        assert roc_auc_score(truth == 6, -familiarity) > 0.97
        np.testing.assert_allclose(model.familiarity(X[:50]), familiarity[:50], rtol=1e-6)

    def test_nothing_is_unfamiliar_where_every_class_has_labels(self, model, digits):
        X, truth = digits
        assert model.unfamiliar() == []
        free = np.setdiff1d(np.arange(len(X)), model.given_labels_.rows)
        assert np.mean(model.familiarity()[free] < 1) < 0.15
        everything = HiDeGL(50, random_state=0).fit(X, truth)
        assert everything.unfamiliar() == []

    @pytest.mark.filterwarnings(FEW, "ignore:y has one class only")
    def test_one_label_is_enough_to_ask(self, digits):
        X, truth = digits
        y = np.full(len(X), -1)
        y[3] = truth[3]
        familiarity = HiDeGL(50, random_state=0).fit(X, y).familiarity()
        assert np.all(np.isfinite(familiarity))

    def test_a_hidden_class_of_embeddings(self, real_data):
        """Measured: an AUROC of 0.94, and 0.83 of the largest probability of a logistic regression."""
        X, y = real_data("banking77")
        hidden = np.isin(y, np.random.default_rng(0).choice(77, 8, replace=False))
        known = np.flatnonzero(~hidden)
        labelled = known[draw_labels(y[known], 690, seed=0)]
        model = AutoHiDeGL("quick", random_state=0).fit(X, hide_labels(y, labelled))
        free = np.setdiff1d(np.arange(len(y)), labelled)
        by_graph = roc_auc_score(hidden[free], -model.familiarity()[free])
        logistic = LogisticRegression(C=10, max_iter=300).fit(X[labelled], y[labelled])
        by_logistic = roc_auc_score(hidden[free], -logistic.predict_proba(X[free]).max(axis=1))
        assert by_graph > 0.9
        assert by_graph > by_logistic + 0.05


class TestStrays:
    @pytest.mark.filterwarnings("ignore:y has", FEW)
    @pytest.mark.parametrize(
        ("seed", "names"),
        [(0, ["DIGIT 4", "?", "skip"]), (5, ["Digit 4 ", "??", "todo"]), (13, ["so", "hm", "whatever"])],
    )
    def test_a_label_given_as_a_joke_takes_no_rows(self, seed, names, digits, tmp_path):
        """By its name; or, for a name that could be a class, by where its row lies."""
        X, truth = digits
        y = words(hide_labels(truth, draw_labels(truth, 60, seed=seed)))
        model = AutoHiDeGL("quick", random_state=0).fit(X, y)
        right = words(truth)
        free = np.flatnonzero([label is None for label in y])
        before = np.mean(model.transduction_[free] == right[free])
        given = np.flatnonzero([label is not None for label in y])
        jokes = np.array([given[truth[given] == 4][0], *given[truth[given] != 4][[20, 40]]])
        y[jokes] = names
        with pytest.warns(UserWarning, match=r"the only label of .* \(row \d+, among rows of digit \d\), of"):
            model.relabel(y)
        assert np.mean(model.transduction_[free] == right[free]) > before - 0.01
        np.testing.assert_array_equal(model.transduction_[jokes], names)
        judged = {label.row: label for label in model.audit()}
        assert all(judged[row].doubtful for row in jokes)
        assert sum(judged[row].proposed == right[row] for row in jokes) >= 2
        model.save(tmp_path / "model")
        assert load(tmp_path / "model").audit() == model.audit()

    @pytest.mark.filterwarnings(FEW)
    def test_a_class_of_its_own_is_no_stray(self, digits):
        X, truth = digits
        rows = draw_labels(truth, 60, seed=0)
        fours = rows[truth[rows] == 4]
        y = hide_labels(truth, np.setdiff1d(rows, fours[1:]))
        model = AutoHiDeGL("quick", random_state=0).fit(X, y)
        assert np.mean(model.transduction_[truth == 4] == 4) > 0.8  # a stray's class gets no rows

    @pytest.mark.filterwarnings(FEW, "ignore:y has")
    def test_known_shares_hold_for_every_class(self, digits):
        X, truth = digits
        y = words(hide_labels(truth, draw_labels(truth, 60, seed=0)))
        y[np.flatnonzero([label is not None for label in y])[5]] = "skip"
        model = AutoHiDeGL("quick", class_prior="balanced", random_state=0).fit(X, y)
        assert np.mean(model.transduction_ == "skip") > 0.02

    @pytest.mark.filterwarnings(FEW)
    def test_names_that_differ_in_spelling_only(self, digits):
        assert names_alike(["Four", "five", "four ", "FÜNF", "funf", "A", "A-", "a  b", "A b", "か", "が", "?", 3]) == [
            ["Four", "four "],
            ["FÜNF", "funf"],
            ["a  b", "A b"],
        ]
        X, truth = digits
        y = np.where(truth == 4, "Four", "other").astype(object)
        y[np.flatnonzero(truth == 4)[:3]] = "four"
        with pytest.warns(UserWarning, match="y has 'Four' and 'four' as different classes: if they are one"):
            HiDeGL(50, random_state=0).fit(X, y)
