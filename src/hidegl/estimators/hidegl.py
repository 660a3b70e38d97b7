"""HiDeGL: Algorithm 1, from rows and a few labels to a label for every row."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from hidegl.basics.checks import is_whole
from hidegl.basics.linalg import Matrix, Vector
from hidegl.basics.memory import check_memory
from hidegl.basics.progress import LABELLING, Callback, Progress
from hidegl.basics.stored import Stored
from hidegl.basics.threads import BLAS_THREADS
from hidegl.basics.warnings import warn_user
from hidegl.ensemble.members import seed_from
from hidegl.estimators.fitted import Fit, Learned
from hidegl.estimators.model import Model
from hidegl.estimators.parameters import check_parameters, learning_plan
from hidegl.estimators.summaries import described_classes, described_rows
from hidegl.estimators.survey import Survey, survey_labelling
from hidegl.files.input_rows import rows_from
from hidegl.rows.assignments import DENSE_POINTS
from hidegl.rows.base import Rows
from hidegl.spreading.labelling import Labelling, Spreader
from hidegl.spreading.labels import Labels, in_order_of
from hidegl.spreading.rules import MATRICES, Spreading
from hidegl.spreading.shares import class_shares
from hidegl.spreading.stream import label_columns
from hidegl.structure.checkpoint import Checkpoint
from hidegl.structure.preparation import learn_preparation
from hidegl.structure.stages import begin_fit
from hidegl.structure.structure import Structure, learn_structures
from hidegl.structure.views import AnyPreparation

LEARNED_BY = "n_points sigma lambda1 n_nearest start learning_rows max_iter tol preprocess n_components".split()  # noqa: SIM905
"""The parameters that the structure depends on."""


@dataclass(repr=False, eq=False)
class HiDeGL(Model):
    """Semi-supervised classification by graph structure learning over high-dense points.

    Some hundred points are moved to where the rows are dense and joined by a tree; the assignments of rows to points
    define a graph over all rows, which is never stored; labels spread over that graph. Time and memory grow linearly
    with the number of rows.

    Parameters
    ----------
    n_points : int or "auto", default="auto"
        The number of high-dense points, k. More are slower and mostly better. "auto": one per 4 rows, at most 1,500.
        Where many rows are equal there are fewer, because points in the same place are merged.
    sigma : float or "auto", default="auto"
        The width of the assignments, in squared distance after preprocessing. "auto": about two points share a row,
        whatever the scale and the dimension of the data.
    lambda1 : float, default=1.0
        How strongly points that are neighbours in the tree attract each other.
    lambda2 : float, default=0.01
        How strongly scores shrink towards zero; positive.
    alpha : float, default=0.5
        The damping of the random walk that defines the graph, in [0, 1): larger values reach further.
    eta : float, default=0.1
        The weight of the tree's edges in that walk; not negative.
    graph : {"accurate", "approx", "anchor"}, default="accurate"
        The complete series of walks, its first two terms, or the anchor graph of Liu et al., which uses no tree.
    rule : {"lgc", "agr", "poisson", "mbo"}, default="lgc"
        How labels spread: local and global consistency, or anchor graph regularisation, as in the paper; Poisson
        learning; or "lgc" followed by thresholding and diffusing in turns, which sharpens the borders of classes.
    solver : {"direct", "cg"}, default="direct"
        A k×k factorisation, or the paper's conjugate gradients. They give the same answer.
    class_prior : {"balanced", "labels"}, None, dict or array of shape (n_classes,), default="balanced"
        The share of all scores that each class gets: uniform, label frequencies, your own (by class, or in the order of
        `classes_`), or None for no scaling, where a class with more labels may take rows of the others. The scaling
        acts on scores: where classes overlap, a small class may get fewer rows than its share.
    preprocess : {"auto", "unit", "standardize"} or None, default="auto"
        Scale rows to length 1, or columns to unit variance with outliers clipped. "auto": "standardize" for at most 30
        columns, or if one varies far more than the others; else "unit", if no value is negative or there are more than
        100 columns; else None.
    n_components : int, "auto" or None, default="auto"
        The number of principal components; None uses all columns. "auto": where there are more than 100 columns, as
        many as explain 90 % of the variance (80 %, if no value is negative), at most 200.
    n_nearest : int or None, default=8
        The number of points that a row is assigned to; None for all of them, as in the paper, which takes n×k memory.
    start : {"kmeans", "random"} or array of shape (n_points, n_features), default="kmeans"
        Where the points start: a few steps of k-means, rows at random, or given places.
    learning_rows : int, "auto" or None, default="auto"
        The number of random rows that the points are learned on; all rows are labelled. "auto": 256 per point, or
        64 where that is more than 100,000. It begins with 32 per point; its steps are over-relaxed and assign a row to
        3 points. None: Algorithm 1 of the paper, on all rows and with `n_nearest` assignments.
    max_iter : int, default=100
        The maximum number of iterations on `learning_rows`; up to 10 further ones run before, on fewer rows.
    tol : float, default=3e-3
        The learning stops when an iteration gains less than this, in units of sigma per row.
    random_state : int, RandomState instance or None, default=None
        The seed of the start. The same seed gives the same labels, whatever the number of threads.
    device : {"auto", "cpu", "cuda"} or the name of a GPU, default="auto"
        Where to compute. "auto": a tensor stays where it is, and an array of more than 5 million numbers goes to a GPU,
        if torch finds one. Rows on a cluster are computed by their workers, on a device that is named here.
    checkpoint : str or path, default=None
        A file that stores the points after each iteration. If it exists when `fit` begins, the learning resumes from
        it, with the same result as without an interruption. It is removed at the end of the fit.
    callback : callable, default=None
        Called after each iteration with a `hidegl.basics.progress.Iteration`.
    verbose : bool, default=False
        Show progress and the time left: a bar on a terminal, elsewhere a line every ten seconds (logger `hidegl`).

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes among the given labels, sorted.
    transduction_ : array of shape (n_rows,)
        A label for every row of the fit; given labels do not change.
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
        The scores of the classes at each point, A.
    objective_ : array of shape (n_iterations + 1,)
        The objective at each iteration on `learning_rows`; it never decreases.
    n_iter_ : int
        The number of iterations on `learning_rows`.
    converged_ : bool
        Whether the last one gained less than `tol`.
    settings_ : dict
        The value of every parameter that was "auto".
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : array of shape (n_features,)
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

    n_points: int | str = "auto"
    _: KW_ONLY
    sigma: float | str = "auto"
    lambda1: float = 1.0
    lambda2: float = 0.01
    alpha: float = 0.5
    eta: float = 0.1
    graph: str = "accurate"
    rule: str = "lgc"
    solver: str = "direct"
    class_prior: str | ArrayLike | dict[Any, float] | None = "balanced"
    preprocess: str | None = "auto"
    n_components: int | str | None = "auto"
    n_nearest: int | None = 8
    start: str | ArrayLike = "kmeans"
    learning_rows: int | str | None = "auto"
    max_iter: int = 100
    tol: float = 3e-3
    random_state: Any = None
    device: Any = "auto"
    checkpoint: str | os.PathLike[str] | None = None
    callback: Callback | None = None
    verbose: bool = False

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
        check_parameters(self)
        self.__dict__.pop("_fit", None)  # not fitted until all is done
        rows = rows_from(self, X, reset=True, device=self.device)
        labels = Labels.read(in_order_of(X, y), rows.n_rows)
        class_shares(self.class_prior, labels)  # raises errors before the learning
        checkpoint = Checkpoint(self.checkpoint)
        with Progress(verbose=self.verbose, callback=self.callback) as progress:
            with BLAS_THREADS.one_each():
                preparation, structure = self._learn(rows, checkpoint, progress)
            progress.begin(LABELLING)
            self._label(labels, Learned(preparation, (Spreader(structure, self._spreading),)))
            progress.done(f"{rows.n_rows:,} rows, {structure.n_points:,} points")
        checkpoint.remove()
        return self

    def relabel(self, y: ArrayLike | None) -> Self:
        """Label the rows of the fit from other labels. Points and tree do not change: only a k×k system is solved.

        The parameters that concern the labels (`graph`, `alpha`, `eta`, `rule`, `solver`, `lambda2`, `class_prior`)
        may be changed before; the others take effect at the next `fit`.
        """
        check_is_fitted(self)
        check_parameters(self)
        (spreader,) = self._fit.learned.spreaders
        if spreader.spreading != self._spreading:
            spreader = Spreader(spreader.structure, self._spreading)
        return self._label(Labels.read(y, self.n_rows_), Learned(self._preparation, (spreader,)))

    def _learn(self, rows: Rows, checkpoint: Checkpoint, progress: Progress) -> tuple[AnyPreparation, Structure]:
        """Algorithm 1, lines 1–7."""
        seed, parameters = seed_from(self.random_state), {name: getattr(self, name) for name in LEARNED_BY}
        known_seed = seed if is_whole(self.random_state) else None
        found = checkpoint.open(rows, parameters, known_seed, n_models=1, n_features=self.n_features_in_)
        if found is None:
            rng = np.random.default_rng(seed)
            preparation = learn_preparation(rows, preprocess=self.preprocess, n_components=self.n_components, rng=rng)
            checkpoint.begin(seed, [seed], preparation)
        else:
            (seed,), preparation = found[0], found[1].parts[0]
        plan = learning_plan(self, rows.n_rows, preparation)
        check_memory(plan.n_points, MATRICES[self.rule], None if self._spreading.is_dense else DENSE_POINTS)
        begin_fit(progress, [plan], rows.n_rows, preparation.width)
        rows = preparation.of(rows)
        if plan.reads_all(rows.n_rows):
            rows = rows.persist()
        return preparation, next(learn_structures(rows, [plan], [seed], checkpoint, progress))

    def _label(self, labels: Labels, learned: Learned) -> Self:
        """Algorithm 1, lines 9–10."""
        (spreader,) = learned.spreaders
        shares = class_shares(self.class_prior, labels)
        if len(labels.classes) == 1:
            warn_user(f"y has one class only, {labels.classes[0]}: every row gets it")
        self._fit = Fit(learned, spreader.label(labels, shares), self.class_prior)
        return self

    @property
    def _spreading(self) -> Spreading:
        return Spreading(self.graph, self.alpha, self.eta, self.rule, self.solver, self.lambda2)

    @property
    def points_(self) -> Matrix:
        return self._preparation.parts[0].restore(self._structure("points_").C)

    @property
    def tree_(self) -> sp.csr_array:
        return self._structure("tree_").tree

    @property
    def mass_(self) -> Vector:
        return self._structure("mass_").mass

    @property
    def assignments_(self) -> sp.csr_array:
        return self._structure("assignments_").Z.collect().to_csr()

    @property
    def coef_(self) -> Matrix:
        self._require_answers()
        return self._single.A

    @property
    def objective_(self) -> Vector:
        return self._structure("objective_").record.objective

    @property
    def n_iter_(self) -> int:
        return self._structure("n_iter_").record.n_iter

    @property
    def converged_(self) -> bool:
        return self._structure("converged_").record.converged

    @property
    def settings_(self) -> dict[str, Any]:
        structure = self._structure("settings_")
        return {
            "n_points": structure.n_points,
            "sigma": structure.sigma,
            "n_nearest": structure.n_nearest,
            "learning_rows": structure.record.learning_rows,
            "preprocess": self._preparation.preprocess,
            "n_components": structure.C.shape[1],
            "dtype": self._preparation.dtype,
        }

    def summary(self) -> str:
        """The chosen settings with reasons, in a few sentences."""
        check_is_fitted(self)
        s, labels = self.settings_, self.given_labels_
        ended = "" if self.converged_ else ", without convergence"
        lines = [
            described_rows(labels.n_rows, self.n_features_in_, s),
            f"{s['n_points']:,} points, learned on {s['learning_rows']:,} rows in {self.n_iter_} iterations{ended}; "
            f"each row belongs to {s['n_nearest']} of them.",
        ]
        if labels.any:
            used = self._fit.learned.spreaders[0].spreading
            spread = f"They spread by the rule {used.rule!r} on the {used.graph!r} graph."
            lines.append(f"{described_classes(labels)}. {spread}")
        return "\n".join(lines)

    def _structure(self, name: str) -> Structure:
        self._require_fit(name)
        return self._fit.learned.spreaders[0].structure

    @property
    def _single(self) -> Labelling:
        return cast(Labelling, self._fit.labelling)

    def _distributions(self, rows: Rows | None = None) -> Rows:
        (structure,) = self.structures_
        return self._single.distributions(structure.Z if rows is None else structure.assign(rows))

    def _leave_one_out(self) -> Matrix:
        labels = self.given_labels_
        shares = class_shares(self._fit.class_prior, labels)
        return self._fit.learned.spreaders[0].label_and_leave_one_out(labels, shares)[1]

    def _columns(self, rows: Rows) -> Rows:
        return self._distributions(rows).map(label_columns)

    def _surveyed(self) -> Survey:
        return Survey.taken(self.structures_[0].Z, self.given_labels_, survey_labelling, self._single.scoring)

    def _at_points(self, structure: Structure) -> Matrix:
        return self._single.at_points

    def _restored(
        self, labels: Labels, preparation: AnyPreparation, structures: list[Structure], stored: Stored
    ) -> Fit:
        check_parameters(self)
        class_shares(self.class_prior, labels)
        (structure,) = structures
        own = stored.part("labelling", stored.value("labelling"))
        own.sizes["k"] = structure.n_points
        learned = Learned(preparation, (Spreader(structure, self._spreading),))
        return Fit(learned, Labelling.restored(labels, own), self.class_prior)
