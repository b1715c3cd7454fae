"""Calibration: exact intervals against a fine grid, and each objective against its definition."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from objectives_directly import assert_direct, steps_of
from scipy.interpolate import make_interp_spline
from scipy.stats import spearmanr

from gfscore.errors import OptionError, SamplesError
from gfscore.ranking import rank_correlations
from gfscore.results import Calibration
from gfscore.samples import Samples
from gfscore.temperature import calibrate, objectives, temperature_curve
from gfscore.temperature.best_temperature import representative, two_phase_grid
from gfscore.temperature.objectives import (
    ClassAgreement,
    ClassStability,
    MeanOverModels,
    OverModels,
    Steps,
    class_edges,
    crossings,
    mean_steps,
    middles,
)

LOW, HIGH = 0.01, 10.0


def network(seed, k=6, n=300):
    """Samples of a made-up network whose classes differ in margin and accuracy."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % k
    logits = rng.normal(0, rng.uniform(1, 3), (n, k))
    logits[np.arange(n), labels] += rng.uniform(1, 5, k)[labels]
    return Samples.of(logits, labels)


def curves(models=6, k=6, **options):
    return {f"net{seed}": temperature_curve(network(seed, k), **options) for seed in range(models)}


def with_correct(correct, seed, per_class=10):
    """Curve of a made-up network with so many correct samples in each class."""
    rng, k = np.random.default_rng(seed), len(correct)
    labels = np.repeat(np.arange(k), per_class)
    right = np.concatenate([np.arange(per_class) < count for count in correct])
    logits = np.eye(k)[np.where(right, labels, (labels + 1) % k)] * rng.uniform(1, 5, (len(labels), 1))
    return temperature_curve(Samples.of(logits, labels))


CURVES = curves()
REFERENCE = dict(zip(CURVES, np.random.default_rng(3).random(6), strict=True))


class TestCrossings:
    @pytest.mark.parametrize(("gap", "found"), [(1e-2, 2), (1e-4, 2), (1e-5, 2), (1e-8, 1)])
    def test_two_are_found_unless_they_are_closer_than_curves_are_known(self, gap, found):
        x = np.linspace(0, 1, 30)
        values = 1e3 * (x - 0.3) * (x - 0.3 - gap)
        spline = make_interp_spline(x, np.stack([values, 0 * x], axis=1), k=5)
        np.testing.assert_allclose(crossings([spline], 0, 1), [0.3, 0.3 + gap][:found], rtol=0, atol=1e-7)

    @given(st.lists(st.floats(0.02, 0.98), min_size=1, max_size=5, unique_by=lambda place: round(place, 2)))
    def test_zeros_of_polynomials(self, zeros):
        x = np.linspace(0, 1, 20)
        values = 100 * np.prod([x - zero for zero in zeros], axis=0)
        spline = make_interp_spline(x, np.stack([values, 0 * x], axis=1), k=7)
        zeros = np.sort(zeros)
        slopes = [100 * np.prod(zero - np.delete(zeros, at)) for at, zero in enumerate(zeros)]
        error = np.abs(crossings([spline], 0, 1) - zeros)
        assert np.all(error <= 1e-8 + 1e-11 / np.abs(slopes))  # a flat curve says less about where it crosses

    def test_a_zero_at_a_knot_is_found(self):
        x = np.linspace(0, 1, 11)
        spline = make_interp_spline(x, np.stack([x - x[5], 0 * x], axis=1), k=3)
        assert spline.t[spline.t == x[5]].size == 1
        np.testing.assert_allclose(crossings([spline], 0, 1), [0.5], rtol=0, atol=1e-9)

    def test_equal_curves_never_cross_and_those_that_meet_are_tied_from_there(self):
        x = np.linspace(0, 10, 60)
        same = np.sin(x)
        assert crossings([make_interp_spline(x, np.stack([same, same], axis=1), k=7)], 0, 10).size == 0
        close = make_interp_spline(x, np.stack([same, same + np.exp(-8 * x)], axis=1), k=7)
        met = crossings([close], 0, 10)
        assert met.size >= 1
        assert np.abs(close(met[-1]) @ [1, -1]) == pytest.approx(1e-12, rel=1e-3)

    def test_splines_with_different_knots_may_be_compared(self):
        x, z = np.linspace(0, 1, 9), np.linspace(0, 1, 14)
        one, two = make_interp_spline(x, x[:, None], k=3), make_interp_spline(z, 0.37 + 0 * z[:, None], k=5)
        np.testing.assert_allclose(crossings([make_interp_spline(x, x[:, None], k=5), two], 0, 1), [0.37], atol=1e-9)
        with pytest.raises(ValueError, match="concat"):
            crossings([one, two], 0, 1)  # different degrees: not what curves are


