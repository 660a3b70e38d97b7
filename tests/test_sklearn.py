"""scikit-learn's own checks of an estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from hidegl import HiDeGL


@parametrize_with_checks([HiDeGL(), HiDeGL(rule="agr", graph="approx", solver="cg")])
def test_scikit_learn_check(estimator, check):
    check(estimator)
