"""``init``: looks at a model and data, finds out how images are preprocessed, and writes a ``gfscore.toml``."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from gfscore.engines.loading import Loader, Loading
from gfscore.errors import FileError, InvalidInputError, ProbabilitiesError
from gfscore.inputs.known_data import N_CLASSES, PRESETS, WITH_NAMES
from gfscore.inputs.model_specs import split_spec
from gfscore.jobs.calling import Job
from gfscore.jobs.dry_run import refuse_dry_run
from gfscore.jobs.options import RunOptions
from gfscore.jobs.probing import NONE, Tried, rearranged_flags, some_rows, try_presets
from gfscore.judge import Decisions, chance_flag
from gfscore.judge.mistakes import Pairs, label_flag
from gfscore.measures import Run
from gfscore.probabilities import RowSums, add_rows, refuse_resembling
from gfscore.storage import is_address, write_text
from gfscore.words import Panel, Word

FILE = Path("gfscore.toml")
# what images may be where their shape or range does not tell: tried in turn where the data are refused as they are
READINGS: tuple[dict[str, Any], ...] = (
    {},
    {"range": "0,255"},
    {"range": "-1,1"},
    {"layout": "NHWC"},
    {"layout": "NCHW"},
)
RULES = (
    "# Rules of gfscore gate --config gfscore.toml, judged on intervals: PASS, FAIL or UNDECIDED.",
    "# SHARE@EPS: this share of the images must stay right under attacks of size EPS (linf, of pixels in [0, 1]).",
    "# Take the largest attack you must withstand (2/255 is small for photographs, 0.1 usual for digits), and a share",
    "# that a version you would not ship fails. It is an estimate from first-order radii, not from attacks: no proof.",
    "[rules]",
    'robust_accuracy = "0.3@2/255"',
)


class Found(NamedTuple):
    """A configuration that was written, and what was found out."""

    path: Path
    text: str
    notes: tuple[str, ...]  # a line each


@Job
def init(
    model: Annotated[str, Word(is_argument=True, metavar="MODEL", help="A model spec, such as net.onnx.")],
    data: Annotated[str, Word(is_argument=True, metavar="DATA", help="Labelled images, such as test.npz.")],
    *,
    out: Annotated[Path, Word(help="The file to write.", panel=Panel.OUTPUT)] = FILE,
    force: Annotated[bool, Word(help="Write over a file that is there.", panel=Panel.OUTPUT)] = False,
    run: RunOptions,
) -> Found:
    """Find out how a model takes its images, and write it down: a gfscore.toml, which every command takes.

    The presets are tried on 128 images; ranges and layouts are tried where the data are refused as they are. What is
    said here is written as it is.
    """
    refuse_dry_run(run, "this runs one on 128 images, to write a small file")
    there = out.read_bytes() if out.is_file() else None
    opened, reading, tried = _open(model, data, run.loading)
    text, notes = _write(opened, model, data, run, {**reading, **_fitting(opened, tried)}, tried, out)
    if not force and there is not None and there != text.encode():  # somebody may have added rules
        raise FileError(
            "is there already, with other words. Say --force to write over it, or --out for another file."
        ).found_in(out)
    write_text(out, text)
    return Found(out, text, tuple(notes))


def _open(model: str, data: str, how: Loading) -> tuple[Run, dict[str, str], Tried]:
    """The model on the data as they are read best, and what is right with each preset."""
    found, refused = list[tuple[Run, dict[str, str], Tried]](), list[InvalidInputError]()
    for reading in READINGS:
        if any(getattr(how, name) is not None for name in reading):
            continue
        try:
            opened = Loader(replace(how, **reading)).open(model, data)
            opened.check()
            found.append((opened, reading, try_presets(opened)))
        except InvalidInputError as error:
            refused.append(error)
        if found and not reading:
            break  # they can be read as they are
    if not found:
        raise refused[0]
    return max(found, key=lambda each: each[2].accuracy(each[2].best))


def _fitting(run: Run, tried: Tried) -> dict[str, str]:
    """The preset that fits better, where nobody said how images are normalised."""
    return {"preset": tried.best} if not run.told and tried.is_better() else {}


def _write(
    run: Run, model: str, data: str, said: RunOptions, own: dict[str, str], tried: Tried, out: Path
) -> tuple[str, list[str]]:
    """The text of the file, and what is to be told about it."""
    n, n_classes = len(tried.right[tried.best].found), run.check().n_classes
    called = {name: name if name != NONE else "no normalisation" for name in tried.right}
    shares = ", ".join(f"{called[name]} {100 * tried.accuracy(name):.3g} %" for name in tried.right)
    told = "as the model or you said" if run.told else shares
    names, sure = _names(run, data, said, n_classes, out)
    spec, query = split_spec(model)
    given = said.loading.preprocessing
    own = {**{key if key != "value_range" else "range": str(value) for key, value in given.items()}, **query, **own}
    named = f"class_names = {_quoted(names)}" if names else '# class_names = "names.txt"'
    lines = [
        "# What gfscore audits here, and how. Every command takes it: gfscore audit --config gfscore.toml",
        "# The command line stands over it; paths are seen from this file.",
        "",
        f"data = {_quoted(_from_there(data, out))}",
        named if sure or not names else f"# {named}  # if these are its classes",
        'score = "great"  # a margin of confidences, for networks trained alike; or "first-order", an estimated radius',
        "delta = 0.05  # all intervals of scores and metrics hold together with probability 1 - delta",
        *(f"{key} = {value}" for key, value in (("n_per_class", said.n_per_class),) if value is not None),
        *([f"split = {_quoted(said.split)}"] if said.split else []),
        "",
        "[[models]]",
        f"model = {_quoted(_from_there(spec, out))}",
        f"# right of {n:,} images: {told}",
        *(f"{key} = {'true' if value in (True, 'True') else _quoted(str(value))}" for key, value in own.items()),
        *([] if own or run.told else ['# preset = "imagenet"  # no preset fits better than the pixels as they are']),
        "",
        *RULES,
        f"# accuracy = {max(0.0, tried.accuracy(tried.best) - 0.05):.2f}  # of clean images",
        "",
        "# [class_robust_accuracy]",
        '# "*" = "0.1@2/255"  # every class by itself: the worst one decides',
    ]
    best = "as they are" if own.get("preset") is None else f"with --preset {own['preset']}"
    notes = [*_doubts(_as_written(run, tried), n_classes), f"{run.name}: {n_classes} classes; of {n:,} images {told}."]
    if not run.told:
        right = tried.accuracy(own.get("preset", NONE))
        notes.append(f"Images {best}: {100 * right:.3g} % are right. Set mean and std of training, if you know them.")
    if names and not sure:
        notes.append(f"Class names were not found. Are they {names}? Then take the # away.")
    return "\n".join(lines) + "\n", notes


def _as_written(run: Run, tried: Tried) -> Run:
    """The run as the file says it: with the preset that fits better, if one does."""
    found = _fitting(run, tried)
    if not found:
        return run
    mean, std = PRESETS[found["preset"]]
    return replace(run, preprocessing=replace(run.preprocessing, mean=mean, std=std))


def _doubts(run: Run, n_classes: int) -> list[str]:
    """What an audit of a few images would flag: labels or images that are not what they are taken for."""
    rows = some_rows(run)
    outputs, labels = run.forward(run.inputs(rows)), run.data.labels[rows]
    decided = outputs.argmax(axis=1)
    names, nothing = tuple(map(str, range(n_classes))), np.zeros(n_classes, dtype=np.int64)
    decisions = Decisions(names=names, counts=nothing, correct=nothing, taken=nothing).with_more(labels, decided)
    flags = (
        *rearranged_flags(run, float((labels == decided).mean()), n_classes),
        label_flag(Pairs.of_keys(labels * n_classes + decided, n_classes), names),
        chance_flag(decisions.accuracy, decisions.worth, decisions.guess),
    )
    told = [f"! {flag.message}" for flag in flags if flag is not None]
    try:
        refuse_resembling(add_rows(RowSums(), outputs, float(outputs.min()), float(outputs.max())))
    except ProbabilitiesError:
        told.append(
            f"! {run.name} gives probabilities: export it without its last softmax. With --probabilities there is a "
            "score, but no robust accuracy, which takes logits."
        )
    return told


def _names(run: Run, data: str, said: RunOptions, n_classes: int, out: Path) -> tuple[Any, bool]:
    """Names of the classes for the file, and whether they are sure; none where the data have their own."""
    if said.class_names is not None:
        given = said.class_names
        return (_from_there(str(given), out) if isinstance(given, Path) else list(given)), True
    if run.data.class_names is not None and not all(name.isdigit() for name in run.data.class_names):
        return None, True
    like = data.lower().replace("_", "-").replace("fashionmnist", "fashion-mnist")
    fit = [name for name in WITH_NAMES if N_CLASSES[name] == n_classes]
    inside = [name for name in fit if name in like]
    if inside:
        return max(inside, key=len), True
    return (fit[0] if len(fit) == 1 else None), False


def _from_there(spec: str, out: Path) -> str:
    """A path as it is seen from the file; what is no path of this disk as it is."""
    if is_address(spec) or Path(spec).is_absolute() or not Path(spec).exists():
        return spec
    return Path(os.path.relpath(Path(spec).absolute(), out.absolute().parent)).as_posix()


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
