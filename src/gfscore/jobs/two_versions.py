"""The two versions of a comparison: read from whatever they are, and matched, sample by sample where that can be."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from gfscore.arrays import IntArray
from gfscore.errors import PLURALS, OptionError, SamplesError, naming
from gfscore.inputs.logits_files import read_samples
from gfscore.inputs.models.model_objects import is_model
from gfscore.inputs.table_columns import ReadingWords
from gfscore.jobs.arranging import arrange, listed_data, refuse_unread
from gfscore.jobs.calling import Face
from gfscore.jobs.named_files import audit_file, name_files
from gfscore.jobs.options import RunOptions
from gfscore.jobs.sources import Source, find_sources, watch
from gfscore.judge import follows_order
from gfscore.measures import Run
from gfscore.results import Audit, ModelAudit
from gfscore.samples import Samples
from gfscore.scores import LocalScores
from gfscore.storage import Watched, to_read
from gfscore.storage.store import Store

STORED = "store:"
KINDS = "a file, (logits, labels), Samples, a result of audit, or a model with data"
SCORED_ALIKE = ("name", "range", "activation", "temperature", "norm", "eps")  # what two audits must share
BY_ID, BY_ORDER = "by sample id", "by order: as many samples, with the same labels"
BY_ROW = "by row of one data set, which both versions were run on"


def read_versions(
    given: Sequence[Any],
    data: Any,
    labels: Any,
    run: RunOptions,
    face: Face,
    *,
    probabilities: bool,
    groups: Any,
    words: ReadingWords,
) -> tuple[list[Samples | ModelAudit], tuple[str, str], Watched, list[Run | None]]:
    """Old and new: samples or audits, their names, the files they were read from, and of either the run, if any."""
    refuse_unread(words, given)
    handed, runs, called = listed_data(data), list[Run](), list[str]()
    if not any(is_model(each) or isinstance(each, list | tuple) for each in given):
        run.refuse_running("a comparison of files")

    def run_here(version: Any) -> Any:
        """Models and arrays as samples; anything else as it is."""
        second = labels
        if isinstance(version, list | tuple) and len(version) == 2:
            version, second = version
        elif is_model(version):
            if len(handed) != 1:
                many = f"with {len(handed)} data sets. Give one of them" if handed else "without data. Give them"
                raise OptionError(f"a version is a model, {many}: --data IMAGES (data=...).")
            second = handed[0]
        elif labels is None or isinstance(version, str | Path | Samples | Audit | ModelAudit):
            return version
        asked = arrange(version, second)
        source = Source(name="model", samples=asked.checked(run.names, words, probabilities=probabilities)[0])
        if asked.model is not None:
            source = next(find_sources(None, asked.model, asked.data, run, face, probabilities=probabilities))
        runs.extend([] if source.run is None else [source.run])
        called.extend([] if asked.model is None else [source.name])
        return source.read(probabilities=probabilities, class_names=run.names, groups=groups, words=words)

    found, of_version = list[Any](), list[Run | None]()
    for each in given:
        found.append(each.model if isinstance(each, Audit) else run_here(each))
        of_version.append(runs.pop() if runs else None)
    for version in found:
        if not isinstance(version, str | Path | Samples | ModelAudit):
            raise OptionError(f"a version is {type(version).__name__}. Give {KINDS}.")
    versions = [_path(each, run.store) if isinstance(each, str | Path) else each for each in found]
    paths = [each for each in versions if isinstance(each, Path)]
    named = called if len(set(called)) == 2 else [each.name for each in name_files(paths)] if len(paths) == 2 else []
    first, second = named if len(named) == 2 else ("old", "new")
    files = watch(paths, groups, run.class_names)

    def read(version: Any) -> Any:
        if not isinstance(version, Path):
            return version
        if version.suffix.lower() == ".json":
            with naming(version):
                return Audit.load(version).model
        told: dict[str, Any] = {"probabilities": probabilities, "class_names": run.names, "groups": groups}
        return read_samples(version, **told, **asdict(words))

    return [read(version) for version in versions], (first, second), files, of_version


def _path(version: str | Path, store: Path | None) -> Path:
    """The file of a version, of a folder its audit; for ``store:KEY`` the logits of that run."""
    if not str(version).startswith(STORED):
        return audit_file(to_read(version))
    key = str(version).removeprefix(STORED)
    found = [entry for entry in Store(store).entries() if entry.path.name.startswith(key) and entry.finished.exists()]
    if len(found) != 1:
        raise OptionError(f"{len(found)} finished runs have a key that begins with {key!r}. See gfscore store list.")
    return found[0].finished


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
