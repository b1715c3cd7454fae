"""Few attacks: the formulas against plain definitions, what must follow, and what is refused."""

import itertools

import numpy as np
import pytest

from gfscore.bounds import Spared, attack_intervals, attack_order, near_weights, place_bets
from gfscore.errors import OptionError, SamplesError


def test_the_estimate_has_no_bias_whatever_the_predictions_are():
    """All orders of two attacks on four samples, each with its probability: the mean of the estimates is the truth."""
    predictions, truth = np.array([0.2, 0.9, 0.7, 0.1]), np.array([1.0, 0.0, 1.0, 1.0])
    for weights in (np.ones(4), np.array([1.0, 2.0, 1.5, 3.0])):
        mean = 0.0
        for first, second in itertools.permutations(range(4), 2):
            chance = weights[first] / weights.sum() * weights[second] / (weights.sum() - weights[first])
            rows = [first, second]
            value = _unkept_estimate(predictions, rows, truth[rows], weights)
            mean += chance * value
        assert mean == pytest.approx(truth.sum(), abs=1e-9)


def _unkept_estimate(predictions, rows, outcomes, weights):
    """The estimate by its definition, not kept within what is possible; the slope is the shrunken regression so far."""
    values, shares, rest, seen = [], [], list(range(len(predictions))), 0.0
    for step, row in enumerate(rows):
        f, y = predictions[rows[:step]], outcomes[:step]
        slope = 1.0
        if step:
            off, prior = f - f.mean(), predictions.var() + 1e-12
            squares = ((f - predictions.mean()) ** 2).sum()
            slope = np.clip((prior + (off * (y - y.mean())).sum()) / (prior + squares), 0, 1)
        q = weights[row] / weights[rest].sum()
        values.append(seen + slope * predictions[rest].sum() + (outcomes[step] - slope * predictions[row]) / q)
        shares.append(1 / (len(rest) * (len(rest) - 1)))
        seen += outcomes[step]
        rest.remove(row)
    return np.average(values, weights=shares)


def test_the_estimate_is_that_of_the_definition_kept_within_what_is_possible():
    rng = np.random.default_rng(3)
    predictions, weights, truth = rng.random(30), 1 + rng.random(30), (rng.random(30) < 0.5) * 1.0
    rows = attack_order(weights, seed=1)[:12]
    expected = _unkept_estimate(predictions, rows.tolist(), truth[rows], weights)
    found = place_bets(Spared.of(predictions, rows, truth[rows], weights=weights)).estimate
    assert found == pytest.approx(np.clip(expected, truth[rows].sum(), truth[rows].sum() + 18) / 30)


def test_without_predictions_the_estimate_is_the_mean_of_those_attacked():
    truth, rows = np.arange(50) % 3 == 0, attack_order(np.ones(50), seed=2)[:20]
    bets = place_bets(Spared.of(np.full(50, 0.5), rows, truth[rows]))
    assert bets.estimate == pytest.approx(truth[rows].mean())


def test_nothing_attacked_says_what_is_known_and_everything_attacked_says_all():
    truth = np.arange(20) % 2 == 0
    nothing = place_bets(Spared.of(np.full(20, 0.5), [], [], size=40, known=4))
    assert nothing.ends(0.05, 0.05) == (0.1, 0.6)
    everything = place_bets(Spared.of(truth, np.arange(20), truth))
    assert everything.ends(0.05, 0.05) == (0.5, 0.5)
    assert everything.estimate == 0.5


def test_perfect_predictions_are_as_sharp_as_the_hypergeometric_bound_nearly():
    """No correction in 50 of 100: what withstands may be fewer by the d at which (50 of 100 - d) has chance alpha."""
    rows = attack_order(np.ones(100))[:50]
    lower, upper = place_bets(Spared.of(np.ones(100), rows, np.ones(50))).ends(0.01, 0.01)
    chances = np.cumprod([(50 - d) / (100 - d) for d in range(20)])  # no sample of d + 1 among the 50 attacked
    exact = 1 - (1 + int(np.argmax(chances < 0.01))) / 100
    assert upper == 1.0
    assert exact - 0.03 <= lower <= exact + 0.01


