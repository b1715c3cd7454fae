"""An expected accuracy stops a run that does not have it."""

import numpy as np
import pytest

from gfscore import audit
from gfscore.errors import GFScoreError
from gfscore.judge import AccuracyError, check_accuracy


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
