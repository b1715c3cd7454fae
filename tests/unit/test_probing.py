"""The presets are tried where nobody said how images are normalised and little is right; the better one is named."""

import math

import numpy as np
import pytest

import gfscore
from gfscore import zoo
from gfscore.inputs.models import load_model
from gfscore.jobs.probing import IMAGES, NONE, Right, Tried, is_low, sign_test

STANDARD = load_model("zoo:standard")
CODE = "preprocessing_likely"
WORDS = {"data": "zoo:digits", "permutations": 0}


def normalised_outside(inputs):
    """A network that was trained on pixels from -1 to 1, and knows nothing of others."""
    return (
        STANDARD(np.clip(4 * (inputs * 0.5 + 0.5) - 1.5, 0, 1).astype(np.float32))
        if inputs.min() < -0.5
        else (np.tile(np.arange(10.0), (len(inputs), 1)))
    )


def flags_of(result):
    return {flag.code: flag.message for flag in result.model.flags}


def test_the_better_preset_is_named_and_not_used():
    found = gfscore.audit(model=normalised_outside, **WORDS)
    assert found.model.run.preprocessing.mean == (0.0,)
    assert found.model.accuracy < 0.2
    message = flags_of(found)[CODE]
    assert f"of {IMAGES} images" in message
    assert "with --preset half: was the network trained on normalised images? Nothing was changed" in message


def test_a_network_that_takes_pixels_up_to_255_is_known():
    found = gfscore.audit(model=lambda inputs: STANDARD(inputs / np.float32(255)), **WORDS)
    assert found.model.accuracy < 0.5
    assert "with --preset bytes: was the network trained on normalised images?" in flags_of(found)[CODE]
    told = gfscore.audit(model=lambda inputs: STANDARD(inputs / np.float32(255)), preset="bytes", **WORDS)
    assert told.model.accuracy == gfscore.audit(model="zoo:standard", **WORDS).model.accuracy


@pytest.mark.parametrize("said", [{"preset": "mnist"}, {"mean": "0", "std": "1"}])
def test_who_said_something_is_told_nothing(said):
    assert CODE not in flags_of(gfscore.audit(model=normalised_outside, **said, **WORDS))


def test_a_good_model_is_not_asked_again(monkeypatch):
    monkeypatch.setattr("gfscore.jobs.probing.try_presets", lambda _run: pytest.fail("it was tried"))
    assert CODE not in flags_of(gfscore.audit(model="zoo:standard", **WORDS))


def test_a_model_that_knows_nothing_is_told_nothing():
    found = gfscore.audit(model=lambda inputs: np.tile(np.arange(10.0), (len(inputs), 1)), **WORDS)
    assert "at_chance" in flags_of(found)
    assert CODE not in flags_of(found)


def test_streams_and_gates_say_it_too():
    assert CODE in flags_of(gfscore.audit(model=normalised_outside, data="zoo:digits", stream=True))
    for more in ({}, {"adaptive": True}):
        allow = {"allow": ["at_chance"], "wcr": 1.0}
        [verdict] = gfscore.gate(model=normalised_outside, data="zoo:digits", **allow, **more).models
        assert CODE in {flag.code for flag in verdict.flags}
        with pytest.raises(gfscore.GFScoreError, match=r"nothing to judge: of 128 images .* with --preset half"):
            gfscore.gate(model=normalised_outside, data="zoo:digits", wcr=1.0, **more)


def test_it_asks_for_no_more_than_is_stated():
    asked = []

    def counting(inputs):
        asked.append(len(inputs))
        return normalised_outside(inputs)

    silent = gfscore.audit(model=counting, mean="0", std="1", **WORDS)
    before = sum(asked)
    asked.clear()
    assert CODE in flags_of(gfscore.audit(model=counting, **WORDS))
    assert silent.model.samples.n == len(zoo.test_set()[1])
    assert sum(asked) - before == 4 * IMAGES  # as they are, mnist, half and bytes


def test_low_is_two_thirds_of_the_way():
    assert [is_low(share, 10) for share in (0.69, 0.71)] == [True, False]
    assert [is_low(share, 2) for share in (0.82, 0.84)] == [True, False]


@pytest.mark.parametrize(("gained", "lost"), [(0, 0), (6, 2), (13, 0), (20, 30)])
def test_the_sign_test_is_a_binomial_tail(gained, lost):
    from scipy.stats import binomtest

    better = np.array([True] * gained + [False] * lost + [True, False], dtype=bool)
    worse = np.array([False] * gained + [True] * lost + [True, False], dtype=bool)
    expected = binomtest(gained, gained + lost, alternative="greater").pvalue if gained + lost else 1.0
    assert math.isclose(sign_test(better, worse), expected, rel_tol=1e-12)


def test_chance_names_a_preset_as_rarely_as_stated():
    """Of networks that guess, each way right by itself: at most one of a thousand is told something."""
    rng, told = np.random.default_rng(0), 0
    for _ in range(2000):
        right = {name: Right(rng.random(IMAGES) < 0.1, 0.0) for name in (NONE, "a", "b", "c", "d")}
        told += Tried(dict(sorted(right.items(), key=lambda item: -item[1].count))).is_better()
    assert told <= 8  # a binomial of 2,000 at 0.001 is above that once in 50,000 times


def test_checks_and_certificates_say_it_too():
    assert CODE in flags_of(gfscore.check(normalised_outside, "zoo:digits", samples=1, method=["bisection"]))
    words = {"method": "lipschitz", "lipschitz": 1e6}
    assert CODE in flags_of(gfscore.certify(model=normalised_outside, data="zoo:digits", **words))
    assert CODE not in flags_of(gfscore.certify(model="zoo:standard", data="zoo:digits", **words))
