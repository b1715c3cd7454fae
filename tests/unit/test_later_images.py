"""Images after the first batch: every one is held against the range, whatever is computed from it."""

import re

import numpy as np
import pytest

from gfscore.cli.main import run
from gfscore.errors import OptionError
from gfscore.inputs.data import load_data
from gfscore.inputs.models import load_model
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.measures import Run
from gfscore.measures.logits import forward_rows

PLAIN = Preprocessing()
MODEL = ["--model", "zoo:standard", "--data", "late.npz", "--store", "store", "-q"]
ADVICE = {
    255.0: "They look like 0 to 255: save them as uint8, or give --range 0,255 (range=(0, 255)).",
    -1.0: "If pixels were scaled to [-1, 1], as generators do, give --range -1,1 (range=(-1, 1)).",
}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    digits = load_data("zoo:digits")
    images = digits.images(slice(0, 400))
    unit = images / 255 if images.dtype == np.uint8 else images
    return unit.astype(np.float32), digits.labels[:400]


def save(images, labels, factor, first=300, last=310):
    images = images.copy()
    images[first:last] = factor * images[first:last] if factor > 0 else 2 * images[first:last] - 1
    np.savez("late.npz", images=images, labels=labels)


@pytest.mark.parametrize("factor", [255.0, -1.0])
@pytest.mark.parametrize(
    "command",
    [
        ["audit"],
        ["audit", "--stream"],
        ["logits", "--out", "logits.safetensors"],
        ["gate", "--adaptive", "--wcr", "0.9", "--round", "400"],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_every_command_refuses_images_outside_the_range(here, capsys, command, factor):
    save(*here, factor)
    assert run([*command, *MODEL]) == 2
    told = capsys.readouterr().err
    assert told.startswith("gfscore: late.npz: images reach from ")
    assert re.search(r" in (\d+ rows from 30\d to 30\d|row 30\d), outside \[0, 1\]\. ", told)
    assert told.endswith(f"{ADVICE[factor]}\n")


def test_one_bad_row_is_named(here):
    save(*here, 255.0, 399, 400)
    of = Run(model=load_model("zoo:standard"), data=load_data("late.npz"))
    with pytest.raises(OptionError, match=r"^late\.npz: images reach from 0 to .* in row 399, outside \[0, 1\]"):
        forward_rows(of, np.array([5, 399, 7]))
    with pytest.raises(OptionError, match=r"in row 399, outside \[0, 1\]"):
        of.pixels(slice(390, 400))
    with pytest.raises(OptionError, match=r"in row 399, outside \[0, 1\]"):
        of.pixels(np.array([5, 399]))


def test_nan_and_a_given_range_are_looked_at_too():
    rows, images = range(10, 12), np.array([[0.5], [np.nan]], dtype=np.float32)
    with pytest.raises(OptionError, match=r"^images hold NaN or infinity in row 11\."):
        PLAIN.check_rows(images, rows)
    with pytest.raises(OptionError, match=r"reach from 0 to 0 in row 10, outside the range 1 to 2 that was given"):
        Preprocessing(value_range=(1, 2)).check_rows(np.array([[0], [1]], dtype=np.uint8), rows)


def test_a_black_image_by_itself_is_no_fault():
    PLAIN.check_rows(np.zeros((1, 4, 4, 1), dtype=np.uint8), range(1))
    PLAIN.check_rows(np.zeros((1, 4, 4, 1), dtype=np.float32), range(1))
