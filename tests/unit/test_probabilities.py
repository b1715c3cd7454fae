"""Probabilities that were rounded or written in percent are read as such when announced, and refused when not."""

import itertools
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gfscore import Options, audit, read_samples
from gfscore.errors import ProbabilitiesError
from gfscore.jobs.stream import StreamingAudit
from gfscore.measures.summary_files import summary_from_bytes, summary_to_bytes
from gfscore.probabilities import FULL, RowSums, add_rows
from gfscore.samples import Samples
from gfscore.scores import SCORE_MAX, local_scores


def drawn(n=600, n_classes=10, seed=0, spread=2.0):
    rng = np.random.default_rng(seed)
    raw = np.exp(rng.normal(0, spread, (n, n_classes)))
    return raw / raw.sum(axis=1, keepdims=True), np.arange(n) % n_classes


def sums_of(values):
    values = np.asarray(values)
    return add_rows(RowSums(), values, float(values.min()), float(values.max()))


def flags(result):
    return {flag.code: flag.message for flag in result.flags}


class TestRoundedToTwoDecimals:
    PROBABILITIES, LABELS = drawn()
    ROUNDED = PROBABILITIES.round(2)

    def test_the_example_has_rows_that_miss_1_by_more_than_one_decimal(self):
        assert np.abs(self.ROUNDED.sum(axis=1) - 1).max() > 0.015

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    def test_they_are_divided_by_their_sum_and_flagged(self, dtype):
        rows = self.ROUNDED.astype(dtype)
        exact = rows.astype(np.float64) / rows.astype(np.float64).sum(axis=1, keepdims=True)
        own = exact[np.arange(len(exact)), self.LABELS]
        rivals = exact.copy()
        rivals[np.arange(len(exact)), self.LABELS] = -1
        expected = SCORE_MAX * np.maximum(own - rivals.max(axis=1), 0)
        np.testing.assert_allclose(local_scores(rows, self.LABELS, probabilities=True), expected, atol=1e-12)
        message = flags(audit(rows, self.LABELS, probabilities=True))["rounded_probabilities"]
        zeros = 100 * (self.ROUNDED == 0).mean()
        assert message.startswith("probabilities have 2 decimals: classes that rounding made equal are ties")
        assert f"{zeros:.1f} % of the values are 0" in message

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    def test_without_a_word_they_are_refused(self, dtype):
        with pytest.raises(ProbabilitiesError, match=r"probabilities rounded to 2 decimals: .* say --probabilities"):
            audit(self.ROUNDED.astype(dtype), self.LABELS)

    def test_as_text_they_are_the_same(self, tmp_path):
        lines = [",".join(["label", *(f"c{k}" for k in range(10))])]
        lines += [
            ",".join([str(y), *(f"{p:.2f}" for p in row)]) for y, row in zip(self.LABELS, self.ROUNDED, strict=True)
        ]
        (path := tmp_path / "m.csv").write_text("\n".join(lines))
        read = read_samples(path, probabilities=True)
        np.testing.assert_array_equal(read.logits, self.ROUNDED)
        assert read.row_sums == Samples.of(self.ROUNDED, self.LABELS, probabilities=True).row_sums
        with pytest.raises(ProbabilitiesError, match="rounded to 2 decimals"):
            read_samples(path)

    def test_full_precision_is_not_flagged(self):
        assert "rounded_probabilities" not in flags(audit(self.PROBABILITIES, self.LABELS, probabilities=True))
        assert "rounded_probabilities" not in flags(audit(self.PROBABILITIES.round(5), self.LABELS, probabilities=True))

    def test_one_value_with_more_decimals_takes_the_tolerance_away(self):
        rows = self.ROUNDED.copy()
        rows[5] = 0
        rows[5, :2] = 0.123456, 0.876544
        row = int(np.argmax(np.abs(rows.sum(axis=1) - 1) > 0.01))
        with pytest.raises(ProbabilitiesError, match=rf"row {row} sum to .*, not 1"):
            Samples.of(rows, self.LABELS, probabilities=True)


class TestPercent:
    PROBABILITIES, LABELS = drawn(seed=1)

    @pytest.mark.parametrize("decimals", [0, 1, 2, 9])
    def test_percentages_score_as_shares_do_and_are_said(self, decimals):
        rows = (100 * self.PROBABILITIES).round(decimals)
        found = local_scores(rows, self.LABELS, probabilities=True)
        shares = local_scores(rows / rows.sum(axis=1, keepdims=True), self.LABELS, probabilities=True)
        np.testing.assert_allclose(found, shares, atol=1e-12)
        raised = flags(audit(rows, self.LABELS, probabilities=True))
        assert raised["percentages"] == "rows sum to 100, so the probabilities were read as percentages."
        assert ("rounded_probabilities" in raised) == (decimals < 9)

    @pytest.mark.parametrize("decimals", [0, 1, 9])
    def test_without_a_word_they_are_refused(self, decimals):
        with pytest.raises(ProbabilitiesError, match="logits look like percentages"):
            audit((100 * self.PROBABILITIES).round(decimals), self.LABELS)

    def test_whole_logits_of_many_classes_are_no_percentages(self):
        rows = np.zeros((50, 1000))
        rows[np.arange(50), np.arange(50)] = 7
        assert not Samples.of(rows, np.arange(50)).probabilities


