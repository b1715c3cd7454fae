"""Changes between two versions: intervals, tests, and what is said about them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gfscore import Options, Samples, audit_models, compare, disparity
from gfscore.bounds import change_intervals
from gfscore.bounds.betting import betting_lower, betting_p_values
from gfscore.bounds.changes import (
    BOX_SHARE,
    MEAN_SHARE,
    TEST_SHARE,
    VERSION_SHARE,
    _metrics,
    holm,
    largest_mean_difference,
)
from gfscore.bounds.parts import PartScores
from gfscore.bounds.simultaneous import audit_intervals
from gfscore.comparing import BY_ID, BY_ORDER, compare_audits
from gfscore.errors import InvalidInputError
from gfscore.verdicts import Comparison, Verdict

QUICK = Options(permutations=0)


def test_the_level_is_spent_once():
    assert sum((TEST_SHARE, BOX_SHARE, 2 * VERSION_SHARE, MEAN_SHARE)) == pytest.approx(1.0)


@given(arrays(np.float64, st.integers(1, 12), elements=st.floats(0, 1)))
def test_holm_agrees_with_its_definition(p_values):
    """Step down: the i-th smallest is held against level / (K - i + 1), as long as all smaller ones passed."""
    adjusted = holm(p_values)
    for level in (0.01, 0.05, 0.3):
        rejected = set()
        for step, index in enumerate(np.argsort(p_values, kind="stable")):
            if p_values[index] * (len(p_values) - step) > level:
                break
            rejected.add(int(index))
        assert set(np.flatnonzero(adjusted <= level).tolist()) == rejected


def test_p_values_and_bounds_say_the_same():
    rng = np.random.default_rng(0)
    parts = PartScores.of(rng.beta(2, 3, 600), np.repeat(np.arange(3), 200), 3, maximum=1.0)
    alpha = 0.01
    bounds = betting_lower(parts, alpha)
    assert (betting_p_values(parts, bounds - 1e-6, alpha) <= alpha).all()
    assert (betting_p_values(parts, bounds + 1e-6, alpha) > alpha).all()


boxes = st.integers(2, 8).flatmap(
    lambda k: st.tuples(*[arrays(np.float64, k, elements=st.floats(-1, 1)) for _ in range(3)])
)


@given(boxes)
def test_the_largest_mean_difference_is_not_exceeded_in_the_box(box):
    ends = np.sort(np.stack(box[:2]), axis=0)
    inside = np.clip(box[2], ends[0], ends[1])
    difference = np.abs(inside[:, None] - inside[None, :]).sum() / (2 * len(inside) ** 2)
    assert difference <= largest_mean_difference(ends[0], ends[1]) + 1e-12


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(2, 6))
def test_metric_changes_cover_every_pair_of_profiles_that_the_intervals_allow(seed, k):
    """If the boxes hold the true profiles and their changes, each interval holds the true change of its metric."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(k), 12)
    old, new = rng.random((2, len(codes)))
    versions = [audit_intervals(scores, codes, k, maximum=1.0, delta=0.3, seed=seed) for scores in (old, new)]
    truths = [rng.uniform(version.lower, version.upper) for version in versions]
    width = rng.uniform(0, 0.3, (2, k))
    difference = truths[1] - truths[0]
    changes = (difference - width[0], difference + width[1])
    # What the other bounds of an audit allow holds the truth as well: here they are made wide enough to.
    versions = [
        replace(version, nrgc=(0.0, 1.0), fp_great=(-2.0, 2.0), class_mean=(float(truth.mean()) - 0.01, 1.0))
        for version, truth in zip(versions, truths, strict=True)
    ]
    mean = (float(difference.mean()) - 0.01, float(difference.mean()) + 0.01)
    found = _metrics((truths[0], truths[1]), versions, changes, mean, mean, 0.5)
    for name, metric in (
        ("wcr", disparity.wcr),
        ("rdi", disparity.rdi),
        ("nrgc", disparity.nrgc),
        ("fp_great", disparity.fp_great),
    ):
        low, high = found[name]
        assert low - 1e-9 <= metric(truths[1]) - metric(truths[0]) <= high + 1e-9, name


def versions(seed=0, n=1200, fall=0.8, names=("a", "b", "c"), **extra):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    noise = rng.normal(0, 1, (n, 3))
    before = noise + 2 * np.eye(3)[labels]
    gain = np.array([-fall, 0.6, 0.6])[labels][:, None] * np.eye(3)[labels]
    after = before + gain + rng.normal(0, 0.1, (n, 3))
    return tuple(Samples.of(logits, labels, class_names=names, **extra) for logits in (before, after))


