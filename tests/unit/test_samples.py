"""The door: what comes through it is checked, kept as given, and frozen."""

import time

import numpy as np
import pytest

import gfscore
from gfscore.arrays import CHUNK_VALUES, map_chunks, row_chunks
from gfscore.errors import NotFiniteError, OptionError, ProbabilitiesError, SamplesError
from gfscore.samples import Samples

LOGITS = np.array([[2.0, 0.5, -1.0], [0.1, 0.3, 4.0]])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_keep_their_type(dtype):
    assert Samples.of(LOGITS.astype(dtype), [0, 1]).logits.dtype == dtype


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.longdouble])
def test_other_numbers_become_float64(dtype):
    assert Samples.of(np.abs(LOGITS * 10).astype(dtype), [0, 1]).logits.dtype == np.float64


def test_whole_float_labels_are_class_indices():
    assert Samples.of(LOGITS, np.array([0.0, 2.0])).labels.tolist() == [0, 2]


def test_samples_are_frozen_and_the_callers_arrays_are_not():
    logits, labels = LOGITS.copy(), np.array([0, 1])
    samples = Samples.of(logits, labels)
    for array in (samples.logits, samples.labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        samples.probabilities = True
    logits[0, 0] = labels[0] = 1


def test_a_memory_map_stays_one(tmp_path):
    mapped = np.memmap(tmp_path / "logits", dtype=np.float32, mode="w+", shape=(4, 3))
    mapped[:] = 5.0
    assert isinstance(Samples.of(mapped, [0, 1, 2, 0]).logits, np.memmap)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_none_is_found_in_any_chunk(value):
    n_rows = 2 * CHUNK_VALUES // 100
    logits = np.zeros((n_rows, 100), dtype=np.float32)
    logits[n_rows - 2, 41] = value
    with pytest.raises(NotFiniteError) as caught:
        Samples.of(logits, np.zeros(n_rows, dtype=int))
    assert (caught.value.row, caught.value.column) == (n_rows - 2, 41)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [2, 1000])
def test_probabilities_of_any_precision_are_noticed(dtype, n_classes):
    raw = np.exp(np.random.default_rng(0).normal(0, 3, (20, n_classes)))
    rows = (raw / raw.sum(axis=1, keepdims=True)).astype(dtype)
    with pytest.raises(ProbabilitiesError, match="look like probabilities"):
        Samples.of(rows, np.arange(20) % n_classes)
    assert Samples.of(rows, np.arange(20) % n_classes, probabilities=True).probabilities


def test_one_row_of_logits_among_probabilities_makes_them_logits():
    assert not Samples.of([[0.4, 0.6], [0.5, 3.0]], [0, 1]).probabilities


def test_value_range_is_that_of_the_logits():
    assert Samples.of(LOGITS, [0, 1]).value_range == (-1.0, 4.0)


def test_groups_may_be_numbers_and_are_named_in_order():
    groups = Samples.of(LOGITS, [0, 1], groups=[7, 3]).groups
    assert (groups.names, groups.codes.tolist()) == (("3", "7"), [1, 0])


def test_several_attributes_are_intersected():
    samples = Samples.of(
        np.tile(LOGITS, (2, 1)), [0, 1, 2, 0], groups={"light": ["day", "day", "night", "day"], "lens": [1, 2, 1, 1]}
    )
    assert samples.groups.names == ("light=day, lens=1", "light=day, lens=2", "light=night, lens=1")
    assert samples.groups.codes.tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize("names", [{"a", "b", "c"}, {"a": 0, "b": 1, "c": 2}, (name for name in "abc"), "abc"])
def test_class_names_have_an_order(names):
    with pytest.raises(
        OptionError, match=r"class names are (a (set|dict|generator), which has no fixed order|one str)"
    ):
        Samples.of(LOGITS, [0, 1], class_names=names)


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, ["b"]])
def test_a_missing_class_name_is_no_name(missing):
    with pytest.raises(SamplesError, match=r"class name of class 1 is .*, which is no name"):
        Samples.of(LOGITS, [0, 1], class_names=["a", missing, "c"])


def test_class_names_may_be_an_array_of_numbers():
    assert Samples.of(LOGITS, [0, 1], class_names=np.array([3, 5, 7])).class_names == ("3", "5", "7")


@pytest.mark.parametrize("names", [{"class_names": ["a", "b" * 4097, "c"]}, {"sample_ids": ["a", "b" * 4097]}])
def test_a_name_of_thousands_of_characters_is_refused(names):
    with pytest.raises(SamplesError, match=r"has 4,097 characters. Give names of at most 4,096.$"):
        Samples.of(LOGITS, [0, 1], **names)


def test_messages_shorten_long_names():
    with pytest.raises(SamplesError) as refused:
        Samples.of(LOGITS, [0, 1], sample_ids=["x" * 4000] * 2)
    assert str(refused.value) == (
        f"sample id '{'x' * 80}'... (4,000 characters) stands at row 0 and again at row 1. Make them unique."
    )


def test_an_id_is_no_group():
    logits = np.tile(LOGITS, (2, 1))
    with pytest.raises(SamplesError, match="groups have 4 values for 4 samples: an id, and no group"):
        Samples.of(logits, [0, 1, 2, 0], groups=list("abcd"))
    with pytest.raises(SamplesError, match="groups 'id' have 4 values for 4 samples"):
        Samples.of(logits, [0, 1, 2, 0], groups={"light": ["day", "day", "night", "day"], "id": [1, 2, 3, 4]})
    assert Samples.of(logits, [0, 1, 2, 0], groups=list("abcd"), piece=True).groups.names == tuple("abcd")


