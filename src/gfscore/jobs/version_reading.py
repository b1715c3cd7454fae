"""The two versions of a comparison, read: files, stored runs, results, arrays, or models that are run."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gfscore.errors import OptionError, naming
from gfscore.inputs.logits_files import read_samples
from gfscore.inputs.models.model_objects import is_model
from gfscore.inputs.table_columns import ReadingWords
from gfscore.jobs.arranging import arrange, listed_data, refuse_unread
from gfscore.jobs.calling import Face
from gfscore.jobs.file_names import name_files
from gfscore.jobs.options import RunOptions
from gfscore.jobs.sources import Source, find_sources, watch
from gfscore.measures import Run
from gfscore.results import Audit, ModelAudit
from gfscore.samples import Samples
from gfscore.storage import Watched, to_read
from gfscore.storage.store import Store

STORED = "store:"
KINDS = "a file, (logits, labels), Samples, a result of audit, or a model with data"


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
) -> tuple[list[Samples | ModelAudit], tuple[str, str], Watched, list[Run]]:
    """Old and new: samples or audits, their names, the files they were read from, and the models that were run."""
    refuse_unread(words, given)
    handed, runs = listed_data(data), list[Run]()

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
        return source.read(probabilities=probabilities, class_names=run.names, groups=groups, words=words)

    found = [each.model if isinstance(each, Audit) else run_here(each) for each in given]
    for version in found:
        if not isinstance(version, str | Path | Samples | ModelAudit):
            raise OptionError(f"a version is {type(version).__name__}. Give {KINDS}.")
    versions = [_path(each, run.store) if isinstance(each, str | Path) else each for each in found]
    paths = [each for each in versions if isinstance(each, Path)]
    first, second = (each.name for each in name_files(paths)) if len(paths) == 2 else ("old", "new")
    files = watch(paths, groups, run.class_names)

    def read(version: Any) -> Any:
        if not isinstance(version, Path):
            return version
        if version.suffix.lower() == ".json":
            with naming(version):
                return Audit.load(version).model
        told: dict[str, Any] = {"probabilities": probabilities, "class_names": run.names, "groups": groups}
        return read_samples(version, **told, **asdict(words))

    return [read(version) for version in versions], (first, second), files, runs


def _path(version: str | Path, store: Path | None) -> Path:
    """The file of a version; for ``store:KEY`` the logits of that run."""
    if not str(version).startswith(STORED):
        return to_read(version)
    key = str(version).removeprefix(STORED)
    found = [entry for entry in Store(store).entries() if entry.path.name.startswith(key) and entry.finished.exists()]
    if len(found) != 1:
        raise OptionError(f"{len(found)} finished runs have a key that begins with {key!r}. See gfscore store list.")
    return found[0].finished
