"""Robust accuracy: shares of radii at a ladder of eps, judged and compared, against what is counted by hand."""

import math

import numpy as np
import pytest
from scipy import stats

import gfscore
from gfscore import views
from gfscore.bounds import clopper_pearson
from gfscore.cli.main import run
from gfscore.errors import OptionError
from gfscore.jobs.compare import compare_samples
from gfscore.jobs.compared import lead_with
from gfscore.jobs.gate import gate
from gfscore.jobs.options import Options
from gfscore.jobs.robustness import draw_part
from gfscore.judge.policy import Policy
from gfscore.judge.repairs import fall_p_value
from gfscore.judge.robust_accuracy import RUNGS, robust_intervals
from gfscore.judge.robust_changes import (
    apart_p_values,
    paired_robust_change,
    sign_p_values,
    unpaired_robust_change,
)
from gfscore.results import Audit, Verdict
from gfscore.samples import Samples

EPS = 2 / 255
NET = {"model": "zoo:trades", "data": "zoo:digits"}


@pytest.fixture(scope="module")
def audits(tmp_path_factory):
    """Two networks, radii of all samples and of some, by gradients where there are any."""
    store = tmp_path_factory.mktemp("robust")

    def audit(model, **words):
        return gfscore.audit(model=f"zoo:{model}", data="zoo:digits", store=store, permutations=0, **words).model

    return {
        "all": audit("trades", radii="all"),
        "some": audit("trades", radii=20),
        "radii": audit("trades", score="first-order", norm="linf", eps=EPS),
        "standard": audit("standard", radii="all"),
    }


def test_shares_are_those_of_the_radii_of_all_samples(audits, tmp_path):
    """The same network by the first-order score: there each radius is a row, and shares are counted by hand."""
    rows = []
    gfscore.audit(
        **NET, score="first-order", norm="linf", store=tmp_path, seen=lambda _n, s, local: rows.append((s, local))
    )
    samples, local = rows[0]
    found = audits["all"].robustness
    assert found.n == samples.n_samples
    assert [round(rung.eps * 255, 6) for rung in found.rungs] == sorted(RUNGS)
    for rung in found.rungs:
        assert rung.value == pytest.approx((local.values > rung.eps).mean())
        by_class = [(local.values > rung.eps)[samples.labels == k].mean() for k in range(10)]
        np.testing.assert_allclose([entry.value for entry in rung.classes], by_class, rtol=1e-12)
        assert by_class[int(rung.worst)] == min(by_class)
    assert audits["all"].robust_accuracy.value == found.at(EPS).value
    assert [e.robust_accuracy for e in audits["all"].classes] == list(found.at(EPS).classes)


def test_the_headline_has_half_of_the_level_and_intervals_never_cross(audits):
    found = audits["all"].robustness
    alpha = found.delta / 2 / (2 * 11)
    for part, entry in zip(found.classes, found.headline.classes, strict=True):
        low, high = clopper_pearson(round(entry.value * part.n), part.n, 2 * alpha)
        assert entry.interval[0] >= low - 1e-12  # cut by what larger eps leave
        assert entry.interval[1] <= high + 1e-12
    ends = np.array([[entry.interval for entry in rung.classes] for rung in found.rungs])
    assert (np.diff(ends, axis=0) <= 1e-12).all()


def test_a_part_of_each_class_is_drawn_whatever_the_other_samples():
    rng = np.random.default_rng(0)
    ids = [f"s{i}" for i in range(400)]
    samples = Samples.of(rng.normal(size=(400, 4)), np.arange(400) % 4, sample_ids=ids)
    few, more = (draw_part(samples, samples.labels, n, 0) for n in (10, 30))
    assert np.bincount(samples.labels[few]).tolist() == [10] * 4
    assert set(few) < set(more)
    assert draw_part(samples, samples.labels, 100, 0) is None
    half = samples.rows(np.arange(200))
    again = draw_part(half, half.labels, 10, 0)
    assert {row for row in few if row < 200} <= set(again)
    assert set(draw_part(samples, samples.labels, 10, 1)) != set(few)


