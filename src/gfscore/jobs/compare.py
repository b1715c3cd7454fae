"""``compare``: two versions of a model, class by class: match the samples, score both, bound the changes, judge."""

from dataclasses import replace
from typing import Annotated, Any

from gfscore.bounds import change_intervals
from gfscore.errors import OptionError
from gfscore.inputs.table_columns import ReadingWords
from gfscore.jobs.calling import SILENT, Face, Job
from gfscore.jobs.common_words import NO_RADII, DataSpecs, Groups, Probabilities, Radii
from gfscore.jobs.compared import ROBUST_SHARE, checked_tolerance, compare_audits, comparison, lead_with, other_classes
from gfscore.jobs.dry_run import plan_versions
from gfscore.jobs.mistaken_inputs import Allow, check_allowed, doubted, mistakes_of
from gfscore.jobs.options import Options, RunOptions
from gfscore.jobs.robustness import MeasuredRadii, compare_robustness, refuse_radii
from gfscore.jobs.sources import provenance_of
from gfscore.jobs.stages import asked_score, audit_scores, score_info, score_samples
from gfscore.jobs.two_versions import (
    BY_ORDER,
    check_alike,
    check_same_truth,
    classes_lost,
    match_rows,
    read_versions,
    refuse_sorted,
    take_rows,
    weigh_alike,
)
from gfscore.judge import (
    paired_classes,
    paired_metrics,
)
from gfscore.profile import class_profile
from gfscore.results import Comparison, Flag, ModelAudit
from gfscore.samples import Samples
from gfscore.scores import LocalScores
from gfscore.words import Panel, Word

MATCHED_BY_ORDER = Flag(
    code="matched_by_order",
    message="rows were matched by their order, as there are no sample ids in both: that they are the same samples is "
    "taken on trust. Were they others, in an order that goes with the score, intervals would be too narrow.",
)
VERSION = (
    "a logits file, an audit.json or a folder that holds one, a model spec with --data, or store:KEY for a run that "
    "gfscore store list shows"
)
Old = Annotated[Any, Word(kind=str, is_argument=True, help=f"The version before: {VERSION}.")]
New = Annotated[Any, Word(kind=str, is_argument=True, help="The version after.")]


@Job
def compare(
    old: Old,
    new: New,
    *,
    data: DataSpecs = None,
    labels: Any = None,
    tolerance: Annotated[
        float | None,
        Word(
            panel=Panel.RULES,
            help="A fall of a class that is accepted: of the score in its units, of robust accuracy as a share (0.02: "
            "2 points).  [default: none]",
        ),
    ] = None,
    unpaired: Annotated[
        bool, Word(panel=Panel.STATISTICS, help="Do not match samples: they are others, or in another order.")
    ] = False,
    probabilities: Probabilities = False,
    groups: Groups = None,
    allow: Allow = None,
    words: ReadingWords,
    options: Options,
    radii: Radii = None,
    run: RunOptions,
    names: tuple[str, str] | None = None,
    face: Face = SILENT,
) -> Comparison:
    r"""Compare two versions of a model class by class: what changed, how sure that is, and what a better mean hides.

    .. math:: \Delta_k = \Omega_k^{new} - \Omega_k^{old}

    A version is a file, ``store:KEY``, :class:`~gfscore.Samples`, ``(logits, labels)``, an audit, or a model, which is
    run on ``data`` as :func:`~gfscore.audit` takes both; the old one first. Samples are matched by their ids where both
    have any, by row where both are of one data set, or by their order where their labels are equal; otherwise, and with
    ``unpaired``, the comparison is unpaired, and says so. Rows whose order goes with the score are not matched by it.
    Everything in the result is wrong with probability at most ``delta``: where robust accuracy is compared, half of it
    is for that, and half for the score. ``tolerance`` is a fall that is accepted, of the score in its units and of
    robust accuracy as a share. Where labels or images of a version
    are nonsense, flags say so and the verdict is UNDECIDED, unless they are in ``allow``. What the numbers mean:
    :doc:`compare`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(2000) % 2
    >>> logits = rng.normal(0, 1, (2000, 2)) + 2 * np.eye(2)[labels]
    >>> worse = logits - np.array([[0.7, 0.0]])  # less for class 0, and so more for class 1
    >>> found = compare(Samples.of(logits, labels), Samples.of(worse, labels))
    >>> found.worse, found.better, found.paired
    (('0',), ('1',), True)
    """
    if options.radius is not None:
        raise OptionError("a comparison scores logits, and a radius takes the model itself. Compare two audit.json.")
    if run.dry_run:
        plan_versions((old, new), data, options, radii, run, face)
    how = {"probabilities": probabilities, "groups": groups, "words": words}
    allowed, _ = check_allowed(allow), checked_tolerance(tolerance)
    (before, after), (first, second), files, runs = read_versions((old, new), data, labels, run, face, **how)
    both = [each for each in runs if each is not None]
    robust = MeasuredRadii.of(options, radii) if len(both) == 2 else None
    robust = None if robust is None else robust.for_sides()
    if robust is None:
        refuse_radii(options, radii, "which take two models and their data. Compare two audit.json, or say --data.")
    if names is not None:
        if not isinstance(names, list | tuple) or len(names) != 2:
            raise OptionError(f"names are {names!r}. Give two: of the old version, and of the new one.")
        first, second = names
    if isinstance(before, Samples) and isinstance(after, Samples):
        check_alike(before, after)  # before radii, which take their time
        half, change = options.delta / 2, None
        checked_tolerance(tolerance, asked_score(options).range[1])
        if robust is not None:
            checked_tolerance(tolerance, 1.0, ROBUST_SHARE)
            level = (half, tolerance)
            change = compare_robustness((both[0], both[1]), (before, after), robust, face, *level)
        of_scores = options if change is None else replace(options, delta=half)
        found = compare_samples(before, after, of_scores, tolerance=tolerance, names=(first, second), unpaired=unpaired)
        found = lead_with(found, change, delta=options.delta)
    elif isinstance(before, ModelAudit) and isinstance(after, ModelAudit):
        found = compare_audits(before, after, tolerance=tolerance, robust=radii != NO_RADII)
    else:
        raise OptionError(
            "one version is an audit, and the other has samples. Give logits for both, or an audit.json for both."
        )
    versions = zip((before, after), runs, (found.old, found.new), strict=True)
    doubts = [flag for each, run_of, name in versions for flag in mistakes_of(each, options, run_of, name=name)]
    return doubted(found, doubts, allowed).model_copy(update={"provenance": provenance_of(face, files)})


