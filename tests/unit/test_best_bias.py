"""The bias that raises the worst class most: against exhaustive search, and against loops that count."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gfscore.repairing import (
    Contest,
    attacked_contest,
    biased_radii,
    bounds_of,
    choose_bias,
    find_bias,
    find_frontier,
    look_along,
    point_at,
)
from gfscore.repairing.smooth_search import FLOOR, _SmoothLoss, equivalent_share


def made_up(seed, n=24, n_classes=3, eps=0.2):
    """Contests under attack and clean, of samples whose classes are not alike."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_classes
    skill = rng.uniform(0, 2.5, n_classes)[labels][:, None]
    logits = rng.normal(0, 1, (n, n_classes)) + skill * np.eye(n_classes)[labels] + rng.normal(0, 0.7, n_classes)
    rivals = np.array([[other for other in range(n_classes) if other != label] for label in labels])
    margins = logits[np.arange(n), labels][:, None] - np.take_along_axis(logits, rivals, 1)
    norms = rng.uniform(0.5, 1.5, margins.shape)
    facts = (labels, rivals, labels)
    return [attacked_contest(margins, norms, *facts, eps=eps), attacked_contest(margins, norms, *facts, eps=0.0)], (
        margins,
        norms,
        logits,
        labels,
        rivals,
    )


def in_every_cell(contests):
    """A bias from every cell of the plane (b_1, b_2), b_0 = 0, on which no sample changes; on the line for 2 classes.

    The borders of the cells are b_1 = c, b_2 = c and b_1 - b_2 = c; on every strip between neighbouring values of b_1
    at which two of them meet, the order of the borders along b_2 is the same.
    """
    ends = {(1, 0): [], (2, 0): [], (1, 2): []}
    for contest in contests:
        for row, label, rivals in zip(contest.slack, contest.labels, contest.rivals, strict=True):
            for slack, rival in zip(row, rivals, strict=True):  # the border b_label - b_rival = -slack
                pair = (label, rival) if (label, rival) in ends else (rival, label)
                ends[pair].append(-slack if pair == (label, rival) else slack)
    first, second, both = (np.array(ends[pair]) for pair in ((1, 0), (2, 0), (1, 2)))
    if not len(second):
        return [np.array([0.0, place]) for place in between(first)]
    strips = between(np.concatenate([first, (second[:, None] + both).ravel()]))
    return [np.array([0.0, one, two]) for one in strips for two in between(np.concatenate([second, one - both]))]


def between(places):
    known = np.unique(places)
    return np.concatenate([[known[0] - 1], (known[1:] + known[:-1]) / 2, [known[-1] + 1]])


def exhaustive(contests, bounds):
    """The best worst share over all cells that keep the bounds."""
    found = []
    for bias in in_every_cell(contests):
        shares = [np.array([hold.mean() for hold in by_part(each, bias)]) for each in contests]
        if all(kept.are_kept(each) for kept, each in zip(bounds, shares, strict=True)):
            found.append(shares[0].min())
    return max(found)


def by_part(contest, bias):
    held = (contest.slack + bias[contest.labels][:, None] - bias[contest.rivals] > 0).all(axis=1)
    return [held[contest.codes == part] for part in range(len(contest.counts))]


@pytest.mark.parametrize("loose", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_three_classes_are_as_good_as_exhaustive_search(seed, loose):
    contests, _ = made_up(seed, n=12)
    kept = {"keep_mean": 1.0, "max_loss": 1.0} if loose else {"keep_mean": 0.05, "max_loss": 0.25}
    bounds = bounds_of(contests, **kept, n_classes=3)
    assert find_bias(contests, bounds).worst == pytest.approx(exhaustive(contests, bounds))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(40))
def test_three_classes_are_as_good_as_exhaustive_search_on_more(seed):
    contests, _ = made_up(seed, n=18)
    for kept in ({"keep_mean": 1.0, "max_loss": 1.0}, {"keep_mean": 0.05, "max_loss": 0.2}):
        bounds = bounds_of(contests, **kept, n_classes=3)
        assert find_bias(contests, bounds).worst == pytest.approx(exhaustive(contests, bounds))


