"""The scale of each number that a rule can be about: a threshold off it is a slip of the pen, not a rule."""

import math

from gfscore.errors import OptionError
from gfscore.judge.policy import Policy, Rule
from gfscore.metrics import Scale
from gfscore.results import Interval

ROUNDING = 1e-9  # of the length of a scale, for thresholds that were computed


def check_thresholds(policy: Policy, *, maximum: float, weight: float, n_classes: int | None = None) -> None:
    """Refuse thresholds off the scale: scores lie in [0, ``maximum``], and FP-GREAT has the fairness ``weight``.

    ``n_classes`` bounds Theil's index; None where it is not yet known.
    """
    for rule in policy.rules:
        low, high = scale_of(rule, maximum=maximum, weight=weight, n_classes=n_classes)
        slack = ROUNDING * (high - low) if math.isfinite(high - low) else 0.0
        if not low - slack <= rule.threshold <= high + slack:
            raise OptionError(
                f"the threshold of {rule.what} is {rule.threshold:g}, off its scale, which goes from {low:.4g} to "
                f"{high:.4g}. Give a number on it."
            )


def scale_of(rule: Rule, *, maximum: float, weight: float, n_classes: int | None = None) -> Interval:
    r"""The smallest and the largest value that the number of a rule can have.

    A class score, an average of them, and the difference of two of them lie in [0, S]; FP-GREAT in
    :math:`[-\lambda S, S]`; Theil's index in :math:`[0, \ln K]`; shares in [0, 1]. A change is the difference of two.

    >>> from gfscore.judge.policy import Rule
    >>> scale_of(Rule(metric="fp_great", threshold=0.0), maximum=2.0, weight=0.5)
    (-1.0, 2.0)
    >>> scale_of(Rule(metric="wcr", threshold=0.0, change=True), maximum=2.0, weight=0.5)
    (-2.0, 2.0)
    """
    low, high = 0.0, 1.0 if rule.subject.is_share else maximum
    if rule.subject.row is not None:
        scale = Scale(low=0.0, high=maximum, fairness_weight=weight, n_classes=n_classes)
        low, high = rule.subject.row.values(scale)
    return (low - high, high - low) if rule.change else (low, high)
