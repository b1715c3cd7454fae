"""Small files that hold large images: memory is bounded by what is asked for, before anything is decoded."""

import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from fakes import FakeData, FakeModel
from PIL import Image

from gfscore.cli.main import run
from gfscore.errors import FileError
from gfscore.inputs.data import image_files, load_data
from gfscore.inputs.data.image_files import MOST_PIXELS
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.measures import Logits, Run
from gfscore.measures import run as measures_run
from gfscore.measures.logits import forward_rows


def folder_of(path, size, n_per_class=1, mode="1"):
    """Two classes of images of one colour, each in some copies of one file."""
    for name, value in (("class0", 100), ("class1", 150)):
        (path / name).mkdir(parents=True)
        Image.new(mode, size, value).save(path / name / "0.png")
        for row in range(1, n_per_class):
            shutil.copy(path / name / "0.png", path / name / f"{row}.png")
    return path


RUN = """
    import resource, sys
    import numpy as np
    from gfscore.engines.local import measured
    from gfscore.inputs.data import load_data
    from gfscore.inputs.models import CallableModel
    from gfscore.storage.store import Store
    from gfscore.measures import Logits, Run
    from pathlib import Path

    def used():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

    model = CallableModel(lambda images: images[:, :2, ::999, 0].mean(axis=2), name="corner", fingerprint="corner")
    before = used()
    measured(Run(model=model, data=load_data(sys.argv[1]), store=Store(Path(sys.argv[2]))), Logits())
    print(used() - before)
"""


def test_a_folder_of_large_images_takes_little_memory(tmp_path):
    folder = folder_of(tmp_path / "images", (2000, 2000), n_per_class=8, mode="L")  # 48 MB each as floats
    assert sum(path.stat().st_size for path in folder.rglob("*.png")) < 500_000
    command = [sys.executable, "-c", textwrap.dedent(RUN), str(folder), str(tmp_path / "store")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert int(done.stdout) < 900  # megabytes: two pieces of 256, one of which is read ahead, and what they are made of


def test_an_image_that_is_too_large_for_a_model_is_refused_before_it_is_decoded(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder_of(tmp_path / "images", (9400, 9400))
    monkeypatch.setattr(image_files, "_in_colour", None)  # decoding would fail
    assert run(["audit", "--model", "zoo:standard", "--data", "images", "--store", "store"]) == 2
    assert capsys.readouterr().err == (
        "gfscore: images/class0/0.png: is 9400 x 9400 pixels, and an image for a model has at most 16,777,216. "
        "Give --resize, such as --resize 256 --crop 224.\n"
    )


def test_a_thin_image_is_not_blown_up_by_its_shorter_side(tmp_path):
    folder_of(tmp_path / "images", (80_000, 1))
    data = load_data(tmp_path / "images", preprocessing=Preprocessing(resize=256, crop=224))
    with pytest.raises(FileError, match=r"is 1 x 80000 pixels \(256 x 20480000 once resized\), and an image"):
        data.images(slice(0, 1))


def test_images_that_are_resized_may_be_large(tmp_path):
    side = 4200
    assert side * side > MOST_PIXELS
    folder_of(tmp_path / "images", (side, side))
    data = load_data(tmp_path / "images", preprocessing=Preprocessing(resize=32))
    assert data.images(slice(0, 2)).shape == (2, 32, 32, 3)


def checked(run):
    """A run whose first images were looked at, and whose model has forgotten it."""
    run.check()
    run.model.batches.clear()
    return run


@pytest.mark.parametrize(("room", "largest"), [(1, 1), (3, 3), (4, 4), (11, 8), (1000, 4)])
def test_batches_shrink_to_what_fits_and_logits_stay_the_same(monkeypatch, room, largest):
    data, model = FakeData(), FakeModel()
    expected = FakeModel()(Preprocessing().apply(data.all, "NHWC", "NCHW"))
    monkeypatch.setattr(measures_run, "READ_BYTES", room * 4 * 9)
    batch_size = 8 if room == 11 else 4
    run = checked(Run(model=model, data=data, batch_size=batch_size))
    np.testing.assert_array_equal(Logits().compute(run, slice(0, 50)), expected)
    assert max(model.batches) == largest
    rows = np.random.default_rng(0).permutation(50)
    np.testing.assert_array_equal(forward_rows(run, rows), expected[rows])


def test_a_fixed_batch_is_never_cut(monkeypatch):
    monkeypatch.setattr(measures_run, "READ_BYTES", 4 * 9)
    model = FakeModel(fixed_batch=10)
    Logits().compute(checked(Run(model=model, data=FakeData())), slice(0, 50))
    assert set(model.batches) == {10}


def test_a_batch_larger_than_what_is_usually_read_stays_whole():
    model = FakeModel()
    Logits().compute(checked(Run(model=model, data=FakeData(n=700), batch_size=600)), slice(0, 700))
    assert model.batches == [600, 100]
