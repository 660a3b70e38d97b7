"""Checks of HiDeGL's parameters, and the learning plan that follows from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hidegl.basics.checks import check_count, check_name, check_number, check_points, is_auto
from hidegl.basics.linalg import Matrix
from hidegl.basics.progress import check_callback
from hidegl.rows.reading import check_device
from hidegl.spreading.graph import GRAPHS
from hidegl.spreading.rules import RULES
from hidegl.structure.automatic import automatic_n_points
from hidegl.structure.points import STARTS
from hidegl.structure.preparation import Preparation, check_preparation, prepare
from hidegl.structure.stages import LearningPlan

if TYPE_CHECKING:
    from hidegl.estimators.hidegl import HiDeGL


def check_parameters(model: HiDeGL) -> None:
    """Raise an error if a parameter breaks its rule."""
    if not is_auto(model.n_points):
        check_count("n_points", model.n_points, 1)
    if not is_auto(model.sigma):
        check_number("sigma", model.sigma, "(0, inf)", why="it is the width of a kernel")
    check_number("lambda1", model.lambda1, "[0, 1e12]", why="beyond it, the rows have no weight compared with the tree")
    check_number("lambda2", model.lambda2, "(0, inf)")
    check_number("alpha", model.alpha, "[0, 1)", why="the walk series diverges at 1")
    check_number("eta", model.eta, "[0, inf)")
    check_name("graph", model.graph, GRAPHS)
    check_name("rule", model.rule, RULES)
    check_name("solver", model.solver, RULES[model.rule])
    check_preparation(model.preprocess, model.n_components)
    if model.n_nearest is not None:
        check_count("n_nearest", model.n_nearest, 1)
    if isinstance(model.start, str):
        check_name("start", model.start, STARTS)
    check_device(model.device)
    if model.learning_rows is not None and not is_auto(model.learning_rows):
        check_count("learning_rows", model.learning_rows, 1)
    check_callback(model.callback)
    check_count("max_iter", model.max_iter, 0)
    check_number("tol", model.tol, "[0, inf)")


def learning_plan(model: HiDeGL, n_rows: int, preparation: Preparation) -> LearningPlan:
    """The plan for learning the structure of this number of rows."""
    start: str | Matrix
    if isinstance(model.start, str):
        start, k = model.start, automatic_n_points(n_rows) if is_auto(model.n_points) else int(model.n_points)
        check_count("n_points", k, 1, n_rows, why="there can be at most one point for each row")
    else:
        points = check_points("start", model.start, len(preparation.offset))
        if not is_auto(model.n_points) and len(points) != model.n_points:
            raise ValueError(f"start must have n_points={model.n_points} rows, got {len(points)}")
        check_count("the number of rows of start", len(points), 1, n_rows)
        start, k = prepare(points, preparation).astype(np.float64), len(points)
    names = ("sigma", "lambda1", "n_nearest", "learning_rows", "max_iter", "tol")
    return LearningPlan(k, start=start, **{name: getattr(model, name) for name in names})