def test_a_fall_behind_a_better_mean_is_named():
    found = compare(*versions(), QUICK)
    assert found.paired
    assert found.pairing == BY_ORDER
    assert (found.worse, found.better) == (("a",), ("b", "c"))
    assert found.metrics["class_mean"].value > 0
    assert found.hidden.startswith("The class mean rose by 0.0")
    assert "hides that a fell from" in found.hidden
    assert found.verdict is Verdict.FAIL
    assert "1 of 3 classes fell: a (" in found.reason
    assert Comparison.from_json(found.to_json()) == found


def test_the_way_back_hides_nothing():
    old, new = versions()
    found = compare(new, old, QUICK)
    assert (found.worse, found.better) == (("b", "c"), ("a",))
    assert found.hidden is None


def test_the_same_model_did_not_change():
    old, _ = versions()
    found = compare(old, old, QUICK)
    assert found.worse == found.better == ()
    assert found.verdict is Verdict.PASS
    assert all(entry.change.value == 0 and entry.p_value == 1 for entry in found.classes)
    assert all(metric.interval[0] <= 0 <= metric.interval[1] for metric in found.metrics.values())


@pytest.mark.parametrize(
    ("tolerance", "verdict"), [(None, "FAIL"), (0.01, "FAIL"), (0.8, "PASS"), ("middle", "UNDECIDED")]
)
def test_a_tolerance_leaves_room_for_undecided(tolerance, verdict):
    old, new = versions()
    if tolerance == "middle":
        tolerance = -compare(old, new, QUICK).classes[0].change.value
    found = compare(old, new, QUICK, tolerance=tolerance)
    assert found.verdict == verdict
    assert found.tolerance == tolerance


def test_samples_are_joined_by_id_whatever_their_order():
    old, new = versions()
    ids = [f"s{row}" for row in range(1200)]
    shuffled = np.random.default_rng(1).permutation(1200)[:1100]
    first = Samples.of(old.logits, old.labels, class_names=old.class_names, sample_ids=ids)
    second = Samples.of(
        new.logits[shuffled],
        new.labels[shuffled],
        class_names=new.class_names,
        sample_ids=[ids[row] for row in shuffled],
    )
    found = compare(first, second, QUICK)
    assert (found.pairing, found.n) == (BY_ID, 1100)
    assert found.flags[0].message.startswith("100 samples are in one version only")
    expected = [new.logits[shuffled], old.logits[shuffled]]
    kept = [Samples.of(logits, new.labels[shuffled], class_names=new.class_names) for logits in expected]
    again = compare(kept[1], kept[0], QUICK)
    assert [entry.change for entry in found.classes] == [entry.change for entry in again.classes]


def test_samples_that_cannot_be_matched_are_compared_unpaired_and_it_is_said():
    old, _ = versions()
    _, new = versions(seed=1, n=1500, fall=1.9)
    found = compare(old, new, QUICK)
    assert not found.paired
    assert found.delta == pytest.approx(0.05)
    assert found.flags[0].code == "unpaired"
    assert found.worse == ("a",)
    assert all(entry.p_value is None for entry in found.classes)


def test_pairing_narrows():
    old, new = versions()
    paired = compare(old, new, QUICK)
    audits = [audit_models({"m": each}, replace(QUICK, delta=0.025)).model for each in (old, new)]
    unpaired = compare_audits(*audits)
    for one, other in zip(paired.classes, unpaired.classes, strict=True):
        assert one.change.value == pytest.approx(other.change.value)
        assert np.ptp(one.change.interval) < 0.5 * np.ptp(other.change.interval)


def test_groups_are_compared_as_classes_are():
    groups = np.where(np.arange(1200) % 2 == 0, "day", "night")
    found = compare(*versions(groups=groups), QUICK)
    assert found.partition == "group"
    assert [entry.name for entry in found.classes] == ["day", "night"]


def test_what_cannot_be_compared_is_refused():
    old, new = versions()
    with pytest.raises(InvalidInputError, match="their names are not the same"):
        compare(old, versions(names=("a", "b", "x"))[1], QUICK)
    with pytest.raises(InvalidInputError, match="a tolerance of -1"):
        compare(old, new, QUICK, tolerance=-1)
    ids = list(range(1200))
    turned = Samples.of(new.logits, (new.labels + 1) % 3, class_names=new.class_names, sample_ids=ids)
    known = Samples.of(old.logits, old.labels, class_names=old.class_names, sample_ids=ids)
    with pytest.raises(InvalidInputError, match="1,200 samples have another label"):
        compare(known, turned, QUICK)
    cold = audit_models({"m": old}, replace(QUICK, temperature=2.0)).model
    with pytest.raises(InvalidInputError, match="were scored differently"):
        compare_audits(audit_models({"m": old}, QUICK).model, cold)
    with pytest.raises(InvalidInputError, match="give the same samples in both"):
        change_intervals([0.1], [0.1, 0.2], [0, 1], 2, maximum=1.0)
