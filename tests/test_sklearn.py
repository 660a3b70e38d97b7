"""scikit-learn's own checks of an estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from hidegl import HiDeGL


@pytest.mark.filterwarnings("ignore:y holds one class only")
@parametrize_with_checks([HiDeGL(), HiDeGL(rule="agr", graph="approx", solver="cg")])
def test_scikit_learn_check(estimator, check):
    check(estimator)
