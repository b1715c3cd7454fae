"""The published numbers as an audit: the same metrics, the paper's bound, and nothing that was not published."""

import pytest

from gfscore.bounds import hoeffding_radius
from gfscore.paper import published, published_audit
from gfscore.results import Audit


@pytest.mark.parametrize("dataset", ["cifar10", "imagenet"])
def test_metrics_are_the_published_ones(dataset):
    numbers = published(dataset)
    audit = published_audit(dataset)
    for model, known in zip(audit.models, numbers.models, strict=True):
        assert model.name == known.short_name
        assert model.aggregate == pytest.approx(known.metrics["great_score"], abs=1e-6)
        assert model.rdi.value == pytest.approx(known.metrics["rdi"], abs=1e-6)
        assert model.nrgc.value == pytest.approx(known.metrics["nrgc"], abs=1e-6)
        assert model.wcr.value == pytest.approx(known.metrics["wcr"], abs=1e-6)
        assert model.fp_great.value == pytest.approx(known.metrics["fp_great"], abs=1e-6)
        assert model.wcr.class_.split()[0] == known.worst_class
        assert model.rdi.classes[0].split()[0] == known.best_class
        assert model.noise is None
        for metric in (model.rdi, model.nrgc, model.wcr, model.fp_great, model.theil, model.atkinson):
            assert metric.interval[0] <= metric.value <= metric.interval[1]


def test_intervals_are_the_papers_bound():
    model = published_audit("cifar10").models[0]
    radius = float(hoeffding_radius(1000, 0.05, n_classes=10))
    for entry in model.classes:
        assert entry.interval == pytest.approx((max(0, entry.score - radius), entry.score + radius))
    assert model.wcr.class_ in model.worst_set


def test_it_is_a_result_file_like_any_other():
    audit = published_audit("imagenet")
    assert Audit.from_json(audit.to_json()) == audit
    assert audit.calibration.temperature == 0.1
