r"""E-values of the rules of a gate: how strong the evidence is that a rule holds, and that it does not.

An e-value is a number of at least 0 whose expectation is at most 1 if what it speaks against is true: it exceeds c with
probability at most 1/c (Markov), so 20 is as rare as p = 0.05. E-values of fresh samples may be multiplied, and one may
choose the level after seeing them; neither is allowed with p-values. Vovk and Wang, Ann. Statist. 49 (2021); Shafer,
JRSS-A 184 (2021).
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from gfscore import views
from gfscore.arrays import FloatArray
from gfscore.bounds import Evidence, log_average
from gfscore.judge.policy import EVERY, Kind, Rule
from gfscore.judge.robust_accuracy import RobustIntervals
from gfscore.results import ModelAudit, RuleEvidence, RuleVerdict, Verdict

Bets = Callable[[float], Evidence]  # threshold in; evidence of the scores of all classes about it out
Counted = Mapping[str, tuple[float, int]]  # mean in [0, 1] and samples, by class

LARGEST = 1e300  # a smaller e-value is one as well, and JSON has no infinity
STAKES = np.geomspace(0.01, 0.98, 24)  # how far, of all there is, the truth may be from the threshold


def rule_evidence(
    rule: Rule,
    judged: RuleVerdict,
    model: ModelAudit,
    level: float,
    *,
    robust: RobustIntervals,
    bets: Bets | None = None,
    missing: Sequence[str] = (),
) -> RuleEvidence:
    r"""Evidence against "the rule holds" and against "it does not hold".

    Of means of independent scores it comes from bets: on the samples where they are there (``bets``), else on what
    means and counts tell (:func:`mean_evidence`). Against "every class is at least t" it is the average over classes of
    the evidence that each is below, which is a fair game if none is; against "some class is below t" it is the
    smallest, as the class that is below has no more.

    Of all other numbers it comes from the verdict: FAIL although the rule holds happens with probability at most
    ``level``, so 1/level for FAIL and 0 otherwise has an expectation of at most 1. It says no more than the verdict.

    ``missing`` are classes without samples that the rule speaks of: no evidence shows that they hold.
    """
    found = None if rule.change else _of_means(rule, model, robust, bets)
    if found is None:
        shown = 1.0 / level
        against, in_favour = (shown if judged.verdict is verdict else 0.0 for verdict in (Verdict.FAIL, Verdict.PASS))
        return RuleEvidence(against_rule=against, for_rule=in_favour, made_from="interval")
    above, below = found
    lowest = float(above.min()) if not missing else min(float(above.min()), 0.0)
    return RuleEvidence(
        against_rule=e_value(float(log_average(below))),
        for_rule=e_value(lowest),
        made_from="samples" if bets is not None and rule.kind is Kind.PROFILE and not _is_whole(rule) else "means",
    )


def e_value(log: float) -> float:
    """An e-value from its logarithm, no larger than JSON can hold.

    >>> e_value(0.0), e_value(math.inf)
    (1.0, 1e+300)
    """
    return LARGEST if log > math.log(LARGEST) else math.exp(log)


def mean_evidence(means: FloatArray, counts: FloatArray, threshold: float) -> tuple[FloatArray, FloatArray]:
    r"""Logarithms of the evidence that means are above a threshold, and that they are below, ``(K,)`` each.

    .. math:: E = \frac1J \sum_j \Big(\frac{q_j}{\tau}\Big)^{s} \Big(\frac{1 - q_j}{1 - \tau}\Big)^{n - s}

    for the sum s of n scores in [0, 1], with some q above :math:`\tau`, or below it. **Theorem.** If the scores are
    independent and the average of their expectations is at most :math:`\tau` (at least, for the q below), the
    expectation of E is at most 1; likewise if they were drawn without replacement from a set with such a mean.
    *Proof.* By the inequality of weighted means, :math:`(q/\tau)^x ((1-q)/(1-\tau))^{1-x} \le 1 + c\,(x - \tau)` with
    :math:`c = q/\tau - (1-q)/(1-\tau)`; the expectation of the product is at most
    :math:`\prod_i (1 + c\,(\mu_i - \tau)) \le (1 + c\,(\bar\mu - \tau))^n \le 1`. The product is an exponential, hence
    convex, function of the sum, which drawing without replacement makes smaller on average (Hoeffding 1963,
    Theorem 4). QED For 0/1 scores nothing is lost.

    >>> above, below = mean_evidence(np.array([0.9, 0.5]), np.array([50, 50]), 0.6)
    >>> np.exp(above).round(1), np.exp(below).round(1)
    (array([6.6903e+03, 4.0000e-01]), array([0.2, 1.4]))
    """
    sums = (means * counts)[:, None]
    rest = counts[:, None] - sums
    higher, lower = 1.0 - (1.0 - threshold) * (1.0 - STAKES), threshold * (1.0 - STAKES)

    def logs(q: FloatArray) -> FloatArray:
        return log_average(sums * np.log(q / threshold) + rest * np.log((1.0 - q) / (1.0 - threshold)))

    return logs(higher), logs(lower)


def _is_whole(rule: Rule) -> bool:
    return rule.part is None and rule.metric != "wcr"


def _of_means(
    rule: Rule, model: ModelAudit, robust: RobustIntervals, bets: Bets | None
) -> tuple[FloatArray, FloatArray] | None:
    """Evidence that each mean which a rule speaks of is above its threshold, and below; None where it is of no mean."""
    counted = _counted(rule, model, robust)
    if counted is None:
        return None
    largest = model.score.range[1] if rule.kind is Kind.PROFILE else 1.0
    if not 0.0 < rule.threshold < largest:
        return None
    if bets is not None and rule.kind is Kind.PROFILE and not _is_whole(rule):
        evidence, names = bets(rule.threshold), [entry.name for entry in model.classes]
        rows = [names.index(name) for name in counted]
        return evidence.above[rows], evidence.below[rows]
    means, counts = (np.array(column, dtype=np.float64) for column in zip(*counted.values(), strict=True))
    return mean_evidence(np.clip(means, 0.0, 1.0), counts, rule.threshold / largest)


def _counted(rule: Rule, model: ModelAudit, robust: RobustIntervals) -> Counted | None:
    """The means of independent scores in [0, 1] that a rule is about, with their counts; None where there are none."""
    weighed = model.samples.weighted_by != "samples"
    match rule.kind:
        case Kind.PROFILE if rule.metric in ("wcr", "class") and not views.is_certified(model):
            largest = model.score.range[1]
            known = {entry.name: (entry.score / largest, entry.n) for entry in model.classes}
        case Kind.PROFILE if rule.metric == "aggregate" and not (weighed or views.is_certified(model)):
            return {"": (model.aggregate / model.score.range[1], model.samples.n)}
        case Kind.ACCURACY if rule.part is None:
            return None if weighed else {"": (model.accuracy, model.samples.n)}
        case Kind.ACCURACY:
            known = {entry.name: (entry.accuracy, entry.n) for entry in model.classes}
        case Kind.ROBUST if rule.part is not None:
            sized = robust[rule.eps or 0.0].classes
            known = {name: (value, n) for name, (value, _, n) in sized.items() if value is not None}
        case _:
            return None
    if rule.part is None or rule.part == EVERY:
        return known
    return {rule.part: known[rule.part]} if rule.part in known else None
