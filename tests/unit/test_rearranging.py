"""Images whose pixels stand in another order are found by a few forward passes, and nothing else is taken for them."""

import json

import numpy as np
import pytest

from gfscore.cli.main import run as command
from gfscore.inputs.data import load_data
from gfscore.inputs.models import CallableModel
from gfscore.jobs.probing import rearranged_flags
from gfscore.measures import Run

LABELS = np.arange(200) % 4
RNG = np.random.default_rng(0)
PATTERNS = RNG.uniform(0, 1, (4, 8, 8, 3))  # of each class: no order of their pixels but one is theirs
IMAGES = (255 * np.clip(PATTERNS[LABELS] + RNG.normal(0, 0.1, (200, 8, 8, 3)), 0, 1)).astype(np.uint8)


def network(inputs):
    """The logits of a linear classifier that takes (n, 3, 8, 8)."""
    weights = (PATTERNS - PATTERNS.mean(axis=0)).transpose(0, 3, 1, 2).reshape(4, -1)
    return (np.asarray(inputs).reshape(len(inputs), -1) @ weights.T).astype(np.float32)


def found(folder, images, labels=LABELS, model=network):
    np.savez(folder / "images.npz", images=images, labels=labels)
    run = Run(model=CallableModel(model, name="net"), data=load_data(str(folder / "images.npz")))
    accuracy = float((run.forward(run.inputs(slice(0, 200))).argmax(axis=1) == labels).mean())
    return accuracy, [flag.message for flag in rearranged_flags(run, accuracy, 4)]


@pytest.mark.parametrize(
    ("images", "done"),
    [
        (
            IMAGES.reshape(200, 3, 8, 8),
            "reshaped from (8, 8, 3) to (3, 8, 8) instead of transposed. Save images.reshape(-1, 8, 8, 3)",
        ),
        (
            IMAGES.transpose(0, 3, 1, 2).reshape(200, 8, 8, 3),
            "reshaped from (3, 8, 8) to (8, 8, 3) instead of transposed. Save images.reshape(-1, 3, 8, 8)",
        ),
        (IMAGES.swapaxes(1, 2), "saved with rows and columns exchanged. Save images.swapaxes(1, 2)"),
        (
            IMAGES.transpose(0, 3, 2, 1),
            "saved with rows and columns exchanged. Save images.swapaxes(2, 3)",
        ),
    ],
    ids=["HWC", "CHW", "columns first", "columns first, channels before"],
)
def test_the_order_is_named_with_what_mends_it(tmp_path, images, done):
    accuracy, messages = found(tmp_path, images)
    assert accuracy < 0.5
    [message] = messages
    assert message.startswith("of 128 images ")
    assert message.endswith(
        f" 100 % in another order of their pixels: they seem to have been {done}; nothing was changed here."
    )


def test_images_in_order_are_not_tried(tmp_path):
    assert found(tmp_path, IMAGES) == (1.0, [])


def test_shuffled_labels_and_random_networks_are_not_taken_for_it(tmp_path):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        assert found(tmp_path, IMAGES, rng.permutation(LABELS))[1] == []
        weights = rng.normal(0, 1, (192, 4))
        random = lambda x, weights=weights: (np.asarray(x).reshape(len(x), -1) @ weights).astype(np.float32)  # noqa: E731
        noise = rng.integers(0, 256, IMAGES.shape, dtype=np.uint8)
        assert found(tmp_path, noise, model=random)[1] == []


def test_audit_and_gate_say_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data = load_data("zoo:digits")
    images = data.images(slice(0, 400))
    np.savez("turned.npz", images=np.ascontiguousarray(images.swapaxes(2, 3)), labels=data.labels[:400])
    given = ["--model", "zoo:standard", "--data", "turned.npz", "--store", "store"]
    assert command(["audit", *given, "--permutations", "0", "--json"]) == 0
    flags = {flag["code"]: flag["message"] for flag in json.loads(capsys.readouterr().out)["models"][0]["flags"]}
    assert "rows and columns exchanged. Save images.swapaxes(2, 3)" in flags["images_rearranged"]
    assert command(["gate", *given, "--wcr", "0.1"]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("gfscore: standard: there is nothing to judge: of 128 images")
    assert printed.endswith("nothing was changed here. To judge nevertheless, give --allow at_chance.\n")
