"""Data that changes under a run: nothing of it is kept under the name of what was there before."""

import numpy as np
import PIL
import pytest
from fakes import LOOKS, FakeModel
from PIL import Image

from gfscore import read_samples
from gfscore.engines.local import measured
from gfscore.errors import RunError
from gfscore.inputs.data import load_data
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.measures import Logits, Run, logits
from gfscore.storage.store import Store

PLAIN = Preprocessing()
PIXELS = np.random.default_rng(0).integers(0, 256, (40, 8, 8, 3), dtype=np.uint8)


def write_npz(folder, pixels):
    np.savez(folder / "new.npz", images=pixels, labels=np.arange(40) % 4)
    (folder / "new.npz").replace(folder / "data.npz")
    return folder / "data.npz"


def write_folder(folder, pixels):
    for row, image in enumerate(pixels):
        (folder / "data" / f"class{row // 10}").mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / "data" / f"class{row // 10}" / f"{row:02d}.png")
    return folder / "data"


def compute(model, data, store):
    return measured(Run(model=model, data=data, store=store, batch_size=4), Logits()).path


@pytest.mark.parametrize("write", [write_npz, write_folder])
@pytest.mark.parametrize("options", [{}, {"n_per_class": 9}], ids=["whole", "part"])
def test_nothing_is_kept_of_data_that_changes(tmp_path, monkeypatch, write, options):
    monkeypatch.setattr(logits, "SHARD_ROWS", 8)
    store = Store(tmp_path / "store")

    class Meddling(FakeModel):
        def __call__(self, inputs):
            if len(self.batches) == LOOKS + 5:  # in the third shard
                write(tmp_path, 255 - PIXELS)
            return super().__call__(inputs)

    path = write(tmp_path, PIXELS)
    with pytest.raises(RunError, match=r"data.* changed while it was read\. Run it again"):
        compute(Meddling(), load_data(path, **options), store)
    assert len(list(store.entries()[0].path.glob("shard-*"))) == 2
    write(tmp_path, PIXELS)  # as before: what was kept is still right
    data = load_data(path, **options)
    finished = compute(FakeModel(), data, store)
    everything = PLAIN.apply(data.images(slice(0, len(data.labels))), data.layout, "NCHW")
    np.testing.assert_array_equal(read_samples(finished).logits, FakeModel()(everything))


@pytest.mark.parametrize("moment", ["while its first images are looked at", "before it is hashed"])
def test_data_replaced_while_a_run_starts_is_refused_and_leaves_nothing(tmp_path, monkeypatch, moment):
    store, path = Store(tmp_path / "store"), write_npz(tmp_path, PIXELS)
    looked = Run.check

    def replaced(run):
        if moment == "before it is hashed":
            write_npz(tmp_path, 255 - PIXELS)
            return looked(run)
        found = looked(run)
        write_npz(tmp_path, 255 - PIXELS)
        return found

    monkeypatch.setattr(Run, "check", replaced)
    with pytest.raises(RunError, match=r"data\.npz changed while it was read\. Run it again"):
        compute(FakeModel(), load_data(path), store)
    monkeypatch.undo()
    data = load_data(path)  # what stands there now has nothing of the one before
    finished = compute(FakeModel(), data, store)
    everything = PLAIN.apply(255 - PIXELS, data.layout, "NCHW")
    np.testing.assert_array_equal(read_samples(finished).logits, FakeModel()(everything))


@pytest.mark.parametrize("write", [write_npz, write_folder])
def test_data_replaced_before_the_fingerprint_is_asked_for_has_none(tmp_path, write):
    data = load_data(write(tmp_path, PIXELS))
    write(tmp_path, 255 - PIXELS)
    with pytest.raises(RunError, match="changed while it was read"):
        _ = data.fingerprint


def test_a_finished_entry_is_not_taken_for_data_that_changed_since_they_were_hashed(tmp_path):
    store, path = Store(tmp_path / "store"), write_npz(tmp_path, PIXELS)
    compute(FakeModel(), load_data(path), store)
    data = load_data(path)
    _ = data.fingerprint
    write_npz(tmp_path, 255 - PIXELS)
    with pytest.raises(RunError, match="changed while it was read"):
        compute(FakeModel(), data, store)


@pytest.mark.parametrize("options", [{}, {"preprocessing": Preprocessing(resize=4)}], ids=["decoded", "resized"])
def test_another_version_of_pillow_gives_other_data(tmp_path, monkeypatch, options):
    path = write_npz(tmp_path, PIXELS) if options else write_folder(tmp_path, PIXELS)
    here = load_data(path, **options).fingerprint
    assert load_data(path, **options).fingerprint == here
    monkeypatch.setattr(PIL, "__version__", "0.1")
    assert load_data(path, **options).fingerprint != here


def test_arrays_that_pillow_never_sees_do_not_depend_on_it(tmp_path, monkeypatch):
    path = write_npz(tmp_path, PIXELS)
    here = load_data(path).fingerprint
    monkeypatch.setattr(PIL, "__version__", "0.1")
    assert load_data(path).fingerprint == here
