# SPDX-License-Identifier: Apache-2.0
"""Estimators, held to scikit-learn's own checks."""
import pickle
import warnings

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn", reason="python3-sklearn is not installed")
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

from porterdp.sklearn import PorterClassifier, PorterRegressor  # noqa: E402

# What noise makes impossible: a score that the check wants from 200 records.
TOO_NOISY = {("PorterRegressor", "check_regressors_train")}


def failures(estimator):
    found, passed = [], 0
    for made, check in check_estimator(estimator, generate_only=True):
        name = getattr(check, "func", check).__name__
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check(made)
            passed += 1
        except Exception as error:  # whatever a check raises
            if type(error).__name__ != "SkipTest":
                found.append((type(estimator).__name__, name))
    return set(found), passed


@pytest.mark.parametrize("estimator", [PorterClassifier(random_state=0), PorterRegressor(random_state=0)])
def test_passes_the_checks(estimator):
    found, passed = failures(estimator)
    assert not found and passed > 35


@pytest.mark.parametrize("estimator", [PorterClassifier(epsilon=8.0, delta=1e-2),
                                       PorterRegressor(epsilon=8.0, delta=1e-2)])
def test_passes_them_with_secret_noise(estimator):
    found, passed = failures(estimator)
    assert found <= TOO_NOISY and passed > 35


def test_is_private(two_classes):
    X, y = two_classes
    with pytest.warns(UserWarning, match="classes"):
        found = PorterClassifier(epsilon=2, delta=1e-5, agents=4).fit(X, y)
    assert found.privacy_.guaranteed and found.privacy_.epsilon[1] <= 2
    assert any("found in y" in text for text in found.privacy_["not_covered"])
    stated = PorterClassifier(epsilon=2, delta=1e-5, agents=4, classes=[0, 1]).fit(X, y)
    assert stated.score(X, y) > 0.7
    assert not PorterClassifier(epsilon=2, agents=4, random_state=1).fit(X, y).privacy_.guaranteed


def test_texts_networks_and_pickles(two_classes):
    X, y = two_classes
    labels = np.where(y == 1, "yes", "no")
    found = PorterClassifier(agents=4, hidden=(8,), random_state=3).fit(X, labels)
    assert found.score(X, labels) > 0.8
    again = pickle.loads(pickle.dumps(found))
    assert np.array_equal(again.predict(X), found.predict(X))
    assert np.array_equal(again.predict_proba(X), found.predict_proba(X))
