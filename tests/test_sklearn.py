"""scikit-learn's own checks of an estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from hidegl import AutoHiDeGL, HiDeGL


@pytest.mark.filterwarnings("ignore:y has one class only")
@pytest.mark.filterwarnings("ignore:only one label each for")
@pytest.mark.filterwarnings("ignore:the labels cannot be predicted from these columns")
@parametrize_with_checks([HiDeGL(), HiDeGL(rule="agr", graph="approx", solver="cg"), AutoHiDeGL(effort="quick")])
def test_scikit_learn_check(estimator, check):
    check(estimator)
