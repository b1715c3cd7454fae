"""Robust accuracy beside any score: radii of a random part of each class are measured, and counted."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from gfscore.arrays import FloatArray, IntArray
from gfscore.assemble import make_provenance
from gfscore.engines.local import score_first_order
from gfscore.errors import ModelError, OptionError, first_line
from gfscore.jobs.calling import Face
from gfscore.jobs.common_words import ALL_RADII, NO_RADII
from gfscore.jobs.options import Options, RunOptions
from gfscore.jobs.stages import audit_scores
from gfscore.judge.policy import Policy
from gfscore.judge.robust_accuracy import count_radii, default_eps, with_robustness
from gfscore.judge.robust_changes import paired_robust_change
from gfscore.measures import Run
from gfscore.measures.slopes import Gradients
from gfscore.results import Audit, Flag, ModelAudit, RobustChange
from gfscore.samples import Samples
from gfscore.score_titles import FIRST_ORDER
from gfscore.scores import (
    FirstOrder,
    LocalScores,
    Norm,
    first_order_scores,
    forward_only_norms,
    gradient_norms,
    strongest_rivals,
)
from gfscore.scores.margin_slopes import Forward

IN_ALL = {True: 1000, False: 500}  # samples with a radius by default: with gradients, and by forward passes alone
OF_MEANS = "capped_radii"  # a flag about mean radii, which no share above eps rests on
LEAST = 5  # of a class, below which a default would say nothing of it: then nothing is measured unasked


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRadii:
    """Which radii are measured beside a score."""

    how: FirstOrder
    gradients: Gradients
    per_class: int | str | None = None  # None: as many as a default audit affords
    gradients_are_said: bool = False
    is_asked: bool = False  # then what cannot be measured is an error, not a remark
    also: tuple[float, ...] = ()  # eps of rules, beside the ladder

    @classmethod
    def of(cls, options: Options, radii: Any, also: Sequence[float] = ()) -> Self | None:
        """The radii that options ask for; None where there are to be none, or where they are the score itself."""
        if radii not in (None, ALL_RADII, NO_RADII) and (not isinstance(radii, int) or radii < 1):
            raise OptionError(f"radii {radii!r} is not a number of samples per class. Give 1 or more, all or none.")
        if options.score == FIRST_ORDER:
            if radii is not None:
                raise OptionError("--score first-order measures the radii of all samples. Leave --radii out.")
            return None
        if radii == NO_RADII:
            options.refuse_radii("and --radii none measures none. Leave one of them out.")
            return None
        how = options.first_order(options.norm or Norm.LINF)
        how = replace(how, eps=default_eps(how.kind) if how.eps is None else how.eps)
        how = how.reaching(also)
        asked = radii is not None or options.eps is not None or bool(also)
        return cls(
            how=how,
            gradients=options.choice,
            gradients_are_said=options.gradients is not None,
            per_class=radii,
            is_asked=asked,
            also=tuple(also),
        )

    def of_class(self, n_classes: int, *, by_gradients: bool) -> int | None:
        """How many samples of each class have their radius measured; None: all; 0: none."""
        if self.per_class == ALL_RADII:
            return None
        if isinstance(self.per_class, int):
            return self.per_class
        affordable = IN_ALL[by_gradients] // n_classes
        if self.is_asked:
            return max(1, affordable)
        return affordable if affordable >= LEAST else 0


def measure_robustness(
    model: ModelAudit, run: Run, samples: Samples, radii: MeasuredRadii, face: Face, *, delta: float
) -> ModelAudit:
    """The audit of a model with its robust accuracy at a ladder of eps, all intervals of which fail with ``delta``.

    Where nothing was asked for and it cannot be measured, a flag says why.
    """
    return find_radii(run, samples, radii, face).added_to(model, delta=delta)


def find_radii(run: Run, samples: Samples, radii: MeasuredRadii, face: Face) -> "FoundRadii":
    """The radii of a part of the samples; where nothing was asked for and there are none, why."""
    try:
        local, rows = _radii(run, samples, radii, face)
    except (ModelError, OptionError) as error:
        if radii.is_asked:
            raise
        return FoundRadii(flags=(_without(first_line(error)),))
    if local is None:
        why = f"{samples.n_classes:,} classes take many radii. Ask for them: --radii {LEAST}, or more."
        return FoundRadii(flags=(_without(why),))
    beside = () if radii.gradients_are_said else ("no_gradients",)  # the result says so anyway
    said = tuple(flag for flag in local.flags if flag.code not in (OF_MEANS, *beside))
    part = samples if rows is None else samples.rows(rows)
    return FoundRadii(local=local, part=part, flags=said, also=radii.also)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRadii:
    """Radii as they were measured, to be counted at any error level."""

    local: LocalScores | None = None  # None where none could be measured: the flags say why
    part: Samples | None = None  # the samples that have one
    flags: tuple[Flag, ...] = ()
    also: tuple[float, ...] = ()

    def added_to(self, model: ModelAudit, *, delta: float) -> ModelAudit:
        """The audit with its robust accuracy at a ladder of eps, all intervals of which fail with ``delta``."""
        if self.local is None or self.part is None:
            return with_robustness(model, None, self.flags)
        return with_robustness(
            model, count_radii(self.local, self.part, model, delta=delta, also=self.also), self.flags
        )


def compare_robustness(
    runs: tuple[Run, Run],
    samples: tuple[Samples, Samples],
    radii: MeasuredRadii,
    face: Face,
    delta: float,
    tolerance: float = 0.0,
) -> RobustChange | None:
    """The change of robust accuracy between two models that were run on the same data: the same samples of both.

    None where nothing was asked for and it cannot be measured.
    """
    eps, labels = radii.how.eps, samples[1].labels
    if eps is None or samples[0].n_samples != len(labels) or not np.array_equal(samples[0].labels, labels):
        return None
    try:
        found = [_radii(run, each, radii, face) for run, each in zip(runs, samples, strict=True)]
    except (ModelError, OptionError):
        if radii.is_asked:
            raise
        return None
    (old, rows), (new, others) = found
    if old is None or new is None or not np.array_equal(_all(rows, labels), _all(others, labels)):
        return None
    codes, rows = samples[1].partition[0], _all(rows, labels)
    present, sizes = np.unique(codes, return_counts=True)
    groups = samples[1].groups
    names = samples[1].class_names if groups is None else groups.names
    right = [each.logits.argmax(axis=1) == each.labels for each in samples]
    return paired_robust_change(
        tuple(names[part] for part in present),
        (old.values > eps, new.values > eps),
        codes[rows],
        accuracies=[(float(right[0][codes == part].mean()), float(right[1][codes == part].mean())) for part in present],
        sizes=sizes,
        about={"eps": eps, "norm": str(radii.how.kind), "kind": "estimated", "delta": delta},
        tolerance=tolerance,
    )


def _all(rows: IntArray | None, labels: IntArray) -> IntArray:
    return np.arange(len(labels)) if rows is None else rows


def _radii(run: Run, samples: Samples, radii: MeasuredRadii, face: Face) -> tuple[LocalScores | None, IntArray | None]:
    """The radii of the part that is asked for, and its rows; None where all were measured."""
    choice, by_gradients = radii.gradients, False
    if choice is not Gradients.NO:
        try:
            run.differentiable()
            by_gradients = True
        except Exception:  # whatever it is, measuring says it again, or goes without
            by_gradients = choice is Gradients.YES
    codes, n_parts = samples.partition
    count = radii.of_class(n_parts, by_gradients=by_gradients)
    if count == 0:
        return None, None
    rows = None if count is None else draw_part(samples, codes, count, radii.how.seed)
    progress = face.bar(f"{run.name}, radii")
    return score_first_order(run, samples, radii.how, gradients=choice, only=rows, progress=progress), rows


def draw_part(samples: Samples, codes: IntArray, count: int, seed: int) -> IntArray | None:
    """Rows of at most ``count`` samples of each part, ascending; None where those are all.

    A sample is drawn by the hash of its id, so that a larger part contains a smaller one, whatever the other samples.
    """
    ids = samples.sample_ids or range(samples.n_samples)
    keys = np.array([_lot(seed, each) for each in ids])
    order = np.lexsort((keys, codes))
    ordered = codes[order]
    place = np.arange(len(order)) - np.searchsorted(ordered, ordered)  # of each among those of its part
    rows = np.sort(order[place < count])
    return None if len(rows) == samples.n_samples else rows


def _lot(seed: int, sample_id: object) -> int:
    return int.from_bytes(hashlib.sha256(f"radii {seed} {sample_id}".encode()).digest()[:8], "little")


def _without(why: str) -> Flag:
    message = f"robust accuracy was not measured: {why}"
    return Flag(code="no_radii", message=message)


def wanted_radii(options: Options, radii: Any, run: RunOptions, *, model: Any, stream: bool) -> MeasuredRadii | None:
    """The radii that an audit measures; asked for where there is no model, or only sums are kept, they are refused."""
    why = "" if model else "which take the model itself. Say --model and --data."
    why = "and a stream keeps only sums. Leave --stream out." if stream else why
    if not why:
        return refuse_engine(MeasuredRadii.of(options, radii), run)
    refuse_radii(options, radii, why)
    return None


def refuse_radii(options: Options, radii: Any, why: str) -> None:
    """Refuse everything that asks for radii, where none are measured."""
    options.refuse_radii(why)
    if radii not in (None, NO_RADII):
        raise OptionError(f"--radii asks for first-order radii, {why}")


def refuse_engine(radii: MeasuredRadii | None, run: RunOptions) -> MeasuredRadii | None:
    """Radii are measured on this machine: on a cluster they are refused where asked for, and else left out."""
    if radii is not None and run.cluster is not None:
        if radii.is_asked:
            run.refuse_ray("a first-order radius")
        return None
    return radii


def radii_of_rules(
    policy: Policy, options: Options, radii: Any, run: RunOptions
) -> tuple[Options, MeasuredRadii | None]:
    """The radii that rules ask for; without such a rule none are measured, and none may be asked for.

    Where the radii are the score itself, the options say at which eps of the rules they count.
    """
    if options.radius is not None:
        run.refuse_ray("a first-order radius")
    if policy.eps:
        if options.score == FIRST_ORDER and options.eps is None:
            options = replace(options, eps=max(policy.eps))
        return options, refuse_engine(MeasuredRadii.of(options, radii, policy.eps), run)
    options.refuse_radii("which no rule asks for. Give --robust-accuracy 0.3@2/255, or say --score first-order.")
    if radii is not None:
        raise OptionError(
            "--radii is about robust accuracy, and no rule asks for it. Give --robust-accuracy 0.3@2/255."
        )
    return options, None


def audit_first_order(
    logits: Forward,
    pixels: ArrayLike,
    labels: ArrayLike,
    *,
    norm: str,
    eps: float | None = None,
    gradients: Callable[[FloatArray, IntArray, IntArray], FloatArray] | None = None,
    class_names: Sequence[str] | None = None,
    sample_ids: Sequence[object] | None = None,
    name: str = "model",
    options: Options | None = None,
    **settings: Any,
) -> Audit:
    r"""Audit how evenly the first-order radius of one model is spread over its classes.

    ``logits`` is a function from pixels (n, ...) in [0, 1] to logits (n, K), ``pixels`` are the images and ``labels``
    (N,) their classes; all of it is held in memory. ``gradients``, if there is such a function, gives the gradients
    (n, R, D) of :math:`f_y - f_j` with respect to the pixels for images, labels (n,) and rivals j (n, R); without it
    the radii are forward-only estimates. ``settings`` are the other fields of :class:`FirstOrder`. With ``eps``,
    ``robust_accuracy`` is the share of radii above it.

    >>> weights, images = 4 * np.eye(2), np.array([[0.8, 0.2], [0.6, 0.5], [0.1, 0.9], [0.5, 0.4]])
    >>> found = audit_first_order(lambda x: x @ weights, images, [0, 0, 1, 1], norm="linf", max_radius=1, eps=0.2,
    ...                           gradients=lambda x, y, rivals: weights[y][:, None] - weights[rivals])
    >>> [(entry.name, round(entry.score, 2), entry.robust_accuracy.value) for entry in found.classes]
    [('0', 0.18, 0.5), ('1', 0.2, 0.5)]
    """
    how, images = FirstOrder(norm=norm, eps=eps, **settings), np.asarray(pixels)
    samples = Samples.of(logits(images), labels, class_names=class_names, sample_ids=sample_ids)
    rivals = strongest_rivals(samples.logits, samples.labels, how.rivals)
    halved = None
    if gradients is not None:
        norms = gradient_norms(gradients(images, samples.labels, rivals), how.kind)
    else:
        norms, halved = forward_only_norms(logits, images, samples, rivals, how)
    local = first_order_scores(samples, norms, how, gradients=gradients is not None, halved=halved)
    audited = audit_scores(samples, local, options or Options(), name=name)
    return Audit(models=(audited,), provenance=make_provenance())
