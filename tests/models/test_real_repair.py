"""Repairs of networks that others trained: a standard one has nothing to redistribute, a robust one has much."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import gfscore

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import repair_tables

pytestmark = pytest.mark.skipif(find_spec("onnx2torch") is None, reason="needs gfscore[gradients]")


def test_a_standard_network_is_not_repaired(realdata, tmp_path):
    words = repair_tables.words_of(realdata, "cifar_resnet20")
    found = gfscore.repair(**words, n_per_class=10, eps=2 / 255, store=tmp_path, folder=tmp_path / "out")
    assert not found.gained
    assert "There is nothing to redistribute" in found.reason
    assert found.written is None
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("per_class", "least"), [(100, 0.0), pytest.param(400, 0.08, marks=pytest.mark.long)], ids=["short", "long"]
)
def test_the_worst_class_of_a_robust_network_gains_by_radii(realdata, tmp_path, per_class, least):
    words = repair_tables.words_of(realdata, "cifar_cnn_a_adv")
    bounds = repair_tables.BOUNDS
    found = gfscore.repair(**words, n_per_class=per_class, samples=per_class, eps=2 / 255, store=tmp_path, **bounds)
    radii = found.decisive
    assert radii.measure == "first-order"
    assert radii.worst_after.value - radii.worst_before.value > least
    assert radii.before - radii.after < 0.05
    if least:
        assert found.gained
