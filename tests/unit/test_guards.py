"""The mistakes that make a robustness number meaningless are caught before anything is scored."""

import numpy as np
import pytest
from fakes import FakeData, FakeModel

from gfscore import audit
from gfscore.engines.local import measured
from gfscore.errors import GFScoreError, OptionError
from gfscore.inputs.guards import BatchDependenceError, ClassCountError
from gfscore.judge import AccuracyError, check_accuracy
from gfscore.measures import Logits, Run
from gfscore.storage.store import Store


def run(tmp_path, model=None, data=None):
    of = Run(model=model or FakeModel(), data=data or FakeData(), store=Store(tmp_path))
    return measured(of, Logits()).path


class BatchNormed(FakeModel):
    """Centres its logits over the batch, as batch norm does in train mode."""

    def __call__(self, inputs):
        logits = super().__call__(inputs)
        return logits - logits.mean(axis=0)


def test_logits_that_depend_on_the_batch_are_refused(tmp_path):
    with pytest.raises(BatchDependenceError, match=r"fake gives other logits .* another batch .* model\.eval\(\)"):
        run(tmp_path, BatchNormed())


def test_rounding_between_batches_is_not_refused(tmp_path):
    class Rounding(FakeModel):
        def __call__(self, inputs):
            return super().__call__(inputs) * (1 + 1e-6 * len(inputs))

    assert run(tmp_path, Rounding()).exists()


def test_another_number_of_classes_is_refused(tmp_path):
    with pytest.raises(ClassCountError, match="fake gives 7 logits but the data names 4 classes"):
        run(tmp_path, FakeModel(n_classes=7))
    with pytest.raises(ClassCountError, match="fake gives 3 logits but the data has label 3"):
        run(tmp_path, FakeModel(n_classes=3), FakeData(class_names=None))


def test_images_out_of_range_are_refused_and_the_data_is_named(tmp_path):
    data = FakeData()
    data.all = data.all.astype(np.float32)
    with pytest.raises(OptionError, match=r"^fake data: images reach from .* outside \[0, 1\]"):
        run(tmp_path, data=data)


def test_expected_accuracy_stops_what_chance_does_not_explain():
    check_accuracy(0.6565, 10_000, 0.6600)
    with pytest.raises(AccuracyError, match=r"clean accuracy is 0\.6825 on 10,000 samples, not the expected 0\.6565"):
        check_accuracy(0.6825, 10_000, 0.6565)


def test_expected_accuracy_rarely_stops_a_sound_run():
    rng = np.random.default_rng(0)
    stopped = 0
    for hits in rng.binomial(500, 0.8, 3000):
        try:
            check_accuracy(hits / 500, 500, 0.8)
        except GFScoreError:
            stopped += 1
    assert stopped <= 12  # 3 expected at most; P(more than 12) is below 1e-4


def test_audit_takes_the_expectation():
    with pytest.raises(AccuracyError):
        audit(10.0 * np.eye(4)[np.arange(400) % 4], np.arange(400) % 4, expect_accuracy=0.5)
