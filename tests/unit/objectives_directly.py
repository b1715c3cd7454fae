"""The objectives of a calibration by their definitions, from scores computed anew at each temperature."""

import numpy as np

from gfscore.profile import class_profile
from gfscore.ranking import rank_correlations
from gfscore.scores import great_scores
from gfscore.temperature.objectives import Steps

LOW, HIGH, WINDOW = 0.01, 10.0, 0.05
NEAR = 1e-4  # relative: at a crossing that near, the curves' own error may decide the order
WITHIN = 21  # temperatures tried within a window


def steps_of(found):
    """The objective of a calibration as a function of the temperature."""
    return Steps(edges=np.array(found.curve.edges), values=np.array(found.curve.values, dtype=float))


def assert_direct(samples, activation, found, reference, temperatures=30):
    """The step function of a calibration is the objective, at random temperatures that are at no step's edge."""
    drawn = np.exp(np.random.default_rng(7).uniform(np.log(LOW), np.log(HIGH), 2 * temperatures))
    steps = steps_of(found)
    apart = np.abs(np.log(drawn[:, None] / steps.edges[None, 1:-1])).min(axis=1, initial=np.inf)
    drawn = drawn[apart > NEAR][:temperatures]
    assert len(drawn) == temperatures
    profiles = [directly(samples, activation, t) for t in drawn]
    match str(found.objective):
        case "models":
            values = [rho([p.aggregate for p in row], [p.accuracy for p in row]) for row in profiles]
        case "given":
            wanted = [reference[name] for name in samples]
            values = [rho([p.aggregate for p in row], wanted) for row in profiles]
        case "classes":
            values = [np.mean([rho(p.scores, p.accuracies) for p in row]) for row in profiles]
        case "stability":
            assert_stability(samples, activation, found, drawn[:2])
            return
    np.testing.assert_allclose(steps.at(drawn), values, rtol=0, atol=1e-9)
    assert max(values) <= found.value + 1e-9


def assert_stability(samples, activation, found, drawn):
    """A minimum over a window: no temperature tried within it may give less."""
    for t in drawn:
        window = np.linspace(max(LOW, t - WINDOW), min(HIGH, t + WINDOW), WITHIN)
        there = directly(samples, activation, t)
        tried = [directly(samples, activation, other) for other in window]
        lowest = [min(rho(here.scores, row[m].scores) for row in tried) for m, here in enumerate(there)]
        assert steps_of(found).at(t) <= np.mean(lowest) + 1e-9


def directly(samples, activation, temperature):
    return [
        class_profile(each, great_scores(each, activation=activation, temperature=temperature))
        for each in samples.values()
    ]


def rho(first, second):
    """Spearman's correlation, with ties as calibration has them: scores that differ by rounding are equal."""
    return float(rank_correlations(first, second, tolerance=1e-12))
