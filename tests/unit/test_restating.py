import numpy as np
import pytest

from gfscore.assemble import at_temperature, reweighted
from gfscore.errors import OptionError, ResultError
from gfscore.jobs.calibrate import curve_of, with_calibration
from gfscore.jobs.options import Options
from gfscore.jobs.stages import audit_scores, score_samples
from gfscore.samples import Samples


def made_samples(n_classes: int = 6, n: int = 60) -> Samples:
    rng = np.random.default_rng(3)
    labels = np.arange(n_classes * n) % n_classes
    lift = np.linspace(0.5, 4, n_classes)[labels, None] * np.eye(n_classes)[labels]
    return Samples.of(rng.normal(0, 1, (labels.size, n_classes)) + lift, labels)


def audited(samples: Samples, **options):
    chosen = Options(permutations=0, **options)
    model = audit_scores(samples, score_samples(samples, chosen), chosen, name="m")
    return with_calibration(model, samples, curve_of(samples, chosen), chosen, None)


@pytest.mark.parametrize("weight", [0.0, 0.2, 1.0, 3.0])
def test_another_weight_gives_what_an_audit_with_it_gives(weight):
    samples = made_samples()
    restated, wanted = reweighted(audited(samples), weight), audited(samples, fairness_weight=weight)
    assert restated.fp_great.weight == weight
    assert restated.fp_great.value == pytest.approx(wanted.fp_great.value, abs=1e-12)
    assert restated.fp_great.interval == pytest.approx(wanted.fp_great.interval, abs=1e-12)
    assert restated.curves.metrics["fp_great"] == pytest.approx(wanted.curves.metrics["fp_great"], abs=1e-12)
    same = {"fp_great": wanted.fp_great, "curves": wanted.curves}
    assert restated.model_copy(update=same) == wanted


def test_another_weight_without_intervals_has_none():
    restated = reweighted(at_temperature(audited(made_samples()), 2.0), 1.0)
    assert restated.fp_great.interval is None
    assert restated.fp_great.value == pytest.approx(restated.class_mean - restated.rdi.value)
    with pytest.raises(OptionError):
        reweighted(restated, -1)


@pytest.mark.parametrize("temperature", [0.0101, 0.1, 0.7, 1.5, 3.3, 9.9])
def test_stored_curves_give_the_metrics_of_an_audit_at_that_temperature(temperature):
    samples = made_samples()
    restated, wanted = at_temperature(audited(samples), temperature), audited(samples, temperature=temperature)
    for name in ("rdi", "nrgc", "wcr", "fp_great", "theil", "atkinson"):
        assert getattr(restated, name).value == pytest.approx(getattr(wanted, name).value, abs=1e-5)
        assert getattr(restated, name).interval is None
    assert restated.wcr.class_ == wanted.wcr.class_
    assert restated.rdi.classes == wanted.rdi.classes
    assert restated.aggregate == pytest.approx(wanted.aggregate, abs=1e-5)
    assert [entry.score for entry in restated.classes] == pytest.approx(
        [entry.score for entry in wanted.classes], abs=1e-5
    )
    assert [entry.accuracy for entry in restated.classes] == [entry.accuracy for entry in wanted.classes]
    assert restated.score == wanted.score
    assert [flag.code for flag in restated.flags][-1] == "restated"


@pytest.mark.parametrize("own", [10 ** (-1.25), 1.0001, 10 ** (-0.5 + 1e-9)])
def test_stored_temperatures_that_nearly_meet_do_no_harm(own):
    samples = made_samples()
    restated, wanted = (
        at_temperature(audited(samples, temperature=own), 1.02 * own),
        audited(samples, temperature=1.02 * own),
    )
    assert restated.wcr.value == pytest.approx(wanted.wcr.value, abs=1e-5)


def test_the_own_temperature_changes_nothing():
    model = audited(made_samples())
    assert at_temperature(model, 1.0) is model


def test_what_the_curves_do_not_hold_is_said():
    model = audited(made_samples(n_classes=120, n=3))
    with pytest.raises(ResultError, match="scores by temperature of 20 of 120 classes"):
        at_temperature(model, 2.0)
    with pytest.raises(ResultError, match="of 0 of 120 classes"):
        at_temperature(model.model_copy(update={"curves": None}), 2.0)
    with pytest.raises(ResultError, match=r"outside the stored curves, 0\.01 to 10"):
        at_temperature(audited(made_samples()), 11)
