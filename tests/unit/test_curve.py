"""Curves over the temperature against direct evaluation, and what they cost."""

import itertools
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gfscore.arrays import Scratch
from gfscore.errors import OptionError, TooFewClassesError
from gfscore.profile import class_profile
from gfscore.samples import Samples
from gfscore.scores import SCORE_MAX, Activation, great_scores
from gfscore.storage.store import write_safetensors
from gfscore.temperature import TOLERANCE, temperature_curve
from gfscore.temperature import curve as module
from gfscore.temperature.ladder import NEGLIGIBLE, Ladder, softmax_margins

LOW, HIGH = 0.01, 10.0


def worst_error(samples, activation="softmax", temperatures=200, seed=0, **options):
    """Largest difference of any class score, or of the aggregate, from direct float64 evaluation at random T."""
    curve = temperature_curve(samples, activation=activation, **options)
    low, high = curve.temperature_range
    drawn = np.exp(np.random.default_rng(seed).uniform(np.log(low), np.log(high), temperatures))
    worst = 0.0
    for temperature in (low, high, *np.clip(drawn, low, high)):
        direct = class_profile(samples, great_scores(samples, activation=activation, temperature=temperature))
        apart = np.abs(curve.scores(temperature) - direct.scores).max()
        worst = max(worst, apart, abs(curve.aggregate(temperature) - direct.aggregate))
    assert worst <= max(2 * curve.error, 1e-9), "about as close as it says"
    return worst


def some_logits(n=600, k=20, spread=3.0, lead=5.0, seed=1, dtype=np.float64):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    logits = rng.normal(0, spread, (n, k)).astype(dtype)
    logits[np.arange(n), labels] += dtype(lead)
    return logits, labels


def each_its_own_group(logits, labels):
    """So that no error of a sample hides behind another of the opposite sign."""
    return Samples.of(logits, labels, groups=[f"{row:04d}" for row in range(len(labels))], piece=True)


@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
@pytest.mark.parametrize(
    "logits",
    [
        some_logits()[0],
        some_logits(dtype=np.float32)[0],
        some_logits()[0].astype(np.float16),
        np.round(some_logits()[0]),  # many ties
        some_logits()[0] + np.random.default_rng(0).normal(0, 1e-6, (600, 20)),  # ties broken by a hair
        1e4 * some_logits()[0],
        1e-4 * some_logits()[0],
        1e300 * some_logits()[0],
        some_logits()[0] - 200.0,
    ],
    ids=["random", "float32", "float16", "ties", "near-ties", "spread-1e4", "spread-1e-4", "huge", "shifted"],
)
def test_agrees_with_direct_evaluation(logits, activation):
    assert worst_error(Samples.of(logits, some_logits()[1]), activation, temperatures=200) <= TOLERANCE


@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
def test_constant_rows_score_zero_at_every_temperature(activation):
    logits, labels = np.full((40, 5), 3.0), np.arange(40) % 5
    curve = temperature_curve(Samples.of(logits, labels), activation=activation)
    assert (curve.scores(np.geomspace(LOW, HIGH, 50)) == 0).all()
    mixed = np.concatenate([logits, some_logits(k=5)[0]]), np.concatenate([labels, some_logits(k=5)[1]])
    assert worst_error(Samples.of(*mixed), activation) <= TOLERANCE


@pytest.mark.parametrize("k", [2, 10, 100, 1000, 1038, 4160, 16_700, 20_000])  # some the most for their nodes
def test_equal_rivals_are_the_worst_case_and_stay_within_the_tolerance(k):
    n = 60 if k < 10_000 else 12
    labels = np.arange(n) % 2
    logits = np.zeros((n, k))
    logits[np.arange(n), labels] = np.geomspace(0.01, 2000, n)  # one bends at each temperature of the range
    samples = each_its_own_group(logits, labels)
    assert worst_error(samples, temperatures=200) <= TOLERANCE
    nodes = temperature_curve(samples).spline.c.shape[0]
    assert nodes <= len(Ladder.over(0.1, 100.0, module._enough_powers(k, Activation.SOFTMAX)).nodes)


@pytest.mark.parametrize("k", [10, 1000])
def test_no_other_two_levels_of_rivals_are_worse(k):
    rng = np.random.default_rng(k)
    own = np.exp(rng.uniform(-4, 7, 300))
    logits = np.zeros((300, k))
    logits[:, 0] = own
    for row, near in enumerate(rng.integers(1, k, 300)):
        logits[row, 1:near] = own[row] * (1 - np.exp(rng.uniform(-7, 0)))  # the others are further off
    assert worst_error(each_its_own_group(logits, np.zeros(300, dtype=int)), temperatures=40) <= TOLERANCE


@given(
    arrays(np.float64, (8, 4), elements=st.floats(-1e3, 1e3)),
    st.floats(0.001, 1.0),
    st.floats(1.5, 1e4),
    st.sampled_from(["softmax", "sigmoid"]),
)
def test_any_logits_any_range(logits, low, ratio, activation):
    logits[0, 0] += 2  # never rows of probabilities only
    samples = Samples.of(logits, [0, 1, 2, 3, 0, 1, 2, 3])
    assert worst_error(samples, activation, temperatures=5, temperature_range=(low, low * ratio)) <= TOLERANCE


def test_probabilities_give_the_curve_of_their_logarithms():
    logits, labels = some_logits()
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    probabilities[:5] = np.eye(20)[labels[:5]]  # zeros and ones
    assert worst_error(Samples.of(probabilities, labels, probabilities=True)) <= TOLERANCE
    with pytest.raises(OptionError, match="sigmoid needs logits"):
        temperature_curve(Samples.of(probabilities, labels, probabilities=True), activation="sigmoid")