def test_a_random_part_says_the_same_within_its_intervals(audits):
    whole, part = audits["all"].robustness, audits["some"].robustness
    assert part.n == 200
    assert [entry.n for entry in part.classes] == [20] * 10
    for rung in part.rungs:
        truth = whole.at(rung.eps)
        assert rung.interval[0] <= truth.value <= rung.interval[1]
        assert all(
            low <= entry.value <= high
            for entry, (low, high) in zip(truth.classes, [e.interval for e in rung.classes], strict=True)
        )


def test_the_score_itself_has_its_ladder_within_the_level_of_the_audit(audits):
    score, beside = audits["radii"].robustness, audits["all"].robustness
    assert [rung.value for rung in score.rungs] == [rung.value for rung in beside.rungs]
    assert (score.delta, beside.delta) == (0.025, 0.05)


@pytest.mark.parametrize(
    ("rules", "verdict"),
    [
        ({"robust_accuracy": "0.9@2/255"}, Verdict.PASS),
        ({"robust_accuracy": 0.9, "eps": EPS}, Verdict.PASS),
        ({"robust_accuracy": "0.99@8/255"}, Verdict.FAIL),
        ({"class_robust_accuracy": {"*": "0.5@2/255"}}, Verdict.PASS),
        ({"class_robust_accuracy": ["8=0.99@8/255"]}, Verdict.FAIL),
        ({"class_robust_accuracy": {"*": "0.85@2/255"}}, Verdict.UNDECIDED),
    ],
)
def test_rules_on_robust_accuracy_of_an_audit(audits, rules, verdict):
    found = gate(audits["all"], **rules)
    assert found.verdict is verdict
    (rule,) = found.models[0].rules
    assert rule.eps is not None
    assert " at " in rule.rule
    assert [flag.code for flag in found.models[0].flags if flag.code == "estimated_radii"] == ["estimated_radii"]
    if verdict is Verdict.UNDECIDED:
        assert "raise --radii" in rule.reason


def test_intervals_of_rules_are_clopper_and_pearsons_at_the_level_they_have(audits):
    model = audits["all"]
    found = robust_intervals(model, [(EPS, None), (EPS, "8")], 0.04)[EPS]
    rung = model.robustness.at(EPS)
    low, high = clopper_pearson(round(rung.value * 900), 900, 0.02)
    assert found.whole == (pytest.approx(rung.value), pytest.approx((low, high)))
    low, high = clopper_pearson(round(rung.classes[8].value * 90), 90, 0.02)
    assert found.classes["8"][1] == pytest.approx((low, high))
    assert found.classes["7"][1] is None  # nobody asked


def test_an_eps_that_was_not_counted_is_not_guessed(audits):
    with pytest.raises(OptionError, match=r"at 5/255 is not known: the audit has it at 0.5/255, .*Audit with --eps 5"):
        gate(audits["all"], robust_accuracy="0.5@5/255")


def test_a_gate_runs_the_model_at_the_eps_of_its_rules(tmp_path):
    found = gate(**NET, robust_accuracy="0.9@5/255", radii=30, store=tmp_path)
    (rule,) = found.models[0].rules
    assert rule.rule == "robust accuracy at 5/255 ≥ 0.9"
    assert rule.value is not None


@pytest.mark.parametrize("eps", [48 / 255, 0.3])
def test_a_large_eps_needs_no_other_word(tmp_path, eps):
    """The largest radius follows it: the shares are those of radii that were cut at 1."""
    words = {"store": tmp_path, "permutations": 0, "n_per_class": 30}
    wide = gfscore.audit(**NET, **words, radii="all", eps=eps, max_radius=1).model.robust_accuracy
    assert 0 < wide.value < 1
    assert gfscore.audit(**NET, **words, radii="all", eps=eps).model.robust_accuracy == wide
    by_score = gfscore.audit(**NET, **words, score="first-order", norm="linf", eps=eps).model
    assert by_score.robust_accuracy.value == wide.value
    (rule,) = gate(**NET, **words, robust_accuracy=f"0.5@{eps}", radii="all").models[0].rules
    assert rule.value == pytest.approx(wide.value)
    several = gate(**NET, **words, robust_accuracy=f"0.5@{eps}", class_robust_accuracy={"*": "0.1@2/255"}, radii="all")
    assert several.models[0].rules[0].value == pytest.approx(wide.value)
    radii = gate(**NET, **words, robust_accuracy=f"0.5@{eps}", score="first-order", norm="linf")
    assert radii.models[0].rules[0].value == pytest.approx(wide.value)
    (change,) = gfscore.compare(
        "zoo:standard", "zoo:trades", data="zoo:digits", eps=eps, radii="all", **words
    ).robustness
    assert change.new == pytest.approx(wide.value)


