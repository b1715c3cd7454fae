"""Votes under noise: the same whatever the batch, the order and the interruptions; and what is made of them."""

import json
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from fakes import LOOKED_AT, LOOKS, FakeData, FakeModel
from scipy.stats import beta, norm

from gfscore import Options, Samples
from gfscore.bounds import audit_intervals
from gfscore.engines.local import measured
from gfscore.errors import ModelError, OptionError, RunError, SamplesError
from gfscore.jobs.audit import sample_table
from gfscore.jobs.stages import audit_scores
from gfscore.measures import Run, Votes, votes
from gfscore.scores import Noise, certified_radii, smoothing_scores
from gfscore.scores.smoothing import largest_radius, vote_shares
from gfscore.storage.store import Store

NOISE = Noise(sigma=0.3, n0=9, n=40, seed=7)


def votes_of(store, model=None, data=None, *, batch_size=16, noise=NOISE):
    run = Run(model=model or FakeModel(), data=data or FakeData(n=12), batch_size=batch_size, store=store)
    return measured(run, Votes.of(run, noise)).rows()[0].astype(np.int64)


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(votes, "SHARD_PASSES", 3 * (NOISE.n0 + NOISE.n))  # three samples a shard
    return Store(tmp_path / "store")


def test_shares_and_radii_agree_with_scipy():
    counts = np.arange(1, 101)
    expected = beta.ppf(0.01, counts, 100 - counts + 1)
    np.testing.assert_allclose(vote_shares(counts, 100, 0.01), expected, rtol=1e-9)
    radii, abstained = certified_radii(counts, 100, sigma=0.4, alpha=0.01)
    np.testing.assert_array_equal(abstained, expected <= 0.5)
    np.testing.assert_allclose(radii[~abstained], 0.4 * norm.ppf(expected[~abstained]), rtol=1e-9)
    assert not radii[abstained].any()
    assert radii[-1] == largest_radius(Noise(sigma=0.4, n=100), 0.01) == pytest.approx(0.4 * norm.ppf(0.01**0.01))


@pytest.mark.parametrize("batch_size", [1, 7, 49, 1000])
def test_votes_do_not_depend_on_the_batch_size(store, tmp_path, batch_size):
    expected = votes_of(store)
    assert (expected[:, 1] < NOISE.n).sum() > 0  # the noise does change some decisions
    np.testing.assert_array_equal(votes_of(Store(tmp_path / "other"), batch_size=batch_size), expected)


def test_votes_do_not_depend_on_the_order(store, tmp_path):
    data, ids = FakeData(n=12), tuple(f"image {row}" for row in range(12))
    data.sample_ids = ids
    expected = votes_of(store, data=data)
    order = np.random.default_rng(0).permutation(12)
    turned = FakeData(n=12)
    turned.all, turned.labels = data.all[order], data.labels[order]
    turned.sample_ids = tuple(ids[row] for row in order)
    np.testing.assert_array_equal(votes_of(Store(tmp_path / "other"), data=turned), expected[order])


def test_another_seed_or_sigma_is_other_noise(store):
    expected = votes_of(store)
    for noise in (Noise(sigma=0.3, n0=9, n=40, seed=8), Noise(sigma=0.6, n0=9, n=40, seed=7)):
        assert (votes_of(store, noise=noise) != expected).any()
    assert len(store.entries()) == 3


def test_votes_are_found_again(store):
    votes_of(store)
    model = FakeModel()
    votes_of(store, model)
    assert sum(model.batches) == LOOKED_AT
    assert store.entries()[0].finished.exists()


def test_an_interrupted_run_goes_on_where_it_was(store, tmp_path):
    class Failing(FakeModel):
        def __call__(self, inputs):
            if sum(self.batches) - LOOKED_AT >= 7 * (NOISE.n0 + NOISE.n):
                raise RuntimeError("out of luck")
            return super().__call__(inputs)

    with pytest.raises(RuntimeError, match="out of luck"):
        votes_of(store, Failing())
    (entry,) = store.entries()
    assert not entry.finished.exists()
    assert len(list(entry.path.glob("shard-*"))) == 2
    model = FakeModel()
    resumed = votes_of(store, model)
    assert sum(model.batches) - LOOKED_AT == (12 - 6) * (NOISE.n0 + NOISE.n)  # what was kept is not computed again
    np.testing.assert_array_equal(resumed, votes_of(Store(tmp_path / "undisturbed")))


RUN = """
    import sys
    sys.path.insert(0, {tests!r})
    from pathlib import Path
    from fakes import LOOKED_AT, FakeData, FakeModel
    from test_smoothing import NOISE, Store, votes, votes_of
    votes.SHARD_PASSES = 3 * (NOISE.n0 + NOISE.n)
    print("ready", flush=True)
    model = FakeModel(delay=0.002)
    found = votes_of(Store(Path({root!r})), model, FakeData(n=60))
    print((sum(model.batches) - LOOKED_AT) // (NOISE.n0 + NOISE.n), found.ravel().tolist())
"""


def start(root):
    code = textwrap.dedent(RUN).format(tests=str(Path(__file__).parent), root=str(root))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 20))])
def test_a_killed_run_ends_in_the_same_votes(tmp_path, seed):
    rng = np.random.default_rng(seed)
    for _ in range(2):
        process = start(tmp_path / "store")
        time.sleep(rng.uniform(0, 0.3))
        process.kill()
        process.communicate()
    kept = len(list(tmp_path.glob("store/??/*/shard-*.safetensors")))
    assert kept < 20  # it was killed on the way
    computed, found = start(tmp_path / "store").communicate()[0].split(maxsplit=1)
    assert int(computed) == 60 - 3 * kept  # what was kept is not computed again
    assert json.loads(found) == votes_of(Store(tmp_path / "undisturbed"), data=FakeData(n=60)).ravel().tolist()


