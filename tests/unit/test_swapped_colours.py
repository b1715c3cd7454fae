"""Images in the order of OpenCV: blue, green, red. What fits better is named, as rarely by chance as stated."""

import json

import numpy as np
import pytest
from scipy import stats

import gfscore
from gfscore.jobs.probing import IMAGES, IMAGES_OF_COLOURS

CODE, QUICK = "colours_swapped", {"permutations": 0, "radii": "none"}
RNG = np.random.default_rng(0)
LABELS = np.arange(900) % 3
COLOURS = np.eye(3)[LABELS] * 0.2 + np.array([0.3, 0.35, 0.4])  # red, green or blue is brighter; blue is bright anyway
CAST = RNG.normal(0, 0.09, (900, 3))  # of the light, which makes some of them ambiguous
IMAGES_RGB = np.clip((COLOURS + CAST)[:, None, None].repeat(4, 1).repeat(4, 2), 0, 1).astype(np.float32)


def brightest(inputs):
    """A network of red, green and blue that knows how bright each is on average."""
    return 10 * (inputs.mean(axis=(1, 2) if inputs.shape[-1] == 3 else (2, 3)) - np.array([0.36, 0.41, 0.46]))


def flags_of(result):
    return {flag.code: flag.message for flag in result.model.flags}


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_the_other_order_is_named_with_its_cure(layout):
    images = np.flip(IMAGES_RGB, -1) if layout == "NHWC" else np.flip(IMAGES_RGB, -1).transpose(0, 3, 1, 2)
    found = gfscore.audit(brightest, (np.ascontiguousarray(images), LABELS), layout=layout, **QUICK)
    message = flags_of(found)[CODE]
    assert message.startswith(f"of {IMAGES_OF_COLOURS} images ")
    cure = "images[..., ::-1]" if layout == "NHWC" else "images[:, ::-1]"
    assert f"blue, green, red (OpenCV). Save {cure}; nothing was changed here." in message
    verdict = gfscore.gate(
        brightest,
        (np.ascontiguousarray(images), LABELS),
        layout=layout,
        wcr=0.01,
        allow=["at_chance", "labels_permuted"],
    )
    assert CODE in {flag.code for flag in verdict.models[0].flags}


def test_colours_in_their_order_and_grey_images_are_not():
    assert CODE not in flags_of(gfscore.audit(brightest, (IMAGES_RGB, LABELS), **QUICK))
    grey = np.repeat(IMAGES_RGB.mean(axis=3, keepdims=True), 3, axis=3)
    assert CODE not in flags_of(gfscore.audit(brightest, (grey, LABELS), **QUICK))


def test_a_network_that_is_right_is_not_asked_again_and_another_about_128_images():
    asked = []

    def counting(inputs):
        asked.append(len(inputs))
        return brightest(inputs)

    sharp = np.clip(COLOURS[:, None, None] + RNG.normal(0, 0.02, (900, 4, 4, 3)), 0, 1).astype(np.float32)
    found = gfscore.audit(counting, (sharp, LABELS), **QUICK)
    assert found.model.accuracy > 0.95
    quiet = sum(asked)
    asked.clear()
    found = gfscore.audit(counting, (IMAGES_RGB, LABELS), mean=0, std=1, **QUICK)
    assert found.model.accuracy < 0.9
    assert sum(asked) - quiet == 2 * IMAGES


def test_chance_names_the_order_as_rarely_as_stated():
    """Of networks that guess, each order right by itself; both stages as they are judged."""
    rng, told, draws = np.random.default_rng(1), 0, 5000
    for _ in range(draws):
        as_it_is, swapped = rng.random((2, IMAGES_OF_COLOURS)) < 0.5
        gained, lost = int((swapped & ~as_it_is).sum()), int((as_it_is & ~swapped).sum())
        first = swapped[:IMAGES].sum() > as_it_is[:IMAGES].sum()
        told += bool(first) and stats.binomtest(gained, gained + lost, alternative="greater").pvalue <= 0.001
    assert stats.binomtest(told, draws, 0.001, alternative="greater").pvalue > 0.001


@pytest.mark.long
def test_on_ten_networks_for_cifar_it_speaks_when_it_should(realdata):
    manifest = json.loads((realdata / "manifest.json").read_text())
    nets = [each for each in manifest if each["file"].startswith("models/cifar")]
    with np.load(realdata / "cifar10_test.npz") as stored:
        images, labels = stored["images"][:2000], stored["labels"][:2000]
    for net in nets:
        words = {"mean": net["mean"], "std": net["std"]} if net.get("mean") else {}
        for swapped in (False, True):
            given = np.ascontiguousarray(images[..., ::-1]) if swapped else images
            found = gfscore.audit(realdata / net["file"], (given, labels), **words, **QUICK)
            assert (CODE in flags_of(found)) == swapped, (net["file"], swapped)
