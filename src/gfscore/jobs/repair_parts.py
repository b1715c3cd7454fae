"""The parts of the data of a repair: one chooses, another judges; each with margins and slopes towards the rivals."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.engines.local import measured
from gfscore.errors import MissingExtraError, ModelError, OptionError, naming
from gfscore.inputs.models.biased import log_probabilities
from gfscore.jobs.calling import Face
from gfscore.jobs.robustness import draw_part
from gfscore.jobs.sources import Source
from gfscore.measures import Run
from gfscore.measures.rival_slopes import RivalSlopes
from gfscore.measures.same_images import copies_of
from gfscore.measures.slopes import Gradients
from gfscore.repairing import Contest, attacked_contest
from gfscore.results import Flag
from gfscore.samples import Samples
from gfscore.scores import FirstOrder, first_order_scores, strongest_rivals

MOST_RIVALS = 32  # that slopes are measured towards; up to 33 classes these are all
IN_ALL = {True: 4000, False: 1000}  # samples with slopes by default: by gradients, and by forward passes alone


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RepairPart:
    """Samples that choose, or that judge."""

    samples: Samples
    rows: IntArray  # of the source
    source: Source
    rivals: IntArray  # (n, R)
    margins: FloatArray  # (n, R)
    norms: FloatArray | None  # (n, R) of the slopes; None from logits alone
    gradients: bool | None  # whether the slopes are gradients

    @property
    def run(self) -> Run | None:
        """The model on these samples, where it was run here."""
        return self.source.run

    @property
    def codes(self) -> IntArray:
        """The class or group of each sample."""
        return self.samples.partition[0]

    @property
    def names(self) -> Sequence[str]:
        """Of the classes or groups."""
        return self.samples.class_names if self.samples.groups is None else self.samples.groups.names

    def contests(self, eps: float | None) -> list[Contest]:
        """What is repaired first: under attack where there are slopes; then clean."""
        facts = (self.samples.labels, self.rivals, self.codes)
        clean = attacked_contest(self.margins, np.ones_like(self.margins), *facts, eps=0.0)
        if self.norms is None or eps is None:
            return [clean]
        return [attacked_contest(self.margins, self.norms, *facts, eps=eps), clean]

    def take(self, places: IntArray) -> Self:
        """Some of the samples."""
        norms = None if self.norms is None else self.norms[places]
        return type(self)(
            samples=self.samples.rows(places),
            rows=self.rows[places],
            source=self.source,
            rivals=self.rivals[places],
            margins=self.margins[places],
            norms=norms,
            gradients=self.gradients,
        )


def measure_part(
    source: Source,
    samples: Samples,
    how: FirstOrder | None,
    gradients: Gradients,
    *,
    per_class: int | None,
    seed: int,
    face: Face,
) -> tuple[RepairPart, list[Flag]]:
    """The samples of a source that are used, with margins and slopes towards the rivals; and what is to be said of it.

    Without ``how`` there are no slopes. Samples are drawn by the hash of their ids, as many of each class or group.
    """
    logits = log_probabilities(samples.logits) if samples.probabilities else samples.logits
    n_rivals = min(samples.n_classes - 1, MOST_RIVALS if how is not None else samples.n_classes)
    module, flags = None, []
    if how is not None and source.run is not None and gradients is not Gradients.NO:
        try:
            module = source.run.differentiable()
        except (ModelError, MissingExtraError) as error:
            if gradients is Gradients.YES:
                raise
            why = f"{error} Slopes are forward-only estimates."
            flags.append(Flag(code="no_gradients", message=why))
    codes, n_parts = samples.partition
    if per_class is None and how is not None:
        per_class = max(2, IN_ALL[module is not None] // n_parts)
    rows = None if per_class is None else draw_part(samples, codes, per_class, seed)
    rows = np.arange(samples.n_samples) if rows is None else rows
    rivals = strongest_rivals(logits, samples.labels, n_rivals)
    own = np.take_along_axis(logits, samples.labels[:, None], axis=1).astype(np.float64)
    margins = (own - np.take_along_axis(logits, rivals, axis=1))[rows]
    norms = None
    if how is not None and source.run is not None:
        how = replace(how, rivals=n_rivals, refine=0)  # each rival has a slope of its own, also where none leads
        slopes = RivalSlopes(samples=samples, how=how, gradients=module is not None, only=rows)
        bar = face.bar(source.name, "slopes")
        norms = np.asarray(measured(source.run, slopes, bar).rows()[0])[rows].astype(np.float64)
        with naming(source.name):  # refuses slopes that are none
            checked = first_order_scores(samples.rows(rows), norms, how, gradients=module is not None)
        flags += [flag for flag in checked.flags if flag.code in ("zero_gradient", "broken_gradient")]
        if n_rivals < samples.n_classes - 1:
            flags.append(_few_rivals(n_rivals, samples.n_classes))
    part = RepairPart(
        samples=samples.rows(rows),
        rows=rows,
        source=source,
        rivals=rivals[rows],
        margins=margins,
        norms=norms,
        gradients=None if norms is None else module is not None,
    )
    return part, flags


def _few_rivals(n_rivals: int, n_classes: int) -> Flag:
    message = (
        f"slopes were measured towards the {n_rivals} strongest of {n_classes - 1} rivals of each sample: a bias that "
        "lets another one win is judged too well by radii. Judge it by an attack."
    )
    return Flag(code="few_rivals", message=message)


def halve(part: RepairPart, seed: int) -> tuple[RepairPart, RepairPart]:
    """Two parts without a sample in common: half of each class, and of each group, by the hash of the samples' ids."""
    samples = part.samples
    codes = samples.labels * (1 + int(part.codes.max())) + part.codes
    ids = part.rows.tolist() if samples.sample_ids is None else samples.sample_ids
    keys = np.array([_lot(seed, each) for each in ids])
    order = np.lexsort((keys, codes))
    ordered = codes[order]
    places = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    counts = np.searchsorted(ordered, ordered, side="right") - np.searchsorted(ordered, ordered)
    first = 2 * places < counts
    return part.take(np.sort(order[first])), part.take(np.sort(order[~first]))


