"""AutoHiDeGL: HiDeGL models of several sizes, averaged: few labels cannot tell which is best, and need not."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Generator, Iterator
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from hidegl.basics.checks import check_name, is_auto
from hidegl.basics.linalg import Matrix, Vector
from hidegl.basics.memory import points_that_fit
from hidegl.basics.progress import Progress
from hidegl.ensemble.calibration import Judgement, learned_temperature, mean_confidence, sharpened, temperature_for
from hidegl.ensemble.heads import (
    LEAST_JUDGED,
    LESSONS,
    LinearHead,
    cross_validated,
    head_distributions,
    head_weight,
    pooled,
    self_trained,
)
from hidegl.ensemble.refinement import HALF_WAY, STEPS, Diffusion, best_refined, refine
from hidegl.estimator import HiDeGL
from hidegl.files.models import SavedModel, State
from hidegl.files.writing import LabelledBlocks, write_labels
from hidegl.questions.audits import JudgedLabel, judged_labels
from hidegl.questions.suggestions import openness, suggested_rows
from hidegl.rows.arrays import on_host
from hidegl.rows.base import Rows
from hidegl.rows.reading import check_device, rows_of
from hidegl.showing.notebooks import ShownInNotebooks, label_facts
from hidegl.spreading.inference import MATRICES, DegreeRule
from hidegl.spreading.labels import UNLABELLED, Labels, share_right
from hidegl.spreading.shares import class_shares, moved_towards, scales_towards, shrunk_shares
from hidegl.structure.preparation import Preparation, learn_preparation, prepare

EFFORTS = {
    "quick": (1500,),
    "default": (1500, 3000, 6000),
    "best": (6000, 10_000, 15_000),
}
"""The models that an effort buys, by the number of their points."""

ROWS_A_POINT = 2
"""There is at most one point for so many rows."""

FEW_ROWS, WIDER = 3, 2.0
"""With fewer rows a point, assignments are so many times as wide, so that rows that share no point are rare."""

TOLERANCE = 1e-2
"""When the points of a model have settled. What is averaged need not settle further."""

UNREFINED = "moved once"
"""What is said of class shares where rows are too many for their assignments to be kept, and refined."""


class AutoHiDeGL(ShownInNotebooks, SavedModel, ClassifierMixin, TransformerMixin, BaseEstimator):
    """Semi-supervised classification with nothing to set: an average of HiDeGL models of several sizes.

    Parameters
    ----------
    effort : {"quick", "default", "best"}, default="default"
        How much time to spend: 1, 3 or 3 models, with up to 1,500, 6,000 or 15,000 points.
    class_prior : "auto", "balanced", "labels" or array of shape (n_classes,), default="auto"
        The share of the rows that each class has. "auto": that of its labels, drawn to equal shares as far as so few
        labels leave it open, and believed as far as the graphs of the models bear it out.
    random_state : int, RandomState instance or None, default=None
        The seed. The same seed gives the same labels.
    device : {"auto", "cpu", "cuda"} or the name of a GPU, default="auto"
        Where to compute, as in `HiDeGL`.
    verbose : bool, default=False
        Show progress, if standard error is a terminal.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes among the given labels, sorted.
    transduction_ : array of shape (n_rows,)
        A label for every row of the fit; given labels are kept.
    label_distributions_ : array of shape (n_rows, n_classes)
        The probabilities behind `transduction_`, calibrated; rows sum to 1.
    estimators_ : list of HiDeGL
        The models that are averaged. They see the rows as `settings_` says that they were prepared.
    settings_ : dict
        What was chosen; `summary()` says it in words.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, where X has names.

    Examples
    --------
    >>> from hidegl import AutoHiDeGL
    >>> from hidegl.datasets import draw_labels, hide_labels, make_three_moons
    >>> X, y = make_three_moons(random_state=0)
    >>> six_labels = hide_labels(y, draw_labels(y, 6, seed=0, kind="balanced"))
    >>> model = AutoHiDeGL(effort="quick", random_state=0).fit(X, six_labels)
    >>> float((model.transduction_ == y).mean()) > 0.99
    True
    """

    def __init__(
        self,
        effort: str = "default",
        *,
        class_prior: str | ArrayLike = "auto",
        random_state: Any = None,
        device: Any = "auto",
        verbose: bool = False,
    ) -> None:
        self.effort = effort
        self.class_prior = class_prior
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    # Learning

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Learn from all rows, and label every row from the labels in y. X and y are as in `HiDeGL.fit`."""
        check_name("effort", self.effort, EFFORTS)
        check_device(self.device)
        self.__dict__.pop("_labels", None)  # not fitted, until all is done
        rows = rows_of(self, X, reset=True, device=self.device)
        labels = Labels.read(y, rows.n_rows)
        self._shares(labels)  # an error now, rather than after the learning
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        self._preparation = learn_preparation(rows, preprocess="auto", n_components="auto", rng=rng)
        self._rows: Rows | None = rows.map(prepare, self._preparation).persist()
        with Progress(verbose=self.verbose, callback=None, tol=0) as progress:
            self.estimators_ = []
            for member in self._learn(self._rows, rng):
                self.estimators_.append(member)
                done, total = len(self.estimators_), len(EFFORTS[self.effort])
                progress.show(f"{done} of {total} models", done / total)
            progress.passing("labelling", rows.n_rows)
            self._label(labels)
            progress.done(f"hidegl: {rows.n_rows:,} rows, {self._n_models}")
        return self

    def relabel(self, y: ArrayLike | None) -> Self:
        """Label the rows of the fit from other labels. Points and trees stay.

        A model that was loaded from a file has no rows to fit its linear classifier to, and goes without.
        """
        check_is_fitted(self)
        return self._label(Labels.read(y, len(self._labels.codes)))

    def _learn(self, rows: Rows, rng: np.random.Generator) -> Iterator[HiDeGL]:
        """The models, without labels."""
        for most in EFFORTS[self.effort]:
            k = within_memory(min(most, max(rows.n_rows // ROWS_A_POINT, 1)))
            seed = int(rng.integers(2**31))
            model = HiDeGL(
                k, preprocess=None, n_components=None, tol=TOLERANCE, random_state=seed, device=self.device
            ).fit(rows)
            yield model._widen(rows, WIDER) if rows.n_rows < FEW_ROWS * k else model

    # From labels to probabilities

    def _label(self, labels: Labels) -> Self:
        shares = self._shares(labels)
        self._labels, self.classes_ = labels, labels.classes
        self.settings_ = {
            "effort": self.effort,
            "preprocess": self._preparation.preprocess,
            "dtype": self._preparation.dtype,
            "n_components": self.estimators_[0].settings_["n_components"],
            "n_points": [member.settings_["n_points"] for member in self.estimators_],
            "sigma": [member.settings_["sigma"] for member in self.estimators_],
        }
        P_loo = self._infer(labels)
        if labels.any:
            P = self._mean(lambda member: member.label_distributions_)
            self._scales = scales_towards(P, shares, self._strength(labels))
            judgement = Judgement.of(P_loo * self._scales, labels.given)
            self._judge(labels, P_loo * self._scales, judgement)
            diffusions = self._diffusions()
            P = self._refine(P, diffusions, labels, shares, judgement)
            if self._weight > 0:
                P = self._teach(P, diffusions, labels)
            self._distributions = self._finish(P, self._rows)
            self._distributions[labels.rows] = labels.one_hot
            self.settings_ |= {
                "class_shares": shares.tolist(),
                "temperature": self._temperature,
                "linear_weight": self._weight,
            }
            warn_of_labels(labels, judgement)
        return self

    def _infer(self, labels: Labels) -> Matrix:
        """Every model's coefficients; the mean over the models of each label's probabilities from the other labels."""
        numbered = Labels.of(np.arange(len(labels.classes)), labels.codes)
        hidden: Any = 0.0
        for member in self.estimators_:
            member.class_prior = None if labels.are_by_class else "balanced"
            if labels.any:
                A, scales, P_loo = member._infer_and_leave_one_out(numbered)
                member._keep_labels(numbered, A, scales)
                member._B = None  # needed to make another graph only, and as large as the factors that are kept
                hidden = hidden + P_loo / len(self.estimators_)
            else:
                member.relabel(None)
        return np.asarray(hidden)

    def _judge(self, labels: Labels, P_loo: Matrix, judgement: Judgement) -> None:
        """From each label as the others predict it: how sure the graphs may be, and a linear classifier's worth."""
        self._temperature = learned_temperature(P_loo, labels.given)
        self._weight: float = 0.0
        self._head: LinearHead | None = None
        may_help = self._preparation.is_of_directions and judgement.judged >= LEAST_JUDGED
        if self._rows is not None and may_help:
            X = self._rows.take(labels.rows)
            by_head = cross_validated(X, labels.given, len(labels.classes), np.random.default_rng(0))
            self._weight = head_weight(sharpened(P_loo, self._temperature), by_head, labels.given)

    def _diffusions(self) -> list[Diffusion]:
        """The models' graphs over the rows; none, where rows are too many for their assignments to be kept."""
        if not all(member._Z.is_kept for member in self.estimators_):
            return []
        return [Diffusion(member._Z.collect(), as_degree_rule(member)) for member in self.estimators_]

    def _refine(
        self, P: Matrix, diffusions: list[Diffusion], labels: Labels, shares: Vector, judgement: Judgement
    ) -> Matrix:
        """P after refinement; the models keep the coefficients that give it.

        It gets the temperature at which it is as sure as the given labels say that it is right. Without evidence, that
        is half-way between what it was sure before and after.
        """
        if not diffusions:
            self.settings_["shares_are"] = UNREFINED
            return P
        calibrated = sharpened(P * self._scales, self._temperature)
        known = not is_auto(self.class_prior)
        usual, wrong = self._strength(labels), judgement.share_wrong
        refined = best_refined(P, diffusions, labels, shares, usual=usual, share_wrong=wrong, known=known)
        self._keep(refined.coefficients)
        guess = (mean_confidence(calibrated) + mean_confidence(refined.P)) / 2
        self._temperature = temperature_for(refined.P, judgement.accuracy(guess))
        self.settings_["shares_are"] = refined.shares
        return refined.P

    def _teach(self, P: Matrix, diffusions: list[Diffusion], labels: Labels) -> Matrix:
        """The graphs' probabilities after they and the linear classifier have learned from each other.

        In turns, the classifier learns from what both say together, and that diffuses on the graphs. The class shares
        stay those of the graphs.
        """
        assert self._rows is not None
        weight = self._weight
        by_graph = together = sharpened(P * self._scales, self._temperature)
        shares = by_graph.mean(axis=0)
        for _ in range(LESSONS):
            head = self_trained(self._rows, together, labels, np.random.default_rng(0))
            by_head = self._by_head(head, self._rows)
            if diffusions:
                both = moved_towards(pooled(by_graph, by_head, weight), shares, 1.0)
                P, coefficients = refine(both, diffusions, labels, STEPS)
                self._keep(coefficients)
                self._temperature = temperature_for(P, mean_confidence(both))
                by_graph = sharpened(P, self._temperature)
            scales = scales_towards(pooled(by_graph, by_head, weight), shares, 1.0)
            self._head = head.favouring(scales, weight)
            together = pooled(by_graph, self._by_head(self._head, self._rows), weight)
        return P

    def _keep(self, coefficients: list[Matrix]) -> None:
        """Let the models score rows by these; class shares are in them."""
        self._scales = np.ones(len(self.classes_))
        for member, A in zip(self.estimators_, coefficients, strict=True):
            member._keep_labels(member._labels, A, self._scales)

    @property
    def _n_models(self) -> str:
        return "one model" if len(self.estimators_) == 1 else f"{len(self.estimators_)} models"

    def _strength(self, labels: Labels) -> float:
        """How far class shares are moved to those that are expected: all the way, if the user knows them."""
        if not is_auto(self.class_prior):
            return 1.0
        return 0.0 if labels.are_by_class else HALF_WAY

    def _shares(self, labels: Labels) -> Vector:
        """The share of the rows that each class should get; none yet, where there are no labels."""
        if is_auto(self.class_prior):
            return shrunk_shares(labels) if labels.any else np.empty(0)
        if self.class_prior is None:
            raise ValueError("class_prior must be 'auto', 'balanced', 'labels' or an array of class shares, got None")
        shares = class_shares(self.class_prior, labels)
        return np.empty(0) if shares is None else shares

    def _mean(self, of: Callable[[HiDeGL], Matrix]) -> Matrix:
        total: Any = 0.0
        for member in self.estimators_:
            total = total + of(member)
        return total / len(self.estimators_)

    def _finish(self, P: Matrix, rows: Rows | None) -> Matrix:
        """Averaged probabilities, moved to the class shares, calibrated, and mixed with the linear classifier's."""
        P = sharpened(P * self._scales, self._temperature)
        if self._head is not None and rows is not None:
            P = pooled(P, self._by_head(self._head, rows), self._weight)
        return P

    @staticmethod
    def _by_head(head: LinearHead, rows: Rows) -> Matrix:
        return rows.map(head_distributions, head.coef, head.intercept).collect()

    # Using what was learned

    @property
    def label_distributions_(self) -> Matrix:
        if not (self.__sklearn_is_fitted__() and self._labels.any):
            raise AttributeError(f"{type(self).__name__} has no labels for its rows yet: call fit or relabel with some")
        return self._distributions

    @property
    def transduction_(self) -> NDArray[Any]:
        P = self.label_distributions_
        return self.classes_[P.argmax(axis=1)]

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X, which may be new."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    def predict_proba(self, X: Any) -> Matrix:
        """The probability of each class for each row of X, which may be new."""
        rows = self._prepared(X)
        if not self._labels.any:
            raise NotFittedError("no label was given to fit, so there is nothing to predict: give some to relabel(y)")
        return self._finish(self._mean(lambda member: np.asarray(on_host(member.predict_proba(rows)))), rows)

    def transform(self, X: Any) -> sp.csr_array:
        """The assignments of the rows of X to the points of all models, side by side, sparse; rows sum to 1."""
        rows = self._prepared(X)
        return sp.csr_array(sp.hstack([m.transform(rows) for m in self.estimators_]) / len(self.estimators_))

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows with the right label, among those that have a label in y."""
        return share_right(self.predict(X), y, sample_weight)

    def write_labels(self, path: str | os.PathLike[str]) -> None:
        """Write label, confidence and whether the label was given for each row of the fit (.csv, .parquet, .npy)."""
        check_is_fitted(self)
        write_labels(path, *self._labelled_blocks())

    def _labelled_blocks(self, X: Any = None) -> LabelledBlocks:
        P = self.label_distributions_ if X is None else self.predict_proba(X)
        given = self._labels.codes if X is None else np.full(len(P), UNLABELLED)

        def whole() -> Generator[Matrix]:
            yield P

        return LabelledBlocks(whole(), given, self.classes_)

    def suggest(self, n: int = 20) -> NDArray[np.intp]:
        """The rows of the fit to label next, the most helpful first: as `HiDeGL.suggest`, for the labels of all models.

        The points are those of the model with the fewest.
        """
        check_is_fitted(self)
        member = min(self.estimators_, key=lambda model: len(model.mass_))
        weights = member.mass_
        if self._labels.any:
            weights = member._Z.collect().mass(openness(self.label_distributions_))
        return suggested_rows(member._lgc_rule, self._labels, weights, n)

    def audit(self) -> list[JudgedLabel]:
        """What the other labels say of each given label, the most suspicious first: see `HiDeGL.audit`."""
        check_is_fitted(self)
        if not self._labels.any:
            raise NotFittedError("no label was given to fit, so there is nothing to audit: give some to relabel(y)")
        P_loo = self._mean(lambda member: member._leave_one_out())
        temperature = learned_temperature(P_loo, self._labels.given)
        return judged_labels(self._labels, sharpened(P_loo, temperature))

    def summary(self) -> str:
        """What was chosen, and why, in a few sentences."""
        check_is_fitted(self)
        s = self.settings_
        prepared = {
            "unit": "scaled to length 1, since no value is negative or there are many columns",
            "standardize": "standardised column by column, since there are few or one outweighs the others",
            None: "taken as they are",
        }[s["preprocess"]]
        sizes = ", ".join(f"{k:,}" for k in sorted(set(s["n_points"])))
        lines = [
            f"{len(self._labels.codes):,} rows of {self.n_features_in_} columns, {prepared}; "
            f"{s['n_components']} dimensions are used.",
            f"{self._n_models.capitalize()} with {sizes} points{', averaged' if len(self.estimators_) > 1 else ''}.",
        ]
        if self._labels.any:
            named = zip(self.classes_, s["class_shares"], strict=True)
            shown = ", ".join(f"{name}: {share:.0%}" for name, share in list(named)[:10])
            more = f" and {len(self.classes_) - 10} more" if len(self.classes_) > 10 else ""
            by_cut = is_auto(self.class_prior) and len(self.classes_) > 2 and s["shares_are"] != UNREFINED
            why = ": so the graphs are cut at the least cost" if by_cut else ""
            lines += [
                f"{len(self._labels.rows)} labels of {len(self.classes_)} classes; shares expected: {shown}{more}. "
                f"Class shares are {s['shares_are']}{why}.",
                f"From each label as the others predict it: a linear classifier has a weight of "
                f"{s['linear_weight']:.0%} beside the graphs, whose probabilities get a temperature of "
                f"{s['temperature']:.2f}.",
            ]
        return "\n".join(lines)

    def _prepared(self, X: Any) -> Rows:
        check_is_fitted(self)
        return rows_of(self, X, reset=False, device=self.device).map(prepare, self._preparation).persist()

    # Files

    def _state(self) -> State:
        members = [member._state() for member in self.estimators_]
        values = {
            "settings": self.settings_,
            "members": [
                {"values": values, "parameters": member_parameters(m)}
                for (values, _), m in zip(members, self.estimators_, strict=True)
            ],
        }
        arrays: dict[str, NDArray[Any]] = {
            "classes": self.classes_,
            "codes": self._labels.codes,
            **self._preparation.arrays,
        }
        if self._labels.any:
            arrays |= {"scales": self._scales, "distributions": self.label_distributions_}
            if self._head is not None:
                arrays |= {"head_coef": self._head.coef, "head_intercept": self._head.intercept}
        if hasattr(self, "feature_names_in_"):
            arrays["feature_names"] = self.feature_names_in_.astype(str)
        for number, (_, own) in enumerate(members):
            arrays |= {f"{number}.{name}": array for name, array in own.items()}
        return values, arrays

    def _set_state(self, state: State) -> None:
        values, arrays = state
        self.settings_ = values["settings"]
        self._preparation = Preparation.of(self.settings_["preprocess"], self.settings_["dtype"], arrays)
        self.n_features_in_ = len(arrays["offset"])
        if "feature_names" in arrays:
            self.feature_names_in_ = arrays["feature_names"].astype(object)
        self.estimators_ = []
        for number, member in enumerate(values["members"]):
            model = HiDeGL(**member["parameters"])
            own = {name.partition(".")[2]: array for name, array in arrays.items() if name.startswith(f"{number}.")}
            model._set_state((member["values"], own))
            self.estimators_.append(model)
        labels = Labels.of(arrays["classes"], arrays["codes"])
        self._rows, self._head = None, None
        if labels.any:
            self._scales = arrays["scales"]
            self._temperature = self.settings_["temperature"]
            self._weight = self.settings_["linear_weight"]
            self._distributions = arrays["distributions"]
            if "head_coef" in arrays:
                self._head = LinearHead(arrays["head_coef"], arrays["head_intercept"])
        self._labels, self.classes_ = labels.checked(len(labels.codes)), labels.classes

    def _facts(self) -> dict[str, str]:
        facts = label_facts(len(self._labels.codes), len(self._labels.rows), self.classes_)
        if self._labels.any:
            facts["mean confidence"] = f"{self.label_distributions_.max(axis=1).mean():.2f}"
        return {**facts, "points": ", ".join(f"{k:,}" for k in self.settings_["n_points"])}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_labels")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = False
        return tags


def within_memory(k: int) -> int:
    """k, or as many points as there is memory for, with a warning."""
    room = max(points_that_fit(MATRICES["lgc"]), 1)
    if room < k:
        warnings.warn(f"a model gets {room:,} points in place of {k:,}: memory has no room for more", stacklevel=4)
    return min(k, room)


def as_degree_rule(member: HiDeGL) -> DegreeRule:
    rule = member._rule
    assert isinstance(rule, DegreeRule)
    return rule


def member_parameters(member: HiDeGL) -> dict[str, Any]:
    """Those that a loaded model needs: how labels spread."""
    return {name: getattr(member, name) for name in ("rule", "graph", "alpha", "eta", "lambda2")}


def warn_of_labels(labels: Labels, judgement: Judgement) -> None:
    """Say when a class has one label only, or when labels contradict one another."""
    counts = np.bincount(labels.given)
    if len(counts) == 1:
        warnings.warn(f"y holds one class only, {labels.classes[0]}: every row gets it", stacklevel=4)
        return
    single = labels.classes[counts == 1]
    if len(single):
        names = ", ".join(map(str, single[:5])) + (", …" if len(single) > 5 else "")
        warnings.warn(f"one label only for the class {names}: give each class two or more, if you can", stacklevel=4)
    if judgement.judged >= 10 and judgement.share_wrong > 0.5:
        wrong = judgement.judged - judgement.right
        warnings.warn(
            f"{wrong} of {judgement.judged} labels contradict what the others say of their rows: "
            f"are they in the order of the rows of X?",
            stacklevel=4,
        )
