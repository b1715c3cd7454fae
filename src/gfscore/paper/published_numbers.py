"""Published numbers that ship with the package, as frozen records: the paper's, and those it compares with."""

import csv
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from gfscore.errors import OptionError

Dataset = Literal["cifar10", "imagenet"]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PrintedRow = dict[str, str]  # cells of a table by column: text, so that its rounding can be judged

DATASETS: tuple[Dataset, ...] = get_args(Dataset)
METRICS = ("great_score", "rdi", "nrgc", "wcr", "fp_great")
CRITERION = "class_accuracy"  # the mean over models of ρ(class score, class accuracy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A file of published numbers or a work that is cited, what is taken from it, and where it comes from."""

    name: str
    what: str
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)  # arrays have no single truth value
class PublishedModel:
    """One model: its class profile at T = 1 and at the calibrated temperature, and what others measured on it.

    All arrays are ``(K,)`` in the order of the class index.
    """

    name: str  # RobustBench identifier
    short_name: str
    counts: Ints
    scores: Floats
    stds: Floats
    accuracies: Floats  # clean accuracy per class, shares of 1
    temperature: float  # the published calibrated one
    calibrated_scores: Floats
    calibrated_accuracies: Floats
    robustbench_accuracy: float  # percent, under AutoAttack
    metrics: dict[str, float]  # of METRICS, as the authors' result files give them at T = 1, in full precision
    worst_class: str  # by the same files
    best_class: str
    great_generated: float | None  # the original paper's score on generated samples
    great_test: float | None  # and on test samples
    cw_distortion: float | None  # mean L2 distortion of a C&W attack, from the original paper

    @property
    def accuracy(self) -> float:
        """Clean accuracy over all samples, a share of 1."""
        return float(np.dot(self.counts, self.accuracies) / self.counts.sum())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SearchTrace:
    """The published search for the calibrated temperature, by CRITERION: a coarse grid, then a finer one."""

    coarse_temperatures: Floats
    coarse_values: Floats
    fine_temperatures: Floats
    fine_values: Floats

    @property
    def points(self) -> tuple[Floats, Floats]:
        """Temperatures and values of both grids, in the order of the search."""
        temperatures = np.concatenate((self.coarse_temperatures, self.fine_temperatures))
        return temperatures, np.concatenate((self.coarse_values, self.fine_values))


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardEntry:
    """A model on RobustBench. Accuracies are percents; None where the leaderboard has none."""

    dataset: str
    threat: str
    model: str
    clean_accuracy: float | None
    autoattack_accuracy: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRow:
    """A statement of the paper, and how an answer to it is worded; ``data/claims.toml`` says what braces stand for."""

    id: str
    statement: str  # in our words
    recomputed: str
    explanation: str | dict[str, str]  # by verdict or case
    where: str | None = None  # in the paper; None for a finding about the whole
    published: str | None = None  # what the paper says; None when it says nothing
    verdict: str | None = None  # of a claim about both experiments at once, which nothing here computes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Published:
    """Everything that is published about one of the paper's two experiments."""

    dataset: Dataset
    threat: str
    activation: str
    class_names: tuple[str, ...]
    models: tuple[PublishedModel, ...]
    model_table: tuple[PrintedRow, ...]
    class_table: tuple[PrintedRow, ...]  # empty for ImageNet: the paper prints none
    trace: SearchTrace  # how the calibrated temperature was found
    leaderboard: tuple[LeaderboardEntry, ...]  # the models of the same data and threat
    readable_names: dict[str, str]  # of some WordNet ids
    claims: tuple[ClaimRow, ...]  # in the order in which they are shown


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
    original = {row["model"]: row["great_score"] for row in _rows("great_imagenet.csv") if row["dataset"] == dataset}
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
        model_table=tuple(row for row in _rows("paper_model_tables.csv") if row["dataset"] == dataset),
        class_table=tuple(row for row in _rows("paper_class_table.csv") if row["dataset"] == dataset),
        trace=_trace(dataset),
        leaderboard=tuple(entry for entry in leaderboard() if (entry.dataset, entry.threat) == (dataset, threat)),
        readable_names={row["class"]: row["name"] for row in _rows("imagenet_class_names.csv")},
        claims=_claims(dataset),
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
            clean_accuracy=_number(row["clean_acc"]),
            autoattack_accuracy=_number(row["autoattack_acc"]),
        )
        for row in _rows("robustbench_leaderboard.csv")
    )


def origins(dataset: Dataset) -> tuple[Origin, ...]:
    """The files behind one of the two experiments, then the works that its claims are judged by."""
    _check(dataset)
    return tuple(
        Origin(name=row["name"], what=row["what"], origin=row["origin"])
        for row in _rows("sources.csv")
        if row["only_for"] in ("", dataset)
    )


def _model(
    row: dict[str, str], profile: list[dict[str, str]], calibrated: list[dict[str, str]], original: str
) -> PublishedModel:
    return PublishedModel(
        name=row["model"],
        short_name=row["short_name"],
        counts=_column(profile, "n", int),
        scores=_column(profile, "score"),
        stds=_column(profile, "std"),
        accuracies=_column(profile, "accuracy"),
        temperature=float(calibrated[0]["temperature"]),
        calibrated_scores=_column(calibrated, "score"),
        calibrated_accuracies=_column(calibrated, "accuracy"),
        robustbench_accuracy=float(row["robustbench_accuracy"]),
        metrics={name: float(row[name]) for name in METRICS},
        worst_class=row["wcr_class"],
        best_class=row["best_class"],
        great_generated=_number(row["great_original_gan"] or original),
        great_test=_number(row["great_original_test"]),
        cw_distortion=_number(row["cw_distortion"]),
    )


def _trace(dataset: Dataset) -> SearchTrace:
    rows = [row for row in _rows(f"{dataset}_calibration_curves.csv") if row["criterion"] == CRITERION]
    temperatures, values = _column(rows, "temperature"), _column(rows, "value")
    fine = int(np.flatnonzero(np.diff(temperatures) <= 0)[0]) + 1  # the finer grid starts with a step back
    return SearchTrace(
        coarse_temperatures=temperatures[:fine],
        coarse_values=values[:fine],
        fine_temperatures=temperatures[fine:],
        fine_values=values[fine:],
    )


def _claims(dataset: Dataset) -> tuple[ClaimRow, ...]:
    """The claims about an experiment, with those of their texts that are about it."""
    rows = [row for row in tomllib.loads(_text("claims.toml"))["claim"] if row.pop("only", dataset) == dataset]
    for row in rows:
        row |= {key: value[dataset] for key, value in row.items() if isinstance(value, dict) and dataset in value}
    return tuple(ClaimRow(**row) for row in rows)


def _text(file: str) -> str:
    return (resources.files("gfscore.paper") / "data" / file).read_text(encoding="utf-8")


@cache
def _rows(file: str) -> list[dict[str, str]]:
    return list(csv.DictReader(_text(file).splitlines()))


def _by_model(rows: list[dict[str, str]]) -> dict[str, list[dict[str, str]]]:
    models: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        models.setdefault(row["model"], []).append(row)
    return models


def _column(rows: list[dict[str, str]], name: str, read: Callable[[str], float] = float) -> NDArray[Any]:
    array = np.array([read(row[name]) for row in rows])
    array.setflags(write=False)  # shared by everyone who asks, so nobody may change it
    return array


def _number(text: str) -> float | None:
    return float(text) if text else None


def _check(dataset: str) -> None:
    if dataset not in DATASETS:
        raise OptionError(f"nothing is published about {dataset!r}. Choose one of: {', '.join(DATASETS)}.")