def compare_samples(
    old: Samples,
    new: Samples,
    options: Options,
    *,
    tolerance: float | None = None,
    names: tuple[str, str] = ("old", "new"),
    unpaired: bool = False,
) -> Comparison:
    """Compare what two versions said about samples, which are matched where that can be."""
    check_alike(old, new)
    match = None if unpaired else match_rows(old, new)
    if match is None:
        halved = replace(options, delta=options.delta / 2, permutations=0)
        audits = [
            audit_scores(samples, score_samples(samples, halved), halved, name=name)
            for samples, name in zip((old, new), names, strict=True)
        ]
        found = compare_audits(audits[0], audits[1], tolerance=tolerance)
        other = None if unpaired else _other_labels(old, new)
        return found if other is None else found.model_copy(update={"flags": (other, *found.flags[1:])})
    (old_rows, new_rows), pairing = match
    left = old.n_samples + new.n_samples - 2 * len(new_rows)
    before, after = weigh_alike(take_rows(old, old_rows), take_rows(new, new_rows))
    scores = score_samples(before, options), score_samples(after, options)
    gone = classes_lost((old, new), after)
    flags = [_left_out(left)] if left else []
    if pairing == BY_ORDER:
        refuse_sorted(scores, after.partition[0])
        flags.append(MATCHED_BY_ORDER)
    if gone:
        flags.append(other_classes(gone, "no sample of theirs is in both versions"))
    found = compare_scores(
        (before, after), scores, options, tolerance=tolerance, names=names, pairing=pairing, not_compared=gone
    )
    return found.model_copy(update={"flags": tuple(flags)})


def compare_scores(
    samples: tuple[Samples, Samples],
    scores: tuple[LocalScores, LocalScores],
    options: Options,
    *,
    tolerance: float | None = None,
    names: tuple[str, str] = ("old", "new"),
    pairing: str = BY_ORDER,
    not_compared: tuple[str, ...] = (),
) -> Comparison:
    """Compare by any local score with a known range: old and new, row by row the same samples."""
    check_same_truth(*samples)
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
        tolerance=checked_tolerance(tolerance, scores[1].maximum),
        weights=new.weights if new.weighted_by == "class_sizes" else None,
    )
    metrics = found.metrics
    if new.weighted_by == "unequal_draws":  # then it is about the samples drawn alone
        metrics = {**metrics, "aggregate": None}
    return comparison(
        names,
        paired_classes(old, new, found, tolerance),
        paired_metrics(old, new, metrics, options.fairness_weight),
        score=score_info(samples[1], scores[1]),
        paired=True,
        pairing=pairing,
        n=samples[1].n_samples,
        partition=new.partition,
        delta=options.delta,
        tolerance=tolerance,
        accuracy=(old.accuracy, new.accuracy),
        not_compared=not_compared,
    )


def _other_labels(old: Samples, new: Samples) -> Flag | None:
    """What is said in place of the advice to give the same samples, where they may be those, under other labels."""
    if old.n_samples != new.n_samples or (old.sample_ids is not None and new.sample_ids is not None):
        return None
    apart = int((old.labels != new.labels).sum())
    return Flag(
        code="unpaired",
        message="the two versions were not compared sample by sample: there are as many rows in both, but "
        f"{apart:,} of {old.n_samples:,} have other labels. If they are the same samples, the labels of one are wrong, "
        "or its rows are in another order: check the labels, or give sample ids in both.",
    )


def _left_out(left: int) -> Flag:
    return Flag(
        code="left_out",
        message=f"{left:,} samples are in one version only and were left out of the comparison.",
    )
