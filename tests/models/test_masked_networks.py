"""Networks whose slopes are hidden or bent: each raises the flags that it should, and one shows what none notices."""

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("foolbox", "onnx2torch", "pyautoattack")), reason="needs gfscore[attacks]"
)
NAMES = (
    "as it is",
    "rounded",
    "rounded, slopes passed",
    "saturated",
    "stairs",
    "ripple",
    "noise",
    "loudness",
    "three pixels",
    "hidden bands",
)


@pytest.fixture(scope="module")
def masked():
    module = pytest.importorskip("masked_networks")  # of scripts
    return module, module.digits_run(), module.wrappings()


def test_every_network_is_tried_and_every_flag_has_one(masked):
    module, _, wrappings = masked
    assert tuple(wrappings) == NAMES
    assert {flag for each in wrappings.values() for flag in each.flags} == set(module.TRUST)


@pytest.mark.parametrize("name", NAMES)
def test_a_network_raises_the_flags_it_should(masked, name):
    module, run, wrappings = masked
    flags, value = module.flags_of(module.module_of(wrappings[name], run), run)
    assert set(wrappings[name].flags) <= set(flags)
    assert (value is None) == (module.REFUSED in flags)
    if not wrappings[name].flags:
        assert flags == ()


def test_radii_do_not_see_bands_that_every_digit_is_near(masked):
    """What no flag notices: half a digit's way to a band turns it around, and radii say as much as without bands."""
    import torch

    module, run, wrappings = masked
    around = module.module_of(wrappings["hidden bands"], run)
    pixels, labels = torch.from_numpy(run.pixels(slice(0, module.FIRST))), run.data.labels[: module.FIRST]
    step = torch.from_numpy(module.directions(1, 2)[0]).view_as(pixels[0])
    right = np.ones(len(labels), dtype=bool)
    for size in np.linspace(-module.EPS, module.EPS, 201):
        with torch.no_grad():
            right &= around((pixels + float(size) * step).clamp(0, 1)).argmax(1).numpy() == labels
    _, plain = module.flags_of(module.module_of(wrappings["as it is"], run), run)
    _, banded = module.flags_of(around, run)
    assert right.mean() < 0.1
    assert banded > plain - 0.1