def test_radii_as_the_score_are_what_an_adaptive_rule_is_about(tmp_path):
    rule = {"class_robust_accuracy": {"*": "0.999@2/255"}, "adaptive": True, "store": tmp_path}
    beside = gate(**NET, **rule).models[0]
    assert gate(**NET, **rule, score="first-order", norm="linf").models[0].rules == beside.rules


@pytest.mark.parametrize(("share", "verdict"), [(0.5, Verdict.PASS), (0.999, Verdict.FAIL)])
def test_the_adaptive_gate_decides_on_every_class(tmp_path, share, verdict):
    found = gate(**NET, class_robust_accuracy={"*": f"{share}@2/255"}, adaptive=True, store=tmp_path)
    model = found.models[0]
    assert found.verdict is verdict
    assert model.score.name == "robust"
    assert model.adaptive.used < model.adaptive.available
    assert model.levels == {"robust_accuracy": 0.05}
    assert [flag.code for flag in model.flags] == ["estimated_radii"]


def test_rules_on_changes_of_both_kinds_share_their_level(audits, monkeypatch):
    """What the intervals of the baseline take is not spent again on robust accuracy."""
    rules = {"change": {"wcr": -1.2, "robust_accuracy": "-0.9@2/255"}}
    with pytest.raises(OptionError, match=r"baseline take 0\.05 .* leaves none for robust accuracy. Raise --delta, or"):
        gate(audits["all"], rules, baseline=audits["all"], delta=0.1)
    spent = []

    def watched(*versions, delta):
        spent.append(delta)
        return unpaired_robust_change(*versions, delta=delta)

    monkeypatch.setattr("gfscore.jobs.policy_words.unpaired_robust_change", watched)
    found = gate(audits["all"], rules, baseline=audits["all"], delta=0.16).models[0]
    assert found.levels["change"] == pytest.approx(0.08)
    assert spent == [pytest.approx(0.08 - 0.05)]
    gate(audits["all"], {"change": {"robust_accuracy": "-0.9@2/255"}}, baseline=audits["all"], delta=0.1)
    assert spent[1:] == [0.1]


def test_changes_against_a_baseline(audits):
    old, new = audits["all"], audits["standard"]
    same = gate(old, {"change": {"robust_accuracy": "-0.1@2/255"}}, baseline=old)
    assert same.verdict is Verdict.PASS
    worse = gate(new, {"change": {"class_robust_accuracy": {"*": "-0.01@8/255"}}}, baseline=old)
    assert worse.models[0].rules[0].rule == "change of robust accuracy of every class at 8/255 ≥ -0.01"
    change = unpaired_robust_change(old, new, 8 / 255, delta=0.05)
    assert change.change.value == pytest.approx(new.robustness.at(8 / 255).value - old.robustness.at(8 / 255).value)
    assert change.change.interval[0] <= change.change.value <= change.change.interval[1]


def test_a_comparison_of_audits_has_the_change_of_the_headline(audits):
    found = gfscore.compare(audits["all"], audits["standard"])
    (change,) = found.robustness
    assert math.isclose(change.eps, EPS)
    assert not change.paired
    assert [entry.name for entry in change.classes] == [entry.name for entry in audits["all"].classes]


@pytest.mark.parametrize(("old", "m", "new", "n"), [(9, 10, 3, 10), (40, 50, 20, 30), (0, 5, 0, 7), (5, 5, 7, 7)])
def test_falls_are_tested_by_fishers_exact_test(old, m, new, n):
    expected = stats.fisher_exact([[new, n - new], [old, m - old]], alternative="less").pvalue
    assert fall_p_value(old, m, new, n) == pytest.approx(expected)