def test_a_damaged_shard_is_computed_again(store):
    expected = votes_of(store)
    kept = store.entries()[0].finished
    raw = bytearray(kept.read_bytes())
    raw[8 + int.from_bytes(raw[:8], "little") + 4 * 2 * 4] ^= 0x10  # in row 4, of the second shard
    kept.write_bytes(raw)
    model = FakeModel()
    np.testing.assert_array_equal(votes_of(store, model), expected)
    assert sum(model.batches) - LOOKED_AT == 3 * (NOISE.n0 + NOISE.n)


def test_logits_that_are_not_finite_are_refused(store):
    @dataclass
    class Broken(FakeModel):
        healthy: bool = True  # on the images that are looked at first

        def __call__(self, inputs):
            logits = super().__call__(inputs)
            return logits if self.healthy and len(self.batches) <= LOOKS else np.full_like(logits, np.nan)

    with pytest.raises(RunError, match=r"fake failed on a batch of 9 images \(gives logits that are not finite"):
        votes_of(store, Broken())
    with pytest.raises(ModelError, match="not finite for the first images"):
        votes_of(store, Broken(healthy=False))
    with pytest.raises(ModelError, match="not finite on noisy images"):  # of a function that nothing stands before
        votes.noise_votes(Broken(healthy=False), np.zeros((1, 1, 3, 3), np.float32), ["a"], NOISE)


@pytest.fixture
def audited():
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 3
    samples = Samples.of(rng.normal(size=(300, 3)), labels, class_names=["a", "b", "c"])
    chosen = np.where(rng.random(300) < 0.2, (labels + 1) % 3, labels)
    counts = rng.integers(450, 1001, 300)
    counts[labels == 2] = 500  # class c has no majority anywhere
    local = smoothing_scores(samples, np.stack([chosen, counts], axis=1), alpha=0.01)
    return samples, local, audit_scores(samples, local, Options(permutations=0), name="m")


def test_abstentions_are_counted_by_class_and_are_no_answers(audited):
    samples, local, model = audited
    abstained = [entry.abstained for entry in model.classes]
    assert abstained == [local.abstained[samples.labels == k].mean() for k in range(3)]
    assert abstained[2] == 1.0
    assert model.abstained == local.abstained.mean()
    assert model.classes[2].accuracy == 0.0
    assert model.classes[2].confused_with is None
    right = (local.predicted == samples.labels) & ~local.abstained
    assert model.accuracy == pytest.approx(right.mean())
    assert "abstained" in [flag.code for flag in model.flags]
    rows = sample_table(samples, local, name="m")
    assert rows["abstained"] == local.abstained.tolist()
    assert rows["correct"] == right.tolist()
    assert not local.values[~right].any()


def test_the_claim_is_about_the_smoothed_classifier(audited):
    model = audited[2]
    assert model.claim.certified
    assert "of the smoothed classifier" in model.claim.premise
    assert "not of the network itself" in model.claim.premise
    assert model.score.settings == {"sigma": 0.25, "n0": 100, "n": 1000, "seed": 0, "alpha": 0.01}
    assert model.score.range == (0.0, largest_radius(Noise(), 0.01))


def test_lower_ends_give_up_alpha_of_the_largest_radius(audited):
    samples, local, model = audited
    plain = audit_intervals(local.values, samples.labels, 3, maximum=local.maximum)
    loss = 0.01 * local.maximum
    for k, entry in enumerate(model.classes):
        assert entry.interval[0] == pytest.approx(max(plain.lower[k] - loss, 0.0))
        assert entry.interval[1] == pytest.approx(plain.upper[k])
    assert plain.class_mean[0] - loss <= model.class_mean_interval[0] + 1e-9 < plain.class_mean[0]
    assert model.rdi.interval[1] >= plain.rdi[1]
    assert model.nrgc.interval[0] <= plain.nrgc[0]
    assert model.nrgc.interval[1] >= plain.nrgc[1]


def test_radii_that_may_be_too_large_say_nothing_about_a_fixed_set(audited):
    samples, local, _ = audited
    sized = replace(samples, class_sizes=np.array([1000, 1000, 1000]))
    with pytest.raises(OptionError) as error:
        audit_scores(sized, local, Options(), name="m", finite=True)
    assert str(error.value) == (
        "scores that may be too large (here with probability 0.01) have intervals for fresh samples only, not for a "
        "fixed data set. Leave the class sizes out."
    )


@pytest.mark.parametrize(
    ("noise", "alpha", "message"),
    [
        ({"sigma": 0.0}, 0.001, "sigma 0 is not a positive number"),
        ({"seed": -1}, 0.001, "seed -1 is negative. Give 0 or more."),
        ({"n0": 0}, 0.001, "n0 is 0 and n is 1000; both must be at least 1"),
        ({"n": 9}, 0.001, "n = 9 noise samples certify nothing at alpha 0.001, however they vote. Give at least 10"),
        ({}, 0.5, "alpha 0.5 is not between 0 and 0.5"),
    ],
)
def test_settings_that_mean_nothing_are_refused(noise, alpha, message):
    with pytest.raises(OptionError, match=message):
        largest_radius(Noise(**noise), alpha)


def test_ten_samples_are_just_enough():
    assert largest_radius(Noise(n=10), 0.001) > 0


def test_votes_must_fit(audited):
    samples = audited[0]
    with pytest.raises(SamplesError, match=r"votes have shape \(2, 2\) for 300 samples"):
        smoothing_scores(samples, [[0, 1], [1, 1]])
    with pytest.raises(SamplesError, match="votes must be between 0 and n = 1000"):
        smoothing_scores(samples, np.full((300, 2), 1001))
