"""Changes between two versions: intervals, tests, and what is said about them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binomtest, spearmanr

from gfscore import Options, Samples, audit, audit_models, compare
from gfscore.bounds import PartScores, audit_intervals, change_intervals, holm
from gfscore.bounds.betting import betting_lower, betting_p_values
from gfscore.bounds.changes import (
    BOX_SHARE,
    MEAN_SHARE,
    TEST_SHARE,
    VERSION_SHARE,
    largest_mean_difference,
    metric_changes,
)
from gfscore.errors import InvalidInputError, OptionError, SamplesError
from gfscore.jobs.compared import compare_audits
from gfscore.jobs.two_versions import BY_ID, BY_ORDER
from gfscore.judge import follows_order
from gfscore.judge.versions import order_correlation
from gfscore.metrics import formulas
from gfscore.results import Comparison, Verdict
from judge_simulations import ordered_samples

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
    found = metric_changes((truths[0], truths[1]), versions, changes, (mean, mean), 0.5)
    for name, metric in (
        ("wcr", formulas.wcr),
        ("rdi", formulas.rdi),
        ("nrgc", formulas.nrgc),
        ("fp_great", formulas.fp_great),
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
    found = compare(*versions(), options=QUICK)
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
    found = compare(new, old, options=QUICK)
    assert (found.worse, found.better) == (("b", "c"), ("a",))
    assert found.hidden is None


def test_the_same_model_did_not_change():
    old, _ = versions()
    found = compare(old, old, options=QUICK)
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
        tolerance = -compare(old, new, options=QUICK).classes[0].change.value
    found = compare(old, new, options=QUICK, tolerance=tolerance)
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
    found = compare(first, second, options=QUICK)
    assert (found.pairing, found.n) == (BY_ID, 1100)
    assert found.flags[0].message.startswith("100 samples are in one version only")
    expected = [new.logits[shuffled], old.logits[shuffled]]
    kept = [Samples.of(logits, new.labels[shuffled], class_names=new.class_names) for logits in expected]
    again = compare(kept[1], kept[0], options=QUICK)
    assert [entry.change for entry in found.classes] == [entry.change for entry in again.classes]


def test_samples_that_cannot_be_matched_are_compared_unpaired_and_it_is_said():
    old, _ = versions()
    _, new = versions(seed=1, n=1500, fall=1.9)
    found = compare(old, new, options=QUICK)
    assert not found.paired
    assert found.delta == pytest.approx(0.05)
    assert [flag.code for flag in found.flags] == ["unpaired"]
    assert found.worse == ("a",)
    assert all(entry.p_value is None for entry in found.classes)


def test_pairing_narrows():
    old, new = versions()
    paired = compare(old, new, options=QUICK)
    audits = [audit_models({"m": each}, replace(QUICK, delta=0.025)).model for each in (old, new)]
    unpaired = compare_audits(*audits)
    for one, other in zip(paired.classes, unpaired.classes, strict=True):
        assert one.change.value == pytest.approx(other.change.value)
        assert np.ptp(one.change.interval) < 0.5 * np.ptp(other.change.interval)


def test_groups_are_compared_as_classes_are():
    groups = np.where(np.arange(1200) % 2 == 0, "day", "night")
    found = compare(*versions(groups=groups), options=QUICK)
    assert found.partition == "group"
    assert [entry.name for entry in found.classes] == ["day", "night"]


def test_what_cannot_be_compared_is_refused():
    old, new = versions()
    with pytest.raises(InvalidInputError, match="their names are not the same"):
        compare(old, versions(names=("a", "b", "x"))[1], options=QUICK)
    with pytest.raises(InvalidInputError, match="a tolerance of -1"):
        compare(old, new, options=QUICK, tolerance=-1)
    ids = list(range(1200))
    turned = Samples.of(new.logits, (new.labels + 1) % 3, class_names=new.class_names, sample_ids=ids)
    known = Samples.of(old.logits, old.labels, class_names=old.class_names, sample_ids=ids)
    with pytest.raises(InvalidInputError, match="1,200 samples have another label"):
        compare(known, turned, options=QUICK)
    cold = audit_models({"m": old}, replace(QUICK, temperature=2.0)).model
    with pytest.raises(InvalidInputError, match="were scored differently"):
        compare_audits(audit_models({"m": old}, QUICK).model, cold)
    with pytest.raises(InvalidInputError, match="give the same samples in both"):
        change_intervals([0.1], [0.1, 0.2], [0, 1], 2, maximum=1.0)


def without(samples, lost):
    """The samples without those of one class."""
    kept = samples.labels != samples.class_names.index(lost)
    return Samples.of(samples.logits[kept], samples.labels[kept], class_names=samples.class_names)


@pytest.mark.parametrize("tolerance", [None, 0.9])
@pytest.mark.parametrize("lost", ["a", "b"])
def test_a_class_that_vanished_is_named_and_leaves_the_metrics_open(lost, tolerance):
    old, new = versions(fall=0.0)
    assert compare(old, new, options=QUICK, tolerance=0.9).verdict is Verdict.PASS
    found = compare(old, without(new, lost), options=QUICK, tolerance=tolerance)
    assert not found.paired
    assert found.not_compared == (lost,)
    assert found.verdict is Verdict.UNDECIDED
    assert found.reason.startswith(f"{lost} could not be compared; of the other 2 classes none is shown to have fallen")
    assert [flag.code for flag in found.flags] == ["unpaired", "other_classes"]
    assert found.flags[1].message == f"{lost} could not be compared: only old has any of {lost}."
    for metric in found.metrics.values():
        assert (metric.value, metric.interval) == (None, None)
        assert metric.reason == "the two versions have samples of different classes"
        assert None not in (metric.old, metric.new)
    assert compare(without(old, lost), new, options=QUICK).flags[1].message.endswith(f"only new has any of {lost}.")


def test_a_class_that_fell_fails_though_another_vanished():
    old, new = versions(n=6000, fall=1.9)
    found = compare(old, without(new, "b"), options=QUICK)
    assert (found.verdict, found.worse) == (Verdict.FAIL, ("a",))


def test_a_class_without_a_common_id_is_not_compared():
    old, new = versions(fall=0.0)
    ids = np.array([f"s{row}" for row in range(1200)])
    other = np.where(new.labels == 1, np.char.add(ids, "x"), ids)
    named = [
        Samples.of(each.logits, each.labels, class_names=each.class_names, sample_ids=list(known))
        for each, known in ((old, ids), (new, other))
    ]
    found = compare(*named, options=QUICK, tolerance=0.9)
    assert found.paired
    assert found.not_compared == ("b",)
    assert found.verdict is Verdict.UNDECIDED
    assert [flag.code for flag in found.flags] == ["left_out", "other_classes"]
    assert found.metrics["wcr"].value is not None  # of the same classes in both


def test_audits_about_different_things_are_not_compared():
    old, new = versions()
    one, other = (audit_models({name: each}, QUICK).model for name, each in (("old", old), ("new", new)))
    interval = other.interval.model_copy(update={"target": "finite"})
    with pytest.raises(
        OptionError, match="the intervals of old are about the target population and those of new about"
    ):
        compare_audits(one, other.model_copy(update={"interval": interval}))
    with pytest.raises(OptionError, match="old is audited by class and new by group"):
        compare_audits(one, other.model_copy(update={"partition": "group"}))
    score = other.score.model_copy(update={"range": (0.0, 2.0)})
    with pytest.raises(OptionError, match=r"scored differently \(range \(0\.0, 1\.25\d*\) and \(0\.0, 2\.0\)\)"):
        compare_audits(one, other.model_copy(update={"score": score}))
    weighted = audit_models({"new": new}, replace(QUICK, fairness_weight=1.0)).model
    found = compare_audits(one, weighted).metrics
    assert found["fp_great"].value is None
    assert found["fp_great"].reason == "the fairness weights are 0.5 and 1"
    assert found["wcr"].value is not None


def test_order_correlation_is_spearman_within_the_parts():
    rng = np.random.default_rng(0)
    scores = rng.random(60).round(1)
    expected = spearmanr(np.arange(60), scores).statistic
    assert order_correlation(scores, np.zeros(60, dtype=int)) == pytest.approx(expected)
    level = 100.0 * np.repeat([0, 1], 30)  # of the parts, which counts for nothing
    apart = order_correlation(scores + level, np.repeat([0, 1], 30))
    both = [spearmanr(np.arange(30), part).statistic for part in (scores[:30], scores[30:])]
    assert min(both) <= apart <= max(both)


def test_rows_that_are_matched_by_order_are_flagged_and_sorted_ones_refused():
    rng = np.random.default_rng(0)
    old, new = (ordered_samples(rng, 0.0) for _ in range(2))
    with pytest.raises(SamplesError, match="Give sample ids in both, or compare without matching"):
        compare(old, new, options=QUICK)
    ids = list(range(2000))
    named = [Samples.of(each.logits, each.labels, sample_ids=ids) for each in (old, new)]
    assert compare(*named, options=QUICK).flags == ()
    assert not compare(old, new, options=QUICK, unpaired=True).paired
    turned = Samples.of(new.logits[::-1], new.labels[::-1])
    straight = Samples.of(old.logits, old.labels)
    backwards = Samples.of(old.logits[::-1], old.labels[::-1])
    with pytest.raises(SamplesError, match="Give sample ids"):
        compare(backwards, turned, options=QUICK)
    found = compare(*(ordered_samples(rng, 100.0) for _ in range(2)), options=QUICK)
    assert found.paired
    assert [flag.code for flag in found.flags] == ["matched_by_order"]
    half = compare(straight, ordered_samples(rng, 100.0), options=QUICK)  # one order alone pairs at random
    assert half.paired


@pytest.mark.parametrize("blur", [0.0, 0.5])
def test_two_samples_of_one_law_are_not_found_worse_whatever_their_order(blur):
    """Sorted ones are refused, and what is let through errs no more often than the level."""
    rng, runs, refused, false = np.random.default_rng(1), 40, 0, 0
    for _ in range(runs):
        old, new = (ordered_samples(rng, blur) for _ in range(2))
        try:
            found = compare(old, new, options=QUICK)
        except SamplesError:
            refused += 1
            found = compare(old, new, options=QUICK, unpaired=True)
        false += found.verdict is Verdict.FAIL
    assert binomtest(false, runs, 0.05, alternative="greater").pvalue > 1e-3
    assert refused == runs if blur == 0 else refused < runs


def test_chance_does_not_look_like_an_order():
    rng = np.random.default_rng(2)
    for n in (4, 8, 20, 60):
        codes = np.arange(n) % 2
        pairs = ((scores := rng.random(n), scores + 0.1 * rng.random(n)) for _ in range(500))
        assert not any(follows_order(old, new, codes) for old, new in pairs)


def test_the_summary_says_when_classes_rose():
    old, new = versions(fall=0.0)
    risen = Samples.of(new.logits + 2 * np.eye(3)[new.labels], new.labels, class_names=new.class_names)
    found = compare(old, risen, options=QUICK)
    assert found.better == ("a", "b", "c")
    assert found.reason == "All 3 classes are shown to have risen."
    one = Samples.of(
        old.logits + 2 * np.eye(3)[old.labels] * (old.labels == 0)[:, None], old.labels, class_names=old.class_names
    )
    assert compare(old, one, options=QUICK).reason == (
        "None of 3 classes is shown to have fallen, and 1 to have risen; smaller falls may be there."
    )


def test_numbers_of_the_whole_that_weigh_classes_differently_have_no_change():
    rng, labels = np.random.default_rng(0), np.repeat([0, 1], 100)
    logits = rng.normal(size=(200, 2)) + np.array([3.0, 0.5])[labels][:, None] * np.eye(2)[labels]
    weighed = audit(logits, labels, class_sizes=[5000, 100], finite=False).model
    found = compare_audits(weighed, audit(logits, labels).model)
    assert found.metrics["aggregate"].value is None
    assert found.metrics["aggregate"].reason == "the two versions weigh their classes differently"
    assert found.metrics["class_mean"].value == pytest.approx(0)
