"""Puts the stages of a comparison in order: match the samples, score both versions, bound the changes, judge."""

from dataclasses import replace

import numpy as np

from gfscore.assembling import make_provenance
from gfscore.auditing import Options, audit_scores, score_samples
from gfscore.bounds import change_intervals
from gfscore.errors import PLURALS, OptionError, SamplesError
from gfscore.judge import compare as judging
from gfscore.profile import class_profile
from gfscore.results import Flag, ModelAudit
from gfscore.samples import IntArray, Samples
from gfscore.scores import LocalScores
from gfscore.verdicts import ClassChange, Comparison, MetricChange

BY_ID, BY_ORDER = "by sample id", "by order: as many samples, with the same labels"


def compare(
    old: Samples,
    new: Samples,
    options: Options | None = None,
    *,
    tolerance: float | None = None,
    names: tuple[str, str] = ("old", "new"),
) -> Comparison:
    r"""Compare two versions of a model class by class: what changed, how sure that is, and what a better mean hides.

    .. math:: \Delta_k = \Omega_k^{new} - \Omega_k^{old}

    Samples are matched by their ids where both have any, or by their order where their labels are equal; otherwise the
    comparison is unpaired, and says so. Everything in the result is wrong with probability at most ``options.delta``.
    ``tolerance`` is a fall that is accepted. What the numbers mean: :doc:`compare`.

    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(2000) % 2
    >>> logits = rng.normal(0, 1, (2000, 2)) + 2 * np.eye(2)[labels]
    >>> worse = logits - np.array([[0.7, 0.0]])  # less for class 0, and so more for class 1
    >>> found = compare(Samples.of(logits, labels), Samples.of(worse, labels))
    >>> found.worse, found.better, found.paired
    (('0',), ('1',), True)
    """
    options = options or Options()
    _check_alike(old, new)
    match = _matched(old, new)
    if match is None:
        halved = replace(options, delta=options.delta / 2, permutations=0)
        audits = [
            audit_scores(samples, score_samples(samples, halved), halved, name=name)
            for samples, name in zip((old, new), names, strict=True)
        ]
        return compare_audits(audits[0], audits[1], tolerance=tolerance)
    (old_rows, new_rows), pairing = match
    left = old.n_samples + new.n_samples - 2 * len(new_rows)
    before, after = _taken(old, old_rows), _taken(new, new_rows)
    return compare_scores(
        (before, after),
        (score_samples(before, options), score_samples(after, options)),
        options,
        tolerance=tolerance,
        names=names,
        pairing=pairing,
        flags=() if left == 0 else (_left_out(left),),
    )


def compare_scores(
    samples: tuple[Samples, Samples],
    scores: tuple[LocalScores, LocalScores],
    options: Options,
    *,
    tolerance: float | None = None,
    names: tuple[str, str] = ("old", "new"),
    pairing: str = BY_ORDER,
    flags: tuple[Flag, ...] = (),
) -> Comparison:
    """Compare by any local score with a known range: old and new, row by row the same samples."""
    _check_same_truth(*samples)
    old, new = (class_profile(each, local) for each, local in zip(samples, scores, strict=True))
    codes, n_parts = samples[1].partition
    found = change_intervals(
        scores[0].values,
        scores[1].values,
        codes,
        n_parts,
        maximum=scores[1].maximum,
        delta=options.delta,
        method=options.interval,
        fairness_weight=options.fairness_weight,
        seed=options.seed,
        tolerance=_checked_tolerance(tolerance),
    )
    return _comparison(
        names,
        judging.paired_classes(old, new, found, tolerance),
        judging.paired_metrics(old, new, found.metrics, options.fairness_weight),
        paired=True,
        pairing=pairing,
        n=samples[1].n_samples,
        partition=new.partition,
        delta=options.delta,
        tolerance=tolerance,
        accuracy=(old.accuracy, new.accuracy),
        flags=flags,
    )


def compare_audits(old: ModelAudit, new: ModelAudit, *, tolerance: float | None = None) -> Comparison:
    """Compare two audits that need not share samples: unpaired, from the intervals of each.

    The levels of both audits add up. A class is worse when its new interval lies wholly below its old one.
    """
    _check_alike_audits(old, new)
    _checked_tolerance(tolerance)
    delta = old.interval.delta + new.interval.delta
    if delta >= 1:
        raise OptionError(f"the levels of the two audits add up to {delta:g}. Audit both with a smaller --delta.")
    gone = {entry.name for entry in old.classes} ^ {entry.name for entry in new.classes}
    shared = [
        model.model_copy(update={"classes": tuple(entry for entry in model.classes if entry.name not in gone)})
        for model in (old, new)
    ]
    flag = Flag(
        code="unpaired",
        message="the two versions were not compared sample by sample: what both find hard does not cancel, and only "
        "large changes show. Give logits of both on the same samples.",
    )
    return _comparison(
        (old.name, new.name),
        judging.unpaired_classes(shared[0], shared[1], tolerance),
        judging.unpaired_metrics(old, new),
        paired=False,
        pairing="unpaired: the samples are not known to be the same",
        n=new.samples.n,
        partition=new.partition,
        delta=delta,
        tolerance=tolerance,
        accuracy=(old.accuracy, new.accuracy),
        flags=(flag,),
    )