def test_sample_ids_may_be_bytes():
    assert Samples.of(LOGITS, [0, 1], sample_ids=np.array([b"a", b"b"])).sample_ids == ("a", "b")


def test_a_tensor_that_refuses_to_be_an_array_is_explained():
    class Tensor:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("Can't call numpy() on a tensor that requires grad.\nUse detach().")

        def __len__(self):
            return 2

    with pytest.raises(SamplesError, match=r"logits cannot be read as an array \(Can't call numpy\(\).*grad\)\. Give"):
        Samples.of(Tensor(), [0, 1])


@pytest.mark.parametrize(("n_rows", "n_columns", "values"), [(1, 1, 1), (10, 3, 1), (10, 3, 7), (1000, 7, 10**6)])
def test_chunks_cover_every_row_once(n_rows, n_columns, values):
    chunks = list(row_chunks(n_rows, n_columns, values=values))
    assert [row for chunk in chunks for row in range(chunk.start, chunk.stop)] == list(range(n_rows))
    sizes = {chunk.stop - chunk.start for chunk in chunks}
    assert max(sizes) - min(sizes) <= 1, "no core waits for the longest"
    assert min(sizes) * n_columns <= max(values, n_columns)


@pytest.mark.parametrize("missing", [None, float("nan"), 1.5])
def test_a_missing_group_is_no_group(missing):
    with pytest.raises(SamplesError, match=rf"groups hold {missing!r} in row 1, which is no name"):
        Samples.of(LOGITS, [0, 1], groups=["a", missing])


def test_groups_that_differ_only_at_the_end_stay_apart():
    assert Samples.of(LOGITS, [0, 1], groups=["a\0", "a"]).groups.names == ("a", "a\0")


def test_one_long_group_name_costs_its_length_once():
    n = 2_000_000  # as fixed-width text this would take 32 GB
    samples = Samples.of(np.tile(LOGITS, (n // 2, 1)), np.tile([0, 1], n // 2), groups=["x" * 4000] + ["y"] * (n - 1))
    assert samples.groups.codes.tolist()[:2] == [0, 1]


def test_a_mask_is_not_ignored():
    with pytest.raises(SamplesError, match="logits are a masked array"):
        Samples.of(np.ma.masked_array(LOGITS, mask=LOGITS > 3), [0, 1])
    with pytest.raises(SamplesError, match="labels are a masked array"):
        Samples.of(LOGITS, np.ma.masked_array([0, 1], mask=[True, False]))


def test_a_label_without_a_dimension_is_refused():
    with pytest.raises(SamplesError, match=r"labels have shape \(\); they must be one class index per sample"):
        Samples.of(LOGITS, np.array(1))


class TestMapChunks:
    CHUNKS = tuple(slice(start, start + 1) for start in range(50))

    @pytest.mark.parametrize("threads", [1, 2, 5])
    def test_results_come_in_the_order_of_the_chunks(self, threads):
        assert list(map_chunks(lambda rows: rows.start, self.CHUNKS, threads)) == list(range(50))

    @pytest.mark.parametrize("threads", [1, 2, 5])
    @pytest.mark.parametrize("broken", [0, 7, 49])
    def test_an_error_in_any_chunk_reaches_the_caller(self, threads, broken):
        def function(rows):
            if rows.start == broken:
                raise ValueError(broken)

        with pytest.raises(ValueError, match=str(broken)):
            list(map_chunks(function, self.CHUNKS, threads))

    def test_nothing_more_is_computed_when_nobody_wants_it(self):
        computed = []

        def function(rows):
            time.sleep(0.002)
            computed.append(rows.start)

        results = map_chunks(function, self.CHUNKS, 2)
        next(results)
        results.close()
        assert len(computed) < 10


def test_probabilities_that_were_rounded_in_float32_and_widened_are_rounded_probabilities():
    rng = np.random.default_rng(2)
    shares = rng.dirichlet(np.full(10, 0.05), 300).astype(np.float32).round(2).astype(np.float64)
    labels = np.arange(300) % 10
    with pytest.raises(ProbabilitiesError, match="rounded to 2 decimals"):
        Samples.of(shares, labels)
    assert Samples.of(shares, labels, probabilities=True).n_samples == 300


def test_a_frame_and_a_series_of_other_rows_are_refused():
    pandas = pytest.importorskip("pandas")
    frame, labels = pandas.DataFrame(LOGITS, index=["a", "b"]), pandas.Series([0, 2], index=["b", "a"])
    with pytest.raises(SamplesError, match=r"different indices, .*\[logits\.index\], or labels\.to_numpy\(\)"):
        Samples.of(frame, labels)
    with pytest.raises(SamplesError, match="different indices"):
        gfscore.audit(frame, labels)
    assert Samples.of(frame, labels.loc[frame.index]).labels.tolist() == [2, 0]
    assert Samples.of(frame, labels.to_numpy()).labels.tolist() == [0, 2]
    assert Samples.of(frame, [0, 2]).labels.tolist() == [0, 2]  # whose `index` is a method
