"""Logits on disk: the same bytes whatever happened on the way."""

import json
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from fakes import LOOKED_AT, FakeData, FakeModel

from gfscore import read_samples
from gfscore.engines.local import measured
from gfscore.errors import RunError
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.measures import Logits, Run, logits
from gfscore.storage.store import Recipe, Store, export_logits

PLAIN = Preprocessing()
SHARD = 8  # rows a shard in these tests


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(logits, "SHARD_ROWS", SHARD)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def compute(store, model=None, data=None, **options):
    options = {"batch_size": 4} | options
    return measured(Run(model=model or FakeModel(), data=data or FakeData(), store=store, **options), Logits()).path


def expected(data=None):
    data = data or FakeData()
    return FakeModel()(PLAIN.apply(data.images(slice(None)), "NHWC", "NCHW"))


def rows_beyond_guards(model):
    """Rows computed for the result, without those of the guards before it."""
    return sum(model.batches) - LOOKED_AT


def test_the_finished_file_is_a_logits_file(store):
    samples = read_samples(compute(store))
    np.testing.assert_array_equal(samples.logits, expected())
    assert samples.labels.tolist() == FakeData().labels.tolist()
    assert samples.class_names == ("a", "b", "c", "d")


@pytest.mark.parametrize("fixed_batch", [1, 3, 7])
def test_fixed_batches_are_kept(store, fixed_batch):
    model = FakeModel(fixed_batch=fixed_batch)
    np.testing.assert_array_equal(read_samples(compute(store, model)).logits, expected())
    assert max(model.batches) == fixed_batch


def test_a_second_run_computes_nothing(store):
    first = compute(store).read_bytes()
    model = FakeModel()
    assert compute(store, model).read_bytes() == first
    assert rows_beyond_guards(model) == 0


@pytest.mark.parametrize(
    "change",
    [
        {"model": FakeModel(fingerprint="other weights")},
        {"data": FakeData(fingerprint="other images")},
        {"batch_size": 5},
    ],
    ids=["model", "data", "batch"],
)
def test_what_decides_the_logits_decides_the_entry(store, change):
    compute(store)
    compute(store, **change)
    assert len(store.entries()) == 2


def test_preprocessing_decides_the_entry(store):
    compute(store, batch_size=128)
    compute(store, batch_size=128, preprocessing=Preprocessing(mean=(0.5,)))
    assert len(store.entries()) == 2


def test_a_model_that_cannot_be_known_again_is_never_found_again(store):
    compute(store, FakeModel(fingerprint=None))
    compute(store, FakeModel(fingerprint=None))
    assert len(store.entries()) == 2


def interrupted(store, after):
    """A run whose model fails after some batches; returns the rows that are kept."""

    class Failing(FakeModel):
        def __call__(self, inputs):
            if sum(self.batches) - LOOKED_AT >= after:
                raise RuntimeError("out of luck")
            return super().__call__(inputs)

    with pytest.raises(RuntimeError, match="out of luck"):
        compute(store, Failing())
    return len(list(store.entries()[0].path.glob("shard-*"))) * SHARD


def test_an_interrupted_run_goes_on_where_it_was(store, tmp_path):
    kept = interrupted(store, after=28)
    assert kept == 24
    model = FakeModel()
    resumed = compute(store, model).read_bytes()
    assert rows_beyond_guards(model) == 50 - kept
    assert resumed == compute(Store(tmp_path / "undisturbed")).read_bytes()


def test_a_damaged_shard_is_found_and_computed_again(store, tmp_path):
    interrupted(store, after=28)
    shard = sorted(store.entries()[0].path.glob("shard-*"))[1]
    raw = bytearray(shard.read_bytes())
    raw[-3] ^= 0x10
    shard.write_bytes(raw)
    model = FakeModel()
    resumed = compute(store, model).read_bytes()
    assert rows_beyond_guards(model) == 50 - 24 + SHARD
    assert resumed == compute(Store(tmp_path / "undisturbed")).read_bytes()


@pytest.mark.parametrize("damage", ["flip", "cut", "empty"])
def test_a_damaged_finished_file_is_made_good(store, damage):
    path = compute(store)
    sound = path.read_bytes()
    raw = bytearray(sound)
    if damage == "flip":
        raw[sound.index(expected()[20].tobytes())] ^= 0x01
    path.write_bytes({"flip": bytes(raw), "cut": sound[:-100], "empty": b""}[damage])
    model = FakeModel()
    assert compute(store, model).read_bytes() == sound
    assert rows_beyond_guards(model) == (SHARD if damage == "flip" else 50)