def fine_temperatures(n=3000):
    return np.exp(np.random.default_rng(0).uniform(np.log(LOW), np.log(HIGH), n))


def rho(x, y):
    return spearmanr(x, y).statistic


class TestObjectives:
    def test_over_models_is_its_definition(self):
        target = np.array(list(REFERENCE.values()))
        steps = OverModels.of(tuple(CURVES.values()), target).steps
        for temperature in fine_temperatures(200):
            scores = [float(curve.aggregate(temperature)) for curve in CURVES.values()]
            assert steps.at(temperature) == pytest.approx(rho(scores, target), abs=1e-9)

    def test_over_classes_is_its_definition(self):
        steps = MeanOverModels(tuple(ClassAgreement(curve) for curve in CURVES.values())).steps
        for temperature in fine_temperatures(100):
            each = [rho(curve.scores(temperature), curve.accuracies) for curve in CURVES.values()]
            assert steps.at(temperature) == pytest.approx(np.mean(each), abs=1e-9)

    def test_stability_is_its_definition(self):
        curve = CURVES["net1"]
        steps, apart = ClassStability(curve).steps, []
        for temperature in fine_temperatures(100):
            window = np.linspace(max(LOW, temperature - 0.05), min(HIGH, temperature + 0.05), 2001)
            tried = rank_correlations(curve.scores(window), curve.scores(temperature)).min()
            apart.append(tried - steps.at(temperature))
        assert min(apart) > -1e-9  # the exact minimum is never above what a grid of the window finds
        assert np.mean(np.abs(apart) < 1e-9) > 0.9  # which rarely misses a short step

    def test_stability_sees_only_its_window(self, monkeypatch):
        curve = CURVES["net1"]
        monkeypatch.setattr(objectives, "WINDOW", 1e-9)
        narrow = ClassStability(curve).steps
        monkeypatch.setattr(objectives, "WINDOW", 100.0)
        wide = ClassStability(curve).steps
        assert np.median(narrow.values) == pytest.approx(1.0)
        whole = curve.scores(np.sqrt(class_edges(curve)[:-1] * class_edges(curve)[1:]))
        lowest = min(rho(one, other) for one in whole for other in whole)
        assert wide.values.min() == pytest.approx(lowest, abs=1e-9)

    def test_a_model_whose_classes_say_nothing_is_left_out_of_the_mean(self):
        perfect = temperature_curve(Samples.of(5 * np.eye(6)[np.arange(60) % 6], np.arange(60) % 6))
        assert np.isnan(ClassAgreement(perfect).steps.values).all()
        others = tuple(ClassAgreement(curve) for curve in CURVES.values())
        with_it, without = (MeanOverModels(parts) for parts in ((*others, ClassAgreement(perfect)), others))
        at = fine_temperatures(50)
        np.testing.assert_allclose(with_it.steps.at(at), without.steps.at(at), atol=1e-12)
        np.testing.assert_allclose(with_it.values(at), without.values(at), atol=1e-12)

    def test_more_than_a_hundred_classes_take_a_grid(self):
        curve = temperature_curve(network(0, k=101, n=1010))
        edges = class_edges(curve)
        assert np.allclose(edges[1:] / edges[:-1], edges[1] / edges[0])
        assert edges[1] / edges[0] <= 1.01
        found = calibrate({"a": curve}, "classes")
        assert found.resolution == 1.01
        assert "grid_resolution" in {flag.code for flag in found.flags}


