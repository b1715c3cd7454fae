"""The networks of the zoo, run: they do what the manifest says."""

from pathlib import Path

import numpy as np
import pytest

from gfscore import zoo
from gfscore.scores import local_scores

onnxruntime = pytest.importorskip("onnxruntime")

MODELS = {model.name: model for model in zoo.models()}
DIGITS = zoo.test_set()


def run(path: Path, **inputs: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)[0]


@pytest.fixture(scope="module")
def logits() -> dict[str, np.ndarray]:
    return {name: run(model.path, images=DIGITS.images) for name, model in MODELS.items()}


@pytest.mark.parametrize("name", MODELS)
def test_recorded_accuracy_is_measured_again(name, logits):
    correct = logits[name].argmax(axis=1) == DIGITS.labels
    assert correct.mean() == MODELS[name].clean_accuracy
    per_class = tuple(float(correct[DIGITS.labels == k].mean()) for k in range(10))
    assert per_class == MODELS[name].class_accuracies


@pytest.mark.parametrize("name", MODELS)
def test_recorded_great_score_is_measured_again(name, logits):
    score = local_scores(logits[name], DIGITS.labels).mean()
    assert score == pytest.approx(MODELS[name].great_score, abs=1e-6)  # float32 logits vary with the machine


@pytest.mark.parametrize("name", MODELS)
def test_batch_size_does_not_matter(name, logits):
    one_by_one = np.concatenate([run(MODELS[name].path, images=DIGITS.images[i : i + 1]) for i in range(5)])
    assert np.abs(one_by_one - logits[name][:5]).max() <= 1e-5 * np.abs(logits[name]).max()


def test_scaled_decides_as_standard_everywhere(logits):
    assert np.array_equal(logits["scaled"], 64 * logits["standard"])  # a power of two: no rounding
    assert np.array_equal(logits["scaled"].argmax(axis=1), logits["standard"].argmax(axis=1))


def test_scaled_fools_the_score(logits):
    scores = {name: local_scores(values, DIGITS.labels).mean() for name, values in logits.items()}
    assert max(scores, key=scores.get) == "scaled"
    assert MODELS["scaled"].attack_accuracy <= MODELS["standard"].attack_accuracy
    assert min(MODELS, key=lambda name: MODELS[name].attack_accuracy) in {"standard", "scaled"}


def test_adversarial_training_protects_more_the_larger_its_radius():
    order = [MODELS[name].attack_accuracy for name in ("standard", "pgd-small", "pgd-large")]
    assert order == sorted(order)
    assert order[2] > order[0] + 0.2


def test_eight_is_least_protected_unless_training_helps_it():
    worst = {name: int(np.argmin(model.class_attack_accuracies)) for name, model in MODELS.items()}
    assert {name for name, label in worst.items() if label != 8} == {"worst-class"}


def test_worst_class_training_lifts_the_worst_class():
    worst = {name: min(model.class_attack_accuracies) for name, model in MODELS.items()}
    assert max(worst, key=worst.get) == "worst-class"


def test_generator_draws_digits_that_the_standard_network_recognises():
    generator = zoo.generator()
    label = np.repeat(np.arange(10), 50)
    z = np.random.default_rng(0).standard_normal((len(label), generator.latent_dim), dtype=np.float32)
    images = run(generator.path, z=z, label=label)
    assert images.shape == (500, 1, 8, 8)
    assert images.min() >= 0
    assert images.max() <= 1
    assert (run(MODELS["standard"].path, images=images).argmax(axis=1) == label).mean() >= 0.95
    of_class = images.reshape(10, 50, 64)
    assert of_class.std(axis=1).mean() > 0.05  # many samples, not one image per class
