"""The authors' full-precision files and printed tables, recomputed row by row."""

import numpy as np
import pytest

from gfscore import disparity
from gfscore.paper import DATASETS, published
from gfscore.ranking import spearman
from gfscore.reproduction.facts import Facts
from gfscore.reproduction.printed import COLUMNS, class_pairs, model_pairs
from gfscore.reproduction.rounding import rounds_to, rounds_twice_to, within_rounding

MODELS = [
    pytest.param(dataset, model, id=f"{dataset}-{model.short_name}")
    for dataset in DATASETS
    for model in published(dataset).models
]


def test_all_22_models_are_there():
    assert len(MODELS) == 22


@pytest.mark.parametrize(("dataset", "model"), MODELS)
def test_metrics_follow_from_the_class_scores(dataset, model):
    names = published(dataset).class_names
    best, worst = disparity.rdi_classes(model.scores)
    stated = model.metrics
    assert disparity.rdi(model.scores) == pytest.approx(stated.rdi, abs=1e-12)
    assert disparity.nrgc(model.scores) == pytest.approx(stated.nrgc, abs=1e-12)
    assert disparity.wcr(model.scores) == pytest.approx(stated.wcr, abs=1e-12)
    assert disparity.fp_great(model.scores) == pytest.approx(stated.fp_great, abs=1e-12)
    assert (names[worst], names[best]) == (stated.wcr_class, stated.best_class)


@pytest.mark.parametrize(("dataset", "model"), MODELS)
def test_the_weighted_class_scores_give_the_aggregate(dataset, model):
    aggregate = np.dot(model.counts, model.scores) / model.counts.sum()
    assert aggregate == pytest.approx(model.metrics.great_score, abs=1e-12)


@pytest.mark.parametrize(("dataset", "cells"), [("cifar10", 17 * 6 + 17 * 11), ("imagenet", 5 * 6)])
def test_every_printed_number_is_within_rounding(dataset, cells):
    facts = Facts.of(published(dataset))
    pairs = model_pairs(facts, facts.plain, COLUMNS) + class_pairs(facts)
    assert len(pairs) == cells
    assert [what for what, value, printed in pairs if not within_rounding(value, printed)] == []


@pytest.mark.parametrize(
    ("dataset", "wrong"),
    [
        (
            "cifar10",
            {
                "Augustin_WRN_extra calibrated", "Gowal2020 calibrated", "Wu2020 GREAT", "Wu2020 aggregate",
                "Augustin_WRN bird", "Augustin_WRN dog", "Rade_R18 airplane", "Rade_R18 ship",
                "Rebuffi_70_ddpm automobile", "Rice2020 horse",
            },
        ),
        ("imagenet", {"Salman_R50 RDI"}),
    ],
)  # fmt: skip
def test_numbers_that_are_not_correctly_rounded_were_rounded_twice(dataset, wrong):
    facts = Facts.of(published(dataset))
    pairs = model_pairs(facts, facts.plain, COLUMNS) + class_pairs(facts)
    found = [pair for pair in pairs if not rounds_to(pair[1], pair[2])]
    assert {what for what, _, _ in found} == wrong
    assert all(rounds_twice_to(value, printed) for _, value, printed in found)


@pytest.mark.parametrize("dataset", DATASETS)
def test_the_search_trace_is_the_mean_correlation_over_classes(dataset):
    """The published trace at T = 1 and at T* is what the objective named `classes` gives."""
    numbers = published(dataset)
    trace = numbers.traces["class_accuracy"]
    for temperature, field in ((1.0, "scores"), (numbers.models[0].temperature, "calibrated_scores")):
        position = int(np.abs(trace.coarse_temperatures - temperature).argmin())
        own = np.mean([spearman(getattr(model, field), model.accuracies) for model in numbers.models])
        assert own == pytest.approx(trace.coarse_values[position], abs=1e-12)


@pytest.mark.parametrize("dataset", DATASETS)
def test_robustbench_accuracies_are_those_of_the_leaderboard(dataset):
    numbers = published(dataset)
    accuracies = {entry.model: entry.autoattack_accuracy for entry in numbers.leaderboard}
    assert all(accuracies[model.name] == model.robustbench_accuracy for model in numbers.models)