def test_more_than_ten_thousand_classes_are_summed_in_blocks():
    gaps = np.abs(np.random.default_rng(0).normal(9, 3, (3, 20_000))) + 0.01
    ladder = Ladder.over(0.1, 100.0, powers=8)
    direct = -np.expm1(-np.outer(gaps.min(axis=1), ladder.nodes)) / (
        1 + np.stack([np.exp(-node * gaps).sum(axis=1) for node in ladder.nodes], axis=1)
    )
    np.testing.assert_allclose(softmax_margins(gaps, ladder, Scratch()), direct, rtol=0, atol=20_000 * NEGLIGIBLE**2)


def test_too_few_nodes_are_noticed_and_more_are_taken():
    n, k = 40, 1000
    logits = np.zeros((n, k))
    logits[:, 0] = np.geomspace(0.05, 500, n)
    samples = each_its_own_group(logits, np.zeros(n, dtype=int))
    assert worst_error(samples, temperatures=50, powers=2) <= TOLERANCE
    enough = len(Ladder.over(0.1, 100.0, module._enough_powers(k, Activation.SOFTMAX)).nodes)
    assert (
        temperature_curve(samples, powers=2).spline.c.shape[0] == temperature_curve(samples).spline.c.shape[0] == enough
    )


def test_threads_change_no_bit():
    samples = Samples.of(*some_logits(n=5000, k=50, dtype=np.float32))
    one, five = (temperature_curve(samples, threads=threads).spline.c for threads in (1, 5))
    assert one.tobytes() == five.tobytes()


def test_accuracies_absent_classes_and_groups_are_those_of_the_profile():
    logits, labels = some_logits(k=8)
    labels = labels % 5 + 1  # classes 0, 6 and 7 have no samples
    names = np.array(["north", "south", "west"])[np.arange(600) % 3]
    for samples in (Samples.of(logits, labels), Samples.of(np.round(logits), labels, groups=names)):
        curve, profile = temperature_curve(samples), class_profile(samples, great_scores(samples))
        assert (curve.names, curve.absent) == (profile.names, profile.absent)
        assert (curve.counts == profile.counts).all()
        assert (curve.accuracies == profile.accuracies).all()
        assert curve.accuracy == profile.accuracy


def test_a_curve_is_shown_at_temperatures_spread_evenly_and_at_those_asked_for():
    curve = temperature_curve(Samples.of(*some_logits(k=4)))
    np.testing.assert_array_equal(curve.temperatures(7), np.geomspace(LOW, HIGH, 7))
    assert set(curve.temperatures(7, also=[1.25, 2 * HIGH])) == {*np.geomspace(LOW, HIGH, 7), 1.25}
    assert (np.diff(curve.temperatures(7, also=[1.25])) > 0).all()
    assert curve.scores(curve.temperatures()).max() <= SCORE_MAX


def test_what_is_no_range_or_outside_it_is_refused():
    samples = Samples.of(*some_logits(k=4))
    with pytest.raises(OptionError, match="from 2 to 1 are no range"):
        temperature_curve(samples, temperature_range=(2, 1))
    with pytest.raises(OptionError, match=r"temperature 20 is outside the curve's range, 0\.01 to 10"):
        temperature_curve(samples).scores([1.0, 20.0])
    with pytest.raises(OptionError, match="temperature nan is outside"):
        temperature_curve(samples).scores(np.nan)
    with pytest.raises(TooFewClassesError):
        temperature_curve(Samples.of([[1.0, 5.0], [2.0, 0.0]], [0, 0]))


WATCHED = """
    import re, sys, threading, time
    from pathlib import Path
    import numpy as np
    from gfscore import Samples, read_samples
    from gfscore.temperature import temperature_curve

    def anonymous():  # pages of mapped files are the system's to take back
        return int(re.search(r"RssAnon:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024

    def peak(function):
        before, seen, done = anonymous(), [], threading.Event()
        def watch():
            while not done.wait(0.002):
                seen.append(anonymous())
        watcher = threading.Thread(target=watch)
        watcher.start()
        function()
        done.set()
        watcher.join()
        return max(seen) - before

    def hold():
        held = np.ones(8_000_000)
        time.sleep(0.1)

    samples = read_samples(sys.argv[1])
    temperature_curve(Samples.of([[2.0, 1.0], [0.0, 3.0]], [0, 1]))  # loads what is imported late
    threads = int(sys.argv[2]) or None
    print(peak(lambda: temperature_curve(samples, threads=threads)), peak(hold))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
@pytest.mark.parametrize(
    ("n", "threads"), [(20_000, 32), *(pytest.param(n, 0, marks=pytest.mark.long) for n in (10_000, 200_000))]
)
def test_memory_grows_neither_with_the_file_nor_with_the_cores(n, threads, tmp_path):
    logits, labels = some_logits(k=1000, n=2000, dtype=np.float32)
    logits[np.arange(2000), labels] += 20  # all are correct: the most work there can be
    parts, path = n // 2000, tmp_path / "logits.safetensors"
    write_safetensors(path, itertools.repeat(logits, parts), 1000, np.tile(labels, parts), {})
    # In a process of its own: here, memory that earlier tests freed would be used again, and not be seen.
    command = [sys.executable, "-c", textwrap.dedent(WATCHED), str(path), str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    curve, held = map(float, done.stdout.split())
    assert curve < 150  # MB
    assert held > 32  # the meter sees 64 MB when they are there: pages of before may serve for some of them
