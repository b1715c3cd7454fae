import csv
from importlib import resources

import numpy as np
import pytest

from gfscore.errors import OptionError
from gfscore.paper import DATASETS, leaderboard, origins, published

FILES = {origin.name for dataset in DATASETS for origin in origins(dataset) if origin.name.endswith(".csv")}
DATA = resources.files("gfscore.paper") / "data"


def test_every_file_has_a_source_and_every_source_a_file():
    files = {entry.name for entry in DATA.iterdir() if entry.name.endswith(".csv")}
    assert files == FILES | {"sources.csv"}


def test_the_readme_names_every_file():
    text = (DATA / "README.md").read_text(encoding="utf-8")
    for file in FILES:
        prefix, _, kind = file.partition("_")
        assert file in text or (prefix in DATASETS and f"*_{kind}" in text)


@pytest.mark.parametrize(("dataset", "models", "classes", "n"), [("cifar10", 17, 10, 1000), ("imagenet", 5, 1000, 50)])
def test_shapes(dataset, models, classes, n):
    numbers = published(dataset)
    assert len(numbers.models) == len(numbers.model_table) == models
    assert len(numbers.class_names) == len(set(numbers.class_names)) == classes
    for model in numbers.models:
        arrays = (model.scores, model.stds, model.accuracies, model.calibrated_scores, model.calibrated_accuracies)
        assert all(array.shape == (classes,) for array in arrays)
        assert (model.counts == n).all()
        assert 0 <= model.scores.min() <= model.scores.max() <= np.sqrt(np.pi / 2)


def test_classes_are_in_the_same_order_for_every_model():
    for dataset in DATASETS:
        names = [row["class"] for row in _rows(f"{dataset}_per_class_T1.csv")]
        size = len(published(dataset).class_names)
        assert all(tuple(names[i : i + size]) == published(dataset).class_names for i in range(0, len(names), size))


def test_the_search_trace_is_split_into_its_two_grids():
    trace = published("cifar10").trace
    assert trace.coarse_temperatures[[0, -1]] == pytest.approx([0.1, 3.0])
    assert trace.fine_temperatures[[0, -1]] == pytest.approx([2.45, 2.95])
    assert trace.coarse_values.size == trace.coarse_temperatures.size


def test_original_scores_are_there_where_they_were_published():
    assert all(model.cw_distortion is not None for model in published("cifar10").models)
    assert all(model.great_test is None for model in published("imagenet").models)
    assert [model.great_generated for model in published("imagenet").models] == [0.504, 0.443, 0.449, 0.273, 0.275]


def test_a_number_that_is_missing_is_none():
    entries = [entry for entry in leaderboard() if entry.threat == "corruptions"]
    assert entries
    assert all(entry.autoattack_accuracy is None for entry in entries)


def test_published_arrays_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        published("cifar10").models[0].scores[0] = 1.0


def test_numbers_are_read_once():
    assert published("imagenet") is published("imagenet")


@pytest.mark.parametrize("ask", [published, origins])
def test_an_unknown_dataset_is_refused(ask):
    with pytest.raises(OptionError, match=r"nothing is published about 'mnist'\. Choose one of: cifar10, imagenet\."):
        ask("mnist")


def test_sources_are_those_of_the_experiment():
    names = [origin.name for origin in origins("imagenet")]
    assert {"imagenet_class_names.csv", "Tsipras et al. 2019"} <= set(names)
    assert "paper_class_table.csv" not in names
    assert not any(name.startswith("cifar10") for name in names)


def _rows(file):
    return list(csv.DictReader((DATA / file).read_text(encoding="utf-8").splitlines()))
