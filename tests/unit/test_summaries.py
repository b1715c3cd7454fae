"""Summaries: exact, merged in any order, to and from files, and as good as the samples for an audit."""

import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gfscore import Options, Samples, audit_models
from gfscore.bounds import Method, noise_floor, normal_floor
from gfscore.errors import FileError, OptionError, SamplesError
from gfscore.jobs.stages import audit_summary, score_samples
from gfscore.measures.summary_files import read_summary, summary_from_bytes, summary_to_bytes, write_summary
from gfscore.results import ModelAudit
from gfscore.score_grid import high_and_low, ratios
from gfscore.scores import great_scores
from gfscore.summaries import Summary, Tally, merge_summaries

K = 6


def some_samples(n=600, seed=0, k=K, groups=False, dtype=float):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k - 1, n)  # the last class has no sample
    logits = rng.normal(0, 1, (n, k))
    logits[np.arange(n), labels] += np.linspace(0.5, 3, k)[labels]
    return Samples.of(logits.astype(dtype), labels, groups=rng.choice(["day", "dusk", "night"], n) if groups else None)


def summary_of(samples, first_row=0, seed=0, **options):
    return Summary.of(samples, score_samples(samples, Options(**options)), first_row=first_row, seed=seed)


def cut(samples, edges, **options):
    starts = [0, *edges, samples.n_samples]
    return [
        summary_of(samples.rows(slice(first, last)), first, **options)
        for first, last in pairwise(starts)
        if first < last
    ]


def assert_equal(one, other):
    for name in Summary.__slots__:
        if isinstance(getattr(one, name), np.ndarray):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        else:
            assert getattr(one, name) == getattr(other, name)


def as_numbers(model: ModelAudit):
    """Everything but the noise floor and the flag about it, which need the samples."""
    content = model.model_dump(exclude={"noise": True, "flags": True, "interval": {"method"}})
    return content, [flag.code for flag in model.flags if flag.code != "normal_noise"]


@given(st.lists(st.integers(0, 600), max_size=9).map(sorted), st.randoms(), st.booleans())
def test_any_cutting_merged_in_any_order_is_the_whole_to_the_last_bit(edges, random, groups):
    samples = some_samples(groups=groups)
    pieces = cut(samples, edges)
    random.shuffle(pieces)
    assert_equal(merge_summaries(pieces), summary_of(samples))


def test_merging_is_associative():
    one, two, three = cut(some_samples(), [100, 350])
    assert_equal(
        merge_summaries([merge_summaries([one, two]), three]), merge_summaries([one, merge_summaries([three, two])])
    )


def audited_both_ways(method, activation, groups):
    """Samples as they are given to an audit, its options, and the audit of the sums of their pieces."""
    samples = some_samples(groups=groups, dtype=np.float16)
    options = Options(interval=method, activation=activation, permutations=0, seed=7)
    pieces = cut(samples, [1, 77, 500], activation=activation, seed=7)
    return samples, options, audit_summary(merge_summaries(pieces[::-1]), options, name="m")


@pytest.mark.parametrize("method", ["blocks", "mixture", "kl", "bernstein", "hoeffding"])
@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
@pytest.mark.parametrize("groups", [False, True])
def test_an_audit_of_merged_pieces_equals_that_of_the_samples(method, activation, groups, monkeypatch):
    """Of the samples as counts, whatever the method: sums have no order to bet in."""
    samples, options, found = audited_both_ways(method, activation, groups)
    monkeypatch.setattr(Method, "order_free", property(lambda _method: True))
    whole = audit_models({"m": samples}, options).model
    numbers, flags = as_numbers(found)
    expected, expected_flags = as_numbers(whole)
    assert flags == expected_flags
    for content in (numbers, expected):
        del content["nrgc"]["interval"]  # its lower end splits the samples at random
        del content["curves"]  # which take another pass over the logits
    assert numbers == approximately(expected)
    low, high = found.nrgc.interval
    assert low <= found.nrgc.value <= high == pytest.approx(whole.nrgc.interval[1], abs=1e-9)


