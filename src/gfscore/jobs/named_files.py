"""Files of earlier work: what the models behind them are called, and audits that stand in several, read as one."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gfscore.assemble import ranking_of
from gfscore.errors import FileError, OptionError
from gfscore.inputs.array_files import remembered_run
from gfscore.inputs.small_files import read_note
from gfscore.results import Audit, Leaderboard, ModelAudit, Provenance, Repair, RunInfo
from gfscore.storage import to_read

RESULT, REPAIR = "audit.json", "repair.json"
SCHEMA = re.compile(rb'"schema":\s*"gfscore\.(\w+)/')  # stands first in every file
HEAD = 200  # bytes of a file in which it does
OTHERS: dict[bytes, type[Repair] | type[Leaderboard]] = {b"repair": Repair, b"leaderboard": Leaderboard}


class NamedFiles(NamedTuple):
    """The logits of one model: what it is called, its files, and how it was run, where all of them say the same."""

    name: str
    files: tuple[Path, ...]
    run: RunInfo | None = None


def name_models(
    files: Sequence[Sequence[Path]], fallback: Sequence[str], *, beside_runs: bool = False
) -> list[NamedFiles]:
    """The model of each set of files: the one that all of them remember, or else a name that ``fallback`` has for it.

    A model that several remember tells nobody which is which: there each has its fallback, and so it is where that of
    another is called alike, and beside models that are run, one of which may be the same model.
    """
    runs = [[remembered_run(path) for path in each] for each in files]
    told = [
        each[0].model.name if each and each[0] and all(run and run.model == each[0].model for run in each) else None
        for each in runs
    ]
    count = Counter([*(name for name in told if name is not None), *set(fallback)])
    return [
        NamedFiles(
            name if name is not None and not beside_runs and count[name] - (name == other) == 1 else other,
            tuple(paths),
            each[0] if each and all(run == each[0] for run in each) else None,
        )
        for name, other, paths, each in zip(told, fallback, files, runs, strict=True)
    ]


def name_files(paths: Sequence[Path], *, beside_runs: bool = False) -> list[NamedFiles]:
    """Logits files of a model each, with their names, all different."""
    return name_models([[path] for path in paths], list(model_names(paths)), beside_runs=beside_runs)


def refuse_repeated(paths: Sequence[Path]) -> list[Path]:
    """The paths without links in them; refused where two are one file."""
    resolved, seen = [path.resolve() for path in paths], set[Path]()
    for path, given in zip(resolved, paths, strict=True):
        if path in seen:
            raise OptionError(f"{given} is given twice. Name each file once.")
        seen.add(path)
    return resolved


def model_names(paths: Sequence[Path]) -> dict[str, Path]:
    """A name per file: its stem, with as many folders before it as it takes to tell it from the others."""
    parts = [(*path.parts[:-1], path.stem) for path in refuse_repeated(paths)]
    names = ["/".join(part[-1:]) for part in parts]
    depth = 1
    while len(set(names)) < len(names) and depth < max(map(len, parts)):
        depth += 1
        names = [
            "/".join(part[-depth:]) if names.count(name) > 1 else name for part, name in zip(parts, names, strict=True)
        ]
    if len(set(names)) < len(names):  # same folder, same stem: only the ending differs
        names = [path.name if names.count(name) > 1 else name for path, name in zip(paths, names, strict=True)]
    return dict(zip(names, paths, strict=True))


def read_audits(paths: Sequence[Path]) -> Audit:
    """The audit in a file, or in the audit.json of a folder; of several their models together."""
    files = [audit_file(path) for path in paths]
    refuse_repeated(files)
    if len(files) == 1:
        return Audit.load(files[0])
    return join_audits({str(path): Audit.load(path) for path in files})


def read_drawable(paths: Sequence[Path]) -> Audit | Repair | Leaderboard:
    """What pictures are drawn of: audits, read as one; or one repair or leaderboard."""
    files = [_with_repairs(path) for path in paths]
    kinds = [_kind(path) for path in files]
    if not any(kinds):
        return read_audits(paths)
    if len(files) > 1:
        raise OptionError("pictures of a repair or of a leaderboard are of that file alone. Name one file.")
    return OTHERS[kinds[0]].load(files[0])


def _with_repairs(path: Path) -> Path:
    """The file that was named, or the repair in a folder that has no audit."""
    repaired = path.is_dir() and not (path / RESULT).is_file() and (path / REPAIR).is_file()
    return path / REPAIR if repaired else path


def _kind(path: Path) -> bytes:
    """Whether a file says that it is a repair or a leaderboard; of any other, reading it says what is wrong."""
    if path.is_dir():
        return b""
    try:
        with to_read(path).open("rb") as file:
            found = SCHEMA.search(file.read(HEAD))
    except OSError:
        return b""
    return found[1] if found is not None and found[1] in OTHERS else b""


def join_audits(audits: Mapping[str, Audit]) -> Audit:
    """One audit with the models of several, by where they come from; models of one name get that beside it.

    They must be by one score: numbers of two cannot stand in one column. A calibration is of models that were
    calibrated together, so that the one of a single audit stays, and of several none does.
    """
    models = [(place, model) for place, audit in audits.items() for model in audit.models]
    _refuse_other_scores(models)
    named = tell_apart(models)
    found = tuple(model.model_copy(update={"name": name}) for name, (_, model) in zip(named, models, strict=True))
    calibrations = [audit.calibration for audit in audits.values() if audit.calibration is not None]
    kept = calibrations[0] if len(calibrations) == 1 and set(calibrations[0].models) <= set(named) else None
    return Audit(
        models=found,
        calibration=kept,
        ranking=ranking_of(found),
        provenance=_provenance([audit.provenance for audit in audits.values()]),
    )


def audit_file(path: Path) -> Path:
    """The file of an audit: as it was named, or the one in the folder that was."""
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


def tell_apart(models: Sequence[tuple[str, ModelAudit]]) -> list[str]:
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


def read_notes(paths: Sequence[Path]) -> tuple[str, ...]:
    """Texts that go into a report as they are."""
    return tuple(map(read_note, paths))
