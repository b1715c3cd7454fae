"""What of two versions can be compared: which rows are the same samples, and whether both were made alike."""

from dataclasses import replace

import numpy as np

from gfscore.arrays import IntArray
from gfscore.errors import PLURALS, OptionError, SamplesError
from gfscore.judge import follows_order
from gfscore.results import ModelAudit
from gfscore.samples import Samples
from gfscore.scores import LocalScores

SCORED_ALIKE = ("name", "range", "activation", "temperature", "norm", "eps")  # what two audits must share
BY_ID, BY_ORDER = "by sample id", "by order: as many samples, with the same labels"
BY_ROW = "by row of one data set, which both versions were run on"


def match_rows(old: Samples, new: Samples) -> tuple[tuple[IntArray, IntArray], str] | None:
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
        return (rows, rows), BY_ROW if old.data is not None and old.data == new.data else BY_ORDER
    return None


def take_rows(samples: Samples, rows: IntArray) -> Samples:
    """Some rows, in the given order."""
    groups = samples.groups
    return replace(
        samples,
        logits=samples.logits[rows],
        labels=samples.labels[rows],
        groups=None if groups is None else replace(groups, codes=groups.codes[rows]),
        sample_ids=None,
        class_sizes=samples.class_sizes if len(rows) == samples.n_samples else None,  # no random part any more
        data=None,
    )


def weigh_alike(old: Samples, new: Samples) -> tuple[Samples, Samples]:
    """Both with the class sizes of the set they are of, as far as one knows them and the other does not object."""
    known = [samples.class_sizes for samples in (old, new) if samples.class_sizes is not None]
    sizes = known[0] if known and np.array_equal(known[0], known[-1]) else None
    return replace(old, class_sizes=sizes), replace(new, class_sizes=sizes)


def classes_lost(versions: tuple[Samples, Samples], matched: Samples) -> tuple[str, ...]:
    """Classes (or groups) that a version has samples of, but of which no sample was matched."""
    codes, n_parts = matched.partition
    there = np.zeros(n_parts, dtype=bool)
    for samples in versions:
        there[samples.partition[0]] = True
    there[codes] = False
    names = matched.class_names if matched.groups is None else matched.groups.names
    return tuple(names[k] for k in np.flatnonzero(there))


def refuse_sorted(scores: tuple[LocalScores, LocalScores], codes: IntArray) -> None:
    """Refuse to match by their order rows whose order goes with the score."""
    if follows_order(scores[0].values, scores[1].values, codes):
        raise SamplesError(
            "in both versions the order of the rows goes with their scores, as in files sorted by confidence, so it "
            "does not tell which rows are the same samples. Give sample ids in both, or compare without matching "
            "(--unpaired; in a gate, an audit.json as --baseline)."
        )


def check_alike(old: Samples, new: Samples) -> None:
    """Refuse versions of other classes or groups."""
    if old.class_names != new.class_names:
        raise SamplesError(
            f"the old version has {old.n_classes:,} classes, the new one {new.n_classes:,}, and their names are not "
            "the same. Compare models of the same classes, or give --class-names."
        )
    old_groups, new_groups = (None if samples.groups is None else samples.groups.names for samples in (old, new))
    if old_groups != new_groups:
        raise SamplesError("the two versions do not have the same groups. Give the same groups for both, or none.")


def check_same_truth(old: Samples, new: Samples) -> None:
    """A sample has one label and one group; if not, ids were mixed up."""
    wrong = (old.labels != new.labels) | (old.partition[0] != new.partition[0])
    if wrong.any():
        row = int(np.argmax(wrong))
        raise SamplesError(
            f"{int(wrong.sum()):,} samples have another label or group in the new version than in the old one, the "
            f"first being number {row} of those matched. Check that the ids mean the same samples."
        )


def check_alike_audits(old: ModelAudit, new: ModelAudit) -> None:
    """Refuse two audits that are of other things, or were scored otherwise."""
    names = [{entry.name for entry in model.classes} for model in (old, new)]
    if old.partition != new.partition:
        raise OptionError(
            f"{old.name} is audited by {old.partition} and {new.name} by {new.partition}. Audit both alike."
        )
    if len(names[0] & names[1]) < 2:
        raise OptionError(
            f"{old.name} and {new.name} share {len(names[0] & names[1])} {PLURALS[old.partition]}. Compare models of "
            f"the same {PLURALS[old.partition]}."
        )
    settings = [(name, getattr(old.score, name), getattr(new.score, name)) for name in SCORED_ALIKE]
    apart = [f"{name} {before} and {after}" for name, before, after in settings if before != after]
    if apart:
        raise OptionError(f"{old.name} and {new.name} were scored differently ({'; '.join(apart)}). Audit both alike.")
    if old.interval.target != new.interval.target:
        raise OptionError(
            f"the intervals of {old.name} are about the target {old.interval.target} and those of {new.name} about "
            f"{new.interval.target}. Audit both with the same --target."
        )
