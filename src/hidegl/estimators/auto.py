"""AutoHiDeGL: an ensemble of models of several sizes, without parameters that need tuning."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from hidegl.basics.archives import State, prefixed
from hidegl.basics.checks import check_name, is_whole
from hidegl.basics.linalg import Matrix, Vector
from hidegl.basics.progress import LABELLING, Callback, Progress, check_callback
from hidegl.basics.stored import Stored
from hidegl.basics.threads import BLAS_THREADS
from hidegl.ensemble.class_shares import ClassShares
from hidegl.ensemble.members import EFFORTS, member_plans, member_seeds, n_members, seed_from
from hidegl.ensemble.mixture import Mixture, assigned_rows
from hidegl.ensemble.together import label_together
from hidegl.estimators.calibrated import CalibratedModel
from hidegl.estimators.extending import are_far, extended_labels, warn_of_far
from hidegl.estimators.fitted import Fit
from hidegl.estimators.known_sources import KnownSources, with_sources
from hidegl.estimators.learned_ensemble import LearnedEnsemble, are_mixed, check_scaling, chosen_settings, scaling_of
from hidegl.estimators.model import ROWLESS
from hidegl.estimators.summaries import counted_models, ensemble_summary
from hidegl.estimators.survey import Survey, forms_of, predicted_columns, survey_mixture, surveyed_confidences
from hidegl.files.input_rows import rows_from
from hidegl.questions.acceptance import Confidences
from hidegl.rows.arrays import on_host
from hidegl.rows.base import Rows
from hidegl.rows.local import LocalRows
from hidegl.rows.reading import check_device, joined_views
from hidegl.spreading.labelling import Spreader
from hidegl.spreading.labels import Labels, in_order_of
from hidegl.spreading.shares import distributions
from hidegl.spreading.weak_labels import WeakLabels, read_sources
from hidegl.structure.checkpoint import Checkpoint
from hidegl.structure.stages import begin_fit
from hidegl.structure.structure import Structure, learn_structures
from hidegl.structure.views import (
    AnyPreparation,
    LearnedView,
    ViewPreparations,
    check_learned,
    check_views,
    learn_views,
)


@dataclass(repr=False, eq=False)
class AutoHiDeGL(CalibratedModel):
    """Semi-supervised classification without tuning: an ensemble of HiDeGL models of several sizes.

    Parameters
    ----------
    effort : {"quick", "default", "best"}, default="default"
        How much time to spend: 1, 3 or 3 models, with up to 1,500, 6,000 or 15,000 points.
    class_prior : "auto", "balanced", "labels", dict or array of shape (n_classes,), default="auto"
        The share of the rows that each class has, such as {"spam": 0.2, "ham": 0.8}. "auto": learned from the numbers
        of labels and from the rows. Shares that you give are enforced: probabilities have these means.
    preprocess : {"auto", "unit", "standardize", "mixed"} or None, or a dict of these, default="auto"
        How columns are scaled, as in `HiDeGL`. None: they are not scaled. "mixed": not scaled either, for columns of
        several kinds that a `hidegl.embedding.TableEncoder` has scaled. Clusters may only reflect a categorical column
        then, so the kernel classifier counts more until labels show that clusters help. A dict: by the names of views.
    views : dict, default=None
        Several descriptions of each row that are side by side in X: their numbers of columns, such as
        {"title": 384, "photo": 1280}. Labels decide how much each counts; the first one has the most points. `fit` and
        `predict` also take a dict or list of matrices for X, one for each view. None or empty: one view.
    random_state : int, RandomState instance or None, default=None
        The seed. The same seed gives the same labels.
    device : {"auto", "cpu", "cuda"} or the name of a GPU, default="auto"
        Where to compute, as in `HiDeGL`.
    checkpoint : str or path, default=None
        A file that stores the state of the fit after each iteration. If it exists when `fit` begins, the fit resumes
        from it, with the same result as without an interruption. It is removed at the end of the fit.
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
        The probabilities behind `transduction_`, calibrated; rows sum to 1.
    structures_ : tuple of Structure
        The points, tree and assignments of each model that is averaged.
    expected_accuracy_ : ExpectedAccuracy
        The share of labels that are expected to be right, of those that were not given: `mean`, `low` and `high`.
    sources_ : tuple of JudgedSource
        Estimates for each weak source, such as its `agreement` with given labels and its `accuracy`.
    far_rows_ : array
        The rows of the last `extend`, by number, that are unlike all before; of familiar rows, one in twenty is.
    settings_ : dict
        The chosen settings; `summary()` describes them.
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
    preprocess: str | Mapping[str, str | None] | None = "auto"
    views: Mapping[str, int] | None = None
    random_state: Any = None
    device: Any = "auto"
    checkpoint: str | os.PathLike[str] | None = None
    callback: Callback | None = None
    verbose: bool = False

    _looks_for_unseen: ClassVar[bool] = True

    # Learning

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        weak: Mapping[str, Any] | None = None,
        learned: Mapping[str, LearnedView] | None = None,
    ) -> Self:
        """Learn from all rows, and label every row from the labels in y. X and y are as in `HiDeGL.fit`.

        `weak` is a dict from the names of sources that are often wrong to their labels: labels as in y, or
        probabilities, as a data frame or dict with one column per class. Their accuracies are estimated (`sources_`),
        also without y. `learned` is `TextEmbedder.learned_`: held-out vectors of views that were learned from the
        labels.
        """
        self._check_parameters()
        self.__dict__.pop("_fit", None)  # not fitted until all is done
        X, widths = joined_views(X)
        rows = rows_from(self, X, reset=True, device=self.device)
        views = check_views(self.views if widths is None else widths, self.n_features_in_)
        labels = Labels.read(in_order_of(X, y), rows.n_rows)
        ClassShares.of(self.class_prior, labels)  # raises errors before the learning
        sources = read_sources(weak, rows.n_rows, labels.classes)
        checkpoint = Checkpoint(self.checkpoint)
        with Progress(verbose=self.verbose, callback=self.callback) as progress, BLAS_THREADS.one_each():
            found = self._learn(rows, views, check_learned(learned, views), len(labels.rows), checkpoint, progress)
            progress.begin(LABELLING)
            self._label(labels, found, sources)
            progress.done(f"{rows.n_rows:,} rows, {counted_models(len(found.spreaders))}")
        checkpoint.remove()
        return self

    def relabel(self, y: ArrayLike | None, *, weak: Mapping[str, Any] | None = None) -> Self:
        """Label the rows of the fit from other labels. Points and trees do not change, nor do weak sources if `weak` is
        None. `class_prior` may be changed before. A model that was loaded from a file has no rows for its kernel
        classifiers, so it uses the graphs only.
        """
        check_is_fitted(self)
        labels = Labels.read(y, self.n_rows_)
        sources = self._sources.said if weak is None else read_sources(weak, self.n_rows_, labels.classes)
        with BLAS_THREADS.one_each():
            return self._label(labels, self._learned, sources)

    def extend(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Add new rows after those of the fit, and label all rows again. Points are learned again only when there are
        twice as many rows as they were learned from. X is as in `predict`, and y has labels of the new rows, or is
        None. Weak sources have no labels for them. `far_rows_` are the new rows that are unlike all rows of the fit;
        there is a warning if there are many.
        """
        check_is_fitted(self)
        new, learned = self._prepared(X).persist(), self._learned
        labels = extended_labels(self.given_labels_.of_present_classes, new.n_rows, y)
        far = np.zeros(new.n_rows, dtype=bool) if learned.rows is None else are_far(learned.rows, new)
        warn_of_far(far)
        with BLAS_THREADS.one_each():
            self._label(labels, learned.followed_by(new), self._sources.said)
        self._fit.cache["far"] = labels.n_rows - new.n_rows + np.flatnonzero(far)
        return self

    def _check_parameters(self) -> None:
        check_name("effort", self.effort, EFFORTS)
        check_device(self.device)
        check_callback(self.callback)
        check_scaling(self.preprocess)

    def _learn(
        self,
        rows: Rows,
        views: dict[str, int],
        learned: Mapping[str, LearnedView],
        n_labels: int,
        checkpoint: Checkpoint,
        progress: Progress,
    ) -> LearnedEnsemble:
        """The structures of all members on rows that are read and prepared once, each with its rule."""
        seed, n_models = seed_from(self.random_state), n_members(self.effort, len(views))
        known_seed = seed if is_whole(self.random_state) else None
        learned_by = {"effort": self.effort, "preprocess": self.preprocess, "views": views}
        found = checkpoint.open(rows, learned_by, known_seed, n_models=n_models, n_features=self.n_features_in_)
        if found is None:
            rng = np.random.default_rng(seed)
            scaling = scaling_of(self.preprocess, views)
            preparation = learn_views(rows, views, learned, preprocess=scaling, rng=rng)
            seeds = member_seeds(rng, n_models)
            checkpoint.begin(seed, seeds, preparation)
        else:
            seeds, preparation = found
        plans = member_plans(self.effort, rows.n_rows, n_labels, preparation.spans)
        begin_fit(progress, plans, rows.n_rows, preparation.width)
        prepared = preparation.of(rows).persist()
        spreaders = tuple(map(Spreader, learn_structures(prepared, plans, seeds, checkpoint, progress)))
        mixed = are_mixed(self.preprocess, preparation.names)
        return LearnedEnsemble(preparation, spreaders, self.effort, seeds[0], mixed, prepared, prepared.n_rows)

    def _label(self, labels: Labels, learned: LearnedEnsemble, sources: tuple[WeakLabels, ...]) -> Self:
        shares = ClassShares.of(self.class_prior, labels)
        mixture = label_together(learned.members, labels, shares, seed=learned.seed)
        known, mixture, cache = with_sources(sources, mixture, learned)
        self._fit = Fit(learned, mixture, self.class_prior, known, dict(cache))
        return self

    # What was learned

    @property
    def settings_(self) -> dict[str, Any]:
        self._require_fit("settings_")
        return chosen_settings(self._learned.effort, self._preparation, self.structures_, self._mixture, self.views_)

    def summary(self) -> str:
        """The chosen settings with reasons, in a few sentences."""
        check_is_fitted(self)
        own = self.given_labels_.of_present_classes
        return ensemble_summary(self, own, ClassShares.of(self._fit.class_prior, own).even)

    @property
    def views_(self) -> dict[str, int]:
        """The number of columns of each view, by its name; empty with one view."""
        self._require_fit("views_")
        found = self._preparation
        return found.views if isinstance(found, ViewPreparations) else {}

    @property
    def _learned(self) -> LearnedEnsemble:
        return cast(LearnedEnsemble, self._fit.learned)

    @property
    def _mixture(self) -> Mixture:
        assert isinstance(self._fit.labelling, Mixture)
        return self._fit.labelling

    # What follows from it

    def _distributions(self, rows: Rows | None = None) -> Rows:
        if rows is not None:
            return self._mixture.of(assigned_rows(self.structures_, rows))
        return LocalRows(self._fit.cache["saved"]) if "saved" in self._fit.cache else self._mixture.of(self._forms())

    def _columns(self, rows: Rows) -> Rows:
        mixture = self._mixture
        return assigned_rows(self.structures_, rows).map(predicted_columns, mixture.unseen, *mixture.arguments)

    def _surveyed(self) -> Survey:
        labels, unseen = self.given_labels_, self._mixture.unseen
        if "saved" not in self._fit.cache:
            return Survey.taken(self._forms(), labels, survey_mixture, self._survey_arguments, self._chances)
        forms = [s.Z.collect() for s in self.structures_]
        survey = Survey.of_saved(forms, labels, self._fit.cache, (self._smallest_number, unseen))
        return replace(survey, confidences=self._fit.cache.get("saved confidences", survey.confidences))

    def _confidences_of(self, X: Any) -> Confidences:
        forms = assigned_rows(self.structures_, self._prepared(X))
        counts, sums, drawn = on_host(forms.sum(surveyed_confidences, *self._survey_arguments))
        return Confidences(counts, sums, drawn, self._chances, self.given_labels_.n_judged)

    @property
    def _survey_arguments(self) -> tuple[Any, ...]:
        mixture, draws = self._mixture, self._mixture.draws
        ratios = draws.shares / mixture.expected_shares
        return self._smallest_number, mixture.unseen, draws.unseen, ratios, *mixture.arguments

    @property
    def _chances(self) -> Vector:
        return self._mixture.draws.experts.chances

    @property
    def _smallest_number(self) -> int:
        return self._fit.learned.spreaders.index(self._smallest)

    def _forms(self) -> Rows:
        return forms_of(self.structures_, self._mixture, self._learned.rows)

    def _leave_one_out(self) -> Matrix:
        if self._mixture.P_loo is None:  # of a model file that lacks it
            return self._smallest.label_and_leave_one_out(self.given_labels_, None)[1]
        return self._mixture.P_loo

    def _at_points(self, structure: Structure) -> Matrix:
        sums = self._survey().class_sums
        return distributions(sums / np.maximum(structure.mass, 1e-12)[:, None], np.ones(sums.shape[1]))

    # Files and notebooks

    def state(self, *, with_rows: bool) -> State:
        values, arrays = super().state(with_rows=with_rows)
        values |= {"effort": self._learned.effort, "seed": self._learned.seed}
        if not with_rows:
            return values, arrays
        of_sources, said = self._sources.state()
        values, arrays = values | of_sources, arrays | said
        if self._mixture.heads or "saved" in self._fit.cache:  # heads need rows, which are not in the file
            arrays["distributions"] = self._distributions().collect()
            arrays |= prefixed("confidences.", self._survey().confidences.arrays)
        return values, arrays

    def _restored(
        self, labels: Labels, preparation: AnyPreparation, structures: list[Structure], stored: Stored
    ) -> Fit:
        self._check_parameters()
        ClassShares.of(self.class_prior, labels.of_present_classes)
        n_points = [structure.n_points for structure in structures]
        own = stored.part("labelling", stored.value("labelling"))
        mixture, sources = Mixture.restored(labels, n_points, own, preparation.dtype), KnownSources.restored(stored)
        cache: dict[str, Any] = {}
        if (mixture.heads or sources.any_used) and not stored.says(ROWLESS):
            cache["saved"] = stored.distributions("distributions", "n c")
            if stored.has("confidences.counts"):
                saved = stored.part("confidences", {})
                cache["saved confidences"] = Confidences.restored(saved, labels.n_judged)
        effort, seed = stored.one_of("effort", EFFORTS), stored.whole("seed", 0, 2**32)
        spreaders = tuple(map(Spreader, structures))
        learned = LearnedEnsemble(preparation, spreaders, effort, seed, are_mixed(self.preprocess, preparation.names))
        return Fit(learned, mixture, self.class_prior, sources, cache)

    def _facts(self) -> dict[str, str]:
        expected = {"expected": str(self.expected_accuracy_)} if self.given_labels_.any else {}
        return {**super()._facts(), **expected}