@pytest.mark.parametrize("seed", range(8))
def test_two_classes_are_as_good_as_exhaustive_search(seed):
    contests, _ = made_up(seed, n=40, n_classes=2)
    bounds = bounds_of(contests, keep_mean=0.03, max_loss=0.2, n_classes=2)
    assert find_bias(contests, bounds).worst == pytest.approx(exhaustive(contests, bounds))


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_a_line_counts_what_loops_count(seed):
    contests, _ = made_up(seed, n=15)
    rng = np.random.default_rng(seed)
    start, direction = rng.normal(size=3), rng.normal(size=3)
    line = look_along(contests, start, direction)
    for step, *shares in list(zip(line.steps, *line.shares, strict=True))[::3]:
        for contest, share in zip(contests, shares, strict=True):
            counted = [held.mean() for held in by_part(contest, start + step * direction)]
            assert share == pytest.approx(counted)


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_radii_with_a_bias_are_radii_of_logits_that_have_it(seed):
    _, (_, _, logits, labels, rivals) = made_up(seed, n=9)
    rng = np.random.default_rng(seed)
    weights, bias = rng.normal(size=(3, 4)), rng.normal(size=3)
    slopes = np.array([[np.abs(weights[y] - weights[j]).sum() for j in few] for y, few in zip(labels, rivals)])  # noqa: B905
    margins = logits[np.arange(9), labels][:, None] - np.take_along_axis(logits, rivals, 1)
    moved = logits + bias
    for row, radius in enumerate(biased_radii(margins, slopes, labels, rivals, bias)):
        ratios = [
            (moved[row, labels[row]] - moved[row, j]) / slope for j, slope in zip(rivals[row], slopes[row], strict=True)
        ]
        assert radius == pytest.approx(max(min(ratios), 0.0))


def test_a_sample_holds_when_its_radius_is_above_eps():
    (contest, _), (margins, norms, _, labels, rivals) = made_up(3, n=60)
    bias = np.array([0.3, -0.2, -0.1])
    assert (contest.holds(bias) == (biased_radii(margins, norms, labels, rivals, bias) > 0.2)).all()


def test_a_slope_that_is_none_holds_nothing():
    facts = (np.array([0, 0]), np.array([[1], [1]]), np.array([0, 0]))
    contest = attacked_contest(np.array([[5.0], [5.0]]), np.array([[np.nan], [0.0]]), *facts, eps=0.1)
    assert not contest.holds(np.array([10.0, 0.0])).any()


@pytest.mark.parametrize("seed", range(3))
def test_bounds_are_kept_and_nothing_gets_worse(seed):
    contests, _ = made_up(seed, n=300, n_classes=5)
    bounds = bounds_of(contests, keep_mean=0.02, max_loss=0.05, n_classes=5)
    before, found = point_at(contests, np.zeros(5)), find_bias(contests, bounds)
    assert found.worst >= before.worst
    for old, new in zip(before.shares, found.shares, strict=True):
        assert (old - new).max() <= 0.05 + 1e-9
        assert old.mean() - new.mean() <= 0.02 + 1e-9


def test_the_frontier_is_one():
    contests, _ = made_up(1, n=300, n_classes=5)
    free = bounds_of(contests, keep_mean=1.0, max_loss=1.0, n_classes=5)
    points = find_frontier(contests, free)
    means, worst = [point.mean() for point in points], [point.worst for point in points]
    assert means == sorted(means, reverse=True)
    assert worst == sorted(worst)
    assert max(worst) >= find_bias(contests, free).worst - 0.02


@pytest.mark.parametrize("seed", range(3))
def test_what_is_chosen_lies_on_both_frontiers_and_they_keep_what_it_keeps(seed):
    contests, _ = made_up(seed, n=300, n_classes=5)
    bounds = bounds_of(contests, keep_mean=0.02, max_loss=0.1, n_classes=5)
    before, choice = point_at(contests, np.zeros(5)), choose_bias(contests, bounds)
    assert choice.chosen.keeps(bounds)
    assert choice.chosen.worst >= find_bias(contests, bounds).worst
    for against, points in enumerate(choice.frontiers):
        assert any((point.bias == choice.chosen.bias).all() for point in points)
        for point in points:
            losses = [old - new for old, new in zip(before.shares, point.shares, strict=True)]
            assert max(loss.max() for loss in losses) <= 0.1 + 1e-9
            assert losses[1 - against].mean() <= 0.02 + 1e-9