@pytest.mark.parametrize("objective", ["models", "classes", "stability", "given"])
class TestCalibration:
    @pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
    def test_it_is_the_objective_of_scores_computed_without_curves(self, objective, activation):
        samples = {f"net{seed}": network(seed) for seed in range(5)}
        models = {name: temperature_curve(each, activation=activation) for name, each in samples.items()}
        assert_direct(samples, activation, calibrate(models, objective, reference=REFERENCE), REFERENCE)

    def test_the_intervals_have_the_value(self, objective):
        found = calibrate(CURVES, objective, reference=REFERENCE)
        for low, high in found.intervals:
            inside = np.geomspace(low, high, 12)[1:-1]
            np.testing.assert_allclose(steps_of(found).at(inside), found.value, atol=1e-9)
        assert any(low < found.temperature < high for low, high in found.intervals)
        assert found.grid.value <= found.value + 1e-9
        outside = [t for t in fine_temperatures(300) if not any(low <= t <= high for low, high in found.intervals)]
        assert (steps_of(found).at(outside) < found.value - 1e-9).all()

    def test_the_edges_of_an_interval_are_crossings_or_ends(self, objective):
        found = calibrate(CURVES, objective, reference=REFERENCE)
        for low, high in found.intervals:
            for end, outward in ((low, 1 - 1e-7), (high, 1 + 1e-7)):
                if LOW < end < HIGH:
                    assert steps_of(found).at(end * outward) < found.value - 1e-9
        touches = found.intervals[0][0] == LOW or found.intervals[-1][1] == HIGH
        assert touches == ("edge_of_range" in {flag.code for flag in found.flags})

    def test_leaving_a_model_out_is_calibrating_without_it(self, objective):
        found = calibrate(CURVES, objective, reference=REFERENCE)
        for entry in found.left_out:
            others = {name: curve for name, curve in CURVES.items() if name != entry.model}
            again = calibrate(others, objective, reference=REFERENCE)
            assert entry.value == pytest.approx(again.value, abs=1e-9)
            assert entry.temperature == pytest.approx(again.temperature, rel=1e-6)
            assert entry.at_full == pytest.approx(steps_of(again).at(found.temperature), abs=1e-9)

    def test_it_is_read_back_as_it_was_written(self, objective):
        found = calibrate(CURVES, objective, reference=REFERENCE)
        assert Calibration.model_validate_json(found.to_json()) == found


