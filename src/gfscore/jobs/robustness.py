"""Robust accuracy beside any score: radii of a random part of each class are measured, and counted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from gfscore.arrays import IntArray
from gfscore.engines.local import begin, score_first_order
from gfscore.errors import ModelError, OptionError, first_line
from gfscore.jobs.calling import Face, Progress
from gfscore.jobs.common_words import ALL_RADII, NO_RADII, RADII
from gfscore.jobs.options import Options
from gfscore.jobs.radius_trust import trust_flags
from gfscore.judge.policy import Policy
from gfscore.judge.robust_accuracy import count_radii, default_eps, eps_ladder, with_robustness
from gfscore.judge.robust_changes import paired_robust_change
from gfscore.measures import Run
from gfscore.measures.radii import draw_rows
from gfscore.measures.slopes import Gradients, choose_slopes
from gfscore.results import Flag, ModelAudit, RobustChange
from gfscore.samples import Samples
from gfscore.score_titles import FIRST_ORDER
from gfscore.scores import (
    FirstOrder,
    LocalScores,
    Norm,
)
from gfscore.scores.certain_sides import LEVEL

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

    def for_sides(self) -> Self:
        """The radii, of which no more is asked than on which side of the eps of headline and rules they lie."""
        eps = () if self.how.eps is None else (self.how.eps,)
        return replace(self, how=replace(self.how, decide=tuple(sorted({*eps, *self.also}))))

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

    def beside(self, flags: Sequence[Flag]) -> tuple[Flag, ...]:
        """Those flags about radii that are said beside another score."""
        known = () if self.gradients_are_said else ("no_gradients",)  # the result says so anyway
        return tuple(flag for flag in flags if flag.code not in (OF_MEANS, *known))


def too_many_classes(n_classes: int) -> Flag:
    """Why nothing was measured by default."""
    return not_measured(f"{n_classes:,} classes take many radii. Ask for them: --radii {LEAST}, or more.")


def measure_robustness(
    model: ModelAudit, run: Run, samples: Samples, radii: MeasuredRadii, face: Face, *, delta: float
) -> ModelAudit:
    """The audit of a model with its robust accuracy at a ladder of eps, all intervals of which fail with ``delta``.

    Where nothing was asked for and it cannot be measured, a flag says why.
    """
    return find_radii(run, samples, radii, face).added_to(model, delta=delta)


def find_radii(run: Run, samples: Samples, radii: MeasuredRadii, face: Face) -> "FoundRadii":
    """The radii of a part of the samples; where nothing was asked for and there are none, why."""
    doubts: tuple[Flag, ...] = ()
    try:
        local, rows = _radii(run, samples, radii, face)
        if local is not None:
            doubts = trust_flags(run, samples, local, radii.how, rows)
    except (ModelError, OptionError) as error:
        if radii.is_asked:
            raise
        return FoundRadii(flags=(not_measured(first_line(error)),))
    if local is None:
        return FoundRadii(flags=(too_many_classes(samples.n_classes),))
    part = samples if rows is None else samples.rows(rows)
    return FoundRadii(local=local, part=part, flags=(*radii.beside(local.flags), *doubts), also=radii.also)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRadii:
    """Radii as they were measured, to be counted at any error level."""

    local: LocalScores | None = None  # None where none could be measured: the flags say why
    part: Samples | None = None  # the samples that have one
    flags: tuple[Flag, ...] = ()
    also: tuple[float, ...] = ()

    @property
    def ladder(self) -> tuple[str, float, tuple[float, ...]] | None:
        """Norm, eps of the headline and all eps at which the radii are counted; None where there are none."""
        local = self.local
        if local is None or local.norm is None or local.eps is None:
            return None
        sizes = eps_ladder(Norm.named(local.norm), local.eps, local.maximum, self.also)
        return local.norm, local.eps, tuple(sizes)

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
    tolerance: float | None = None,
) -> RobustChange | None:
    """The change of robust accuracy between two models that were run on the same data: the same samples of both.

    None where nothing was asked for and it cannot be measured.
    """
    eps, labels = radii.how.eps, samples[1].labels
    if eps is None or samples[0].n_samples != len(labels) or not np.array_equal(samples[0].labels, labels):
        return None
    try:
        for run, each in zip(runs, samples, strict=True):
            begin_radii(run, each, radii, face)
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


def _rows_of(run: Run, samples: Samples, radii: MeasuredRadii) -> tuple[bool, IntArray | None]:
    """Whether radii are measured at all, and the rows of the part that is asked for; None for all."""
    codes, n_parts = samples.partition
    count = radii.of_class(n_parts, by_gradients=has_gradients(run, radii.gradients))
    return count != 0, None if not count else draw_part(samples, codes, count, radii.how.seed)


def begin_radii(run: Run | None, samples: Samples, radii: MeasuredRadii | None, face: Face) -> None:
    """Let an engine begin with the radii that will be asked for."""
    if run is None or run.engine is None or radii is None:
        return
    some, rows = _rows_of(run, samples, radii)
    if some:
        slopes, _ = choose_slopes(run, samples, radii.how, radii.gradients, only=rows)
        begin(run, None, slopes, of_part(face.bar(run.name, RADII), rows))


def begin_measures(read: Any, options: Options, radii: MeasuredRadii | None, face: Face, source: Any) -> None:
    """Let an engine begin with what the audit of a source will ask for once its logits are there."""
    run, samples = source.run, read(source)
    if options.radius is not None and run is not None and run.engine is not None:
        slopes, _ = choose_slopes(run, samples, options.radius, options.choice)
        begin(run, None, slopes, face.bar(run.name, RADII))
    begin_radii(run, samples, radii, face)


def _radii(run: Run, samples: Samples, radii: MeasuredRadii, face: Face) -> tuple[LocalScores | None, IntArray | None]:
    """The radii of the part that is asked for, and its rows; None where all were measured."""
    some, rows = _rows_of(run, samples, radii)
    if not some:
        return None, None
    progress = of_part(face.bar(run.name, RADII), rows)
    found = score_first_order(run, samples, radii.how, gradients=radii.gradients, only=rows, progress=progress)
    said = found.settings or {}
    if saved := said.get("passes_saved"):
        taken, why = said["forward_passes"], f"the side of each eps was certain before (level {LEVEL:g})"
        face.tell(f"{run.name}: {taken:,} forward passes for radii; {saved:,} were saved: {why}.")
    return found, rows


def has_gradients(run: Run, choice: Gradients) -> bool:
    """Whether radii are measured by gradients, and so how many are afforded."""
    if choice is Gradients.NO:
        return False
    try:
        run.differentiable()
    except Exception:  # whatever it is, measuring says it again, or goes without
        return choice is Gradients.YES
    return True


def of_part(progress: Progress, asked: IntArray | None) -> Progress:
    """Progress in samples that are asked for, where rows are told of; None: all of them are."""
    if asked is None:
        return progress
    return lambda done, total: progress(round(done * len(asked) / max(total, 1)), len(asked))


def draw_part(samples: Samples, codes: IntArray, count: int, seed: int) -> IntArray | None:
    """Rows of at most ``count`` samples of each part, ascending; None where those are all.

    A sample is drawn by the hash of its id, so that a larger part contains a smaller one, whatever the other samples.
    """
    rows = draw_rows(samples.sample_ids or range(samples.n_samples), codes, count, seed)
    return None if len(rows) == samples.n_samples else rows


def not_measured(why: str) -> Flag:
    """What is said where robust accuracy could not be had, and nobody asked for it."""
    message = f"robust accuracy was not measured: {why}"
    return Flag(code="no_radii", message=message)


def wanted_radii(options: Options, radii: Any, *, model: Any) -> MeasuredRadii | None:
    """The radii that an audit measures; asked for where there is no model, they are refused."""
    if model:
        return MeasuredRadii.of(options, radii)
    refuse_radii(options, radii, "which take the model itself. Say --model and --data.")
    return None


def refuse_radii(options: Options, radii: Any, why: str) -> None:
    """Refuse everything that asks for radii, where none are measured."""
    options.refuse_radii(why)
    if radii not in (None, NO_RADII):
        raise OptionError(f"--radii asks for first-order radii, {why}")


def radii_of_rules(policy: Policy, options: Options, radii: Any) -> tuple[Options, MeasuredRadii | None]:
    """The radii that rules ask for; without such a rule none are measured, and none may be asked for.

    Where the radii are the score itself, the options say at which eps of the rules they count.
    """
    if policy.eps:
        if options.score == FIRST_ORDER and options.eps is None:
            options = replace(options, eps=max(policy.eps))
        found = MeasuredRadii.of(options, radii, policy.eps)
        return options, None if found is None else found.for_sides()
    options.refuse_radii("which no rule asks for. Give --robust-accuracy 0.3@2/255, or say --score first-order.")
    if radii is not None:
        raise OptionError(
            "--radii is about robust accuracy, and no rule asks for it. Give --robust-accuracy 0.3@2/255."
        )
    return options, None