@pytest.mark.parametrize(("old", "m", "new", "n"), [(9, 10, 3, 10), (40, 50, 20, 30), (0, 5, 0, 7), (5, 5, 7, 7)])
def test_two_audits_differ_where_their_intervals_at_that_level_do_not_meet(old, m, new, n):
    found = float(apart_p_values((old, m), (new, n)))

    def meet(level):
        """The exact intervals of both, each with half of the level, by the quantiles of the Beta distribution."""
        lowest = stats.beta.ppf(level / 2, old, m - old + 1) if old else 0.0
        highest = stats.beta.ppf(1 - level / 2, new + 1, n - new) if new < n else 1.0
        return lowest <= highest

    assert meet(found * 0.999)
    assert found == 1 or not meet(found * 1.001)


def test_falls_between_audits_of_the_same_images_are_rarely_seen_where_there_are_none():
    """One model keeps just the images that the other loses: both hold half of them, and nothing fell."""
    rng = np.random.default_rng(0)
    held = (rng.random((5000, 200)) < 0.5).sum(axis=1)
    named = apart_p_values((held, 200), (200 - held, 200)) <= 0.05
    for_samples_of_their_own = [fall_p_value(int(each), 200, int(200 - each), 200) <= 0.05 for each in held[:1000]]
    assert named.mean() <= 0.05
    assert np.mean(for_samples_of_their_own) > 0.08  # which is why two audits are not tested by Fisher's


def test_of_a_fixed_set_that_was_seen_as_a_whole_every_fall_is_sure(tmp_path):
    words = {"data": "zoo:digits", "store": tmp_path, "permutations": 0, "radii": "all", "target": "finite"}
    old, new = (gfscore.audit(model=f"zoo:{name}", **words) for name in ("trades", "standard"))
    both = [gfscore.compare(old, new, tolerance=tolerance) for tolerance in (None, 0)]
    found, exact = (each.robustness[0] for each in both)
    fallen = next(entry for entry in found.classes if entry.verdict == "worse")
    assert f"{fallen.name} ({views.points(fallen.change)} points)" in both[0].reason
    assert {entry.verdict for entry in found.classes} >= {"worse"}
    for entry, held in zip(found.classes, exact.classes, strict=True):
        assert entry.change.interval == pytest.approx((entry.change.value,) * 2)
        fell, rose = entry.change.value < 0, entry.change.value > 0
        assert entry.verdict == ("worse" if fell else "better" if rose else "unclear")
        assert held.verdict == ("worse" if fell else "better" if rose else "within")


def test_two_audits_whose_robust_accuracy_differs_in_kind_are_told_so(audits, tmp_path):
    few = {"store": tmp_path, "permutations": 0, "n_per_class": 20}
    l2 = gfscore.audit(**NET, radii="all", norm="l2", **few)
    without = gfscore.audit(**NET, radii="none", **few)
    for other, why in ((l2, "it is of attacks in L2 and in Linf"), (without, "trades has none")):
        found = gfscore.compare(other, audits["all"])
        assert found.robustness == ()
        (flag,) = (flag for flag in found.flags if flag.code == "robust_accuracy_not_compared")
        assert flag.message == f"robust accuracy was not compared: {why}."
        assert found.delta == pytest.approx(0.1)
    left_out = gfscore.compare(audits["all"], audits["standard"], radii="none")
    assert (left_out.robustness, left_out.delta) == ((), pytest.approx(0.1))
    assert "robust_accuracy_not_compared" not in {flag.code for flag in left_out.flags}
    large = [
        gfscore.audit(model=f"zoo:{each}", data="zoo:digits", radii=20, delta=0.3, **few) for each in ("trades", "awp")
    ]
    found = gfscore.compare(*large)
    assert (found.robustness, found.delta) == ((), pytest.approx(0.6))
    assert "with it the levels of the two audits add up to 1.2. Audit both with" in str(found.flags)


def test_falls_of_pairs_are_tested_by_the_sign_test():
    lost, won = np.array([5, 12, 0, 3]), np.array([0, 4, 2, 3])
    pairs = zip(lost.tolist(), won.tolist(), strict=True)
    expected = [stats.binomtest(a, a + b, 0.5, alternative="greater").pvalue for a, b in pairs]
    np.testing.assert_allclose(sign_p_values(lost, won), expected)