def _comparison(
    names: tuple[str, str],
    classes: tuple[ClassChange, ...],
    metrics: dict[str, MetricChange],
    *,
    partition: str,
    tolerance: float | None,
    **about: object,
) -> Comparison:
    verdict, reason = judging.judged(classes, tolerance, PLURALS[partition])
    return Comparison.model_validate(
        {
            "old": names[0],
            "new": names[1],
            "classes": classes,
            "metrics": metrics,
            "partition": partition,
            "tolerance": tolerance,
            "worse": tuple(entry.name for entry in classes if entry.verdict == "worse"),
            "better": tuple(entry.name for entry in classes if entry.verdict == "better"),
            "hidden": judging.hidden_fall(classes, metrics, partition),
            "verdict": verdict,
            "reason": reason,
            "provenance": make_provenance(),
            **about,
        }
    )


def _matched(old: Samples, new: Samples) -> tuple[tuple[IntArray, IntArray], str] | None:
    """The rows of both that are the same samples, and how that is known; None when it is not."""
    if old.sample_ids is not None and new.sample_ids is not None:
        place = {name: row for row, name in enumerate(old.sample_ids)}
        pairs = [(place[name], row) for row, name in enumerate(new.sample_ids) if name in place]
        if not pairs:
            return None
        rows = np.asarray(pairs, dtype=np.int64)
        return (rows[:, 0], rows[:, 1]), BY_ID
    if old.n_samples == new.n_samples and np.array_equal(old.labels, new.labels):
        rows = np.arange(new.n_samples, dtype=np.int64)
        return (rows, rows), BY_ORDER
    return None


def _taken(samples: Samples, rows: IntArray) -> Samples:
    """Some rows, in the given order."""
    groups = samples.groups
    return replace(
        samples,
        logits=samples.logits[rows],
        labels=samples.labels[rows],
        groups=None if groups is None else replace(groups, codes=groups.codes[rows]),
        sample_ids=None,
    )


def _check_alike(old: Samples, new: Samples) -> None:
    if old.class_names != new.class_names:
        raise SamplesError(
            f"the old version has {old.n_classes:,} classes, the new one {new.n_classes:,}, and their names are not "
            "the same. Compare models of the same classes, or give --class-names."
        )
    old_groups, new_groups = (None if samples.groups is None else samples.groups.names for samples in (old, new))
    if old_groups != new_groups:
        raise SamplesError("the two versions do not have the same groups. Give the same groups for both, or none.")


def _check_same_truth(old: Samples, new: Samples) -> None:
    """A sample has one label and one group; if not, ids were mixed up."""
    wrong = (old.labels != new.labels) | (old.partition[0] != new.partition[0])
    if wrong.any():
        row = int(np.argmax(wrong))
        raise SamplesError(
            f"{int(wrong.sum()):,} samples have another label or group in the new version than in the old one, the "
            f"first being number {row} of those matched. Check that the ids mean the same samples."
        )


def _check_alike_audits(old: ModelAudit, new: ModelAudit) -> None:
    names = [{entry.name for entry in model.classes} for model in (old, new)]
    if old.partition != new.partition or len(names[0] & names[1]) < 2:
        raise OptionError(
            f"{old.name} and {new.name} share {len(names[0] & names[1])} classes. Compare models of the same classes."
        )
    settings = [
        (score.name, score.activation, score.temperature, score.norm, score.eps) for score in (old.score, new.score)
    ]
    if settings[0] != settings[1]:
        raise OptionError(
            f"{old.name} and {new.name} were scored differently ({old.score.name}, activation {old.score.activation}, "
            f"T {old.score.temperature} and {new.score.name}, {new.score.activation}, T {new.score.temperature}). "
            "Audit both alike."
        )


def _checked_tolerance(tolerance: float | None) -> float:
    if tolerance is None:
        return 0.0
    if not (np.isfinite(tolerance) and tolerance >= 0):
        raise OptionError(f"a tolerance of {tolerance} is no fall. Give a number of at least 0, such as 0.02.")
    return float(tolerance)


def _left_out(left: int) -> Flag:
    return Flag(
        code="left_out",
        message=f"{left:,} samples are in one version only and were left out of the comparison.",
    )
