"""Probes: nearly the same logits are the same model, others are not, and a file that was changed is none."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from fakes import LOOKED_AT, FakeData, FakeModel

from gfscore import read_samples
from gfscore.cli.main import run
from gfscore.engines.local import measured
from gfscore.inputs.data import load_data
from gfscore.inputs.models import load_model
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.inputs.probes import TOLERANCE, distance, name_of
from gfscore.measures import Logits, Run
from gfscore.storage.store import Store

PROBE = np.random.default_rng(0).normal(0, 1, (16, 4)).astype(np.float32)
LARGEST = float(np.abs(PROBE).max())


@dataclass
class Scaled(FakeModel):
    """Other logits under the same fingerprint."""

    factor: float = 1.0

    def __call__(self, inputs):
        return (self.factor * super().__call__(inputs)).astype(np.float32)


def logits(store, factor=1.0, **options):
    model = Scaled(factor=factor)
    run = Run(model=model, data=FakeData(), store=store, **options)
    found = read_samples(measured(run, Logits()).path).logits
    return found, sum(model.batches) - LOOKED_AT


@pytest.mark.parametrize(
    ("moved", "same"), [(0.0, True), (0.9 * TOLERANCE, True), (1.1 * TOLERANCE, False), (np.nan, False)]
)
def test_a_probe_is_known_within_the_tolerance(tmp_path, moved, same):
    first, other = name_of(tmp_path, {"model": "m"}, PROBE), PROBE.copy()
    other[3, 1] += moved * LARGEST
    assert (name_of(tmp_path, {"model": "m"}, other) == first) is same
    assert name_of(tmp_path, {"model": "m"}, PROBE) == first  # whatever came since


def test_probes_of_other_models_are_not_looked_at(tmp_path):
    first, other = name_of(tmp_path, {"model": "m"}, PROBE), (1 + TOLERANCE / 2) * PROBE
    assert name_of(tmp_path, {"model": "n"}, other) != first
    assert name_of(tmp_path, {"model": "m"}, other) == first


def test_logits_that_are_not_finite_are_compared_by_where_they_stand():
    broken = PROBE.copy()
    broken[0, 0] = np.inf
    assert distance(broken, broken) == 0
    assert distance(broken, PROBE) == np.inf
    assert distance(PROBE[:3], PROBE) == np.inf
    assert distance(np.full((2, 2), np.nan), np.full((2, 2), np.nan)) == 0


def test_noise_of_another_machine_finds_the_logits_again_and_another_model_does_not(tmp_path):
    store = Store(tmp_path)
    first, computed = logits(store)
    assert computed == 50
    again, computed = logits(store, 1 + 1e-6)
    assert computed == 0
    np.testing.assert_array_equal(again, first)
    other, computed = logits(store, 2.0)
    assert computed == 50
    np.testing.assert_array_equal(other, 2 * first)
    assert logits(store)[1] == logits(store, 2.0)[1] == 0  # both are kept, side by side


def test_the_batch_size_of_a_run_does_not_change_the_probe(tmp_path):
    logits(Store(tmp_path), batch_size=4)
    logits(Store(tmp_path), batch_size=16)
    assert len(list(tmp_path.glob("probes/*/*.npy"))) == 1


def test_a_damaged_probe_is_none_and_verify_names_it(tmp_path, capsys):
    store = Store(tmp_path)
    first, _ = logits(store)
    (probe,) = tmp_path.glob("probes/*/*.npy")
    raw = bytearray(probe.read_bytes())
    raw[-1] ^= 1
    probe.write_bytes(raw)
    assert run(["store", "verify", "--store", str(tmp_path)]) == 0
    assert f"damaged: {probe}" in capsys.readouterr().out
    again, computed = logits(store)  # the same probe is written again, under the same name
    assert computed == 0
    np.testing.assert_array_equal(again, first)
    assert run(["store", "verify", "--store", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "1 of 1 entries are sound.\n"


def test_verify_notices_logits_of_another_model(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Logits, "compute", lambda *_: np.zeros((50, 4), np.float32))
    logits(Store(tmp_path))  # as if the model had been replaced after its first images
    assert run(["store", "verify", "--store", str(tmp_path)]) == 0
    assert capsys.readouterr().out.endswith("(fake on fake data)\n0 of 1 entries are sound.\n")


def test_entries_without_a_probe_are_not_used_and_verify_says_so(tmp_path, capsys):
    store = Store(tmp_path)
    of = Run(model=FakeModel(), data=FakeData(), store=store)
    recipe = replace(of.recipe(Logits()), probe=None)  # as they were made before there were probes
    entry = store.entry(recipe, {"model": "fake", "data": "fake data", "n": 50})
    with entry.hold():
        entry.write_shard(0, np.zeros((50, 4), np.float32))
        entry.finish(FakeData().labels, {})
    assert logits(store)[1] == 50
    assert run(["store", "verify", "--store", str(tmp_path)]) == 0
    assert capsys.readouterr().out == (
        "2 of 2 entries are sound.\n"
        "1 of them will not be used again: nothing says which model they are of beyond a hash.\n"
    )
    assert run(["store", "clear", "--all", "--store", str(tmp_path)]) == 0
    assert not list(tmp_path.rglob("*.npy"))


def test_threads_and_batches_move_a_probe_by_far_less_than_the_tolerance():
    data = load_data("zoo:digits")
    probes = [Run(model=load_model("zoo:standard", threads=n), data=data).check().probe for n in (1, 2)]
    assert distance(*probes) < TOLERANCE / 10
    inputs = Preprocessing().apply(data.images(slice(0, 256)), data.layout, "NCHW")
    model = load_model("zoo:standard")
    apart = np.concatenate([model(inputs[row : row + 1]) for row in range(12)])
    assert distance(model(inputs)[:12], apart) < TOLERANCE / 10
