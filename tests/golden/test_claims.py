"""Every verdict on the paper, and that each follows from the numbers."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gfscore.paper import DATASETS, Standing, published, recompute, reproduce
from gfscore.paper.reproduction import JUDGES

RESULTS = {dataset: reproduce(dataset) for dataset in DATASETS}
PINNED = Path(__file__).parent / "pinned" / "claims.csv"  # every claim, in the order in which they are shown


def test_every_claim_is_judged_as_before():
    with PINNED.open(encoding="utf-8", newline="") as lines:
        pinned = [tuple(row.values()) for row in csv.DictReader(lines)]
    claims = [
        (dataset, claim) for dataset, result in RESULTS.items() for claim in json.loads(result.to_json())["claims"]
    ]
    found = [(dataset, claim["id"], claim["verdict"], stable(claim["recomputed"])) for dataset, claim in claims]
    assert found == pinned


def stable(text):
    """What was recomputed, less the size of a rounding error, which another processor may change."""
    return re.sub(r"error \S+", "error ...", text)


@pytest.mark.parametrize(
    ("dataset", "identifier", "detail"),
    [
        ("cifar10", "fp-great-moves", "Engstrom2019 13 → 17"),
        ("cifar10", "calibrated-rho", "0.871 is the value of another objective"),
        ("cifar10", "generated-samples", "17 of 17"),
        ("cifar10", "table-order", "Augustin_WRN_ext stands above Rebuffi_28_ddpm"),
        ("cifar10", "worst-and-best-classes", "17 of 17"),
        ("imagenet", "rdi-bound", "272"),
    ],
)
def test_explanation_has_the_figure(dataset, identifier, detail):
    assert detail in RESULTS[dataset].claim(identifier).explanation


def test_every_judge_has_a_claim():
    rows = [row for dataset in DATASETS for row in published(dataset).claims]
    assert set(JUDGES) == {row.id for row in rows if row.verdict is None}


@pytest.mark.parametrize("dataset", DATASETS)
def test_claims_are_told_apart_by_their_ids(dataset):
    ids = [claim.id for claim in RESULTS[dataset].claims]
    assert len(ids) == len(set(ids))


def altered(dataset, change):
    """The reproduction after a change of every model."""
    numbers = published(dataset)
    return recompute(replace(numbers, models=tuple(change(i, model) for i, model in enumerate(numbers.models))))


def like_robustbench(_, model):
    """Scores that rank the models exactly as RobustBench does, with equal classes."""
    level = np.full_like(model.scores, model.robustbench_accuracy / 100)
    return replace(model, scores=level + 1e-3 * np.arange(level.size) / level.size, calibrated_scores=level)


@pytest.mark.parametrize(
    ("dataset", "identifier", "verdict"),
    [
        ("cifar10", "model-table", Standing.FAILS),
        ("cifar10", "class-table", Standing.FAILS),
        ("cifar10", "decomposition", Standing.FAILS),
        ("cifar10", "worst-and-best-classes", Standing.FAILS),
        ("cifar10", "uncalibrated-rho", Standing.FAILS),
        ("cifar10", "rdi-range", Standing.FAILS),
        ("cifar10", "fp-great-moves", Standing.FAILS),
        ("cifar10", "fp-great-reranking", Standing.FAILS),
        ("cifar10", "matches-attack-calibration", Standing.HOLDS),
        ("cifar10", "stated-objective", Standing.HOLDS),
        ("imagenet", "model-table", Standing.FAILS),
        ("imagenet", "zero-wcr", Standing.FAILS),
        ("imagenet", "near-zero", Standing.FAILS),
        ("imagenet", "fp-great-negative", Standing.FAILS),
        ("imagenet", "worst-and-best-classes", Standing.FAILS),
    ],
)
def test_verdict_follows_other_scores(dataset, identifier, verdict):
    assert RESULTS[dataset].claim(identifier).verdict is not verdict
    assert altered(dataset, like_robustbench).claim(identifier).verdict is verdict


def test_one_changed_score_is_noticed():
    def nudge(i, model):
        return replace(model, scores=model.scores + 0.001 * (np.arange(10) == 3) * (i == 0))

    assert altered("cifar10", nudge).claim("model-table").verdict is Standing.FAILS


def test_calibrated_correlation_holds_when_the_scores_give_it():
    """Swap two neighbours of the perfect ranking on ImageNet: 0.9, no longer the printed 1.000."""
    scores = [model.calibrated_scores for model in published("imagenet").models]
    swapped = [scores[1], scores[0], *scores[2:]]
    result = altered("imagenet", lambda i, model: replace(model, calibrated_scores=swapped[i]))
    assert result.claim("calibrated-rho").verdict is Standing.FAILS


def test_calibrated_correlation_means_more_than_a_worse_baseline():
    numbers = published("imagenet")
    board = tuple(replace(entry, clean_accuracy=100 - entry.clean_accuracy) for entry in numbers.leaderboard)
    claim = recompute(replace(numbers, leaderboard=board)).claim("calibrated-rho")
    assert claim.verdict is Standing.HOLDS


def test_tension_holds_when_both_measures_rise():
    def spread(_, model):
        level = model.metrics["great_score"]
        return replace(model, scores=level * (1 + level * np.linspace(-1, 1, 10)))

    assert altered("cifar10", spread).claim("tension").verdict is Standing.HOLDS


def test_an_optimum_inside_the_range_holds():
    numbers = published("imagenet")
    trace = numbers.trace
    peak = replace(
        trace,
        coarse_values=1 - (trace.coarse_temperatures - 1.0) ** 2,
        fine_values=1 - (trace.fine_temperatures - 1.0) ** 2,
    )
    result = recompute(replace(numbers, trace=peak))
    assert result.claim("optimum").verdict is Standing.HOLDS
    assert result.claim("smooth-curves").verdict is Standing.HOLDS


@pytest.mark.parametrize(("step", "verdict"), [(0.1, Standing.HOLDS), (0.05, Standing.FAILS)])
def test_the_stated_grid_would_hold(step, verdict):
    numbers = published("cifar10")
    coarse, fine = np.arange(0.01, 10.0, step), np.arange(2.6, 2.8, 0.001)
    trace = replace(
        numbers.trace,
        coarse_temperatures=coarse,
        coarse_values=np.zeros_like(coarse),
        fine_temperatures=fine,
        fine_values=np.zeros_like(fine),
    )
    assert recompute(replace(numbers, trace=trace)).claim("search-grid").verdict is verdict


def test_other_counts_are_not_the_test_set():
    result = altered("cifar10", lambda _, model: replace(model, counts=model.counts // 2))
    assert result.claim("generated-samples").verdict is Standing.UNCLEAR
    assert result.claim("class-bound").verdict is Standing.FAILS


def test_more_samples_would_give_the_stated_rdi_bound():
    result = altered("imagenet", lambda _, model: replace(model, counts=0 * model.counts + 272))
    assert result.claim("rdi-bound").verdict is Standing.HOLDS


def test_names_are_looked_up():
    numbers = published("imagenet")
    names = numbers.readable_names | {"n04525038": "viaduct", "n12057211": "cattail"}
    assert recompute(replace(numbers, readable_names=names)).claim("class-names").verdict is Standing.HOLDS


def test_a_sorted_table_holds():
    numbers = published("cifar10")
    table = sorted(numbers.model_table, key=lambda row: -float(row["robustbench_accuracy"]))
    assert recompute(replace(numbers, model_table=tuple(table))).claim("table-order").verdict is Standing.HOLDS


def test_exact_probabilities_of_the_orders_of_five():
    claim = next(claim for claim in RESULTS["imagenet"].claims if claim.id == "few-models")
    assert f"probability {10 / 120:.3f} by chance" in claim.recomputed
    assert f"({2 / 120:.3f})" in claim.explanation