def test_pairs_show_what_two_audits_alone_do_not():
    rng = np.random.default_rng(0)
    codes, names = np.repeat(np.arange(10), 90), [str(k) for k in range(10)]
    old = rng.random(900) < 0.8
    new = old & ~((codes == 3) & (rng.random(900) < 0.25))
    about = {"eps": EPS, "norm": "linf", "kind": "estimated", "delta": 0.05}
    how = {"accuracies": [(0.9, 0.9)] * 10, "sizes": np.full(10, 90), "about": about}
    found = paired_robust_change(names, (old, new), codes, **how)
    assert found.worse == ("3",)
    lost = (old & ~new)[codes == 3].sum() / 90
    assert found.classes[3].change.value == pytest.approx(-lost)
    assert found.change.value == pytest.approx(-lost / 10)
    assert found.change.interval[0] < -lost / 10 < found.change.interval[1]


def test_falls_of_pairs_are_rarely_seen_where_there_are_none():
    """At level 0.05 for tests and intervals together, of 200 comparisons without a change few may show one."""
    rng = np.random.default_rng(1)
    codes, names = np.repeat(np.arange(5), 40), list("abcde")
    about = {"eps": EPS, "norm": "linf", "kind": "estimated", "delta": 0.05}
    wrong = 0
    for _ in range(200):
        old, new = rng.random((2, 200)) < 0.7
        how = {"accuracies": [(1.0, 1.0)] * 5, "sizes": np.full(5, 40), "about": about}
        found = paired_robust_change(names, (old, new), codes, **how)
        inside = all(entry.change.interval[0] <= 0 <= entry.change.interval[1] for entry in found.classes)
        wrong += bool(found.worse) or not inside
    assert stats.binomtest(wrong, 200, 0.05, alternative="greater").pvalue > 0.001


def test_two_models_are_compared_on_the_same_samples(tmp_path):
    words = {"data": "zoo:digits", "store": tmp_path, "permutations": 0}
    found = gfscore.compare("zoo:standard", "zoo:trades", radii=30, eps=8 / 255, **words)
    (change,) = found.robustness
    assert change.paired
    assert [entry.n for entry in change.classes] == [30] * 10
    assert found.reason.startswith("Robust accuracy at 8/255: ")
    audits = [
        gfscore.audit(model=f"zoo:{name}", radii=30, eps=8 / 255, **words).model for name in ("standard", "trades")
    ]
    assert (change.old, change.new) == pytest.approx(tuple(each.robust_accuracy.value for each in audits))
    assert gfscore.compare("zoo:standard", "zoo:trades", radii="none", **words).robustness == ()


def test_robust_accuracy_and_score_share_the_level_of_a_comparison(tmp_path):
    """Either fails the whole, so by the union bound what both may be wrong with adds up to delta."""
    words = {"data": "zoo:digits", "store": tmp_path, "permutations": 0}
    found = gfscore.compare("zoo:standard", "zoo:trades", radii=30, delta=0.2, **words)
    assert (found.delta, found.robustness[0].delta) == (0.2, 0.1)
    alone = gfscore.compare("zoo:standard", "zoo:trades", radii="none", delta=0.1, **words)
    assert found.classes == alone.classes
    assert found.metrics == alone.metrics
    undivided = gfscore.compare("zoo:standard", "zoo:trades", radii="none", delta=0.2, **words)
    assert undivided.delta == 0.2
    assert undivided.classes != alone.classes


def test_the_levels_of_two_audits_add_up_for_score_and_robust_accuracy(audits):
    beside = gfscore.compare(audits["all"], audits["standard"])
    assert beside.delta == pytest.approx(0.05 + 0.05 + 0.05 + 0.05)
    assert beside.robustness[0].delta == pytest.approx(0.05 + 0.05)
    radii = gfscore.compare(audits["radii"], audits["radii"])  # there the score and its shares have half of 0.05 each
    assert radii.delta == pytest.approx(0.05 + 0.05)
    assert radii.robustness[0].delta == pytest.approx(0.025 + 0.025)