def test_rounding_that_loses_most_of_a_row_is_refused():
    """Dividing 0.02 by itself would make a certain answer of an uncertain one."""
    rows = np.full((4, 1000), 0.001)
    rows[:, 0] = 0.024
    rows = np.append(rows, np.eye(1000)[:5], axis=0).round(2)
    message = r"probabilities in row 0 sum to 0.02: 2 decimals lose too much of 1,000 classes. Save more decimals"
    with pytest.raises(ProbabilitiesError, match=message):
        Samples.of(rows, np.zeros(9, int), probabilities=True)
    with pytest.raises(ProbabilitiesError, match="look like probabilities rounded to 2 decimals"):
        Samples.of(rows, np.zeros(9, int))


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_rows_are_accepted_where_some_distribution_rounds_to_them(n_classes):
    """All rows of one decimal, against the definition: half a unit around every value, and a sum of 1 among these."""
    for row in itertools.product(range(11), repeat=n_classes):
        values = np.array(row) / 10
        low, high = sum(max(v - 0.5, 0) for v in row), sum(min(v + 0.5, 10) for v in row)
        sums = sums_of(np.stack([values, np.append([0.3, 0.7], np.zeros(n_classes - 2))]))
        found = None if sums is None else sums.reading()
        assert (found is not None) == (low <= 10 <= high), row


@given(st.integers(1, 6), st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_what_was_rounded_is_recognised(decimals, n_classes, seed):
    rows = drawn(20, n_classes, seed)[0].round(decimals)
    found = sums_of(rows)
    written = max(max(0, -Decimal(repr(value)).normalize().as_tuple().exponent) for value in rows.ravel().tolist())
    assert found.decimals == written <= decimals
    assert found.reading().excess <= 0.01 or found.reading().decimals == written


@given(st.sampled_from([np.float16, np.float32, np.float64]), st.integers(0, 2**32 - 1))
def test_full_precision_is_recognised(dtype, seed):
    assert sums_of(drawn(20, 10, seed)[0].astype(dtype)).decimals == FULL


class TestStreams:
    """However the rows are cut, the verdict is that of the whole."""

    ROUNDED, LABELS = drawn(seed=2)
    ROUNDED = ROUNDED.round(2)

    def streamed(self, rows, cuts, *, probabilities):
        stream = StreamingAudit(Options(permutations=0), probabilities=probabilities)
        for part, labels in zip(np.split(rows, cuts), np.split(self.LABELS, cuts), strict=True):
            stream.update(part, labels)
        return stream.result()

    @pytest.mark.parametrize("cuts", [[], [1, 2, 5, 300], list(range(1, 600, 7))])
    def test_rounded_rows(self, cuts):
        whole = flags(audit(self.ROUNDED, self.LABELS, probabilities=True))["rounded_probabilities"]
        assert flags(self.streamed(self.ROUNDED, cuts, probabilities=True))["rounded_probabilities"] == whole
        with pytest.raises(ProbabilitiesError, match="rounded to 2 decimals"):
            self.streamed(self.ROUNDED, cuts, probabilities=False)

    @pytest.mark.parametrize("cuts", [[], [1], [599], [200, 400], list(range(1, 600))])
    def test_one_row_of_full_precision_decides_for_all_pieces(self, cuts):
        rows = self.ROUNDED.copy()
        rows[-1] = drawn()[0][0]
        with pytest.raises(ProbabilitiesError):
            self.streamed(rows, cuts, probabilities=True)

    def test_shares_in_one_piece_and_percentages_in_another_are_refused(self):
        rows = self.ROUNDED / self.ROUNDED.sum(axis=1, keepdims=True)
        rows[300:] *= 100
        with pytest.raises(ProbabilitiesError, match="written in the same way"):
            self.streamed(rows, [300], probabilities=True)

    def test_a_summary_keeps_what_decides_in_its_file(self):
        stream = StreamingAudit(Options(permutations=0), probabilities=True).update(self.ROUNDED, self.LABELS)
        summary = stream.summary()
        assert summary_from_bytes(summary_to_bytes(summary)).row_sums == summary.row_sums