class TestWhatSpeaksAgainst:
    def test_baselines(self):
        target = list(REFERENCE.values())
        found = calibrate(CURVES, "given", reference=REFERENCE)
        at_one = rho([float(curve.aggregate(1.0)) for curve in CURVES.values()], target)
        clean = rho([curve.accuracy for curve in CURVES.values()], target)
        assert found.baselines.at_one == pytest.approx(at_one, abs=1e-9)
        assert found.baselines.clean_accuracy == pytest.approx(clean, abs=1e-9)
        assert found.reference.clean_accuracy.spearman == pytest.approx(clean, abs=1e-9)
        assert found.reference.calibrated.spearman == pytest.approx(found.value, abs=1e-9)

    def test_what_was_maximised_has_no_p_value(self):
        found = calibrate(CURVES, "given", reference=REFERENCE).reference
        assert found.calibrated.spearman is not None
        assert found.calibrated.spearman_p is found.calibrated.spearman_interval is None
        assert found.calibrated.kendall_p is found.calibrated.kendall_interval is None
        assert found.at_one.spearman_p is not None
        assert calibrate(CURVES, "models", reference=REFERENCE).reference.calibrated.spearman_p is not None

    def test_clean_accuracy_as_good_is_said(self):
        accuracies = {name: curve.accuracy for name, curve in CURVES.items()}
        found = calibrate(CURVES, "stability", reference=accuracies)
        flag = next(flag for flag in found.flags if flag.code == "baseline_as_good")
        assert (
            "Clean accuracy alone ranks the models like the reference with a rank correlation of 1.000" in flag.message
        )

    def test_nothing_is_higher_than_one_beyond_the_edge(self):
        message = {
            found.value == pytest.approx(1): next(flag.message for flag in found.flags if flag.code == "edge_of_range")
            for found in (calibrate(CURVES, objective) for objective in ("stability", "classes"))
        }
        assert message[True].endswith("the edge of the range searched, T = 10.")
        assert message[False].endswith(": beyond it may lie a higher one.")

    def test_one_as_good_is_said(self):
        at_one = {name: float(curve.aggregate(1.0)) for name, curve in CURVES.items()}
        found = calibrate(CURVES, "given", reference=at_one)
        assert found.value == pytest.approx(1.0)
        assert any(low < 1 < high for low, high in found.intervals)
        assert "one_as_good" in {flag.code for flag in found.flags}

    def test_a_wide_plateau_is_not_unstable(self):
        accuracies = {name: float(curve.aggregate(1.0)) for name, curve in CURVES.items()}
        found = calibrate(CURVES, "models", accuracies=accuracies)
        alone = [entry.temperature for entry in found.left_out]
        assert max(alone) > 1.5 * min(alone)  # without some of the models the plateau is wider
        assert all(entry.loss == pytest.approx(0, abs=1e-9) for entry in found.left_out)
        assert "unstable_temperature" not in {flag.code for flag in found.flags}

    def test_a_temperature_that_costs_the_others_is_unstable(self):
        found = calibrate(CURVES, "given", reference=REFERENCE)
        dearest = max(found.left_out, key=lambda entry: entry.value - entry.at_full)
        assert dearest.value > dearest.at_full + 1e-9
        message = next(flag.message for flag in found.flags if flag.code == "unstable_temperature")
        assert f"{dearest.model!r}" in message
        assert f"{dearest.at_full:.3f}" in message
        assert f"{dearest.value:.3f}" in message

    def test_clean_accuracies_may_come_from_elsewhere(self):
        elsewhere = dict(zip(CURVES, [6, 5, 4, 3, 2, 1], strict=True))
        found, same = calibrate(CURVES, "models", accuracies=elsewhere), calibrate(CURVES, "given", reference=elsewhere)
        assert found.value == same.value
        assert found.intervals == same.intervals
        assert found.baselines.clean_accuracy == pytest.approx(1.0)

    def test_equally_many_correct_share_their_rank(self):
        spread = {"a": (2, 2, 6), "b": (2, 4, 4), "c": (6, 6, 6), "d": (9, 9, 9)}
        models = {name: with_correct(counts, seed) for seed, (name, counts) in enumerate(spread.items())}
        found = calibrate(models, "given", reference={"a": 2, "b": 1, "c": 3, "d": 4})
        tied = rho([10, 10, 18, 27], [2, 1, 3, 4])
        assert found.baselines.clean_accuracy == pytest.approx(tied, abs=1e-12)
        assert found.reference.clean_accuracy.spearman == pytest.approx(tied, abs=1e-12)

    def test_ties_of_the_reference_share_their_rank(self):
        tied = dict(zip(CURVES, [1, 1, 2, 2, 3, 3], strict=True))
        found = calibrate(CURVES, "given", reference=tied)
        for temperature in middles(steps_of(found).edges):
            scores = [float(curve.aggregate(temperature)) for curve in CURVES.values()]
            assert steps_of(found).at(temperature) == pytest.approx(rho(scores, list(tied.values())), abs=1e-9)


