"""Trust flags of radii: each raised beyond its limit, silent within."""

from importlib.util import find_spec

import numpy as np
import pytest

from gfscore.inputs.data import load_data
from gfscore.inputs.models import load_model
from gfscore.judge.radius_flags import agreement_flag, agreements, boundary_flags, radius_flags
from gfscore.samples import Samples
from gfscore.scores import FirstOrder, first_order_scores


def scored(order, n=40):
    """Two classes with margins 1, 2, ...; radii in their order, or for class 1 in the ``order`` given."""
    margins = np.tile(np.arange(1.0, n + 1), 2)
    labels = np.repeat([0, 1], n)
    logits = np.where(np.arange(2)[None] == labels[:, None], margins[:, None], 0.0)
    radii = np.concatenate([margins[:n], margins[:n][order]]) / 1000
    samples = Samples.of(logits, labels, class_names=["cat", "dog"])
    how = FirstOrder(norm="linf", rivals=1)
    return samples, first_order_scores(samples, (margins / radii)[:, None], how, gradients=True)


def test_a_class_whose_margins_say_something_else_is_named():
    samples, local = scored(np.arange(40)[::-1])
    assert agreements(samples, local) == {"cat": pytest.approx(1.0), "dog": pytest.approx(-1.0)}
    (flag,) = radius_flags(samples, local, None)
    assert flag.code == "margins_disagree"
    assert flag.message == (
        "in 1 of 2 classes the margins of logits do not order the samples as their radii do (Spearman below 0.6: dog "
        "-1.00): scores from logits alone, such as GREAT, say little there. Read robust accuracy instead."
    )


def test_classes_that_agree_or_are_small_raise_nothing():
    assert radius_flags(*scored(np.arange(40)), None) == ()
    assert radius_flags(*scored(np.arange(19)[::-1], n=19), None) == ()
    assert agreement_flag({"cat": 0.6, "dog": 0.61}) is None


@pytest.mark.parametrize(
    ("right", "wrong", "spread", "codes"),
    [
        (0.33, 0.1, 0.25, []),
        (0.34, 0.0, 0.25, ["boundary_not_there"]),
        (0.0, 0.11, 0.25, ["boundary_nearer"]),
        (0.0, 0.0, 0.249, ["slopes_in_few_pixels"]),
        (1.0, 1.0, 0.0, ["boundary_not_there", "boundary_nearer", "slopes_in_few_pixels"]),
    ],
)
def test_a_look_beyond_its_limits_is_flagged(right, wrong, spread, codes):
    still_right, already_wrong = (np.arange(100) < 100 * share for share in (right, wrong))
    assert [flag.code for flag in boundary_flags(still_right, already_wrong, np.full(100, spread))] == codes
    nine = np.ones(9, dtype=bool)
    assert list(boundary_flags(nine, nine, np.zeros(9))) == []  # too few to say anything


@pytest.mark.skipif(find_spec("onnx2torch") is None, reason="needs gfscore[gradients]")
def test_a_network_has_its_boundary_about_where_it_is_predicted():
    from gfscore.measures import Run
    from gfscore.measures.boundary import look_at_boundary

    run = Run(model=load_model("zoo:standard", threads=1), data=load_data("zoo:digits"))
    logits = run.logits_of(run.pixels(slice(0, 900)))
    samples = Samples.of(logits, run.data.labels)
    looks = [look_at_boundary(run, samples, FirstOrder(norm=norm)) for norm in ("l2", "linf", "l2")]
    assert 30 < len(looks[0].spread) < 100
    np.testing.assert_array_equal(looks[0].still_right, looks[2].still_right)  # the same samples again
    for look in looks:
        assert look.still_right.mean() < 1 / 3
        assert look.already_wrong.mean() < 0.1
        assert (look.spread > 0).all()
        assert (look.spread <= 1).all()
