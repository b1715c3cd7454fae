"""Curves and calibration on networks that others trained, and on the zoo."""

from pathlib import Path

import numpy as np
import pytest
from objectives_directly import assert_direct

import calibration_tables
from gfscore import read_samples
from gfscore.profile import class_profile
from gfscore.ranking import spearman
from gfscore.scores import great_scores
from gfscore.temperature import TOLERANCE, calibrate, temperature_curve

PAGE = Path(__file__).parents[2] / "docs" / "temperature.md"
OBJECTIVES = ("models", "classes", "stability", "given")


def worst_error(samples, activation, temperatures):
    """Largest difference of a class score from direct float64 evaluation, at random T."""
    curve = temperature_curve(samples, activation=activation)
    drawn = np.exp(np.random.default_rng(0).uniform(np.log(0.01), np.log(10), temperatures))
    direct = (great_scores(samples, activation=activation, temperature=t) for t in drawn)
    return max(
        float(np.abs(curve.scores(t) - class_profile(samples, local).scores).max())
        for t, local in zip(drawn, direct, strict=True)
    )


@pytest.mark.parametrize("temperatures", [12, pytest.param(200, marks=pytest.mark.long)])
@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
def test_imagenet_curves_agree_with_direct_evaluation(realdata, activation, temperatures):
    samples = read_samples(realdata / "logits/imagenet5k_efficientnet_lite0.npz")
    assert worst_error(samples, activation, temperatures) <= TOLERANCE


def test_curves_of_published_probabilities_agree_with_direct_evaluation(realdata):
    samples = read_samples(realdata / "logits/cifar_vgg16_probabilities.npz", probabilities=True)
    assert worst_error(samples, "softmax", 50) <= TOLERANCE


def test_imagenet_classes_are_calibrated_on_a_grid(realdata):
    curve = temperature_curve(read_samples(realdata / "logits/imagenet5k_efficientnet_lite0.npz"))
    found = calibrate({"lite0": curve}, "classes")
    assert {flag.code for flag in found.flags} == {"edge_of_range", "grid_resolution"}
    assert found.intervals[0][0] == 0.01  # as T falls, class scores approach S times the class accuracies
    assert 0.98 < found.value < 1
    assert found.baselines.at_one < found.value


@pytest.fixture(scope="module")
def digits():
    """Samples of the zoo's networks, and their accuracies under attack."""
    pytest.importorskip("onnxruntime")
    return calibration_tables.digits()


@pytest.fixture(scope="module")
def cifar(realdata):
    """Samples of the eight CIFAR-10 networks, and their accuracies under PGD."""
    pytest.importorskip("onnxruntime")
    return calibration_tables.cifar(realdata)


def assert_sound(samples, attacked, activation, objective):
    """What holds for any models: nothing beats the intervals, and every number is there."""
    curves = {name: temperature_curve(each, activation=activation) for name, each in samples.items()}
    found = calibrate(curves, objective, reference=attacked)
    assert_direct(samples, activation, found, attacked)
    assert found.grid.value <= found.value + 1e-9
    assert found.baselines.at_one <= found.value + 1e-9
    assert len(found.left_out) == len(samples)
    assert all(entry.temperature is not None for entry in found.left_out)
    clean = [class_profile(each, great_scores(each)).accuracy for each in samples.values()]
    assert found.reference.clean_accuracy.spearman == pytest.approx(spearman(clean, list(attacked.values())))
    return found


@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_zoo_is_calibrated_by_every_objective(digits, objective, activation):
    assert_sound(*digits, activation, objective)


def test_calibrating_the_zoo_to_clean_accuracy_does_not_rank_it_like_the_attack(digits):
    found = assert_sound(*digits, "softmax", "models")
    assert found.value > 0.9
    assert found.reference.calibrated.spearman < 0
    assert "edge_of_range" in {flag.code for flag in found.flags}


@pytest.mark.long
@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_cifar_networks_are_calibrated_by_every_objective(cifar, objective, activation):
    assert_sound(*cifar, activation, objective)


@pytest.mark.long
def test_no_temperature_ranks_the_cifar_networks_like_the_attack(cifar):
    found = assert_sound(*cifar, "softmax", "given")
    assert found.value < 0
    assert "baseline_as_good" in {flag.code for flag in found.flags}


@pytest.mark.long
def test_cifar_curves_agree_with_direct_evaluation(cifar):
    for samples in cifar[0].values():
        for activation in ("softmax", "sigmoid"):
            assert worst_error(samples, activation, 200) <= TOLERANCE


def test_the_page_shows_the_table_of_the_zoo(digits):
    assert calibration_tables.table(digits) in PAGE.read_text(encoding="utf-8")


@pytest.mark.long
def test_the_page_shows_the_table_of_the_cifar_networks(cifar):
    assert calibration_tables.table(cifar) in PAGE.read_text(encoding="utf-8")