@pytest.mark.parametrize("method", ["kl", "bernstein", "hoeffding"])
@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
@pytest.mark.parametrize("groups", [False, True])
def test_an_order_of_the_samples_narrows_what_is_bet_on_and_nothing_else(method, activation, groups):
    """Bets on two classes, on who is the worst, and on rounds of all classes take samples one after the other."""
    samples, options, found = audited_both_ways(method, activation, groups)
    whole = audit_models({"m": samples}, options).model
    numbers, expected = as_numbers(found)[0], as_numbers(whole)[0]
    for content in (numbers, expected):
        del content["worst_set"], content["class_mean_interval"], content["aggregate_interval"], content["curves"]
        for metric in ("rdi", "nrgc", "fp_great"):
            del content[metric]["interval"]
    assert numbers == approximately(expected)
    assert set(found.worst_set) >= set(whole.worst_set)
    assert found.rdi.interval[0] == pytest.approx(whole.rdi.interval[0], abs=1e-9)
    assert found.rdi.interval[1] >= whole.rdi.interval[1]
    for one, other in (
        (found.class_mean_interval, whole.class_mean_interval),
        (found.aggregate_interval, whole.aggregate_interval),
        (found.fp_great.interval, whole.fp_great.interval),  # of the class mean and the RDI
    ):
        assert one[1] - one[0] >= other[1] - other[0]
    # What an order spends on the worst set, sums spend on averages: the NRGC, which nobody bets on, is narrower.
    assert found.nrgc.value <= found.nrgc.interval[1] <= whole.nrgc.interval[1] + 1e-9


def approximately(content):
    """Class counts as they are, scores to 1e-12, everything found by bisection to 1e-9."""
    if isinstance(content, dict):
        return {
            key: pytest.approx(value, abs=1e-12)
            if key in ("score", "aggregate", "class_mean", "value") and isinstance(value, float)
            else approximately(value)
            for key, value in content.items()
        }
    if isinstance(content, list | tuple):
        return type(content)(approximately(value) for value in content)
    return pytest.approx(content, abs=1e-8) if isinstance(content, float) else content


def test_scores_do_not_depend_on_the_order_of_merging():
    samples = some_samples(5000)
    pieces = cut(samples, range(7, 5000, 7))
    forward, backward = (
        audit_summary(merge_summaries(order), Options(permutations=0)) for order in (pieces, pieces[::-1])
    )
    assert forward == backward
    assert [entry.score for entry in forward.classes] == pytest.approx(
        [entry.score for entry in audit_models({"m": samples}).model.classes], abs=1e-12
    )


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_exact_sums_are_correctly_rounded_means(values):
    high, low = high_and_low(np.array(values))
    found = ratios(np.array([high.sum()]), np.array([low.sum()]), np.array([len(values)]))
    assert float(found[0]) == pytest.approx(sum(values) / len(values), abs=1e-15)


def test_the_halves_cover_the_samples_and_do_not_depend_on_the_scores():
    samples = some_samples(4000)
    summary = summary_of(samples)
    half = summary.column("half_count")[: K - 1] / summary.counts[: K - 1]
    assert (abs(half - 0.5) < 0.1).all()
    other = summary_of(replace(samples, logits=samples.logits[::-1]))
    np.testing.assert_array_equal(summary.column("half_count"), other.column("half_count"))


@pytest.mark.parametrize("groups", [False, True])
def test_a_summary_survives_its_file(groups, tmp_path):
    summary = summary_of(some_samples(groups=groups))
    write_summary(tmp_path / "s.safetensors", summary)
    assert_equal(read_summary(tmp_path / "s.safetensors"), summary)


def test_a_file_that_holds_impossible_sums_is_refused():
    summary = summary_of(some_samples())
    wrong = {
        "cells": summary.cells[::-1],
        "cell_counts": summary.cell_counts + 1,
        "sums": summary.sums[:-1],
        "confusions": summary.confusions + 1000,
        "confusion_counts": np.zeros_like(summary.confusion_counts),
        "names": ("a", *summary.names[1:]),
        "partition": "batch",
        "seed": -1,
    }
    for name, value in wrong.items():
        content = summary_to_bytes(replace(summary, **{name: value}))
        with pytest.raises(FileError, match="sums that no samples have"):
            summary_from_bytes(content)


def test_no_byte_of_a_file_can_change_unnoticed():
    summary = summary_of(some_samples(40))
    sound = summary_to_bytes(summary)
    for position in range(len(sound)):
        content = bytearray(sound)
        content[position] ^= 1 << position % 8
        try:
            assert_equal(summary_from_bytes(bytes(content)), summary)  # a space for another, between two tokens
        except FileError:
            continue


@pytest.mark.parametrize("content", [b"", b"x" * 100, b"\x02\x00\x00\x00\x00\x00\x00\x00{}", b"\xff" * 9])
def test_a_file_that_is_no_summary_is_refused(content):
    with pytest.raises(FileError, match=r"is no summary|has format None"):
        summary_from_bytes(content)


