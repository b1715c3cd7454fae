"""Every verdict on the paper, and that each follows from the numbers."""

from dataclasses import replace

import numpy as np
import pytest

from gfscore.paper import DATASETS, published
from gfscore.reproduction import Verdict, recompute, reproduce

RESULTS = {dataset: reproduce(dataset) for dataset in DATASETS}
# Dataset, claim, a figure that must be in what was recomputed, verdict.
MAIN = [
    ("cifar10", "model-table", "102 of 102", Verdict.HOLDS),
    ("imagenet", "model-table", "30 of 30", Verdict.HOLDS),
    ("cifar10", "worst-and-best-classes", "cat 13, dog 4; best: automobile 10, horse 5, truck 2", Verdict.HOLDS),
    ("cifar10", "fp-great-moves", "Augustin2020 2 → 5; Wu2020 16 → 14", Verdict.HOLDS),
    ("cifar10", "uncalibrated-rho", "0.662", Verdict.HOLDS),
    ("imagenet", "uncalibrated-rho", "0.900", Verdict.HOLDS),
    ("cifar10", "class-bound", "0.0686", Verdict.HOLDS),
    ("cifar10", "calibrated-rho", "0.520", Verdict.FAILS),
    ("imagenet", "calibrated-rho", "1.000", Verdict.SAYS_LITTLE),
    ("cifar10", "clean-accuracy-alone", "0.863", Verdict.FINDING),
    ("imagenet", "clean-accuracy-alone", "1.000", Verdict.FINDING),
    ("cifar10", "tension", "+0.900; ρ(score, NRGC) = −0.809", Verdict.DEPENDS),
    ("imagenet", "tension", "+0.900; ρ(score, NRGC) = −0.900", Verdict.DEPENDS),
    ("imagenet", "rdi-bound", "0.816", Verdict.FAILS),
    ("cifar10", "generated-samples", "all of the test set", Verdict.FAILS),
    ("imagenet", "generated-samples", "all of the validation set", Verdict.FAILS),
    ("imagenet", "class-names", "n04525038 velvet; n12057211 yellow lady's slipper", Verdict.FAILS),
    ("cifar10", "optimum", "[2.70, 3.00]; range searched [0.1, 3]", Verdict.FAILS),
    ("imagenet", "optimum", "0.10; range searched [0.1, 3]", Verdict.FAILS),
    ("cifar10", "temperature-of-disparity", "68 of 68 numbers match T = 1", Verdict.UNCLEAR),
    ("imagenet", "temperature-of-disparity", "20 of 20 numbers match T = 1", Verdict.UNCLEAR),
    ("imagenet", "zero-wcr", "Salman_R18, Wong2020", Verdict.HOLDS),
    ("imagenet", "rdi-range", "1.126 (Salman_R18) to 1.231 (Salman_WRN50-2)", Verdict.HOLDS),
    ("imagenet", "fp-great-negative", "5 of 5", Verdict.HOLDS),
    ("imagenet", "worst-and-best-classes", "n04525038 3; best: n12057211 5", Verdict.HOLDS),
    ("cifar10", "original-rho", "0.6176 generated samples; 0.6618 test samples", Verdict.HOLDS_IN_PART),
    ("imagenet", "original-rho", "0.8000", Verdict.HOLDS),
    ("cifar10", "comparison-table", "by group", Verdict.OVERSTATED),
]
MORE = [
    ("cifar10", "class-table", "187 of 187", Verdict.HOLDS),
    ("cifar10", "rounded-twice", "10 of 289", Verdict.FINDING),
    ("imagenet", "rounded-twice", "1 of 30", Verdict.FINDING),
    ("cifar10", "table-order", "1 of 16", Verdict.HOLDS_IN_PART),
    ("imagenet", "table-order", "0 of 4", Verdict.HOLDS),
    ("cifar10", "decomposition", "largest error", Verdict.SAYS_LITTLE),
    ("cifar10", "consistently", "13 and 10 of 17", Verdict.OVERSTATED),
    ("cifar10", "intrinsic", "13 of 17", Verdict.OVERSTATED),
    ("cifar10", "profile-follows-accuracy", "0.851 at T = 1, 0.871", Verdict.FINDING),
    ("imagenet", "profile-follows-accuracy", "0.926 at T = 1, 0.996", Verdict.FINDING),
    ("cifar10", "worst-class-certainty", "0 of 17 models; 2 to 10 of 10", Verdict.FINDING),
    ("imagenet", "worst-class-certainty", "0 of 5 models; 810 to 964", Verdict.FINDING),
    ("imagenet", "zero-is-accuracy", "2 of 2", Verdict.FINDING),
    ("imagenet", "near-zero", "16 of 1,000", Verdict.HOLDS),
    ("cifar10", "tension-calibrated", "+0.409", Verdict.FINDING),
    ("imagenet", "tension-calibrated", "−0.800", Verdict.FINDING),
    ("cifar10", "tension-robustbench", "+0.600; ρ(accuracy, NRGC) = −0.662", Verdict.FINDING),
    ("cifar10", "rdi-range", "0.111 (Wu2020) to 0.435 (Augustin2020)", Verdict.HOLDS),
    ("cifar10", "most-fair", "NRGC: Augustin_WRN_extra / Engstrom2019", Verdict.DEPENDS),
    ("cifar10", "fp-great-reranking", "13 of 17 models move, 8 by two", Verdict.HOLDS_IN_PART),
    ("imagenet", "fp-great-reranking", "0 of 5", Verdict.FAILS),
    ("cifar10", "fp-great-direction", "7 of the 13", Verdict.HOLDS_IN_PART),
    ("cifar10", "attack-distortion", "0.402", Verdict.FINDING),
    ("imagenet", "rdi-is-best-class", "0.009", Verdict.FINDING),
    ("imagenet", "few-models", "0.083", Verdict.FINDING),
    ("cifar10", "matches-attack-calibration", "0.520 against 0.897", Verdict.FAILS),
    ("cifar10", "stated-objective", "0.711 at T*, 0.833 at T = 1", Verdict.FAILS),
    ("imagenet", "stated-objective", "1.000 at T*, 0.900", Verdict.HOLDS),
    ("cifar10", "search-grid", "[0.1, 3], steps 0.05 and 0.005", Verdict.FAILS),
    ("cifar10", "smooth-curves", "8 times", Verdict.FAILS),
    ("imagenet", "smooth-curves", "0 times", Verdict.HOLDS_IN_PART),
    ("cifar10", "monotonic", "0.742 over the 21", Verdict.OVERSTATED),
    ("imagenet", "monotonic", "0.826 over the 30", Verdict.OVERSTATED),
    ("cifar10", "tight-rdi", "0.137; 3 of 17", Verdict.OVERSTATED),
    ("cifar10", "rdi-pairs", "3 of 136", Verdict.FINDING),
    ("imagenet", "rdi-pairs", "0 of 10", Verdict.FINDING),
    ("imagenet", "accuracy-gap", "2.8 to 6.6 points lower, 4 to 9", Verdict.FINDING),
    ("cifar10", "certified", "0.526 at T = 1, 0.329", Verdict.OVERSTATED),
    ("imagenet", "certified", "0.545 at T = 1, 0.800", Verdict.OVERSTATED),
]


