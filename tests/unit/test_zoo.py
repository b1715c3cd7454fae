"""The zoo without running it: the manifest, the files it names, the test set, the page about it."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gfscore import zoo
from gfscore.scores import SCORE_MAX

ROOT = Path(__file__).parents[2]
MANIFEST = json.loads((zoo.DATA / "zoo.json").read_text(encoding="utf-8"))


def test_has_the_promised_families():
    names = [model.name for model in zoo.models()]
    assert len(names) == len(set(names)) >= 8
    assert len({model.family for model in zoo.models()}) >= 7


@pytest.mark.parametrize(
    "entry", [*MANIFEST["models"], MANIFEST["generator"], MANIFEST["data"]], ids=lambda e: e["file"]
)
def test_file_is_the_one_that_was_measured(entry):
    assert hashlib.sha256((zoo.DATA / entry["file"]).read_bytes()).hexdigest() == entry["sha256"]


def test_ships_nothing_the_manifest_does_not_name_and_stays_small():
    named = {entry["file"] for entry in (*MANIFEST["models"], MANIFEST["generator"], MANIFEST["data"])}
    files = [path for path in zoo.DATA.iterdir() if path.is_file()]
    assert {path.name for path in files} == named | {"zoo.json"}
    assert sum(path.stat().st_size for path in files) < 3_000_000


@pytest.mark.parametrize("model", zoo.models(), ids=lambda model: model.name)
def test_recorded_numbers_are_consistent(model):
    digits = zoo.test_set()
    weights = np.bincount(digits.labels) / len(digits.labels)
    for overall, classes in (
        (model.clean_accuracy, model.class_accuracies),
        (model.attack_accuracy, model.class_attack_accuracies),
    ):
        assert len(classes) == len(digits.class_names)
        assert overall == pytest.approx(np.dot(weights, classes), abs=1e-12)
    # An attack only breaks what was right, and a misclassified image scores 0.
    pairs = zip(model.class_attack_accuracies, model.class_accuracies, strict=True)
    assert all(0 <= attacked <= clean <= 1 for attacked, clean in pairs)
    assert 0 < model.great_score <= SCORE_MAX * model.clean_accuracy
    assert model.description.endswith(".")


def test_generator_is_recognised():
    generator = zoo.generator()
    assert generator.latent_dim > 0
    assert 0.95 <= generator.recognised_share <= 1


def test_test_set_has_as_many_of_each_class_in_range():
    images, labels, class_names = zoo.test_set()
    assert images.shape == (900, 1, 8, 8)
    assert images.dtype == np.float32
    assert labels.dtype == np.int64
    assert class_names == tuple("0123456789")
    assert np.bincount(labels).tolist() == [90] * 10
    assert images.min() == 0
    assert images.max() == 1
    assert np.array_equal(images * 16, np.round(images * 16))  # the source counts ink in sixteenths
    assert len(np.unique(images.reshape(900, -1), axis=0)) == 900


def test_page_shows_the_table_of_the_manifest():
    printed = subprocess.run(
        [sys.executable, ROOT / "scripts" / "zoo_table.py"],
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    assert printed.stdout in (ROOT / "docs" / "zoo.md").read_text(encoding="utf-8")


def test_import_needs_no_runtime():
    check = "import sys, gfscore.zoo; sys.exit(bool({'torch', 'onnxruntime', 'onnx'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", check]).returncode == 0
