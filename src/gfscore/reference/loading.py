"""Reads the published files that ship with the package; each is read once."""

import csv
from functools import cache
from importlib import resources
from typing import Any, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from gfscore.errors import OptionError
from gfscore.reference.records import (
    Dataset,
    Floats,
    LeaderboardEntry,
    PrintedRow,
    Published,
    PublishedMetrics,
    PublishedModel,
    SearchTrace,
    Source,
)

_Array = TypeVar("_Array", bound=NDArray[Any])

DATASETS: tuple[Dataset, ...] = get_args(Dataset)

AUTHORS = "result files published with the GF-Score paper (Shah, Visavadiya, Padala 2026, arXiv 2604.12757)"
PAPER = "tables of the GF-Score paper (Shah, Visavadiya, Padala 2026, arXiv 2604.12757), transcribed by a script"
GREAT = "Li, Chen, Ho, GREAT Score, NeurIPS 2024 (arXiv 2304.09875)"

_LISTING = (
    ("{}_models.csv", "RobustBench accuracy and metrics per model; scores and C&W distortions of the original paper",
     f"{AUTHORS}; {GREAT}, Tables 2 and 9"),
    ("{}_per_class_T1.csv", "score, standard deviation, clean accuracy and n per class at T = 1, full precision",
     AUTHORS),
    ("{}_per_class_calibrated.csv", "score and clean accuracy per class at the calibrated temperature", AUTHORS),
    ("{}_calibration_curves.csv", "the searches for the calibrated temperature", AUTHORS),
)  # fmt: skip
_SHARED = (
    ("paper_model_tables.csv", "the full result tables as printed (Tables 3 and 4)", PAPER),
    ("paper_class_table.csv", "the class table as printed (Table 5)", PAPER),
    ("robustbench_leaderboard.csv", "clean and AutoAttack accuracy of 236 models, March 2025",
     "RobustBench (Croce et al. 2021, arXiv 2010.09670), MIT licence"),
    ("great_imagenet.csv", "scores of the original paper on ImageNet, generated samples",
     f"{GREAT}, Table 3, as transcribed in the authors' code (github.com/aryashah2k/gf-score, gf_score/config.py)"),
    ("imagenet_class_names.csv", "names of the WordNet ids that are mentioned",
     "ImageNet class list LOC_synset_mapping.txt (ILSVRC 2012), first name of each synset"),
)  # fmt: skip
SOURCES: dict[str, Source] = {
    file: Source(file=file, what=what, origin=origin)
    for file, what, origin in (
        *((file.format(dataset), what, origin) for dataset in DATASETS for file, what, origin in _LISTING),
        *_SHARED,
    )
}
_ONLY_FOR = {
    "paper_class_table.csv": "cifar10",
    "great_imagenet.csv": "imagenet",
    "imagenet_class_names.csv": "imagenet",
}


def sources(dataset: Dataset) -> tuple[Source, ...]:
    """The files behind one of the two experiments."""
    _check(dataset)
    own = tuple(SOURCES[file.format(dataset)] for file, _, _ in _LISTING)
    return own + tuple(SOURCES[file] for file, _, _ in _SHARED if _ONLY_FOR.get(file, dataset) == dataset)


@cache
def published(dataset: Dataset) -> Published:
    """Everything that is published about ``cifar10`` (17 models, L2) or ``imagenet`` (5 models, Linf).

    >>> numbers = published("cifar10")
    >>> len(numbers.models), numbers.class_names[:3], numbers.models[0].counts[0]
    (17, ('airplane', 'automobile', 'bird'), np.int64(1000))
    """
    _check(dataset)
    profiles = _by_model(_rows(f"{dataset}_per_class_T1.csv"))
    calibrated = _by_model(_rows(f"{dataset}_per_class_calibrated.csv"))
    original = (
        {row["model"]: row["great_score"] for row in _rows("great_imagenet.csv")} if dataset == "imagenet" else {}
    )
    first = next(iter(profiles.values()))
    threat = first[0]["threat"]
    return Published(
        dataset=dataset,
        threat=threat,
        activation=first[0]["activation"],
        class_names=tuple(row["class"] for row in first),
        models=tuple(
            _model(row, profiles[row["model"]], calibrated[row["model"]], original.get(row["model"], ""))
            for row in _rows(f"{dataset}_models.csv")
        ),
        model_table=_printed("paper_model_tables.csv", dataset),
        class_table=_printed("paper_class_table.csv", dataset),
        traces=_traces(dataset),
        leaderboard=tuple(entry for entry in leaderboard() if (entry.dataset, entry.threat) == (dataset, threat)),
        readable_names=(
            {row["class"]: row["name"] for row in _rows("imagenet_class_names.csv")} if dataset == "imagenet" else {}
        ),
    )