@pytest.mark.parametrize(("dataset", "identifier", "figure", "verdict"), MAIN + MORE)
def test_verdict(dataset, identifier, figure, verdict):
    claim = RESULTS[dataset].claim(identifier)
    assert figure in claim.recomputed
    assert claim.verdict is verdict


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
        ("cifar10", "model-table", Verdict.FAILS),
        ("cifar10", "class-table", Verdict.FAILS),
        ("cifar10", "decomposition", Verdict.FAILS),
        ("cifar10", "worst-and-best-classes", Verdict.FAILS),
        ("cifar10", "uncalibrated-rho", Verdict.FAILS),
        ("cifar10", "rdi-range", Verdict.FAILS),
        ("cifar10", "fp-great-moves", Verdict.FAILS),
        ("cifar10", "fp-great-reranking", Verdict.FAILS),
        ("cifar10", "matches-attack-calibration", Verdict.HOLDS),
        ("cifar10", "stated-objective", Verdict.HOLDS),
        ("imagenet", "model-table", Verdict.FAILS),
        ("imagenet", "zero-wcr", Verdict.FAILS),
        ("imagenet", "near-zero", Verdict.FAILS),
        ("imagenet", "fp-great-negative", Verdict.FAILS),
        ("imagenet", "worst-and-best-classes", Verdict.FAILS),
    ],
)
def test_verdict_follows_other_scores(dataset, identifier, verdict):
    assert RESULTS[dataset].claim(identifier).verdict is not verdict
    assert altered(dataset, like_robustbench).claim(identifier).verdict is verdict


