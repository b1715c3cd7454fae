"""What the models behind logits files are called: as the files remember them, or as the files are called."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from gfscore.errors import OptionError
from gfscore.inputs.array_files import remembered_run
from gfscore.results import RunInfo


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
