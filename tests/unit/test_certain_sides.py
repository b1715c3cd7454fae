"""Directions that end early: how often a side that is called certain is wrong, and that nothing else changes."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import beta

from gfscore.errors import OptionError
from gfscore.samples import Samples
from gfscore.scores import FirstOrder, Norm, first_order_scores, forward_only_norms, strongest_rivals
from gfscore.scores.certain_sides import LEVEL, LOOK_EVERY, certain_sides, coin_evidence
from gfscore.scores.margin_slopes import MEDIANS, slopes_along

EPS = 0.05
SIDE = 16


@pytest.mark.parametrize(("heads", "tosses"), [(0, 4), (3, 12), (6, 12), (30, 64)])
def test_evidence_is_the_integral_over_coins(heads, tosses):
    def likelihood(p):
        return 2**tosses * p ** (heads - 0.5) * (1 - p) ** (tosses - heads - 0.5) * 2 / beta(0.5, 0.5)

    found = coin_evidence(np.array(heads), tosses)
    assert found[0] == pytest.approx(quad(likelihood, 0, 0.5)[0], rel=1e-6)
    assert found[1] == pytest.approx(quad(likelihood, 0.5, 1)[0], rel=1e-6)


def wrong_shares(norm, ratio, n, rivals=1):
    """Shares of samples whose side is called certain, and wrong, with radii ``ratio`` times eps to every rival."""
    rng = np.random.default_rng(7)
    drawn = rng.standard_normal if norm is Norm.L2 else rng.standard_cauchy
    margins = np.ones((n, rivals))
    slopes = drawn((n, 64, rivals)) / (ratio * EPS)
    wrong, going = np.zeros(n, dtype=bool), np.ones(n, dtype=bool)
    for m in range(LOOK_EVERY, 65, LOOK_EVERY):
        certain = going & certain_sides(slopes[:, :m], margins, (EPS,), MEDIANS[norm])
        heads = (np.abs(slopes[:, :m]) > MEDIANS[norm] / EPS).mean(axis=1)
        says_above = (heads < 0.5).all(axis=1)
        wrong |= certain & (says_above != (ratio > 1))
        going &= ~certain
    return wrong.mean(), 1 - going.mean()


@pytest.mark.parametrize("norm", Norm)
@pytest.mark.parametrize("ratio", [1 - 1e-9, 1 + 1e-9, 0.8, 1.25])
@pytest.mark.parametrize("rivals", [1, 3])
def test_a_certain_side_is_wrong_as_rarely_as_is_said(norm, ratio, rivals):
    n = 4000
    wrong, _ = wrong_shares(norm, ratio, n, rivals)
    assert wrong <= LEVEL + 3 * np.sqrt(LEVEL / n)


@pytest.mark.parametrize("ratio", [0.1, 10])
def test_far_from_eps_few_directions_are_enough(ratio):
    assert wrong_shares(Norm.LINF, ratio, 500) == (0.0, 1.0)


def linear(n=60, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(SIDE, 4))
    pixels = rng.random((n, SIDE))
    samples = Samples.of(pixels @ weights, (pixels @ weights).argmax(axis=1))
    return (lambda x: x @ weights), pixels, samples


@pytest.mark.parametrize("norm", Norm)
def test_who_comes_along_changes_nothing(norm, monkeypatch):
    model, pixels, samples = linear()
    rivals = strongest_rivals(samples.logits, samples.labels, 3)
    how = FirstOrder(norm=norm, eps=EPS, decide=(EPS,))
    together, taken = slopes_along(model, pixels, samples.labels, rivals, range(60), how, here=samples.logits)
    monkeypatch.setattr("gfscore.scores.margin_slopes.CHUNK_PIXELS", 1)
    some = slice(20, 60)
    arguments = (pixels[some], samples.labels[some], rivals[some], range(20, 60))
    alone, taken_alone = slopes_along(model, *arguments, how, here=samples.logits[some])
    np.testing.assert_allclose(alone, together[some], rtol=1e-9)
    np.testing.assert_array_equal(taken_alone, taken[some])
    assert len(set(taken.tolist())) > 2
    every, _ = slopes_along(
        model, pixels, samples.labels, rivals, range(60), replace(how, decide=()), here=samples.logits
    )
    whole = taken == how.count
    np.testing.assert_allclose(together[whole], every[whole], rtol=1e-9)  # the very directions, in pieces


def test_passes_are_counted_and_errors_are_those_of_the_directions_taken():
    model, pixels, samples = linear(300)
    calls = []

    def counting(moved):
        calls.append(len(moved))
        return model(moved)

    rivals = strongest_rivals(samples.logits, samples.labels, 3)
    how = FirstOrder(norm="linf", eps=EPS, decide=(EPS,))
    norms, beside = forward_only_norms(counting, pixels, samples, rivals, how)
    local = first_order_scores(samples, norms, how, gradients=False, halved=beside)
    settings = local.settings
    assert settings["forward_passes"] == 300 + sum(calls)
    assert settings["passes_saved"] == 300 * 64 - beside[:, -1].sum() > 300 * 64 / 4
    assert settings["decide"] == "0.05"
    assert local.sides == (EPS,)
    np.testing.assert_allclose(local.errors, local.values * np.pi / (2 * np.sqrt(beside[:, -1])))
    full = replace(how, decide=())
    every = first_order_scores(
        samples, forward_only_norms(model, pixels, samples, rivals, full)[0], full, gradients=False
    )
    assert ((local.values > EPS) == (every.values > EPS)).mean() > 0.97


def test_a_size_beyond_every_radius_is_refused():
    with pytest.raises(OptionError, match=r"decide \(3.0,\) has sizes that are not between 0 and 2. Leave them out."):
        FirstOrder(norm="l2", decide=(3.0,))
