"""The local score against a plain float64 loop, and the laws it must obey."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gfscore import SCORE_MAX, local_scores
from gfscore.arrays import row_chunks
from gfscore.errors import OptionError
from gfscore.samples import Samples
from gfscore.scores import great_scores


def plain_score(row, label, activation, temperature):
    """The definition, in Python floats, one sample at a time."""
    scaled = [float(value) / temperature for value in row]
    if activation == "softmax":
        top = max(scaled)
        weights = [math.exp(value - top) for value in scaled]
        confidences = [weight / math.fsum(weights) for weight in weights]
    else:
        confidences = [1 / (1 + math.exp(-v)) if v > -700 else 0.0 for v in scaled]
    rival = max(value for index, value in enumerate(confidences) if index != label)
    return math.sqrt(math.pi / 2) * max(confidences[label] - rival, 0.0)


@st.composite
def logits_and_labels(draw):
    n, k = draw(st.integers(2, 12)), draw(st.integers(2, 8))
    dtype = draw(st.sampled_from([np.float16, np.float32, np.float64]))
    width = np.dtype(dtype).itemsize * 8
    values = draw(arrays(dtype, (n, k), elements=st.floats(-30, 30, width=width)))
    values[0, 0] += 2  # never rows of probabilities only
    labels = draw(arrays(np.int64, n, elements=st.integers(0, k - 1)))
    return values, labels


@given(logits_and_labels(), st.sampled_from(["softmax", "sigmoid"]), st.floats(0.1, 10))
def test_agrees_with_a_plain_loop(data, activation, temperature):
    logits, labels = data
    expected = [plain_score(row, y, activation, temperature) for row, y in zip(logits, labels, strict=True)]
    scores = local_scores(logits, labels, activation=activation, temperature=temperature)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)


@given(logits_and_labels(), st.sampled_from(["softmax", "sigmoid"]), st.floats(0.1, 10))
def test_lies_in_its_range_and_is_zero_exactly_when_the_label_does_not_lead(data, activation, temperature):
    logits, labels = data
    scores = local_scores(logits, labels, activation=activation, temperature=temperature)
    assert ((scores >= 0) & (scores <= SCORE_MAX)).all()
    exact = logits.astype(np.float64)
    own = exact[np.arange(len(labels)), labels].copy()
    exact[np.arange(len(labels)), labels] = -np.inf
    assert (scores[own <= exact.max(axis=1)] == 0).all()
    clear = own > exact.max(axis=1) + 1e-3
    assert (scores[clear] > 0).all()


@given(logits_and_labels(), st.floats(-50, 50))
def test_softmax_does_not_change_when_all_logits_are_shifted(data, shift):
    logits, labels = data
    logits = logits.astype(np.float64)
    np.testing.assert_allclose(
        local_scores(logits, labels), local_scores(logits + (shift + 100), labels), rtol=0, atol=1e-9
    )


@given(logits_and_labels(), st.floats(0.1, 10))
def test_temperature_divides_the_logits(data, temperature):
    logits, labels = data
    logits = logits.astype(np.float64)
    np.testing.assert_allclose(
        local_scores(logits, labels, temperature=temperature),
        local_scores(logits / temperature, labels),
        rtol=0,
        atol=1e-12,
    )


def test_sigmoid_keeps_the_digits_that_a_plain_difference_loses():
    score = local_scores([[50.0, 40.0]], [0], activation="sigmoid")[0]
    exact = math.sinh(5) / (2 * math.cosh(25) * math.cosh(20))
    assert score == pytest.approx(SCORE_MAX * exact, rel=1e-12)
    assert score > 0


@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
@pytest.mark.parametrize("temperature", [1e-300, 1e-3, 1e3, 1e300])
def test_extreme_logits_and_temperatures_give_numbers_in_range(activation, temperature):
    logits = np.array([[1e308, -1e308, 0.0], [3.0, 2.0, 1.0], [-1e308, 1e308, 1e308]])
    scores = local_scores(logits, [0, 0, 1], activation=activation, temperature=temperature)
    assert np.isfinite(scores).all()
    assert ((scores >= 0) & (scores <= SCORE_MAX)).all()


def test_a_tie_scores_zero():
    assert local_scores([[2.0, 2.0, 1.0]], [0]).tolist() == [0.0]


def test_neither_chunks_nor_threads_change_a_bit(monkeypatch):
    rng = np.random.default_rng(7)
    samples = Samples.of(rng.normal(0, 4, (501, 37)).astype(np.float32), rng.integers(0, 37, 501))
    reference = great_scores(samples, threads=1)
    for chunk_values in (1, 37, 1000, 5000, 10**9):
        for threads in (1, 2, 5):
            monkeypatch.setattr("gfscore.scores.great.row_chunks", partial(row_chunks, values=chunk_values))
            other = great_scores(samples, threads=threads)
            assert other.values.tobytes() == reference.values.tobytes()
            assert (other.predicted == reference.predicted).all()


def test_predictions_are_numpys_argmax_also_at_ties():
    rng = np.random.default_rng(3)
    logits = rng.integers(0, 3, (400, 4)).astype(np.float32)
    logits[0] = (5, 5, 0, 5)
    samples = Samples.of(logits, rng.integers(0, 4, 400))
    assert (great_scores(samples).predicted == logits.argmax(axis=1)).all()


class TestProbabilities:
    rng = np.random.default_rng(11)
    logits = rng.normal(0, 3, (50, 6))
    labels = rng.integers(0, 6, 50)
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)

    @pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
    def test_give_the_scores_of_their_logits(self, temperature):
        np.testing.assert_allclose(
            local_scores(self.probabilities, self.labels, temperature=temperature, probabilities=True),
            local_scores(self.logits, self.labels, temperature=temperature),
            rtol=0,
            atol=1e-12,
        )

    @pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
    def test_may_hold_zeros_and_ones(self, temperature):
        rows = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0]]
        scores = local_scores(rows, [0, 0, 0], temperature=temperature, probabilities=True)
        np.testing.assert_allclose(scores, [SCORE_MAX, 0, 0], rtol=0, atol=1e-15)

    def test_sigmoid_is_refused(self):
        with pytest.raises(OptionError, match="sigmoid needs logits"):
            local_scores(self.probabilities, self.labels, activation="sigmoid", probabilities=True)
