"""Robustness of the worst class as a scikit-learn scorer, for cross-validation and model selection."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gfscore.errors import OptionError, SamplesError
from gfscore.jobs.options import Options
from gfscore.jobs.stages import audit_scores, score_samples
from gfscore.metrics import all_metrics, find_metric
from gfscore.samples import Samples

Response = Literal["predict_proba", "decision_function"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RobustnessScorer:
    """A scorer: called with a fitted classifier, inputs and labels, it gives a float, and more is better.

    ``metric`` is a number of an audit; those where less is better (rdi, nrgc and others) come with a minus, as in
    ``neg_log_loss``. ``response`` says what the confidences are made of: the probabilities of ``predict_proba`` as they
    are, or the values of ``decision_function`` taken as logits. Which of the two is never guessed: they are the same
    for a logistic regression, and not for a support vector machine. Where a number does not exist it is NaN.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> rng, y = np.random.default_rng(0), np.arange(90) % 3
    >>> X = rng.normal(0, 1, (90, 3)) + 3 * np.eye(3)[y]
    >>> cross_val_score(LogisticRegression(), X, y, cv=3, scoring=RobustnessScorer(metric="wcr")).round(2).shape
    (3,)
    """

    metric: str = "wcr"
    response: Response = "predict_proba"
    temperature: float = 1.0
    fairness_weight: float = 0.5

    def __post_init__(self) -> None:
        if find_metric(self.metric) is None:
            raise OptionError(f"metric {self.metric!r} is not known. Choose one of {', '.join(all_metrics())}.")
        if self.response not in ("predict_proba", "decision_function"):
            raise OptionError(f"response {self.response!r} is not known. Choose predict_proba or decision_function.")

    def __call__(self, estimator: Any, X: Any, y: ArrayLike) -> float:  # noqa: N803 (scikit-learn's name)
        """The score of a fitted classifier on (X, y)."""
        options = Options(
            temperature=self.temperature,
            fairness_weight=self.fairness_weight,
            interval="hoeffding",  # the cheapest, since a scorer has no place for it
            permutations=0,
        )
        samples = Samples.of(
            self._responses(estimator, X),
            _positions(y, np.asarray(estimator.classes_)),
            class_names=[str(name) for name in estimator.classes_],
            probabilities=self.response == "predict_proba",
        )
        model = audit_scores(samples, score_samples(samples, options), options, name="estimator")
        value, row = model.metric(self.metric).value, all_metrics()[self.metric]
        sign = 1 if row.higher_is_better else -1  # scikit-learn takes the largest score for the best
        return np.nan if value is None else sign * value

    def _responses(self, estimator: Any, X: Any) -> NDArray[Any]:  # noqa: N803
        if not hasattr(estimator, self.response):
            other = "decision_function" if self.response == "predict_proba" else "predict_proba"
            advice = f"Choose response={other!r}." if hasattr(estimator, other) else "Give a classifier that has one."
            raise OptionError(f"{type(estimator).__name__} has no {self.response}. {advice}")
        values = np.asarray(getattr(estimator, self.response)(X))
        if values.ndim == 1:  # of two classes scikit-learn gives one column: the logit of the second against the first
            values = np.column_stack([np.zeros_like(values), values])
        if values.shape[1] != len(estimator.classes_):
            raise OptionError(
                f"decision_function gives {values.shape[1]} columns for {len(estimator.classes_)} classes. "
                "Set decision_function_shape='ovr'."
            )
        return values


def _positions(y: ArrayLike, classes: NDArray[Any]) -> NDArray[np.int64]:
    """Labels as positions in ``estimator.classes_``."""
    values = np.asarray(y)
    positions = np.searchsorted(classes, values)
    found = classes[np.minimum(positions, len(classes) - 1)] == values
    if not found.all():
        row = int(np.argmin(found))
        raise SamplesError(
            f"label {values[row]!r} in row {row} is no class that the estimator was fitted on. Fit it on all."
        )
    return positions.astype(np.int64)
