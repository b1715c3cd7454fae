"""The audit as a whole: what its stages give ends up in the result, in the right place."""

import numpy as np
import pytest

from gfscore import Options, Samples, audit, audit_models
from gfscore.bounds import Method, audit_intervals, noise_floor, shrunken_scores
from gfscore.errors import OptionError
from gfscore.scores import great_scores


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(3)
    labels = np.minimum(rng.geometric(0.3, 400) - 1, 4)
    logits = rng.normal(0, 1, (400, 6))
    logits[np.arange(400), labels] += np.array([3, 2, 2, 1, 0.5])[labels]
    return Samples.of(logits, labels, class_names=["a", "b", "c", "d", "e", "unseen"])


@pytest.mark.parametrize("method", list(Method))
def test_every_number_has_its_interval(samples, method):
    model = audit_models({"m": samples}, Options(interval=method, delta=0.1, seed=5)).model
    values = great_scores(samples).values
    expected = audit_intervals(values, samples.labels, 6, maximum=np.sqrt(np.pi / 2), delta=0.1, method=method, seed=5)
    assert model.interval.model_dump() == {
        "method": method,
        "delta": 0.1,
        "target": "population",
        "seed": 5,
        "anytime": method == "mixture",
        "temperatures": None,
    }
    for name in ("wcr", "rdi", "nrgc", "fp_great", "theil", "atkinson"):
        metric = getattr(model, name)
        assert metric.interval == getattr(expected, name)
        assert metric.interval[0] <= metric.value <= metric.interval[1]
    assert model.aggregate_interval == expected.aggregate
    assert model.class_mean_interval == expected.class_mean
    for k, entry in enumerate(model.classes):
        assert entry.interval == (expected.lower[k], expected.upper[k])
        assert entry.interval[0] <= entry.score <= entry.interval[1]
    assert model.worst_set == tuple("abcde"[k] for k in expected.worst_set)
    assert model.wcr.class_ in model.worst_set


def test_noise_floor_and_shrunken_scores_stand_beside_the_raw_ones(samples):
    model = audit_models({"m": samples}, Options(permutations=200, seed=2)).model
    values = great_scores(samples).values
    floor = noise_floor(values, samples.labels, 6, maximum=np.sqrt(np.pi / 2), permutations=200, seed=2)
    assert model.noise.rdi.p_value == floor.rdi.p_value
    assert model.noise.nrgc.null_mean == floor.nrgc.null_mean
    scores, stds, counts = zip(*((entry.score, entry.std, entry.n) for entry in model.classes), strict=True)
    np.testing.assert_allclose(
        [entry.shrunken for entry in model.classes], shrunken_scores(scores, stds, counts).scores, atol=1e-12
    )
    assert audit_models({"m": samples}, Options(permutations=0)).model.noise is None


def test_class_sizes_make_the_intervals_about_a_fixed_set(samples):
    sizes = np.bincount(samples.labels, minlength=6)
    whole = audit(samples.logits, samples.labels, class_sizes=sizes).model
    assert whole.interval.target == "finite"
    for entry in whole.classes:
        assert entry.interval == pytest.approx((entry.score, entry.score), abs=1e-12)
    part = audit(samples.logits, samples.labels, class_sizes=2 * sizes[:5]).model  # the model has one class more
    assert all(entry.interval[1] - entry.interval[0] > 0.01 for entry in part.classes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interval": "normal"}, "no interval is called 'normal'"),
        ({"delta": 0.0}, "delta 0.0 is not between 0 and 1"),
        ({"permutations": -1}, "the number of permutations and the seed must be 0 or more"),
        ({"activation": "relu"}, "activation 'relu' is not known"),
        ({"expect_accuracy": 90.0}, "expected accuracy 90.0 is not between 0 and 1"),
    ],
)
def test_options_are_checked_when_they_are_made(options, message):
    with pytest.raises(OptionError, match=message):
        Options(**options)


def test_no_model_is_refused():
    with pytest.raises(OptionError, match="there is no model to audit"):
        audit_models({})
