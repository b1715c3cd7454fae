"""Robust accuracy beside any score: radii of a random part of each class are measured, and counted."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from gfscore.arrays import IntArray
from gfscore.engines.local import score_first_order
from gfscore.errors import ModelError, OptionError, first_line
from gfscore.jobs.calling import Face
from gfscore.jobs.options import ALL_RADII, NO_RADII, Options, RunOptions
from gfscore.judge.robust_accuracy import count_radii, default_eps, with_robustness
from gfscore.measures import Run
from gfscore.measures.slopes import Gradients
from gfscore.results import Flag, ModelAudit
from gfscore.samples import Samples
from gfscore.score_titles import FIRST_ORDER
from gfscore.scores import FirstOrder, LocalScores, Norm

IN_ALL = {True: 1000, False: 500}  # samples with a radius by default: with gradients, and by forward passes alone
OF_MEANS = "capped_radii"  # a flag about mean radii, which no share above eps rests on
LEAST = 5  # of a class, below which a default would say nothing of it: then nothing is measured unasked


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRadii:
    """Which radii are measured beside a score."""

    how: FirstOrder
    gradients: Gradients
    per_class: int | str | None = None  # None: as many as a default audit affords
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
        asked = radii is not None or options.eps is not None or bool(also)
        return cls(how=how, gradients=options.choice, per_class=radii, is_asked=asked, also=tuple(also))

    def of_class(self, n_classes: int, *, by_gradients: bool) -> int | None:
        """How many samples of each class have their radius measured; None: all; 0: none."""
        if self.per_class == ALL_RADII:
            return None
        if isinstance(self.per_class, int):
            return self.per_class
        affordable = IN_ALL[by_gradients] // n_classes
        return affordable if affordable >= LEAST or self.is_asked else 0


def measure_robustness(
    model: ModelAudit, run: Run, samples: Samples, radii: MeasuredRadii, face: Face, *, delta: float
) -> ModelAudit:
    """The audit of a model with its robust accuracy at a ladder of eps, all intervals of which fail with ``delta``.

    Where nothing was asked for and it cannot be measured, a flag says why.
    """
    try:
        local, rows = _radii(run, samples, radii, face)
    except (ModelError, OptionError) as error:
        if radii.is_asked:
            raise
        return with_robustness(model, None, (_without(first_line(error)),))
    if local is None:
        why = f"{samples.n_classes:,} classes take many radii. Ask for them: --radii {LEAST}, or more."
        return with_robustness(model, None, (_without(why),))
    part = samples if rows is None else samples.rows(rows)
    beside = () if radii.is_asked else ("no_gradients",)  # the result says so anyway
    said = tuple(flag for flag in local.flags if flag.code not in (OF_MEANS, *beside))
    return with_robustness(model, count_radii(local, part, model, delta=delta, also=radii.also), said)


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
    options.refuse_radii(why)
    if radii not in (None, NO_RADII):
        raise OptionError(f"--radii asks for first-order radii, {why}")
    return None


def refuse_engine(radii: MeasuredRadii | None, run: RunOptions) -> MeasuredRadii | None:
    """Radii are measured on this machine: on a cluster they are refused where asked for, and else left out."""
    if radii is not None and run.cluster is not None:
        if radii.is_asked:
            run.refuse_ray("a first-order radius")
        return None
    return radii
