"""First-order radii against independent definitions: geometry, quadratics and brute force."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gfscore
from gfscore.errors import ModelError, OptionError
from gfscore.samples import Samples
from gfscore.scores import (
    FirstOrder,
    Norm,
    first_order_radii,
    first_order_scores,
    forward_only_norms,
    gradient_norms,
    is_leading,
    strongest_rivals,
)
from gfscore.scores.first_order import RESOLUTION
from gfscore.scores.margin_slopes import MAX_RADIUS, STEP_CHECKS, estimated_norms, is_drawn, unit_directions
from gfscore.scores.random_directions import ROUNDING

CLASSES, SIDE = 5, 12


def linear(seed=0):
    rng = np.random.default_rng(seed)
    weights, bias = rng.normal(size=(SIDE, CLASSES)), rng.normal(size=CLASSES)
    pixels = rng.random((40, SIDE))
    logits = pixels @ weights + bias
    return weights, bias, pixels, logits, logits.argmax(axis=1)


def radii_of(weights, logits, labels, norm, rivals=CLASSES - 1):
    chosen = strongest_rivals(logits, labels, rivals)
    gradients = weights.T[labels][:, None] - weights.T[chosen]
    margins = logits[np.arange(len(labels)), labels][:, None] - np.take_along_axis(logits, chosen, axis=1)
    return first_order_radii(margins, gradient_norms(gradients, norm)), chosen


def nearest_rival_wins(weights, bias, pixels, labels, rivals, radius, norm):
    """Whether some rival leads after the steepest step of that length towards it."""
    for rival in rivals:
        slope = weights[:, rival] - weights[:, labels]
        step = slope / np.linalg.norm(slope) if norm is Norm.L2 else np.sign(slope)
        moved = (pixels + radius * step) @ weights + bias
        if moved[rival] >= moved[labels]:
            return True
    return False


@pytest.mark.parametrize("norm", Norm)
@given(seed=st.integers(0, 50))
def test_exact_for_a_linear_classifier(norm, seed):
    """Just below the radius no class wins by the best step towards it; just above, one does."""
    weights, bias, pixels, logits, labels = linear(seed)
    radii, rivals = radii_of(weights, logits, labels, norm)
    for row in range(5):
        arguments = (weights, bias, pixels[row], labels[row], rivals[row])
        assert not nearest_rival_wins(*arguments, radii[row] * (1 - 1e-9), norm)
        assert nearest_rival_wins(*arguments, radii[row] * (1 + 1e-9), norm)


def test_linf_radius_by_brute_force_over_the_corners_of_the_ball():
    """A linear function is largest over a box at one of its corners: try all 4,096."""
    weights, bias, pixels, logits, labels = linear(7)
    radii, _ = radii_of(weights, logits, labels, Norm.LINF)
    corners = np.array(list(itertools.product([-1.0, 1.0], repeat=SIDE)))
    for row in range(3):
        for factor, flips in ((0.999, False), (1.001, True)):
            predicted = ((pixels[row] + factor * radii[row] * corners) @ weights + bias).argmax(axis=1)
            assert (predicted != labels[row]).any() == flips


def test_fewer_rivals_never_give_a_smaller_radius():
    weights, _, _, logits, labels = linear(3)
    radii = [radii_of(weights, logits, labels, Norm.L2, count)[0] for count in (1, 2, 3, 4)]
    assert all((more <= fewer).all() for fewer, more in itertools.pairwise(radii))


def test_a_quadratic_is_linearised():
    """f_0 - f_1 = 1 - |x|^2: at |x| = 1/2 margin 3/4 and slope 1, so the radius is 3/4; the boundary is 1/2 away."""
    point = np.array([[0.3, 0.4]])
    margin, gradient = 1 - (point**2).sum(axis=1, keepdims=True), (-2 * point)[:, None]
    assert first_order_radii(margin, gradient_norms(gradient, Norm.L2)) == pytest.approx([0.75])
    assert first_order_radii(margin, gradient_norms(gradient, Norm.LINF)) == pytest.approx([0.75 / 1.4])


@given(st.integers(2, 8), st.integers(1, 10), st.randoms(use_true_random=False))
def test_strongest_rivals_are_those_of_a_sorted_list(classes, count, random):
    logits = np.array([[random.gauss(0, 1) for _ in range(classes)] for _ in range(6)])
    labels = np.array([random.randrange(classes) for _ in range(6)])
    found = strongest_rivals(logits, labels, count)
    for row, label in enumerate(labels):
        others = sorted((k for k in range(classes) if k != label), key=lambda k: -logits[row, k])
        assert found[row].tolist() == others[:count]


# The forward-only estimate


def quadratic(pixels):
    """Logits with a curvature, small over a step."""
    flat = pixels.reshape(len(pixels), -1).astype(np.float64)
    first = flat @ np.linspace(-1, 2, flat.shape[1]) + 20 * (flat**2).sum(axis=1)
    return np.stack([first, np.zeros(len(flat)), flat[:, 0]], axis=1)


@pytest.mark.parametrize("norm", Norm)
def test_estimates_are_as_far_off_as_their_standard_error_says(norm):
    """2,000 samples at the same point: mean and spread of the logarithm of the estimates."""
    n, m = 2000, 64
    pixels = np.full((n, 3, 2, 2), 0.5, dtype=np.float32)
    labels, rivals = np.zeros(n, dtype=np.int64), np.ones((n, 1), dtype=np.int64)
    gradient = np.linspace(-1, 2, 12) + 20  # of f_0 - f_1 at 0.5
    how = FirstOrder(norm=norm, directions=m, seed=3)
    found = estimated_norms(quadratic, pixels, labels, rivals, range(n), how)[:, 0]
    logs = np.log(found / gradient_norms(gradient, norm))
    error = how.relative_error
    assert np.abs(logs.mean()) < 4 * error / np.sqrt(n) + 1 / (2 * m)  # the logarithm is biased by half its variance
    assert logs.std() == pytest.approx(error, rel=0.1)


@pytest.mark.parametrize("norm", Norm)
def test_directions_belong_to_the_sample(norm):
    how = FirstOrder(norm=norm, directions=4)
    first, lengths = unit_directions(how, "a", 9)
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1, rtol=1e-6)
    assert (lengths > 0).all()
    again, _ = unit_directions(how, "a", 9)
    np.testing.assert_array_equal(first, again)
    for other in (unit_directions(how, "b", 9), unit_directions(replace(how, seed=1), "a", 9)):
        assert not np.isclose(first, other[0]).any()


def test_a_radius_depends_on_no_other_sample(monkeypatch):
    rng = np.random.default_rng(0)
    pixels, labels = rng.random((30, 12)), np.zeros(30, dtype=np.int64)
    rivals = np.tile([1, 2], (30, 1))
    how = FirstOrder(norm="linf", directions=8)
    together = estimated_norms(quadratic, pixels, labels, rivals, range(30), how)
    monkeypatch.setattr("gfscore.scores.margin_slopes.CHUNK_PIXELS", 1)
    alone = estimated_norms(quadratic, pixels[10:], labels[10:], rivals[10:], range(10, 30), how)
    np.testing.assert_allclose(alone, together[10:], rtol=1e-12)


# Scores of samples


def scored(logits, norms, *, labels=None, **options):
    samples = Samples.of(logits, [0, 1] * (len(logits) // 2) if labels is None else labels)
    halved = options.pop("halved", None)
    how = FirstOrder(**{"norm": "l2", "rivals": 1} | options)
    return first_order_scores(samples, np.asarray(norms, dtype=float), how, gradients=halved is None, halved=halved)


def test_misclassified_and_tied_samples_have_radius_zero_and_large_radii_are_capped():
    local = scored([[2.0, 0], [2, 0], [1, 1], [0, 9]], [[4.0], [np.nan], [1], [0.5]])
    assert local.values.tolist() == [0.5, 0.0, 0.0, MAX_RADIUS[Norm.L2]]
    assert local.predicted.tolist() == [0, 0, 0, 1]
    assert local.tied.tolist() == [False, False, True, False]
    assert [flag.code for flag in local.flags] == ["capped_radii"]


BELOW, ABOVE = 1 - 1e-6, 1 + 1e-6


@pytest.mark.parametrize(
    ("norm", "code"),
    [
        (0.0, "zero_gradient"),
        (ROUNDING * 2 / MAX_RADIUS[Norm.L2] * BELOW, "zero_gradient"),  # the largest logit is 2
        (ROUNDING * 2 / MAX_RADIUS[Norm.L2] * ABOVE, None),
        (3 / RESOLUTION * BELOW, None),  # the logits are spread over 3
        (3 / RESOLUTION * ABOVE, "broken_gradient"),
        (np.inf, "broken_gradient"),
        (np.nan, "broken_gradient"),
    ],
)
@pytest.mark.parametrize("scale", [2.0**-40, 1.0, 64.0])
def test_a_sample_whose_slope_says_nothing_counts_as_radius_zero(norm, code, scale):
    logits, norms = np.array([[2.0, 0.0, -1.0], [0.0, 2.0, -1.0]] * 50), np.full((100, 1), 4.0)
    norms[7] = norm
    local = scored(scale * logits, scale * norms)
    assert local.values[:7].tolist() == local.values[8:15].tolist() == [0.5] * 7
    if code is None:
        assert local.flags == ()
        assert local.values[7] == min(2 / norm, MAX_RADIUS[Norm.L2])
    else:
        assert local.values[7] == 0.0
        (flag,) = local.flags
        assert flag.code == code
        assert flag.message.startswith("1 of 100 correct samples have ")
        assert flag.message.endswith("and so no radius. They count as radius 0, which lowers the score.")


@pytest.mark.parametrize(("missing", "refused"), [(2, False), (3, True)])
def test_radii_are_refused_when_more_than_one_in_a_hundred_is_missing(missing, refused):
    """200 correct samples; 100 misclassified ones, which have radius 0 whatever their slope, do not count."""
    logits, norms = np.array([[2.0, 0.0], [0.0, 2.0], [0.0, 2.0]] * 100), np.full((300, 1), 4.0)
    labels = [0, 1, 0] * 100
    norms[2::3] = np.nan
    norms[[0, 3, 4][:missing]] = [[0.0], [0.0], [np.inf]][:missing]
    if not refused:
        assert (scored(logits, norms, labels=labels).values == 0).sum() == 100 + missing
        return
    with pytest.raises(ModelError) as error:
        scored(logits, norms, labels=labels)
    assert str(error.value) == (
        "3 of 200 correct samples have no first-order radius: 2 have no slope towards a rival, 1 one that is infinite "
        "or beyond float32. That is how masked gradients look: attack the model (gfscore check), or certify it "
        "(gfscore certify)."
    )


def test_one_flat_rival_is_enough_to_have_no_radius():
    """Where the strongest rival would win is not known then, and the distance to the second one is no answer."""
    local = scored([[2.0, 0.0, -1.0], [0.0, 2.0, -1.0]], [[0.0, 4.0], [4.0, 4.0]], rivals=2)
    assert local.values.tolist() == [0.0, 0.5]


@pytest.mark.parametrize(
    ("factor", "flagged"),
    [(1.0, False), (1.05, False), (1.2, True), (2.0, True), (0.5, True), (0.0, True), (np.nan, False)],
)
def test_a_step_that_matters_is_flagged(factor, flagged):
    logits, norms = [[2.0, 0], [0, 2], [2, 0], [0, 2]], np.full((4, 1), 4.0)
    codes = [flag.code for flag in scored(logits, norms, halved=norms * factor).flags]
    assert codes == (["step_matters"] if flagged else [])


def rounded(pixels):
    """A model that rounds its input to 16 levels: flat almost everywhere, with cliffs."""
    return quadratic(np.round(pixels * 15) / 15)


def labelled(model):
    pixels = np.random.default_rng(0).random((200, 12))
    labels = model(pixels).argmax(axis=1)
    labels[:20] = 1  # a second class, misclassified
    return pixels, labels


def test_a_model_of_steps_is_caught():
    with pytest.raises(ModelError, match="23 of 180 correct samples have no first-order radius: 23 have no slope"):
        gfscore.audit_first_order(rounded, *labelled(rounded), norm="l2")
    found = gfscore.audit_first_order(rounded, *labelled(rounded), norm="l2", step=0.05)  # far enough to meet cliffs
    assert "step_matters" in {flag.code for flag in found.flags}


@pytest.mark.parametrize("factor", [1e-30, 1e30])
def test_vanishing_and_exploding_gradients_are_refused(factor):
    pixels, labels = labelled(quadratic)

    def gradients(images, own, rivals):
        return factor * np.ones((len(images), rivals.shape[1], 12))

    with pytest.raises(ModelError, match="180 of 180 correct samples have no first-order radius"):
        gfscore.audit_first_order(quadratic, pixels, labels, norm="linf", gradients=gradients)


def test_forward_passes_are_counted():
    calls = []

    def counting(pixels):
        calls.append(len(pixels))
        return quadratic(pixels)

    rng = np.random.default_rng(0)
    pixels = rng.random((300, 12))
    labels = quadratic(pixels).argmax(axis=1)
    labels[:100] = 1  # misclassified
    found = gfscore.audit_first_order(counting, pixels, labels, norm="linf", eps=0.01, directions=8)
    again = sum(is_drawn(row, STEP_CHECKS / 300) for row in range(100, 300))
    assert found.model.score.settings["forward_passes"] == sum(calls) == 300 + 8 * (200 + again)


def test_the_step_is_checked_in_every_class_whatever_the_order():
    """With ten classes in turn, every tenth of 640 samples would be of one class."""
    pixels, labels = np.random.default_rng(0).random((640, 10)) / 2, np.arange(640) % 10
    pixels[np.arange(640), labels] += 1

    def checked(order):
        samples = Samples.of(pixels[order], labels[order], sample_ids=[str(row) for row in order])
        how = FirstOrder(norm="l2", directions=2)
        rivals = strongest_rivals(samples.logits, samples.labels, how.rivals)
        halved = [
            forward_only_norms(lambda x: x, pixels[order[rows]], samples, rivals, how, rows=rows)[1]
            for rows in (slice(0, 300), slice(300, 640))
        ]
        return {int(row) for row in order[np.isfinite(np.concatenate(halved)).all(axis=1)]}

    rows = checked(np.arange(640))
    assert abs(len(rows) - STEP_CHECKS) < 4 * np.sqrt(STEP_CHECKS)
    assert {row % 10 for row in rows} == set(range(10))
    assert checked(np.random.default_rng(1).permutation(640)) == rows


def test_both_ways_agree_and_the_shares_have_intervals():
    rng = np.random.default_rng(1)
    weights, pixels = rng.normal(size=(SIDE, 3)), rng.random((600, SIDE))
    labels = (pixels @ weights).argmax(axis=1)
    options = {"norm": "linf", "eps": 0.03, "max_radius": 0.5, "options": gfscore.Options(permutations=0)}
    exact = gfscore.audit_first_order(
        lambda x: x @ weights,
        pixels,
        labels,
        **options,
        refine=0,  # midpoints stay in [0, 1], which differences along directions know nothing of
        gradients=lambda x, y, j: weights.T[y][:, None] - weights.T[j],
    ).model
    forward = gfscore.audit_first_order(lambda x: x @ weights, pixels, labels, **options, directions=400).model
    for one in (exact, forward):
        for entry in (one, *one.classes):
            low, high = entry.robust_accuracy.interval
            assert low < entry.robust_accuracy.value < high
        assert one.interval.delta == 0.05
        assert one.score.norm == "linf"
    error = forward.score.settings["share_error"]
    assert abs(forward.robust_accuracy.value - exact.robust_accuracy.value) < 4 * error
    assert forward.aggregate == pytest.approx(exact.aggregate, rel=0.02)
    whole = sum(entry.n * entry.robust_accuracy.value for entry in exact.classes) / 600
    assert whole == pytest.approx(exact.robust_accuracy.value)


@pytest.mark.parametrize("norm", Norm)
def test_the_mean_radius_is_as_uncertain_as_is_said(norm):
    """The mean over 40 samples with other directions each time: a deviation from 100 seeds is known to 7 %."""
    weights, bias, pixels, logits, labels = linear(2)
    samples = Samples.of(logits, labels)
    rivals = strongest_rivals(logits, labels, 1)
    means, errors = [], []
    for seed in range(100):
        how = FirstOrder(norm=norm, rivals=1, seed=seed, max_radius=100)
        norms, halved = forward_only_norms(lambda x: x @ weights + bias, pixels, samples, rivals, how)
        local = first_order_scores(samples, norms, how, gradients=False, halved=halved)
        means.append(local.values.mean())
        errors.append(local.settings["mean_error"])
    assert np.std(means) == pytest.approx(np.mean(errors), rel=0.28)  # four of those deviations
    exact = radii_of(weights, logits, labels, norm, 1)[0].mean()
    assert 0.01 < np.mean(means) / exact - 1 < 0.04  # the inverse of an estimate is too large on average


def test_leading_is_strict():
    logits = np.array([[1.0, 1.0], [2.0, 1.0]])
    labels = np.array([0, 0])
    assert is_leading(logits, labels, strongest_rivals(logits, labels, 1)).tolist() == [False, True]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "no norm is given"),
        ({"norm": "l1"}, "norm 'l1' is not known"),
        ({"norm": "l2", "rivals": 0}, "counted from 1"),
        ({"norm": "l2", "directions": 0}, "counted from 1"),
        ({"norm": "l2", "step": 0}, "step 0"),
        ({"norm": "l2", "seed": -1}, "seed -1 is negative. Give 0 or more."),
        ({"norm": "l2", "max_radius": 0}, "max_radius 0"),
        (
            {"norm": "l2", "refine": 9},
            "refine 9 is not a number of midpoints from 0 to 8. The default is 6, and 0 leaves",
        ),
        ({"norm": "l2", "refine": -1}, "refine -1 is not a number of midpoints"),
        ({"norm": "linf", "eps": 8}, "eps 8 is not between 0 and 1"),
        ({"norm": "linf", "eps": float("nan")}, "eps nan"),
    ],
)
def test_options_outside_their_domain_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        FirstOrder(**options)


def test_probabilities_are_refused():
    samples = Samples.of([[0.7, 0.3], [0.2, 0.8]], [0, 1], probabilities=True)
    with pytest.raises(OptionError, match="a ratio of logits"):
        first_order_scores(samples, np.ones((2, 1)), FirstOrder(norm="l2"), gradients=True)