def flipped(sound):
    """The contents with one bit changed, in each byte in turn."""
    for position in range(len(sound)):
        content = bytearray(sound)
        content[position] ^= 1 << position % 8
        yield bytes(content)


def test_no_byte_of_a_finished_file_can_change_unnoticed(store):
    path = compute(store)
    (entry,) = store.entries()
    sound = read_samples(path)
    for content in flipped(path.read_bytes()):
        path.write_bytes(content)
        if entry.damaged_shards() == []:  # a space for another, between two tokens of the header
            found = read_samples(path)
            np.testing.assert_array_equal(found.logits, sound.logits)
            np.testing.assert_array_equal(found.labels, sound.labels)
            assert (found.class_names, found.halved_batches) == (sound.class_names, 0)


def test_no_byte_of_a_shard_can_change_unnoticed(store):
    interrupted(store, after=28)
    (entry,) = store.entries()
    path, sound = sorted(entry.path.glob("shard-*"))[1], entry.read_shard(1)
    for content in flipped(path.read_bytes()):
        path.write_bytes(content)
        found = entry.read_shard(1)
        assert found is None or (
            found[0].dtype == sound[0].dtype and (found[0] == sound[0]).all() and found[1] == sound[1]
        )


def test_a_copy_has_the_names_it_is_given_and_sound_checksums(store, tmp_path):
    finished, copy, names = compute(store), tmp_path / "copy.safetensors", ["e", "f", "g", "h"]
    export_logits(finished, copy, {"class_names": json.dumps(names)})
    assert read_samples(copy).class_names == tuple(names)
    (entry,) = store.entries()
    copy.replace(finished)
    assert entry.damaged_shards() == []
    finished.unlink()
    with pytest.raises(RunError, match=r"logits\.safetensors: is gone or damaged \(.*\)\. Run it again"):
        export_logits(finished, copy, {})


def test_entries_that_cannot_be_read_are_passed_over(store):
    compute(store)
    (store.entries()[0].path / "entry.json").write_text("{}")
    assert store.entries() == []


def test_key_depends_on_every_part_of_the_recipe():
    base = {"model": "m", "data": "d", "n_samples": 5, "preprocessing": {}, "batch_size": 2, "shard_rows": 4}
    changes = [{}, {"model": "x"}, {"data": "x"}, {"n_samples": 6}, {"preprocessing": {"a": 1}}, {"batch_size": 4}]
    assert len({Recipe(**base | change).key for change in changes}) == len(changes)


RUN = """
    import sys
    sys.path.insert(0, {tests!r})
    from pathlib import Path
    from fakes import LOOKED_AT, FakeData, FakeModel
    from gfscore.engines.local import measured
    from gfscore.storage.store import Store
    from gfscore.measures import Logits, Run, logits
    logits.SHARD_ROWS = 8
    print("ready", flush=True)
    model = FakeModel(delay=0.002)
    run = Run(model=model, data=FakeData(n=1600), store=Store(Path({root!r})), batch_size=4)
    path = measured(run, Logits()).path
    print(sum(model.batches) - LOOKED_AT, path)
"""


def start(root):
    code = textwrap.dedent(RUN).format(tests=str(__file__).rpartition("/")[0], root=str(root))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 50))])
def test_runs_killed_at_random_moments_end_in_the_same_bytes(tmp_path, seed):
    rng = np.random.default_rng(seed)
    for _ in range(3):
        process = start(tmp_path)
        time.sleep(rng.uniform(0, 0.2))
        process.kill()
        process.communicate()
    kept = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("??/*/shard-*.safetensors")}
    process = start(tmp_path)
    computed, path = process.communicate()[0].split()
    assert process.returncode == 0
    assert int(computed) == 1600 - 8 * len(kept)  # what was kept is not computed again
    data = FakeData(n=1600)
    np.testing.assert_array_equal(read_samples(path).logits, expected(data))
    assert len(kept) < 200  # it was killed on the way
    info = json.loads((tmp_path / path).parent.joinpath("entry.json").read_text())
    assert info["about"]["n"] == 1600


def test_two_processes_on_one_entry_do_not_hurt_each_other(tmp_path):
    processes = [start(tmp_path) for _ in range(2)]
    (first, path), (second, other) = (process.communicate()[0].split() for process in processes)
    assert path == other
    assert sorted((int(first), int(second))) == [0, 1600]  # one computes, the other waits and reads
    np.testing.assert_array_equal(read_samples(path).logits, expected(FakeData(n=1600)))
