"""The three parts of the data of a repair by training, from what was given: one trains, one selects, one judges."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gfscore.errors import OptionError
from gfscore.inputs.data import random_rows
from gfscore.measures import Run
from gfscore.training.parts import PartOfRun, split_rows, without_copies

SHARES = {  # of --data, by whether --train-data and --judge-data are given
    (False, False): (0.5, 0.25, 0.25),
    (False, True): (0.75, 0.25),
    (True, False): (0.5, 0.5),
    (True, True): (1.0,),
}
MEASURED = 2000  # images that select by their slopes, and as many that judge, unless it is said how many


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingParts:
    """Images that train, select and judge; no image is in two of them."""

    train: PartOfRun
    select: PartOfRun  # in an order in which classes alternate
    audit: PartOfRun
    left_out: int  # training images that were copies of others
    not_judging: int  # images that were copies of such as select, and judge nothing

    @property
    def names(self) -> Sequence[str]:
        """Of the classes."""
        known = self.audit.run.data.class_names
        return known or [str(number) for number in range(self.audit.run.check().n_classes)]


def find_parts(
    data: Run, train: Run | None, judge: Run | None, *, per_class: int | None, least: int, seed: int
) -> TrainingParts:
    """The parts; refused where one is too small. Images that select do not judge, and neither of them train."""
    split = split_rows(data, SHARES[train is not None, judge is not None], seed)
    parts = [PartOfRun(run=data, rows=rows) for rows in split]
    if train is not None:
        parts.insert(0, PartOfRun(run=train, rows=np.arange(train.n_samples)))
    if judge is not None:
        parts.append(PartOfRun(run=judge, rows=np.arange(judge.n_samples)))
    n_classes = data.check().n_classes
    most = max(1, MEASURED // n_classes) if per_class is None else (per_class + 1) // 2
    select, audit = (_at_most(part, most, seed) for part in parts[1:])
    trained, left_out = without_copies(parts[0], select, audit)
    audit, not_judging = without_copies(audit, select)
    found = TrainingParts(
        train=trained, select=select.mixed(seed), audit=audit, left_out=left_out, not_judging=not_judging
    )
    _refuse_small(found, n_classes, least)
    return found


def _at_most(part: PartOfRun, per_class: int, seed: int) -> PartOfRun:
    return PartOfRun(run=part.run, rows=part.rows[random_rows(part.labels, per_class, seed)])


def _refuse_small(parts: TrainingParts, n_classes: int, least: int) -> None:
    """Refuse parts of which a class has too few images to learn, to choose or to judge by."""
    for part, does, needed in (
        (parts.train, "train", 2),
        (parts.select, "select", least),
        (parts.audit, "judge", least),
    ):
        counts = np.bincount(part.labels, minlength=n_classes)
        place = int(counts.argmin())
        if counts[place] < needed:
            raise OptionError(
                f"{counts[place]} images of class {parts.names[place]!r} {does}, and at least {needed} must. Give "
                "more --data, or training images apart (--train-data)."
            )
