"""The authors' full-precision files and printed tables, recomputed row by row."""

from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pytest

from gfscore.metrics import formulas
from gfscore.paper import DATASETS, published, reproduce
from gfscore.ranking import spearman

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
    best, worst = formulas.rdi_classes(model.scores)
    for name in ("rdi", "nrgc", "wcr", "fp_great"):
        assert getattr(formulas, name)(model.scores) == pytest.approx(model.metrics[name], abs=1e-12)
    assert (names[worst], names[best]) == (model.worst_class, model.best_class)


@pytest.mark.parametrize(("dataset", "model"), MODELS)
def test_the_weighted_class_scores_give_the_aggregate(dataset, model):
    aggregate = np.dot(model.counts, model.scores) / model.counts.sum()
    assert aggregate == pytest.approx(model.metrics["great_score"], abs=1e-12)


def printed_numbers(dataset):
    """Of each number that the paper prints: whose and which it is, and its cell of a table."""
    return [
        (f"{row.name} {column}", cell)
        for table in reproduce(dataset).tables
        for row in table.rows
        for column, cell in zip(table.columns, row.cells, strict=True)
        if cell.printed is not None and not isinstance(cell.value, str)
    ]


@pytest.mark.parametrize(("dataset", "n_cells"), [("cifar10", 17 * 7 + 17 * 11), ("imagenet", 5 * 7)])
def test_every_printed_number_is_within_rounding(dataset, n_cells):
    numbers = printed_numbers(dataset)
    assert len(numbers) == n_cells
    for what, cell in numbers:
        unit = 10.0 ** -len(cell.printed.partition(".")[2])
        assert abs(cell.value - float(cell.printed)) <= 0.55 * unit, what


@pytest.mark.parametrize(
    ("dataset", "wrong"),
    [
        (
            "cifar10",
            {
                "Augustin_WRN_extra calibrated", "Gowal2020 calibrated", "Wu2020 GREAT", "Wu2020 all",
                "Augustin_WRN bird", "Augustin_WRN dog", "Rade_R18 airplane", "Rade_R18 ship",
                "Rebuffi_70_ddpm automobile", "Rice2020 horse",
            },
        ),
        ("imagenet", {"Salman_R50 RDI"}),
    ],
)  # fmt: skip
def test_numbers_that_are_not_correctly_rounded_were_rounded_twice(dataset, wrong):
    found = {what: cell for what, cell in printed_numbers(dataset) if not cell.agrees}
    assert set(found) == wrong
    for cell in found.values():
        once = Decimal(f"{cell.value:.4f}")
        assert once.quantize(Decimal("0.001"), ROUND_HALF_UP) == Decimal(cell.printed)


@pytest.mark.parametrize("dataset", DATASETS)
def test_the_search_trace_is_the_mean_correlation_over_classes(dataset):
    """The published trace at T = 1 and at T* is what the objective named `classes` gives."""
    numbers = published(dataset)
    trace = numbers.trace
    for temperature, field in ((1.0, "scores"), (numbers.models[0].temperature, "calibrated_scores")):
        position = int(np.abs(trace.coarse_temperatures - temperature).argmin())
        own = np.mean([spearman(getattr(model, field), model.accuracies) for model in numbers.models])
        assert own == pytest.approx(trace.coarse_values[position], abs=1e-12)


@pytest.mark.parametrize("dataset", DATASETS)
def test_robustbench_accuracies_are_those_of_the_leaderboard(dataset):
    numbers = published(dataset)
    accuracies = {entry.model: entry.autoattack_accuracy for entry in numbers.leaderboard}
    assert all(accuracies[model.name] == model.robustbench_accuracy for model in numbers.models)