def test_one_changed_score_is_noticed():
    def nudge(i, model):
        return replace(model, scores=model.scores + 0.001 * (np.arange(10) == 3) * (i == 0))

    assert altered("cifar10", nudge).claim("model-table").verdict is Verdict.FAILS


def test_calibrated_correlation_holds_when_the_scores_give_it():
    """Swap two neighbours of the perfect ranking on ImageNet: 0.9, no longer the printed 1.000."""
    scores = [model.calibrated_scores for model in published("imagenet").models]
    swapped = [scores[1], scores[0], *scores[2:]]
    result = altered("imagenet", lambda i, model: replace(model, calibrated_scores=swapped[i]))
    assert result.claim("calibrated-rho").verdict is Verdict.FAILS


def test_calibrated_correlation_means_more_than_a_worse_baseline():
    numbers = published("imagenet")
    board = tuple(replace(entry, clean_accuracy=100 - entry.clean_accuracy) for entry in numbers.leaderboard)
    claim = recompute(replace(numbers, leaderboard=board)).claim("calibrated-rho")
    assert claim.verdict is Verdict.HOLDS


def test_tension_holds_when_both_measures_rise():
    def spread(_, model):
        level = model.metrics.great_score
        return replace(model, scores=level * (1 + level * np.linspace(-1, 1, 10)))

    assert altered("cifar10", spread).claim("tension").verdict is Verdict.HOLDS


def test_an_optimum_inside_the_range_holds():
    numbers = published("imagenet")
    trace = numbers.traces["class_accuracy"]
    peak = replace(
        trace,
        coarse_values=1 - (trace.coarse_temperatures - 1.0) ** 2,
        fine_values=1 - (trace.fine_temperatures - 1.0) ** 2,
    )
    result = recompute(replace(numbers, traces={"class_accuracy": peak}))
    assert result.claim("optimum").verdict is Verdict.HOLDS
    assert result.claim("smooth-curves").verdict is Verdict.HOLDS


@pytest.mark.parametrize(("step", "verdict"), [(0.1, Verdict.HOLDS), (0.05, Verdict.FAILS)])
def test_the_stated_grid_would_hold(step, verdict):
    numbers = published("cifar10")
    coarse, fine = np.arange(0.01, 10.0, step), np.arange(2.6, 2.8, 0.001)
    trace = replace(
        numbers.traces["class_accuracy"],
        coarse_temperatures=coarse,
        coarse_values=np.zeros_like(coarse),
        fine_temperatures=fine,
        fine_values=np.zeros_like(fine),
    )
    assert recompute(replace(numbers, traces={"class_accuracy": trace})).claim("search-grid").verdict is verdict


def test_other_counts_are_not_the_test_set():
    result = altered("cifar10", lambda _, model: replace(model, counts=model.counts // 2))
    assert result.claim("generated-samples").verdict is Verdict.UNCLEAR
    assert result.claim("class-bound").verdict is Verdict.FAILS


def test_more_samples_would_give_the_stated_rdi_bound():
    result = altered("imagenet", lambda _, model: replace(model, counts=0 * model.counts + 272))
    assert result.claim("rdi-bound").verdict is Verdict.HOLDS


def test_names_are_looked_up():
    numbers = published("imagenet")
    names = numbers.readable_names | {"n04525038": "viaduct", "n12057211": "cattail"}
    assert recompute(replace(numbers, readable_names=names)).claim("class-names").verdict is Verdict.HOLDS


def test_a_sorted_table_holds():
    numbers = published("cifar10")
    table = sorted(numbers.model_table, key=lambda row: -float(row.cells["robustbench_accuracy"]))
    assert recompute(replace(numbers, model_table=tuple(table))).claim("table-order").verdict is Verdict.HOLDS


def test_exact_probabilities_of_the_orders_of_five():
    claim = next(claim for claim in RESULTS["imagenet"].claims if claim.id == "few-models")
    assert f"probability {10 / 120:.3f} by chance" in claim.recomputed
    assert f"({2 / 120:.3f})" in claim.explanation