def _lot(seed: int, sample_id: object) -> int:
    return int.from_bytes(hashlib.sha256(f"repair {seed} {sample_id}".encode()).digest()[:8], "little")


def without_chosen(judging: RepairPart, choosing: RepairPart) -> tuple[RepairPart, int]:
    """The samples that judge and whose images are none of those that choose; and how many were left out."""
    if judging.run is None or choosing.run is None:
        return judging, 0
    copied = copies_of((judging.run, judging.rows), (choosing.run, choosing.rows))
    if copied.all():
        raise OptionError(
            "every image that judges is one that chooses, too, and would find the repair better than it is. Give other "
            "images, or leave --judge-data out: then half of each class judges."
        )
    return judging.take(np.flatnonzero(~copied)), int(copied.sum())


def copies_flag(n: int) -> Flag:
    """The flag of images that would have judged what they chose."""
    return Flag(code="copies", message=f"{n:,} images that judge also choose or select, and were left out.")


def refuse_small(part: RepairPart, least: int, *, in_halves: bool) -> None:
    """Refuse parts of which so few samples choose that not even a gain from none to all could be shown."""
    codes, counts = np.unique(part.codes, return_counts=True)
    place = int(counts.argmin())
    if counts[place] >= least:
        return
    what = "group" if part.samples.groups is not None else "class"
    whole = f", {2 * least} in all," if in_halves else ""
    raise OptionError(
        f"{counts[place]} samples of {what} {part.names[codes[place]]!r} choose the repair, and no gain of so few can "
        f"be told from chance. Give at least {least} of each {what}{whole} that choose; some hundred show more."
    )
