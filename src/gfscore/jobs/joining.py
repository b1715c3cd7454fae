"""Audits that were made before, read from files or folders; several as one, with their models side by side."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from gfscore.assemble import ranking_of
from gfscore.errors import FileError, OptionError
from gfscore.jobs.file_names import refuse_repeated
from gfscore.results import Audit, ModelAudit, Provenance

RESULT = "audit.json"


def read_audits(paths: Sequence[Path]) -> Audit:
    """The audit in a file, or in the audit.json of a folder; of several their models together."""
    files = [_file(path) for path in paths]
    refuse_repeated(files)
    if len(files) == 1:
        return Audit.load(files[0])
    return join_audits({str(path): Audit.load(path) for path in files})


def join_audits(audits: Mapping[str, Audit]) -> Audit:
    """One audit with the models of several, by where they come from; models of one name get that beside it.

    They must be by one score: numbers of two cannot stand in one column. A calibration is of models that were
    calibrated together, so that the one of a single audit stays, and of several none does.
    """
    models = [(place, model) for place, audit in audits.items() for model in audit.models]
    _refuse_other_scores(models)
    named = _tell_apart(models)
    found = tuple(model.model_copy(update={"name": name}) for name, (_, model) in zip(named, models, strict=True))
    calibrations = [audit.calibration for audit in audits.values() if audit.calibration is not None]
    kept = calibrations[0] if len(calibrations) == 1 and set(calibrations[0].models) <= set(named) else None
    return Audit(
        models=found,
        calibration=kept,
        ranking=ranking_of(found),
        provenance=_provenance([audit.provenance for audit in audits.values()]),
    )


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    if not (path / RESULT).is_file():
        raise FileError(f"is a folder without {RESULT}. Name one that gfscore audit wrote, or the file.").found_in(path)
    return path / RESULT


def _refuse_other_scores(models: Sequence[tuple[str, ModelAudit]]) -> None:
    scores = {(model.score.name, model.score.norm): place for place, model in models}
    if len(scores) > 1:
        said = " and ".join(f"{' '.join(filter(None, score))} ({place})" for score, place in scores.items())
        raise OptionError(f"the audits are by different scores, {said}, which cannot stand side by side. Take one.")


def _tell_apart(models: Sequence[tuple[str, ModelAudit]]) -> list[str]:
    """A name for each model: its own, with the folder or file it comes from where another has the same."""
    names = [model.name for _, model in models]
    for label in (_label, str):
        counts = Counter(names)
        names = [
            f"{model.name} ({label(place)})" if counts[name] > 1 else name
            for name, (place, model) in zip(names, models, strict=True)
        ]
    return names


def _label(place: str) -> str:
    path = Path(place)
    return path.parent.name or "." if path.name == RESULT else path.stem


def _provenance(made: Sequence[Provenance]) -> Provenance:
    commands = [each.command for each in made if each.command is not None]
    return made[0].model_copy(
        update={
            "command": "; ".join(dict.fromkeys(commands)) or None,
            "created": max(each.created for each in made),
            "inputs": {name: digest for each in made for name, digest in each.inputs.items()},
        }
    )
