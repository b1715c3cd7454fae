"""What two versions come to: two audits compared by their intervals, and the verdict on whatever was compared."""

import math
from collections.abc import Sequence

import numpy as np

from gfscore import views
from gfscore.assemble import make_provenance
from gfscore.errors import PLURALS, OptionError, first_few
from gfscore.jobs.two_versions import check_alike_audits
from gfscore.judge import hidden_fall, judge_changes, unpaired_classes, unpaired_metrics
from gfscore.judge.robust_changes import unpaired_robust_change, why_unknown
from gfscore.results import ClassChange, Comparison, Flag, MetricChange, ModelAudit, RobustChange, ScoreInfo, Verdict

ROBUST_SHARE = "robust accuracy, a share"


def compare_audits(
    old: ModelAudit, new: ModelAudit, *, tolerance: float | None = None, robust: bool = True
) -> Comparison:
    """Compare two audits that need not share samples: unpaired, from the intervals of each.

    The levels of both audits add up: those of the scores and, where both have ``robust`` accuracy beside them, those
    too. Where one of them has it and it cannot be compared, a flag says why. A class is worse when its new interval
    lies wholly below its old one. Classes that one of them has no sample of are not compared, and then no metric is: it
    would be of other classes.
    """
    found, before, after = compare_audit_scores(old, new, tolerance=tolerance), old.robustness, new.robustness
    some = after or before
    if some is None or not robust:
        return found
    level = sum(each.delta for each in (before, after) if each is not None)
    whole = found.delta if new.score.eps is not None else found.delta + level  # radii as the score spent it there
    why = why_unknown(old, new, some.eps)
    if why is None and whole >= 1:
        why = f"with it the levels of the two audits add up to {whole:g}. Audit both with a smaller --delta"
    if why is not None:
        return found.model_copy(update={"flags": (*found.flags, _no_robust_change(why))})
    checked_tolerance(tolerance, 1.0, ROBUST_SHARE)
    change = unpaired_robust_change(old, new, some.eps, delta=level, tolerance=tolerance)
    return lead_with(found, change, delta=whole)


def compare_audit_scores(old: ModelAudit, new: ModelAudit, *, tolerance: float | None = None) -> Comparison:
    """Compare the scores and metrics of two audits, and nothing beside them."""
    check_alike_audits(old, new)
    checked_tolerance(tolerance, new.score.range[1])
    delta = old.interval.delta + new.interval.delta
    _refuse_level(delta)
    present = [[entry.name for entry in model.classes] for model in (old, new)]
    lost, came = ([name for name in these if name not in others] for these, others in (present, present[::-1]))
    gone = (*lost, *came)
    shared = [
        model.model_copy(update={"classes": tuple(entry for entry in model.classes if entry.name not in gone)})
        for model in (old, new)
    ]
    unpaired = Flag(
        code="unpaired",
        message="the two versions were not compared sample by sample: what both find hard does not cancel, and only "
        "large changes show. Give logits of both on the same samples.",
    )
    whose = [
        f"only {name} has any of {first_few(names)}" for name, names in ((old.name, lost), (new.name, came)) if names
    ]
    other = () if not gone else (other_classes(gone, "; ".join(whose)),)
    return comparison(
        (old.name, new.name),
        unpaired_classes(shared[0], shared[1], tolerance),
        unpaired_metrics(old, new, other_classes=bool(gone)),
        score=new.score,
        paired=False,
        pairing="unpaired: the samples are not known to be the same",
        n=new.samples.n,
        partition=new.partition,
        delta=delta,
        tolerance=tolerance,
        accuracy=(old.accuracy, new.accuracy),
        not_compared=gone,
        flags=(unpaired, *other),
    )


def lead_with(found: Comparison, first: RobustChange | None, *, delta: float) -> Comparison:
    """The comparison with the change of robust accuracy, which its verdict and reason then speak of first.

    ``delta`` is the level of both together.
    """
    if first is None:
        return found
    parts = PLURALS[found.partition]
    verdict, reason = judge_changes(first.classes, found.tolerance, parts, found.not_compared, shares=True)
    at = views.eps_text(first.eps, first.norm)
    said = f"Robust accuracy at {at}: {reason} {views.score_name(found.score)}: {found.reason}"
    both = Verdict.all_of([verdict, found.verdict])
    return found.model_copy(update={"robustness": (first,), "verdict": both, "reason": said, "delta": delta})


def comparison(
    names: tuple[str, str],
    classes: tuple[ClassChange, ...],
    metrics: dict[str, MetricChange],
    *,
    score: ScoreInfo,
    partition: str,
    tolerance: float | None,
    not_compared: tuple[str, ...],
    **about: object,
) -> Comparison:
    """The result, with the verdict and the sentences that follow from the changes of the classes."""
    digits = views.digits_of(score)
    verdict, reason = judge_changes(classes, tolerance, PLURALS[partition], not_compared, digits)
    return Comparison.model_validate(
        {
            "old": names[0],
            "new": names[1],
            "score": score,
            "classes": classes,
            "metrics": metrics,
            "partition": partition,
            "tolerance": tolerance,
            "not_compared": not_compared,
            "worse": tuple(entry.name for entry in classes if entry.verdict == "worse"),
            "better": tuple(entry.name for entry in classes if entry.verdict == "better"),
            "hidden": hidden_fall(classes, metrics, partition, digits),
            "verdict": verdict,
            "reason": reason,
            "provenance": make_provenance(),
            **about,
        }
    )


def checked_tolerance(tolerance: float | None, maximum: float = math.inf, of: str = "score") -> float:
    """The tolerance, 0 where none was given; refused where it is no fall, or more than the scale has room for.

    >>> checked_tolerance(0.02, 1.0)
    0.02
    """
    if tolerance is None:
        return 0.0
    if not (np.isfinite(tolerance) and tolerance >= 0):
        raise OptionError(f"a tolerance of {tolerance} is no fall. Give a number of at least 0, such as 0.02.")
    if tolerance > maximum:
        raise OptionError(
            f"a tolerance of {tolerance:g} is off the scale of the {of}, on which no fall is larger than "
            f"{maximum:.4g}. Give a smaller one, such as 0.02."
        )
    return float(tolerance)


def other_classes(gone: Sequence[str], why: str) -> Flag:
    """The flag of classes that were not compared."""
    return Flag(code="other_classes", message=f"{first_few(gone)} could not be compared: {why}.")


def _no_robust_change(why: str) -> Flag:
    return Flag(code="robust_accuracy_not_compared", message=f"robust accuracy was not compared: {why}.")


def _refuse_level(delta: float) -> None:
    if delta >= 1:
        raise OptionError(f"the levels of the two audits add up to {delta:g}. Audit both with a smaller --delta.")
