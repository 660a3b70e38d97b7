"""HiDeGL: Algorithm 1, from rows and a few labels to a label for every row."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from hidegl.basics.checks import check_count, check_name, check_number, check_points, is_auto, is_whole
from hidegl.basics.linalg import Matrix, Vector
from hidegl.basics.memory import check_memory
from hidegl.basics.progress import Callback, Progress
from hidegl.files.models import SavedModel, State
from hidegl.files.writing import LabelledBlocks, write_labels
from hidegl.questions.audits import JudgedLabel, judged_labels
from hidegl.questions.suggestions import open_mass, suggested_rows
from hidegl.rows.arrays import on_host
from hidegl.rows.assignments import Assignments
from hidegl.rows.base import Rows
from hidegl.rows.local import LocalRows
from hidegl.rows.reading import check_device, rows_of
from hidegl.showing.notebooks import ShownInNotebooks, label_facts
from hidegl.spreading.graph import GRAPHS, ImplicitGraph, point_sums
from hidegl.spreading.inference import (
    MATRICES,
    RULES,
    GivenLabels,
    LGCRule,
    Rule,
    best_classes,
    label_distributions,
    named,
)
from hidegl.spreading.labels import UNLABELLED, Labels, share_right
from hidegl.spreading.shares import class_shares, column_scales, distributions
from hidegl.structure.automatic import automatic_n_points, automatic_sigma, in_different_places
from hidegl.structure.checkpoint import Checkpoint
from hidegl.structure.points import STARTS, HighDensePoints, assignments
from hidegl.structure.preparation import Preparation, check_preparation, learn_preparation, prepare
from hidegl.structure.stages import LEARNING_NEAREST, RELAXATION, Step, learn_in_stages, learning_stages
from hidegl.structure.tree import adjacency, edges


class HiDeGL(ShownInNotebooks, SavedModel, ClassifierMixin, TransformerMixin, BaseEstimator):
    """Semi-supervised classification by graph structure learning over high-dense points.

    Some hundred points are moved to where the rows are dense and joined by a tree; the graph over all rows is held
    implicitly by the assignments of rows to points; labels spread over that graph. Time and memory grow linearly with
    the number of rows.

    Parameters
    ----------
    n_points : int or "auto", default="auto"
        The number of high-dense points, k. More are slower and mostly better. "auto": one for 4 rows, at most 1,500.
        Where many rows are equal there are fewer: each point starts in a place of its own.
    sigma : float or "auto", default="auto"
        The width of the assignments, in squared distance after preprocessing. "auto": such that a row is shared by
        about two points, which follows the scale and the dimension of the data.
    lambda1 : float, default=1.0
        How strongly points that are neighbours in the tree attract each other.
    lambda2 : float, default=0.01
        How strongly scores are drawn to zero; positive.
    alpha : float, default=0.5
        How far the walk on rows and points goes that defines the graph; in [0, 1).
    eta : float, default=0.1
        The weight of the tree's edges in that walk; not negative.
    graph : {"accurate", "approx", "anchor"}, default="accurate"
        The whole series of walks, its first two terms, or the anchor graph of Liu et al., which uses no tree.
    rule : {"lgc", "agr", "poisson", "mbo"}, default="lgc"
        How labels spread: local and global consistency, or anchor graph regularisation, as in the paper; Poisson
        learning; or "lgc" followed by thresholding and diffusing in turns, which sharpens the borders of classes.
    solver : {"direct", "cg"}, default="direct"
        A k×k factorisation, or the paper's conjugate gradients. They give the same answer.
    class_prior : {"balanced", "labels"}, None or array of shape (n_classes,), default="balanced"
        The share of the scores of all rows that each class gets: equal shares, those of the given labels, none (labels
        drawn unevenly then let one class swallow others), or given ones, in the order of `classes_`. Where classes
        overlap, a small one gets its share by small scores in many rows, and so fewer labels than its share.
    preprocess : {"auto", "unit", "standardize"} or None, default="auto"
        Scale rows to length 1, or columns to unit variance, with outliers drawn in. "auto": columns, if there are at
        most 30 or one varies far more than the others; else rows, if no value is negative or there are more than 100
        columns; else nothing.
    n_components : int, "auto" or None, default="auto"
        Principal components to work in; None keeps all columns. "auto": where there are more than 100 columns, as
        many as explain 90 % of the variance (80 %, if no value is negative), at most 200.
    n_nearest : int or None, default=8
        The number of points that a row is assigned to; None for all of them, as in the paper, which takes n×k memory.
    start : {"kmeans", "random"} or array of shape (n_points, n_features), default="kmeans"
        Where the points start: a few steps of k-means, rows at random, or given places.
    learning_rows : int, "auto" or None, default="auto"
        How many rows, drawn at random, the points are learned on; all rows are labelled. "auto": 256 a point. The
        learning begins on 32 and 64 a point; all its steps are over-relaxed and assign a row to 3 points. None:
        Algorithm 1 of the paper as it stands, on all rows and with `n_nearest` assignments.
    max_iter : int, default=100
        The most iterations of the learning of points, on `learning_rows`; at most 10 more are made on fewer before.
    tol : float, default=3e-3
        The learning stops when an iteration gains less than this, in units of sigma a row.
    random_state : int, RandomState instance or None, default=None
        The seed of the start. The same seed gives the same labels, whatever the number of threads.
    device : {"auto", "cpu", "cuda"} or the name of a GPU, default="auto"
        Where to compute. "auto": a tensor stays where it is, and an array of more than 5 million numbers goes to a GPU,
        if torch finds one. Rows on a cluster are computed by their workers, on a device that is named here.
    checkpoint : str or path, default=None
        A file to which the points are written after each iteration. If it is there when `fit` begins, the learning
        goes on from it and ends as if it had not been interrupted. It is removed when the fit is done.
    callback : callable, default=None
        Called after each iteration with a `hidegl.basics.progress.Iteration`.
    verbose : bool, default=False
        Show progress, if standard error is a terminal.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes among the given labels, sorted.
    transduction_ : array of shape (n_rows,)
        A label for every row of the fit; given labels are kept.
    label_distributions_ : array of shape (n_rows, n_classes)
        The probabilities behind `transduction_`; rows sum to 1.
    points_ : array of shape (n_points, n_features)
        The high-dense points, C, in the columns of X (of rows of length 1, if they were scaled).
    tree_ : sparse array of shape (n_points, n_points)
        The tree that joins them, G: symmetric, of zeros and ones.
    assignments_ : sparse array of shape (n_rows, n_points)
        The assignments of rows to points, Z; rows sum to 1.
    mass_ : array of shape (n_points,)
        How many rows each point has, Zᵀ1.
    coef_ : array of shape (n_points, n_classes)
        What the labels say about each point, A.
    objective_ : array of shape (n_iter_ + 1,)
        The objective at each iteration on `learning_rows`; it never decreases.
    n_iter_ : int
        Iterations run on them.
    converged_ : bool
        Whether the last one gained less than `tol`.
    settings_ : dict
        What every "auto" became.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, where X has names.

    Examples
    --------
    >>> from hidegl import HiDeGL
    >>> from hidegl.datasets import draw_labels, hide_labels, make_three_moons
    >>> X, y = make_three_moons(random_state=0)
    >>> three_labels = hide_labels(y, draw_labels(y, 3, seed=0))
    >>> model = HiDeGL(random_state=0).fit(X, three_labels)
    >>> float((model.transduction_ == y).mean()) > 0.99
    True
    """

    def __init__(
        self,
        n_points: int | str = "auto",
        *,
        sigma: float | str = "auto",
        lambda1: float = 1.0,
        lambda2: float = 0.01,
        alpha: float = 0.5,
        eta: float = 0.1,
        graph: str = "accurate",
        rule: str = "lgc",
        solver: str = "direct",
        class_prior: str | ArrayLike | None = "balanced",
        preprocess: str | None = "auto",
        n_components: int | str | None = "auto",
        n_nearest: int | None = 8,
        start: str | ArrayLike = "kmeans",
        learning_rows: int | str | None = "auto",
        max_iter: int = 100,
        tol: float = 3e-3,
        random_state: Any = None,
        device: Any = "auto",
        checkpoint: str | os.PathLike[str] | None = None,
        callback: Callback | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_points = n_points
        self.sigma = sigma
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.alpha = alpha
        self.eta = eta
        self.graph = graph
        self.rule = rule
        self.solver = solver
        self.class_prior = class_prior
        self.preprocess = preprocess
        self.n_components = n_components
        self.n_nearest = n_nearest
        self.start = start
        self.learning_rows = learning_rows
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.device = device
        self.checkpoint = checkpoint
        self.callback = callback
        self.verbose = verbose

    # Learning

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Learn points, tree and assignments from all rows, and label every row from the labels in y.

        Parameters
        ----------
        X : array, sparse matrix, data frame, tensor or Dask array of shape (n_rows, n_features), or rows on disk
            On disk: the path of a .npy or Parquet file, a numpy memmap, an HDF5 or Zarr array, or what
            `hidegl.read_rows` gives. They are read a block at a time, and memory does not grow with them. If they
            are many, `transduction_` and `relabel` read them again: the file must stay as it is.
        y : array of shape (n_rows,), default=None
            Labels. For numbers −1 means unlabelled; None, NaN and pandas' NA mean it for numbers and strings. With no
            label at all, everything but the labels is learned, and `relabel` takes them later. (A y of −1 and 1 alone
            with at least half of it 1 is read as two classes, with a warning.)
        """
        self._check_parameters()
        self.__dict__.pop("_labels", None)  # not fitted, until all is done
        rows = rows_of(self, X, reset=True, device=self.device)
        labels = Labels.read(y, rows.n_rows)
        class_shares(self.class_prior, labels)  # an error now, rather than after the learning
        checkpoint = Checkpoint(self.checkpoint)
        with Progress(verbose=self.verbose, callback=self.callback, tol=self.tol) as progress:
            self._learn(rows, checkpoint, progress)
            progress.passing("labelling", rows.n_rows)
            self._label(labels)
            progress.done(f"hidegl: {rows.n_rows:,} rows, {len(self._C):,} points")
        checkpoint.remove()
        return self

    def relabel(self, y: ArrayLike | None) -> Self:
        """Label the rows of the fit from other labels. Points and tree stay: only a k×k system is solved.

        The parameters that concern the labels (`graph`, `alpha`, `eta`, `rule`, `solver`, `lambda2`, `class_prior`)
        may be changed before; the others take effect at the next `fit`.
        """
        check_is_fitted(self)
        self._check_parameters()
        return self._label(Labels.read(y, self._Z.n_rows))

    # Using what was learned

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X, which may be new: an array, or a tensor or lazy Dask array if X is one."""
        Z = self._assign(X)
        return Z.map(best_classes, *self._scoring).map(named, self.classes_).answer()

    def predict_proba(self, X: Any) -> Matrix:
        """The probability of each class for each row of X, which may be new."""
        Z = self._assign(X)
        return Z.map(label_distributions, *self._scoring).answer()

    def write_labels(self, path: str | os.PathLike[str], X: Any = None) -> None:
        """Write a label, a confidence and whether the label was given for every row, without holding them in memory.

        Parameters
        ----------
        path : str or path
            Its ending says what is written: .csv, .parquet, or .npy (a structured array).
        X : array, data frame or rows on disk, default=None
            None: the rows of the fit.
        """
        check_is_fitted(self)
        write_labels(path, *self._labelled_blocks(X))

    def _labelled_blocks(self, X: Any = None) -> LabelledBlocks:
        Z = self._Z if X is None else self._assign(X)
        given = self._labels.codes if X is None else np.full(Z.n_rows, UNLABELLED)
        return LabelledBlocks(Z.map(label_distributions, *self._scoring).blocks(), given, self.classes_)

    def suggest(self, n: int = 20) -> NDArray[np.intp]:
        """The rows of the fit to label next, the most helpful first; before there is any label, and after.

        They lie where many rows are, far from those labelled and from one another, and more so where labels are
        unsure. Rows with a label are never among them. A k×k inverse and one pass over the assignments.
        """
        check_is_fitted(self)
        weights = on_host(self._Z.sum(open_mass, *self._scoring))[0] if self._labels.any else self.mass_
        return suggested_rows(self._lgc_rule, self._labels, weights, n)

    def audit(self) -> list[JudgedLabel]:
        """What the other labels say of each given label, the most suspicious first: (row, given, proposed, suspicion).

        Each label is hidden in turn, in closed form, without another fit. The suspicion is the probability of all
        other classes; from 0.95 on a label is `doubtful`. The only label of a class cannot be judged: it gets 0.
        """
        check_is_fitted(self)
        self._require_labels()
        return judged_labels(self._labels, self._leave_one_out())

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows with the right label, among those that have a label in y."""
        return share_right(self.predict(X), y, sample_weight)

    def transform(self, X: Any) -> sp.csr_array:
        """The assignments of the rows of X to the points (n_rows, n_points), sparse; rows sum to 1."""
        return self._assign(X).collect().to_csr()

    @property
    def transduction_(self) -> NDArray[Any]:
        codes = self._once("transduction", self._transduce)
        return self.classes_[codes]

    @property
    def label_distributions_(self) -> Matrix:
        return self._once("distributions", self._distribute)

    @property
    def assignments_(self) -> sp.csr_array:
        self._require_fit("assignments_")
        return self._Z.collect().to_csr()

    @property
    def points_(self) -> Matrix:
        self._require_fit("points_")
        return self._preparation.restore(self._C)

    # The steps of fit

    def _check_parameters(self) -> None:
        if not is_auto(self.n_points):
            check_count("n_points", self.n_points, 1)
        if not is_auto(self.sigma):
            check_number("sigma", self.sigma, "(0, inf)", why="it is the width of a kernel")
        check_number("lambda1", self.lambda1, "[0, 1e12]", why="beyond it, the rows have no weight beside the tree")
        check_number("lambda2", self.lambda2, "(0, inf)")
        check_number("alpha", self.alpha, "[0, 1)", why="the walk series diverges at 1")
        check_number("eta", self.eta, "[0, inf)")
        check_name("graph", self.graph, GRAPHS)
        check_name("rule", self.rule, RULES)
        check_name("solver", self.solver, RULES[self.rule])
        check_preparation(self.preprocess, self.n_components)
        if self.n_nearest is not None:
            check_count("n_nearest", self.n_nearest, 1)
        if isinstance(self.start, str):
            check_name("start", self.start, STARTS)
        check_device(self.device)
        if self.learning_rows is not None and not is_auto(self.learning_rows):
            check_count("learning_rows", self.learning_rows, 1)
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback must be a function of one argument, got {self.callback!r}")
        check_count("max_iter", self.max_iter, 0)
        check_number("tol", self.tol, "[0, inf)")

    def _learn(self, rows: Rows, checkpoint: Checkpoint, progress: Progress) -> None:
        """Algorithm 1, lines 1–7: from the rows to points and tree, and to the sums over Z that the graph needs."""
        seed = int(check_random_state(self.random_state).randint(2**31))
        found = checkpoint.open(rows, self._learning_parameters(), seed if is_whole(self.random_state) else None)
        resumed = None
        if found is None:
            rng = np.random.default_rng(seed)
            self._preparation = learn_preparation(
                rows, preprocess=self.preprocess, n_components=self.n_components, rng=rng
            )
        else:
            seed, self._preparation, resumed = found
        checkpoint.describe(seed, self._preparation)

        k = self._number_of_points(rows.n_rows)
        n_nearest = min(self.n_nearest or k, k)
        check_memory(k, MATRICES[self.rule])
        stages = learning_stages(rows.n_rows, k, self.learning_rows, self.max_iter)
        progress.passing("preparing", rows.n_rows)
        rows = rows.map(prepare, self._preparation)
        if stages[-1].n_rows == rows.n_rows:  # otherwise one pass over all rows is all there is
            rows = rows.persist()
        points, sigma = learn_in_stages(
            rows,
            stages,
            partial(self._begin, k, np.random.default_rng([seed, len(stages)])),
            seed=seed,
            resumed=resumed,
            progress=progress,
            keep=checkpoint.keep,
            lambda1=self.lambda1,
            n_nearest=n_nearest if self.learning_rows is None else min(n_nearest, LEARNING_NEAREST),
            tol=self.tol,
            relaxation=1.0 if self.learning_rows is None else RELAXATION,
        )
        if not points.converged and self.max_iter > 0:
            warnings.warn(
                f"the points did not settle within max_iter={self.max_iter} iterations: the last one gained "
                f"{points.change:.1e}, more than tol={self.tol:.1e}; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )
        progress.passing("assigning", rows.n_rows)
        n_nearest = min(n_nearest, len(points.C))
        self._assigned: Rows | None = rows.map(assignments, points.C, sigma, n_nearest).persist()
        self._keep(points, sigma, n_nearest, stages[-1].n_rows)

    def _learning_parameters(self) -> dict[str, Any]:
        """Those that the points depend on."""
        names = "n_points sigma lambda1 preprocess n_components n_nearest start learning_rows max_iter tol"
        return {name: getattr(self, name) for name in names.split()}

    def _number_of_points(self, n_rows: int) -> int:
        if isinstance(self.start, str):
            k = automatic_n_points(n_rows) if is_auto(self.n_points) else int(self.n_points)
            check_count("n_points", k, 1, n_rows, why="there is no more than one point for each row")
            return k
        start = check_points("start", self.start, self.n_features_in_)
        if not is_auto(self.n_points) and len(start) != self.n_points:
            raise ValueError(f"start must have n_points={self.n_points} rows, got {len(start)}")
        check_count("the number of rows of start", len(start), 1, n_rows)
        return len(start)

    def _begin(self, k: int, rng: np.random.Generator, part: Rows, rows: Rows) -> Step:
        """Where the points start, learned from a part of the rows, and how wide the assignments of all rows are."""
        if isinstance(self.start, str):
            C = in_different_places(STARTS[self.start](part, k, rng))
        else:
            C = prepare(np.asarray(self.start, dtype=np.float64), self._preparation).astype(np.float64)
        sigma = automatic_sigma(rows, C, rng) if is_auto(self.sigma) else float(self.sigma)
        return Step(sigma, 0, C)

    def _keep(self, points: HighDensePoints, sigma: float, n_nearest: int, learning_rows: int) -> None:
        self._rule_cache: tuple[Any, Rule] | None = None
        self._C, self.tree_ = points.C, points.G
        self._B: Matrix | None
        self._B, self.mass_ = point_sums(self._Z)
        self.objective_, self.n_iter_, self.converged_ = points.objective, points.n_iter, points.converged
        self.settings_ = {
            "n_points": len(points.C),
            "sigma": sigma,
            "n_nearest": n_nearest,
            "learning_rows": learning_rows,
            "preprocess": self._preparation.preprocess,
            "n_components": points.C.shape[1],
            "dtype": self._preparation.dtype,
        }

    def _widen(self, rows: Rows, factor: float) -> Self:
        """The same points and tree, with assignments of the rows of the fit so many times as wide."""
        sigma = factor * self.settings_["sigma"]
        prepared = rows.map(prepare, self._preparation)
        self._assigned = prepared.map(assignments, self._C, sigma, self.settings_["n_nearest"]).persist()
        self._rule_cache = None
        self._B, self.mass_ = point_sums(self._Z)
        self.settings_["sigma"] = sigma
        return self

    @property
    def _rule(self) -> Rule:
        """What is free of labels: built when first needed, and again when a parameter that it depends on changes."""
        key = (self.graph, self.alpha, self.eta, self.rule, self.solver, self.lambda2)
        if self._rule_cache is None or self._rule_cache[0] != key:
            self._rule_cache = key, RULES[self.rule][self.solver](self._graph(), self.lambda2)
        return self._rule_cache[1]

    def _graph(self) -> ImplicitGraph:
        if self._B is None:
            self._B, _ = point_sums(self._Z)
        sums = self._B, self.mass_
        return ImplicitGraph.over(self._Z, self.tree_, kind=self.graph, alpha=self.alpha, eta=self.eta, sums=sums)

    @property
    def _lgc_rule(self) -> LGCRule:
        """The rule of the fit, or the LGC rule on the same graph, which alone has leave-one-out and a covariance."""
        rule = self._rule
        return rule if isinstance(rule, LGCRule) else LGCRule.on(self._graph(), self.lambda2)

    def _label(self, labels: Labels) -> Self:
        """Algorithm 1, lines 9–10: from the labels to A, and from A to a label for every row."""
        shares = class_shares(self.class_prior, labels)
        if not labels.any:
            self.__dict__.pop("coef_", None)
            self._kept: dict[str, Any] = {}
            self._labels, self.classes_ = labels, labels.classes
            return self
        if len(labels.classes) == 1:
            warnings.warn(f"y holds one class only, {labels.classes[0]}: every row gets it", stacklevel=3)
        rule = self._rule
        A = rule.infer(self._given(labels, shares))
        return self._keep_labels(labels, A, column_scales(rule.spread @ A, shares))

    def _given(self, labels: Labels, shares: Vector | None) -> GivenLabels:
        return GivenLabels(labels.rows, self._Z.take(labels.rows), labels.one_hot, shares)

    def _keep_labels(self, labels: Labels, A: Matrix, scales: Vector) -> Self:
        self._kept = {}
        self.coef_, self._delta, self._scales = A, self._rule.delta, scales
        self._labels, self.classes_ = labels, labels.classes
        return self

    @property
    def _scoring(self) -> tuple[Matrix, Vector, Vector]:
        """What a row of Z is scored with: A, δ, and the scales of the classes."""
        self._require_labels()
        return self.coef_, self._delta, self._scales

    def _require_labels(self) -> None:
        if not self._labels.any:
            raise NotFittedError("no label was given to fit, so there is nothing to predict: give some to relabel(y)")

    def _require_fit(self, name: str) -> None:
        """An AttributeError, so that `hasattr` says what a fit would change."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no {name} yet: call fit")

    def _once(self, name: str, compute: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """What takes a pass over all rows is computed when it is asked for, and kept until the labels change."""
        if not (hasattr(self, "_labels") and self._labels.any):
            raise AttributeError(f"{type(self).__name__} has no labels for its rows yet: call fit or relabel with some")
        if name not in self._kept:
            self._kept[name] = compute()
        return self._kept[name]

    def _leave_one_out(self) -> Matrix:
        """The probabilities of each labelled row from the other labels (l, c), by the LGC rule."""
        return self._infer_and_leave_one_out(self._labels)[2]

    def _infer_and_leave_one_out(self, labels: Labels) -> tuple[Matrix, Vector, Matrix]:
        """A, the scales of the classes, and the probabilities of each labelled row from the other labels."""
        rule, shares = self._lgc_rule, class_shares(self.class_prior, labels)
        A, F = rule.infer_and_leave_one_out(self._given(labels, shares))
        scales = column_scales(rule.spread @ A, shares)
        return A, scales, distributions(F, scales)

    def _transduce(self) -> NDArray[Any]:
        codes = self._Z.map(best_classes, *self._scoring).collect()
        codes[self._labels.rows] = self._labels.given
        return codes

    def _distribute(self) -> Matrix:
        P = self._Z.map(label_distributions, *self._scoring).collect()
        P[self._labels.rows] = self._labels.one_hot
        return P

    @property
    def _Z(self) -> Rows:
        """The assignments, unless this model was loaded and they were too large to be saved."""
        if self._assigned is None:
            raise NotFittedError("the rows of the fit were too many to be saved with the model: call predict on them")
        return self._assigned

    def _assign(self, X: Any) -> Rows:
        check_is_fitted(self)
        rows = rows_of(self, X, reset=False, device=self.device).map(prepare, self._preparation)
        return rows.map(assignments, self._C, self.settings_["sigma"], self.settings_["n_nearest"])

    # Files

    def _state(self) -> State:
        values = {"settings": self.settings_, "n_iter": self.n_iter_, "converged": self.converged_}
        arrays = {
            "C": self._C,
            "tree": np.array(edges(self.tree_)),
            "objective": self.objective_,
            "mass": self.mass_,
            "classes": self.classes_,
            "codes": self._labels.codes,
            **self._preparation.arrays,
        }
        if self._assigned is not None and self._assigned.is_kept:
            Z = self._assigned.collect()
            arrays |= {"columns": Z.columns, "weights": Z.weights}
        if self._labels.any:
            arrays |= {"coef": self.coef_, "delta": self._delta, "scales": self._scales}
        if hasattr(self, "feature_names_in_"):
            arrays["feature_names"] = self.feature_names_in_.astype(str)
        return values, arrays

    def _set_state(self, state: State) -> None:
        values, arrays = state
        self._C, self.mass_, self.objective_ = arrays["C"], arrays["mass"], arrays["objective"]
        self.settings_, self.n_iter_, self.converged_ = values["settings"], values["n_iter"], values["converged"]
        self._preparation = Preparation.of(self.settings_["preprocess"], self.settings_["dtype"], arrays)
        self.n_features_in_ = len(arrays["offset"])
        if "feature_names" in arrays:
            self.feature_names_in_ = arrays["feature_names"].astype(object)
        self.tree_ = adjacency(arrays["tree"][0], arrays["tree"][1], len(self._C))
        self._rule_cache, self._B, self._assigned, self._kept = None, None, None, {}
        if "columns" in arrays:
            self._assigned = LocalRows(Assignments(arrays["columns"], arrays["weights"], len(self._C)).checked())
        n_rows = len(arrays["codes"]) if self._assigned is None else self._assigned.n_rows
        labels = Labels.of(arrays["classes"], arrays["codes"]).checked(n_rows)
        if labels.any:
            self.coef_ = arrays["coef"].reshape(len(self._C), len(labels.classes))
            self._delta, self._scales = arrays["delta"].reshape(len(self._C)), arrays["scales"]
        self._labels, self.classes_ = labels, labels.classes

    def _facts(self) -> dict[str, str]:
        return {
            **label_facts(len(self._labels.codes), len(self._labels.rows), self.classes_),
            "points": f"{len(self._C):,}, learned in {self.n_iter_} iterations",
            "dimensions": f"{self.settings_['n_components']:,} of {self.n_features_in_:,} columns",
        }

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_labels")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = False
        return tags
