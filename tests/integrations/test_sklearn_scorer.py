"""The scorer inside scikit-learn itself: cross-validation, grid search, and equal to the core."""

import numpy as np
import pytest

import gfscore
from gfscore.errors import OptionError, SamplesError
from gfscore.integrations.sklearn_scorer import RobustnessScorer
from gfscore.metrics import METRICS

pytest.importorskip("sklearn")
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

LESS_IS_BETTER = {"rdi", "nrgc", "theil", "atkinson"}  # said once more, so that a sign that flips in the table shows


@pytest.fixture(scope="module")
def data():
    rng, codes = np.random.default_rng(0), np.arange(240) % 3
    names = np.array(["ant", "bee", "cow"])
    return rng.normal(0, 1, (240, 3)) + np.array([4, 2, 1])[codes, None] * np.eye(3)[codes], names[codes]


@pytest.mark.parametrize("metric", METRICS)
def test_it_is_the_number_of_an_audit_with_a_sign(data, metric):
    inputs, labels = data
    model = LogisticRegression().fit(inputs, labels)
    codes = np.searchsorted(model.classes_, labels)
    expected = getattr(gfscore.audit(model.decision_function(inputs), codes).model, metric)
    value = expected if isinstance(expected, float) else expected.value
    for response in ("predict_proba", "decision_function"):  # of a logistic regression they say the same
        scored = RobustnessScorer(metric=metric, response=response)(model, inputs, labels)
        assert scored == pytest.approx((-1 if metric in LESS_IS_BETTER else 1) * value, abs=1e-9)


def test_two_classes_have_one_decision(data):
    inputs, labels = data[0][data[1] != "cow"], data[1][data[1] != "cow"]
    model = LogisticRegression().fit(inputs, labels)
    by_response = [RobustnessScorer(response=r)(model, inputs, labels) for r in ("predict_proba", "decision_function")]
    assert by_response[0] == pytest.approx(by_response[1], abs=1e-9)


def test_cross_validation_and_grid_search_use_it(data):
    inputs, labels = data
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    scorers = {"wcr": RobustnessScorer(metric="wcr"), "rdi": RobustnessScorer(metric="rdi")}
    folds = cross_validate(pipeline, inputs, labels, cv=3, scoring=scorers, error_score="raise")
    assert (folds["test_wcr"] > 0).all()
    assert (folds["test_rdi"] < 0).all()
    search = GridSearchCV(
        LogisticRegression(), {"C": [0.001, 1.0]}, scoring=scorers["wcr"], cv=3, n_jobs=1, error_score="raise"
    )
    assert search.fit(inputs, labels).best_params_ == {"C": 1.0}, (
        "the worst class is not found by a model that knows nothing"
    )
    forest = RandomForestClassifier(10, random_state=0)
    assert cross_val_score(forest, inputs, labels, cv=3, scoring=scorers["wcr"], error_score="raise").shape == (3,)


def test_what_it_cannot_score_is_said(data):
    inputs, labels = data
    with pytest.raises(OptionError, match=r"SVC has no predict_proba. Choose response='decision_function'"):
        RobustnessScorer()(SVC().fit(inputs, labels), inputs, labels)
    with pytest.raises(OptionError, match=r"metric 'robust' is not known. Choose one of aggregate, class_mean, wcr"):
        RobustnessScorer(metric="robust")
    with pytest.raises(OptionError, match="response 'predict' is not known"):
        RobustnessScorer(response="predict")
    with pytest.raises(SamplesError, match=r"label .*'dog'.* in row 0 is no class"):
        RobustnessScorer()(LogisticRegression().fit(inputs, labels), inputs[:1], ["dog"])