def test_a_tolerance_is_a_share_of_robust_accuracy_and_units_of_the_score(audits, tmp_path):
    """1.1 is on the scale of the GREAT score, and no share; a version that stays the same is within 0.5 of either."""
    with pytest.raises(OptionError, match=r"tolerance of 1\.1 is off the scale of the robust accuracy, a share, .*1\."):
        gfscore.compare(audits["all"], audits["all"], tolerance=1.1)
    with pytest.raises(OptionError, match=r"off the scale of the robust accuracy"):
        gfscore.compare("zoo:standard", "zoo:trades", data="zoo:digits", store=tmp_path, radii=5, tolerance=1.1)
    same = gfscore.compare(audits["all"], audits["all"], tolerance=0.5)
    assert {entry.verdict for entry in same.robustness[0].classes} == {"within"}
    assert same.verdict is Verdict.PASS
    assert "All 10 classes are shown to have fallen by no more than 50 points." in same.reason
    paired = gfscore.compare("zoo:trades", "zoo:trades", data="zoo:digits", store=tmp_path, radii=90, tolerance=0.5)
    assert {entry.verdict for entry in paired.robustness[0].classes} == {"within"}


def test_robust_accuracy_and_score_together_are_wrong_no_more_often_than_delta():
    """Two versions of one law: nothing changed, so that a class that fell, or an interval without 0, is an error."""
    rng, labels, delta, wrong, runs = np.random.default_rng(0), np.arange(120) % 3, 0.2, 0, 100
    about = {"eps": EPS, "norm": "linf", "kind": "estimated", "delta": delta / 2}
    how = {"accuracies": [(1.0, 1.0)] * 3, "sizes": np.full(3, 40), "about": about}
    for _ in range(runs):
        versions = [Samples.of(rng.normal(size=(120, 3)) + 2 * np.eye(3)[labels], labels) for _ in range(2)]
        held = tuple(rng.random((2, 120)) < 0.7)
        first = paired_robust_change(versions[0].class_names, held, labels, **how)
        alone = compare_samples(*versions, Options(delta=delta / 2, permutations=0))
        found = lead_with(alone, first, delta=delta)
        changes = [entry.change.interval for entry in (*found.classes, *first.classes)]
        wrong += found.verdict is Verdict.FAIL or not all(low <= 0 <= high for low, high in changes)
    assert stats.binomtest(wrong, runs, delta, alternative="greater").pvalue > 0.001


def test_what_is_printed_says_how_the_level_is_split(tmp_path, capsys):
    words = ["--data", "zoo:digits", "--store", str(tmp_path), "--radii", "30"]
    assert run(["compare", "zoo:standard", "zoo:trades", *words]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    split = "probability 0.95: of the 0.05 left, 0.025 is for robust accuracy and 0.025 for the rest"
    assert split in shown
    assert "brackets hold with probability 0.975" in shown


def test_radii_that_cannot_be_had_leave_a_remark_and_are_refused_where_asked_for(tmp_path):
    def probabilities(inputs):
        logits = inputs.reshape(len(inputs), -1)[:, :3].astype(np.float64)
        return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)

    rng = np.random.default_rng(0)
    images, labels = rng.random((60, 3, 1, 1), dtype=np.float32), np.arange(60) % 3
    found = gfscore.audit(probabilities, (images, labels), probabilities=True, permutations=0).model
    assert found.robustness is None
    assert any(flag.code == "no_radii" and "ratio of logits" in flag.message for flag in found.flags)


def test_a_damaged_robustness_is_refused(audits, tmp_path):
    found = Audit(models=(audits["some"],), provenance=gfscore.audit([[2, 0], [0, 2]], [0, 1]).provenance)
    text = found.to_json()
    damaged = text.replace('"n": 200,\n    "settings"', '"n": 201,\n    "settings"')
    assert damaged != text
    (tmp_path / "audit.json").write_text(damaged)
    with pytest.raises(gfscore.GFScoreError, match="its radii do not add up to 201"):
        Audit.load(tmp_path / "audit.json")


def test_policies_say_the_size_of_attack(audits):
    policy = Policy.of({"rules": {"robust_accuracy": "0.3@2/255"}, "class_robust_accuracy": {"cat": "0.1@0.5/255"}})
    assert [rule.text for rule in policy.rules] == [
        "robust accuracy at 2/255 ≥ 0.3",
        "robust accuracy of cat at 0.5/255 ≥ 0.1",
    ]
    assert policy.eps == (2 / 255, 0.5 / 255)