@cache
def leaderboard() -> tuple[LeaderboardEntry, ...]:
    """All models of the RobustBench leaderboard.

    >>> len(leaderboard())
    236
    """
    return tuple(
        LeaderboardEntry(
            dataset=row["dataset"],
            threat=row["threat"],
            model=row["model"],
            architecture=row["architecture"],
            eps=row["eps"],
            clean_accuracy=_number(row["clean_acc"]),
            autoattack_accuracy=_number(row["autoattack_acc"]),
            external_accuracy=_number(row["external"]),
            corruptions_accuracy=_number(row["corruptions_acc"]),
            additional_data=row["additional_data"] == "True",
            venue=row["venue"],
        )
        for row in _rows("robustbench_leaderboard.csv")
    )


def clean_accuracies(dataset: str, threat: str) -> dict[str, float]:
    """Clean accuracy in percent of each model of a RobustBench leaderboard that states it.

    >>> clean_accuracies("cifar10", "L2")["Augustin2020Adversarial"]
    91.08
    """
    found = {
        entry.model: entry.clean_accuracy
        for entry in leaderboard()
        if (entry.dataset, entry.threat) == (dataset, threat) and entry.clean_accuracy is not None
    }
    if not found:
        known = sorted({f"{entry.dataset}/{entry.threat}" for entry in leaderboard()})
        raise OptionError(f"RobustBench has no leaderboard {dataset}/{threat}. Choose one of: {', '.join(known)}.")
    return found


def _model(
    row: dict[str, str], profile: list[dict[str, str]], calibrated: list[dict[str, str]], original: str
) -> PublishedModel:
    return PublishedModel(
        name=row["model"],
        short_name=row["short_name"],
        counts=_frozen(np.array([int(entry["n"]) for entry in profile], dtype=np.int64)),
        scores=_column(profile, "score"),
        stds=_column(profile, "std"),
        accuracies=_column(profile, "accuracy"),
        temperature=float(calibrated[0]["temperature"]),
        calibrated_scores=_column(calibrated, "score"),
        calibrated_accuracies=_column(calibrated, "accuracy"),
        robustbench_accuracy=float(row["robustbench_accuracy"]),
        metrics=PublishedMetrics(
            great_score=float(row["great_score"]),
            rdi=float(row["rdi"]),
            nrgc=float(row["nrgc"]),
            wcr=float(row["wcr"]),
            wcr_class=row["wcr_class"],
            fp_great=float(row["fp_great"]),
            best_class=row["best_class"],
        ),
        great_generated=_number(row["great_original_gan"] or original),
        great_test=_number(row["great_original_test"]),
        cw_distortion=_number(row["cw_distortion"]),
    )


def _traces(dataset: Dataset) -> dict[str, SearchTrace]:
    rows = _rows(f"{dataset}_calibration_curves.csv")
    traces = {}
    for criterion in dict.fromkeys(row["criterion"] for row in rows):
        own = [row for row in rows if row["criterion"] == criterion]
        temperatures, values = _column(own, "temperature"), _column(own, "value")
        turns = np.flatnonzero(np.diff(temperatures) <= 0)  # the finer grid starts where the temperature steps back
        end = int(turns[0]) + 1 if turns.size else len(temperatures)
        traces[criterion] = SearchTrace(
            criterion=criterion,
            coarse_temperatures=temperatures[:end],
            coarse_values=values[:end],
            fine_temperatures=temperatures[end:],
            fine_values=values[end:],
        )
    return traces


def _printed(file: str, dataset: Dataset) -> tuple[PrintedRow, ...]:
    keys = ("dataset", "printed_name", "model")
    return tuple(
        PrintedRow(
            printed_name=row["printed_name"],
            model=row["model"],
            cells={name: cell for name, cell in row.items() if name not in keys},
        )
        for row in _rows(file)
        if row["dataset"] == dataset
    )


@cache
def _rows(file: str) -> list[dict[str, str]]:
    text = (resources.files("gfscore.reference") / "data" / file).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def _by_model(rows: list[dict[str, str]]) -> dict[str, list[dict[str, str]]]:
    models: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        models.setdefault(row["model"], []).append(row)
    return models


def _column(rows: list[dict[str, str]], name: str) -> Floats:
    return _frozen(np.array([float(row[name]) for row in rows]))


def _frozen(array: _Array) -> _Array:
    array.setflags(write=False)  # shared by everyone who asks, so nobody may change it
    return array


def _number(text: str) -> float | None:
    return float(text) if text else None


def _check(dataset: str) -> None:
    if dataset not in DATASETS:
        raise OptionError(f"nothing is published about {dataset!r}. Choose one of: {', '.join(DATASETS)}.")