def test_order_follows_the_weights():
    weights = np.array([1.0, 1.0, 2.0])
    first = np.bincount([attack_order(weights, seed=seed)[0] for seed in range(4000)], minlength=3) / 4000
    assert first == pytest.approx(weights / 4, abs=0.03)


def test_weights_are_largest_at_eps_and_bounded():
    weights = near_weights(np.linspace(0, 3, 301), 1.0, most=2.0)
    assert weights.argmax() == 100
    assert weights.min() >= 1.0
    assert weights.max() == pytest.approx(2.0)


def test_parts_whole_and_worst_agree():
    rng = np.random.default_rng(5)
    codes = np.repeat([0, 2, 3], 100)
    truth = rng.random(300) < np.repeat([0.2, 0.5, 0.8], 100)
    broken = ~truth & (rng.random(300) < 0.7)
    rows = np.flatnonzero(~broken)[attack_order(np.ones((~broken).sum()))][:80]
    found = attack_intervals(np.ones(300), codes, 4, attacked=rows, outcomes=truth[rows], broken=broken)
    assert found.parts.tolist() == [0, 2, 3]
    assert found.attacked.sum() == 80
    assert (found.lower <= found.estimates).all()
    assert (found.estimates <= found.upper).all()
    assert found.whole_interval[0] <= found.whole <= found.whole_interval[1]
    assert found.worst[1] == found.upper.min()
    assert (found.upper <= 1 - np.bincount(codes, weights=broken)[[0, 2, 3]] / 100).all()
    settings = {"attacked": rows, "outcomes": truth[rows], "broken": broken}
    in_turn = attack_intervals(np.ones(300), codes, 4, one_order=False, **settings)
    assert in_turn.whole_interval[0] <= found.whole_interval[0]
    fresh = attack_intervals(np.ones(300), codes, 4, target="population", **settings)
    assert (fresh.lower < found.lower).all()
    assert (fresh.upper > found.upper).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"predictions": [1.5, 0.0]}, "a prediction is outside [0, 1]. Give the chance that the sample withstands."),
        ({"outcomes": [0.5]}, "outcomes must be 0 (broken) or 1 (withstood), one for each attacked sample."),
        ({"attacked": [2]}, "each attacked sample must be one of those predicted, and attacked once."),
        ({"weights": [1.0, 0.0]}, "a weight is not a positive number. A sample that cannot be chosen cannot be spoken"),
        ({"weights": [1.0]}, "1 weights for 2 predictions: give one per sample."),
        ({"size": 1}, "a part of 1 samples cannot have 0 known and 2 unknown ones."),
    ],
)
def test_bad_parts_are_refused(change, message):
    with pytest.raises(SamplesError, match="^" + message.replace("[", r"\[").replace("(", r"\(").replace(")", r"\)")):
        Spared.of(**{"predictions": [1.0, 0.0], "attacked": [0], "outcomes": [1.0]} | change)


def test_bad_intervals_are_refused():
    with pytest.raises(OptionError, match=r"^target 'all' is not known. Choose finite or population.$"):
        attack_intervals([1.0], [0], 1, attacked=[], outcomes=[], target="all")
    with pytest.raises(SamplesError, match=r"^a sample that is known to be broken was attacked. Leave it out.$"):
        attack_intervals([1.0], [0], 1, attacked=[0], outcomes=[0.0], broken=np.array([True]))
    with pytest.raises(SamplesError, match=r"^predictions, codes, weights and known outcomes must be of the same"):
        attack_intervals([1.0], [0, 1], 2, attacked=[], outcomes=[])
    with pytest.raises(SamplesError, match=r"^codes must be whole numbers from 0 to 0, one per sample.$"):
        attack_intervals([1.0], [1], 1, attacked=[], outcomes=[])
    with pytest.raises(OptionError, match=r"^the largest weight 0.5 is not at least 1"):
        near_weights([1.0], 1.0, most=0.5)
