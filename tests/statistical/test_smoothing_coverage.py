"""Do certified radii hold? A binary linear classifier, whose smoothed radius is known in closed form.

Under Gaussian noise the side of a hyperplane at distance d is kept with probability Phi(d / sigma), and the smoothed
classifier keeps it within exactly d. A test fails when so many misses would come up less than once in a thousand runs
of certificates that hold.
"""

import numpy as np
import pytest
from scipy.stats import binom, binomtest, norm

from gfscore.bounds import audit_intervals
from gfscore.measures.votes import noise_votes
from gfscore.scores import Noise, certified_radii
from gfscore.scores.smoothing import largest_radius
from simulations import missed_by

SIGMA = 0.5
DISTANCES = [-0.2, 0.0, 0.01, 0.1, 0.4, 0.8, 1.5]  # of the image from the hyperplane; negative: on the other side
LONG = pytest.mark.long


def assert_no_more_than(alpha, misses, runs, what=""):
    assert binomtest(int(misses), runs, alpha, alternative="greater").pvalue > 1e-3, (what, int(misses), runs)


def certify(rng, distances, n0, n, alpha):
    """Radii for class 1, and where it abstains, with votes drawn from the distribution they have."""
    keeps = norm.cdf(np.asarray(distances) / SIGMA)
    chosen = rng.binomial(n0, keeps) * 2 > n0
    votes = np.where(chosen, (counted := rng.binomial(n, keeps)), n - counted)
    radii, abstained = certified_radii(votes, n, sigma=SIGMA, alpha=alpha)
    return radii, chosen, abstained


@pytest.mark.parametrize("runs", [4000, pytest.param(400_000, marks=LONG)])
@pytest.mark.parametrize(("n", "alpha"), [(50, 0.1), (1000, 0.01)])
@pytest.mark.parametrize("distance", DISTANCES)
def test_radii_above_the_truth_are_as_rare_as_alpha(distance, n, alpha, runs):
    radii, chosen, abstained = certify(np.random.default_rng(0), np.full(runs, distance), 5, n, alpha)
    truth = np.maximum(np.where(chosen, distance, -distance), 0.0)  # for the class that was chosen
    too_large = ~abstained & (radii > truth)
    assert_no_more_than(alpha, too_large.sum(), runs, (distance, n))


def test_radii_are_not_needlessly_small():
    """Were they, the test above would say nothing: far from the edge most are close to the truth."""
    radii, _, abstained = certify(np.random.default_rng(1), np.full(4000, 0.4), 100, 1000, 0.01)
    assert not abstained.any()
    assert 0.8 * 0.4 < np.median(radii) < 0.4


def test_on_the_edge_it_abstains():
    _, _, abstained = certify(np.random.default_rng(2), np.zeros(4000), 5, 1000, 0.01)
    assert_no_more_than(0.01, (~abstained).sum(), 4000)


@pytest.mark.parametrize("runs", [1500, pytest.param(60_000, marks=LONG)])
def test_the_runner_keeps_the_promise_on_a_linear_classifier(runs):
    """The same through real noise: a hyperplane in 12 pixels, with a fresh id, so fresh noise, in each run."""
    rng = np.random.default_rng(3)
    weight = rng.normal(size=12)
    weight /= np.linalg.norm(weight)
    image = rng.random(12)
    distance, alpha, noise = 0.3, 0.1, Noise(sigma=SIGMA, n0=11, n=60)
    offset = distance - weight @ image

    def classify(pixels):
        side = pixels.reshape(len(pixels), -1) @ weight + offset
        return np.stack([-side, side], axis=1)

    pixels = np.broadcast_to(image.reshape(1, 3, 2, 2).astype(np.float32), (runs, 3, 2, 2))
    votes = noise_votes(classify, pixels, [f"run {run}" for run in range(runs)], noise)
    radii, abstained = certified_radii(votes[:, 1], noise.n, sigma=SIGMA, alpha=alpha)
    truth = np.where(votes[:, 0] == 1, distance, 0.0)
    assert_no_more_than(alpha, (~abstained & (radii > truth)).sum(), runs)
    ones = votes[votes[:, 0] == 1, 1]  # independent of the choice, so binomial
    expected = norm.cdf(distance / SIGMA)
    assert abs(ones.mean() / noise.n - expected) < 4 * np.sqrt(expected * (1 - expected) / (noise.n * len(ones)))


# Distances of a class's images, each as likely as the others; "edge" has none that can be certified.
CLASSES = {"far": [0.3, 0.6, 1.2, 2.0], "near": [-0.3, 0.05, 0.2, 0.5], "edge": [0.0]}


def truths(n0, n, alpha):
    """Means per class of the true radius, and of the smaller of true and certified radius: the intervals' target."""
    votes = np.arange(n + 1)
    radii, _ = certified_radii(votes, n, sigma=SIGMA, alpha=alpha)
    true_means, target = [], []
    for distances in CLASSES.values():
        rows = []
        for distance in distances:
            keeps, truth = norm.cdf(distance / SIGMA), max(distance, 0.0)
            chosen = binom.sf(n0 // 2, n0, keeps)  # n0 is odd
            rows.append((truth, chosen * (binom.pmf(votes, n, keeps) @ np.minimum(radii, truth))))
        true_means.append(np.mean([row[0] for row in rows]))
        target.append(np.mean([row[1] for row in rows]))
    return np.array(true_means), np.array(target)


def audited(rng, per_class, n0, n, alpha, failure_rate, delta=0.1, seed=0):
    """Intervals of one audit of the three classes."""
    distances = np.concatenate([rng.choice(values, per_class) for values in CLASSES.values()])
    radii, chosen, _ = certify(rng, distances, n0, n, alpha)
    codes = np.repeat(np.arange(len(CLASSES)), per_class)
    maximum = largest_radius(Noise(sigma=SIGMA, n=n), alpha)
    values = np.where(chosen, radii, 0.0)
    return audit_intervals(
        values, codes, len(CLASSES), maximum=maximum, delta=delta, seed=seed, failure_rate=failure_rate
    )


@pytest.mark.parametrize("runs", [150, pytest.param(1500, marks=LONG)])
def test_class_means_are_covered_when_radii_may_fail(runs):
    n0, n, alpha, delta = 5, 30, 0.2, 0.1
    true_means, target = truths(n0, n, alpha)
    rng = np.random.default_rng(4)
    above_truth = missed = 0
    for run in range(runs):
        found = audited(rng, 200, n0, n, alpha, alpha, delta, seed=run)
        lower_ends = [*(found.lower - true_means), found.wcr[0] - true_means.min()]
        above_truth += max(*lower_ends, found.class_mean[0] - true_means.mean()) > 1e-9
        missed += missed_by(found, target, np.full(len(target), 200))["any"]
    assert_no_more_than(delta, above_truth, runs, "true radii")
    assert_no_more_than(delta, missed, runs, "certified and true radii")


def test_lower_ends_that_ignore_alpha_are_wrong():
    """On the edge every certified radius is a mistake: given many samples their mean is known to be above 0."""
    naive, honest = (audited(np.random.default_rng(5), 20_000, 5, 30, 0.2, failure_rate=rate) for rate in (0.0, 0.2))
    edge = list(CLASSES).index("edge")
    assert naive.lower[edge] > 0.0
    assert honest.lower[edge] == 0.0
