"""AutoHiDeGL: models of several sizes, averaged and refined together, with nothing to set."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from hidegl.basics.archives import State
from hidegl.basics.checks import check_name, is_auto, is_whole
from hidegl.basics.linalg import Matrix, Vector
from hidegl.basics.progress import Callback, Progress, check_callback
from hidegl.basics.stored import Stored
from hidegl.basics.threads import BLAS_THREADS
from hidegl.calibrated import CalibratedModel
from hidegl.ensemble.evidence import leave_one_out
from hidegl.ensemble.members import EFFORTS, TOLERANCE, member_plans, member_seeds, seed_from
from hidegl.ensemble.mixture import Mixture, assigned_rows, class_sums, summed_beside, summed_mixed
from hidegl.ensemble.sample import RowSample
from hidegl.ensemble.shares import ExpectedShares
from hidegl.ensemble.strays import Strays
from hidegl.ensemble.together import label_together
from hidegl.files.reading import rows_from
from hidegl.questions.suggestions import undecided_mass
from hidegl.rows.arrays import on_host
from hidegl.rows.base import Rows, Sums
from hidegl.rows.local import LocalRows
from hidegl.rows.reading import check_device
from hidegl.rows.side_by_side import SideBySide
from hidegl.showing.words import described_classes, described_rows
from hidegl.spreading.labelling import Spreader
from hidegl.spreading.labels import Labels
from hidegl.spreading.shares import distributions
from hidegl.structure.checkpoint import Checkpoint
from hidegl.structure.preparation import PREPROCESSES, learn_preparation, prepare
from hidegl.structure.structure import Structure, learn_structures

MIXED = "mixed"

MOST_SHARES = 10
"""How many class shares a summary names."""


@dataclass(repr=False, eq=False)
class AutoHiDeGL(CalibratedModel):
    """Semi-supervised classification with nothing to set: an average of HiDeGL models of several sizes.

    Parameters
    ----------
    effort : {"quick", "default", "best"}, default="default"
        How much time to spend: 1, 3 or 3 models, with up to 1,500, 6,000 or 15,000 points.
    class_prior : "auto", "balanced", "labels", dict or array of shape (n_classes,), default="auto"
        The share of the rows that each class has, such as {"spam": 0.2, "ham": 0.8}. "auto": label frequencies, shrunk
        towards uniform when labels are few, and enforced only as strongly as the graphs allow.
    preprocess : {"auto", "unit", "standardize", "mixed"} or None, default="auto"
        How columns are scaled, as in `HiDeGL`. None: they count as they are. "mixed": the same, for columns of several
        kinds that a `hidegl.embedding.TableEncoder` has scaled; clusters may be those of a category then, so the graphs
        count nothing beside the kernel classifier until labels tell.
    random_state : int, RandomState instance or None, default=None
        The seed. The same seed gives the same labels.
    device : {"auto", "cpu", "cuda"} or the name of a GPU, default="auto"
        Where to compute, as in `HiDeGL`.
    checkpoint : str or path, default=None
        A file to which what is learned is written after each iteration. If it is there when `fit` begins, the models
        that it holds are not learned again, and the fit ends as if it had not been interrupted. It is removed when the
        fit is done.
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
        The probabilities behind `transduction_`, calibrated; rows sum to 1.
    structures_ : tuple of Structure
        The points, tree and assignments of each model that is averaged.
    expected_accuracy_ : ExpectedAccuracy
        The share of labels that are expected to be right, of those that were not given: `mean`, `low` and `high`.
    settings_ : dict
        What was chosen; `summary()` says it in words.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : array of shape (n_features,)
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

    effort: str = "default"
    _: KW_ONLY
    class_prior: str | ArrayLike | dict[Any, float] = "auto"
    preprocess: str | None = "auto"
    random_state: Any = None
    device: Any = "auto"
    checkpoint: str | os.PathLike[str] | None = None
    callback: Callback | None = None
    verbose: bool = False

    # Learning

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Learn from all rows, and label every row from the labels in y. X and y are as in `HiDeGL.fit`."""
        self._check_parameters()
        self.__dict__.pop("_labelling", None)  # not fitted, until all is done
        rows = rows_from(self, X, reset=True, device=self.device)
        labels = Labels.read(y, rows.n_rows)
        ExpectedShares.of(self.class_prior, labels)  # an error now, rather than after the learning
        checkpoint = Checkpoint(self.checkpoint)
        with Progress(verbose=self.verbose, callback=self.callback, tol=TOLERANCE) as progress, BLAS_THREADS.one_each():
            spreaders = self._learn(rows, len(labels.rows), checkpoint, progress)
            self._sample: RowSample | None = None
            progress.passing("labelling")
            self._label(labels, spreaders)
            progress.done(f"hidegl: {rows.n_rows:,} rows, {self._n_models}")
        checkpoint.remove()
        return self

    def relabel(self, y: ArrayLike | None) -> Self:
        """Label the rows of the fit from other labels. Points and trees stay.

        A model that was loaded from a file has no rows to fit its kernel classifier to, and goes without.
        """
        check_is_fitted(self)
        with BLAS_THREADS.one_each():
            return self._label(Labels.read(y, self.n_rows_), self._spreaders)

    def _check_parameters(self) -> None:
        check_name("effort", self.effort, EFFORTS)
        check_device(self.device)
        check_callback(self.callback)
        check_name("preprocess", self.preprocess, ("auto", *PREPROCESSES, MIXED, None))

    def _learn(self, rows: Rows, n_labels: int, checkpoint: Checkpoint, progress: Progress) -> tuple[Spreader, ...]:
        """The structures of all members on rows that are read and prepared once, each with its rule."""
        seed = seed_from(self.random_state)
        plans = member_plans(self.effort, rows.n_rows, n_labels)
        known_seed = seed if is_whole(self.random_state) else None
        learned_by = {"effort": self.effort, "preprocess": self.preprocess}
        found = checkpoint.open(rows, learned_by, known_seed, n_models=len(plans), n_features=self.n_features_in_)
        if found is None:
            rng = np.random.default_rng(seed)
            scaling = None if self.preprocess == MIXED else self.preprocess
            preparation = learn_preparation(rows, preprocess=scaling, n_components="auto", rng=rng)
            seeds = member_seeds(rng, len(plans))
            checkpoint.begin(seed, seeds, preparation)
        else:
            seeds, preparation = found
        self._effort, self._seed, self._preparation = self.effort, seeds[0], preparation
        progress.passing("preparing", rows.n_rows)
        self._rows: Rows | None = rows.map(prepare, preparation).persist()
        return tuple(map(Spreader, learn_structures(self._rows, plans, seeds, checkpoint, progress)))

    def _label(self, labels: Labels, spreaders: tuple[Spreader, ...]) -> Self:
        if self._sample is None:
            self._sample = RowSample.of(
                [spreader.structure for spreader in spreaders], self._rows, self._seed, mixed=self.preprocess == MIXED
            )
        strays = Strays.none(labels) if not is_auto(self.class_prior) else Strays.among(labels, spreaders, self._sample)
        strays.warn(labels)
        learned = labels.some(~strays.mask)
        shares = ExpectedShares.of(self.class_prior, learned)
        mixture = label_together(spreaders, learned, shares, self._sample, seed=self._seed)
        return self._take_over(mixture.with_strays(labels, strays), spreaders)

    # What was learned

    @property
    def settings_(self) -> dict[str, Any]:
        self._require_fit("settings_")
        structures, mixture = self.structures_, self._mixture
        settings: dict[str, Any] = {
            "effort": self._effort,
            "preprocess": self._preparation.preprocess,
            "dtype": self._preparation.dtype,
            "n_components": structures[0].C.shape[1],
            "n_points": [structure.n_points for structure in structures],
            "sigma": [structure.sigma for structure in structures],
        }
        if mixture.labels.any:
            settings |= {
                "shares_are": mixture.shares_are,
                "class_shares": mixture.expected_shares.tolist(),
                "temperature": mixture.temperature,
                "kernel_weight": mixture.head_share,
            }
        return settings

    def summary(self) -> str:
        """What was chosen, and why, in a few sentences."""
        check_is_fitted(self)
        s, labels = self.settings_, self.given_labels_
        sizes = ", ".join(f"{k:,}" for k in sorted(set(s["n_points"])))
        averaged = ", averaged" if len(self._spreaders) > 1 else ""
        lines = [
            described_rows(labels.n_rows, self.n_features_in_, s),
            f"{self._n_models.capitalize()} with {sizes} points{averaged}.",
        ]
        if labels.any:
            by_cut = is_auto(self.class_prior) and len(labels.classes) > 2
            why = ", which cuts the graphs at the least cost" if by_cut else ""
            lines += [
                f"{described_classes(labels)}; expected shares: {self._named_shares()}. "
                f"The class shares are {s['shares_are']}{why}.",
                f"A kernel classifier has a weight of {s['kernel_weight']:.0%} beside the graphs: by how far rows "
                f"cluster, and by how well each predicts labels that it has not seen.",
                f"Expected: {self.expected_accuracy_}.",
            ]
        return "\n".join(lines)

    def _named_shares(self) -> str:
        named = list(zip(self.classes_, self._mixture.expected_shares, strict=True))
        more = f" and {len(named) - MOST_SHARES} more" if len(named) > MOST_SHARES else ""
        return ", ".join(f"{name}: {share:.0%}" for name, share in named[:MOST_SHARES]) + more

    @property
    def _n_models(self) -> str:
        n = len(EFFORTS[self._effort])
        return "one model" if n == 1 else f"{n} models"

    @property
    def _mixture(self) -> Mixture:
        assert isinstance(self._labelling, Mixture)
        return self._labelling

    # What follows from it

    def _distributions(self, rows: Rows | None = None) -> Rows:
        if rows is None:
            return LocalRows(self._computed["saved"]) if "saved" in self._computed else self._mixture.of(self._forms())
        return self._mixture.of(assigned_rows(self.structures_, rows))

    def _forms(self) -> Rows:
        """The rows of the fit, as the mixture takes them: assignments as they are kept, or computed from the rows."""
        first, *others = [structure.Z for structure in self.structures_]
        with_rows = [] if self._mixture.head is None or self._rows is None else [self._rows]
        kept = first.beside(*others, *with_rows)
        if kept is not None:
            return kept
        assert self._rows is not None, "assignments that are not kept are computed from the rows"
        return assigned_rows(self.structures_, self._rows)

    def _summed(self, function: Callable[..., Sums], structure: Structure) -> tuple[Any, ...]:
        """Sums over the assignments of the rows of the fit to the points of a structure, beside their probabilities."""
        number = next(i for i, own in enumerate(self.structures_) if own is structure)
        if "saved" in self._computed:
            forms = SideBySide.of(structure.Z.collect(), self._computed["saved"])
            return LocalRows(forms).sum(summed_beside, function)
        return on_host(self._forms().sum(summed_mixed, function, number, *self._mixture.arguments))

    def _leave_one_out(self) -> Matrix:
        labels, P_loo = self.given_labels_, self._mixture.P_loo
        if P_loo is None:  # a model that was saved without
            shares = ExpectedShares.of(self.class_prior, labels)
            P_loo = leave_one_out(self._spreaders, labels, shares.in_members)[1].P
        return P_loo

    def _undecided_mass(self, structure: Structure) -> tuple[Vector, Vector]:
        open_mass, unsure_mass = self._summed(undecided_mass, structure)
        return open_mass, unsure_mass

    def _at_points(self, structure: Structure) -> Matrix:
        (sums,) = self._summed(class_sums, structure)
        return distributions(sums / np.maximum(structure.mass, 1e-12)[:, None], np.ones(sums.shape[1]))

    # Files and notebooks

    def __hidegl_state__(self) -> State:
        values, arrays = super().__hidegl_state__()
        if self._mixture.head is not None:  # the rows that it needs are not in the file
            arrays["distributions"] = self._distributions().collect()
        return {**values, "effort": self._effort, "seed": self._seed}, arrays

    def __set_hidegl_state__(self, stored: Stored) -> None:
        self._effort, self._seed = stored.one_of("effort", EFFORTS), stored.whole("seed", 0, 2**32)
        self._rows, self._sample = None, None
        super().__set_hidegl_state__(stored)
        if self._mixture.head is not None:
            self._computed["saved"] = stored.distributions("distributions", "n c")

    def _restore(self, labels: Labels, structures: list[Structure], stored: Stored) -> None:
        self._check_parameters()
        ExpectedShares.of(self.class_prior, labels)
        n_points = [structure.n_points for structure in structures]
        mixture = Mixture.restored(labels, n_points, stored, self._preparation.dtype)
        self._take_over(mixture, tuple(map(Spreader, structures)))

    def _facts(self) -> dict[str, str]:
        facts = super()._facts()
        if self.given_labels_.any:
            facts["expected"] = str(self.expected_accuracy_)
        return facts