def test_what_does_not_belong_together_is_not_merged():
    samples = some_samples()
    one = summary_of(samples)
    others = {
        "their score": summary_of(samples, temperature=2.0),
        "what they are over": summary_of(some_samples(groups=True)),
        "their classes": replace(one, class_names=("x",) * K, names=("x",) * K),
        "the seed that dealt their samples": Summary.of(samples, great_scores(samples), seed=1),
    }
    for what, other in others.items():
        with pytest.raises(SamplesError, match=f"pieces differ in {what}"):
            merge_summaries([one, other])
    with pytest.raises(OptionError, match="nothing to merge"):
        Tally().summary()


def test_new_groups_may_come_with_any_piece():
    samples = some_samples(groups=True)
    night = np.asarray(samples.groups.names)[samples.groups.codes] == "night"
    day, dark = (
        Samples.of(samples.logits[rows], samples.labels[rows], groups=np.where(night, "night", other)[rows])
        for rows, other in ((slice(0, 300), "day"), (slice(300, 600), "dusk"))
    )
    summary = merge_summaries([summary_of(dark, 300), summary_of(day)])
    assert summary.names == ("day", "dusk", "night")
    assert summary.counts.tolist() == [(~night[:300]).sum(), (~night[300:]).sum(), night.sum()]


def test_the_normal_noise_floor_agrees_with_shuffling_and_says_what_it_is():
    samples = some_samples(4000)
    found = audit_summary(summary_of(samples), Options())
    values = great_scores(samples)
    shuffled = noise_floor(values.values, samples.labels, K, maximum=values.maximum)
    assert found.noise.kind == "normal"
    assert found.flags[-1].code == "normal_noise"
    assert "by a normal approximation" in repr(found)
    assert found.noise.rdi.null_mean == pytest.approx(shuffled.rdi.null_mean, rel=0.05)
    assert found.noise.rdi.null_q95 == pytest.approx(shuffled.rdi.null_q95, rel=0.05)
    assert found.noise.nrgc.null_mean == pytest.approx(shuffled.nrgc.null_mean, rel=0.05)
    with pytest.raises(OptionError, match="0 draws show nothing"):
        normal_floor([0.5], [0.1], [9], maximum=1.0, draws=0)


@pytest.mark.parametrize("parts", [1000, pytest.param(10_000, marks=pytest.mark.long)])
def test_thousands_of_parts_of_a_thousand_classes_are_merged_in_seconds(parts):
    """Up to 10^8 samples in parts of 10^4; five different ones come again and again: making them takes longer."""
    rng = np.random.default_rng(0)
    k, n = 1000, 10_000
    different = []
    for _ in range(5):
        labels = rng.integers(0, k, n)
        samples = Samples.of(np.tile([0.0, 2.0], (n, 1)), np.ones(n, dtype=int))
        local = great_scores(samples)
        predicted = np.where(rng.random(n) < 0.7, labels, rng.integers(0, k, n))
        wide = replace(samples, labels=labels, class_names=tuple(map(str, range(k))), logits=np.zeros((n, k)))
        scored = replace(local, values=rng.beta(2, 2, n) * local.maximum * (predicted == labels), predicted=predicted)
        different.append(Summary.of(wide, scored))
    start = time.process_time()
    total = merge_summaries(different[i % 5] for i in range(parts))
    assert time.process_time() - start < parts / 1000
    assert total.n_samples == parts * n
    np.testing.assert_array_equal(total.counts, parts // 5 * sum(part.counts for part in different))


def test_the_halves_and_blocks_are_those_of_the_seed():
    samples = some_samples(4000)
    one, other = (summary_of(samples, seed=seed) for seed in (1, 2))
    assert (one.column("half_count") != other.column("half_count")).any()
    assert not np.array_equal(one.cells, other.cells)
    np.testing.assert_array_equal(one.counts, other.counts)
    assert audit_summary(one, Options(seed=1, permutations=0)).interval.seed == 1
    with pytest.raises(OptionError, match=r"dealt into blocks with seed 1 .* seed 2 is asked for now"):
        audit_summary(one, Options(seed=2))


def test_a_summary_whose_samples_were_not_dealt_is_refused(tmp_path):
    content = summary_to_bytes(summary_of(some_samples())).replace(b"gfscore.summary/2", b"gfscore.summary/1")
    (tmp_path / "old.safetensors").write_bytes(content)
    told = r"old.safetensors: has format 'gfscore.summary/1', whose samples were not dealt into blocks when .* again\.$"
    with pytest.raises(FileError, match=told):
        read_summary(tmp_path / "old.safetensors")


def test_betting_is_replaced_by_blocks():
    summary = summary_of(some_samples())
    assert audit_summary(summary, Options(permutations=0)).interval.method == Method.BLOCKS
