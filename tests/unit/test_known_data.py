"""Class names by the name of a data set: which they are, in what order, and when a name is a file instead."""

import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import gfscore
from gfscore.inputs.known_data import WITH_NAMES, known_class_names

SIZES = {"cifar10": 10, "cifar100": 100, "imagenet": 1000, "mnist": 10, "fashion-mnist": 10}
LABELS = np.arange(100) % 10
LOGITS = np.random.default_rng(0).normal(0, 1, (100, 10)) + 2 * np.eye(10)[LABELS]


def test_every_data_set_has_as_many_names_as_classes():
    assert {name: len(set(known_class_names(name))) for name in WITH_NAMES} == SIZES


def test_places_that_people_know():
    """Indices that documentation of these data sets gives: 3 is a cat, 9 an ankle boot, 999 toilet tissue."""
    known = {
        "cifar10": {0: "airplane", 3: "cat", 9: "truck"},
        "cifar100": {0: "apple", 19: "cattle", 99: "worm"},
        "imagenet": {0: "tench", 207: "golden retriever", 281: "tabby", 504: "coffee mug", 999: "toilet tissue"},
        "mnist": {7: "7"},
        "fashion-mnist": {0: "T-shirt/top", 9: "Ankle boot"},
    }
    found = {name: {place: known_class_names(name)[place] for place in places} for name, places in known.items()}
    assert found == known
    assert known_class_names("cifar100") == sorted(known_class_names("cifar100"))


def test_imagenet_is_in_the_order_that_torchvision_has():
    meta = find_spec("torchvision")
    if meta is None or meta.origin is None:
        pytest.skip("torchvision is not installed")
    text = Path(meta.origin).with_name("models").joinpath("_meta.py").read_text(encoding="utf-8")
    theirs = re.findall(r'^    "(.*)",$', text, re.MULTILINE)[:1000]
    ours = known_class_names("imagenet")
    assert [place for place in range(1000) if ours[place] != theirs[place]] == [134, 517, 639]  # told apart


@pytest.mark.parametrize("written", ["fashion-mnist", "Fashion-MNIST", "fashion_mnist", "FashionMNIST"])
def test_names_in_any_case(written):
    found = gfscore.audit(LOGITS, LABELS, class_names=written, permutations=0).model
    assert [entry.name for entry in found.classes][8:] == ["Bag", "Ankle boot"]


def test_a_file_of_that_name_is_given_with_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("cifar10").write_text("\n".join("abcdefghij"))
    named, by_path = (
        gfscore.audit(LOGITS, LABELS, class_names=said, permutations=0).model for said in ("cifar10", "./cifar10")
    )
    assert (named.classes[0].name, by_path.classes[0].name) == ("airplane", "a")
