"""Lipschitz constants of networks trained by others: larger than anything they do, and refused where none is proven."""

import json

import numpy as np
import pytest

from gfscore.errors import ModelError
from gfscore.inputs import chains
from gfscore.inputs.chains import chain_bound
from gfscore.inputs.data import load_data
from gfscore.inputs.models import load_model
from gfscore.measures import Run
from gfscore.measures.slopes import measured_slope

pytest.importorskip("onnx")
CHAINS = ("cifar_cnn_a_adv", "cifar_conv_small_pgd", "cifar_sgd_8px", "cifar_base_kw", "cifar_wide_kw", "mnist_colt")


@pytest.mark.parametrize("name", CHAINS)
def test_no_two_images_are_further_apart_than_the_bound_allows(realdata, name, monkeypatch):
    entry = next(e for e in json.loads((realdata / "manifest.json").read_text()) if name in e["file"])
    run = Run(model=load_model(realdata / entry["file"]), data=load_data(realdata / entry["data"]))
    images = run.pixels(slice(0, 200))
    monkeypatch.setattr(chains, "TOLERANCE", 1e-6)  # float32 and the layers in float64 are nearer than is asked for
    bound = chain_bound(run.model, images)
    assert measured_slope(run.logits_of, images) <= bound
    nearby = images + np.random.default_rng(0).normal(0, 0.01, images.shape).astype(np.float32)
    for others in (images[::-1], nearby):
        apart = np.linalg.norm((images - others).reshape(len(images), -1).astype(np.float64), axis=1)
        moved = np.linalg.norm(run.logits_of(images).astype(np.float64) - run.logits_of(others), axis=1)
        assert (moved <= bound * apart).all()
    assert bound < 1e4  # it is loose, but not without meaning


def test_a_residual_network_is_refused_by_its_addition(realdata):
    model = load_model(realdata / "models" / "cifar_resnet20.onnx")
    with pytest.raises(ModelError, match=r"operator Add \(/layer1/layer1.0/Add\) joins 2 branches"):
        chain_bound(model, np.zeros((1, 3, 32, 32), np.float32))