class TestUndefined:
    @pytest.mark.parametrize("objective", ["models", "given"])
    def test_two_models_have_no_order(self, objective):
        two = {name: CURVES[name] for name in ("net0", "net1")}
        found = calibrate(two, objective, reference=REFERENCE)
        assert (found.temperature, found.value, found.intervals, found.grid) == (None, None, (), None)
        assert [flag.code for flag in found.flags] == ["calibration_undefined"]
        assert "an order of 2 model(s) says nothing; at least 3 are needed" in found.flags[0].message
        assert json.loads(found.to_json())["curve"]["values"] == [None]

    def test_equal_accuracies_have_no_order(self):
        found = calibrate(CURVES, "models", accuracies=dict.fromkeys(CURVES, 0.9))
        assert found.temperature is None
        assert "all clean accuracies are equal" in found.flags[0].message

    def test_equally_many_correct_are_equal_accuracies(self):
        spread = {"a": (2, 2, 6), "b": (2, 4, 4), "c": (4, 4, 2)}  # as products with the class shares they differ
        found = calibrate({name: with_correct(counts, 1) for name, counts in spread.items()}, "models")
        assert found.temperature is None
        assert "all clean accuracies are equal" in found.flags[0].message

    def test_equal_models_have_no_order(self):
        same = dict.fromkeys("abc", CURVES["net0"])
        found = calibrate(same, "models", accuracies={"a": 0.1, "b": 0.2, "c": 0.3})
        assert found.temperature is None
        assert "all models score the same at every temperature" in found.flags[0].message

    def test_three_models_cannot_spare_one(self):
        three = {name: CURVES[name] for name in ("net0", "net1", "net2")}
        found = calibrate(three, "models")
        assert found.value is not None
        assert {entry.temperature for entry in found.left_out} == {None}

    def test_one_model_is_enough_for_its_classes(self):
        found = calibrate({"net0": CURVES["net0"]}, "classes")
        assert found.value is not None
        assert found.left_out[0].value is None

    def test_classes_that_do_not_differ_say_nothing(self):
        perfect = temperature_curve(Samples.of(5 * np.eye(6)[np.arange(60) % 6], np.arange(60) % 6))
        for objective in ("classes", "stability"):
            found = calibrate({"a": perfect}, objective)
            assert found.temperature is None
            assert "nothing to correlate" in found.flags[0].message


def test_bad_requests_are_refused():
    with pytest.raises(OptionError, match=r"objective 'best' is not known\. Choose one of: models, classes"):
        calibrate(CURVES, "best")
    with pytest.raises(OptionError, match="'given' needs a reference"):
        calibrate(CURVES, "given")
    with pytest.raises(OptionError, match="no model to calibrate"):
        calibrate({}, "classes")
    with pytest.raises(SamplesError, match="no reference for model 'net0'"):
        calibrate(CURVES, "given", reference={"net1": 1.0})
    with pytest.raises(SamplesError, match="clean accuracy of model 'net2' is no number"):
        calibrate(CURVES, "models", accuracies=dict.fromkeys(CURVES, 1.0) | {"net2": float("nan")})
    with pytest.raises(OptionError, match="different ranges"):
        calibrate(CURVES | {"other": temperature_curve(network(9), temperature_range=(0.1, 5))}, "classes")


class TestGrid:
    def test_is_the_papers(self):
        tried = []

        def objective(temperatures):
            tried.append(temperatures)
            return -np.abs(np.log(temperatures / 0.05))

        found = two_phase_grid(objective)
        np.testing.assert_allclose(tried[0], 0.01 + 0.1 * np.arange(100))
        np.testing.assert_allclose(tried[1], 0.01 + 0.001 * np.arange(201))  # 0.11 is best; its left half is cut off
        assert found.temperature == pytest.approx(0.05)

    def test_the_first_maximum_wins(self):
        found = two_phase_grid(lambda temperatures: np.where(temperatures > 2.0, 0.5, 0.2))
        assert found.temperature == pytest.approx(2.0, abs=2e-3)
        assert found.temperature > 2

    def test_values_that_do_not_exist_are_passed_over(self):
        found = two_phase_grid(lambda temperatures: np.where(temperatures < 5, np.nan, -temperatures))
        assert found.temperature == pytest.approx(5.0, abs=2e-3)
        with pytest.raises(OptionError, match="no value at any temperature"):
            two_phase_grid(lambda temperatures: np.full(len(temperatures), np.nan))


def test_steps_side_by_side_with_the_same_value_are_one_interval():
    steps = Steps(edges=np.array([1.0, 2.0, 3.0, 4.0, 5.0]), values=np.array([0.5, 0.5, np.nan, 0.5]))
    assert steps.highest() == (0.5, ((1.0, 3.0), (4.0, 5.0)))
    assert representative([(1.0, 3.0), (4.0, 5.0)]) == pytest.approx(np.sqrt(3))
    mean = mean_steps([steps, Steps(edges=np.array([1.0, 1.5, 5.0]), values=np.array([0.0, 1.0]))])
    np.testing.assert_array_equal(mean.edges, [1, 1.5, 2, 3, 4, 5])
    np.testing.assert_array_equal(mean.values, [0.25, 0.75, 0.75, np.nan, 0.75])