def test_a_search_says_how_far_it_is_and_can_be_ended_anywhere():
    contests, _ = made_up(0, n=60, n_classes=5)
    bounds, told = bounds_of(contests, keep_mean=0.02, max_loss=0.1, n_classes=5), []
    choice = choose_bias(contests, bounds, tell=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[0] == (0, told[0][1])
    assert told[-1][0] == told[-1][1]
    assert len(told) > 10 * told[-1][1]  # within a search, too
    assert (choice.chosen.bias == choose_bias(contests, bounds).chosen.bias).all()

    class EndedError(Exception):
        pass

    def end(done: int, _total: int) -> None:
        if done == told[-1][1] // 2:
            raise EndedError

    with pytest.raises(EndedError):
        choose_bias(contests, bounds, tell=end)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 1.0, 3.0, 20.0]))
@settings(max_examples=30, deadline=None)
def test_the_gradient_of_the_smooth_loss_is_what_small_steps_find(seed, fairness):
    contests, _ = made_up(seed, n=40)
    rng = np.random.default_rng(seed)
    bounds = bounds_of(contests, keep_mean=0.0, max_loss=0.01, n_classes=3)  # some are broken
    loss = _SmoothLoss.of(contests, bounds, fairness, 0.5, 3)
    bias, step = rng.normal(0, 0.5, 3), 1e-6
    _, slope = loss(bias)
    for place, side in enumerate(np.eye(3)):
        small = (loss(bias + step * side)[0] - loss(bias - step * side)[0]) / (2 * step)
        assert slope[place] == pytest.approx(small, rel=1e-4, abs=1e-5)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6), st.sampled_from([0.0, 0.5, 1.0, 4.0]))
def test_the_equivalent_share_is_worth_what_the_shares_are(shares, fairness):
    """Atkinson's definition: were all parts to have it, the sum of utilities would be the same."""
    found, _ = equivalent_share(np.array(shares), fairness)

    def utility(share):
        return np.log(share + FLOOR) if fairness == 1 else (share + FLOOR) ** (1 - fairness) / (1 - fairness)

    assert utility(found) == pytest.approx(np.mean([utility(share) for share in shares]), rel=1e-9, abs=1e-9)
    assert min(shares) - 1e-9 <= found <= np.mean(shares) + 1e-9


def test_a_hopeless_class_does_not_let_others_pay_more_than_they_may():
    """No bias helps class 2 within the bounds: the others keep what is theirs, and the worst share says so."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 200)
    slack = rng.normal(np.array([2.0, 1.0, -3.0])[labels][:, None], 1.0, (600, 2))
    rivals = np.array([[other for other in range(3) if other != label] for label in labels])
    contest = Contest.of(slack, labels, rivals, labels)
    before = contest.shares(np.zeros(3))
    found = find_bias([contest], bounds_of([contest], keep_mean=0.2, max_loss=0.3, n_classes=3))
    assert found.worst == before.min() == 0.0
    assert (found.shares[0] >= before - 0.3).all()
    free = find_bias([contest], bounds_of([contest], keep_mean=1.0, max_loss=1.0, n_classes=3))
    assert free.worst == pytest.approx(0.1, abs=0.02)  # for 44 points of the mean


def test_groups_are_parts_too():
    _, (margins, norms, _, labels, rivals) = made_up(5, n=200)
    groups = np.random.default_rng(0).integers(0, 2, 200) * 7  # any numbers
    contest = attacked_contest(margins, norms, labels, rivals, groups, eps=0.2)
    assert contest.counts.tolist() == np.unique(groups, return_counts=True)[1].tolist()
    held = contest.holds(np.zeros(3))
    assert contest.shares(np.zeros(3)) == pytest.approx([held[groups == 0].mean(), held[groups == 7].mean()])
